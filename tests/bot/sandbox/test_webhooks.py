"""Webhooks: what they may be called, where they write, and what they may touch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bot.sandbox.api import Api


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("Mira", True),
        ("é" * 80, True),
        ("x" * 81, False),
        ("M", False),
        ("Clyde the Cat", False),
        ("my DISCORD", False),
        ("everyone", False),
        ("", False),
    ],
)
async def test_names_that_webhooks_may_speak_under(api: Api, name: str, good: bool) -> None:
    _, hook = await api("POST", api.at("general") + "/webhooks", {"name": "voices"})

    path = f"/webhooks/{hook['id']}/{hook['token']}"
    status, shown = await api("POST", path, {"content": "hi", "username": name}, wait="1")

    assert status == (200 if good else 400)
    assert good or "username" in shown["errors"]


async def test_a_channel_has_at_most_fifteen_webhooks(api: Api) -> None:
    for number in range(15):
        status, _ = await api("POST", api.at("general") + "/webhooks", {"name": f"hook {number}"})
        assert status == 200

    status, shown = await api("POST", api.at("general") + "/webhooks", {"name": "one more"})

    assert (status, shown["code"]) == (400, 30007)


async def test_a_webhook_of_a_forum_needs_a_post_and_of_a_channel_makes_none(api: Api) -> None:
    _, forum = await api("POST", api.at("stories") + "/webhooks", {"name": "forum hook"})
    _, plain = await api("POST", api.at("general") + "/webhooks", {"name": "plain hook"})

    async def execute(hook: Any, body: dict[str, Any], **query: str) -> Any:
        return await api("POST", f"/webhooks/{hook['id']}/{hook['token']}", body, wait="1", **query)

    assert (await execute(forum, {"content": "x"}))[1]["code"] == 220001
    assert (await execute(plain, {"content": "x", "thread_name": "t"}))[1]["code"] == 220003
    _, post = await execute(forum, {"content": "x", "thread_name": "A tale"})
    assert api.wire.world.channel("A tale")["id"] == post["id"] == post["channel_id"]
    assert (await execute(forum, {"content": "y"}, thread_id=post["id"]))[0] == 200
    assert (await execute(plain, {"content": "y"}, thread_id=post["id"]))[1]["code"] == 10003


async def test_a_webhook_edits_only_its_own_messages_and_only_where_they_are(api: Api) -> None:
    _, hook = await api("POST", api.at("general") + "/webhooks", {"name": "voices"})
    own = f"/webhooks/{hook['id']}/{hook['token']}"
    _, sent = await api("POST", own, {"content": "a"}, wait="1")
    _, bots = await api.send({"content": "b"})

    assert (await api("PATCH", f"{own}/messages/{sent['id']}", {"content": "c"}))[1]["content"] == "c"
    assert (await api("PATCH", f"{own}/messages/{bots['id']}", {"content": "c"}))[1]["code"] == 10008
    assert (await api("PATCH", f"{own}/messages/{sent['id']}", {"content": "c"}, thread_id="5"))[1][
        "code"
    ] == 10008
    assert (await api("PATCH", f"{api.at('general')}/messages/{sent['id']}", {"content": "c"}))[1][
        "code"
    ] == 50005
    assert (await api("POST", f"/webhooks/{hook['id']}/wrong", {"content": "c"}))[1]["code"] == 50027
    await api("DELETE", own)
    assert (await api("POST", own, {"content": "c"}))[1]["code"] == 10015
