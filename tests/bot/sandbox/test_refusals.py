"""What Discord refuses besides wrong fields: the code says why."""

from __future__ import annotations

from typing import Any

import pytest

from bot.sandbox.human import Human
from bot.sandbox.world.permissions import Permission
from engine.codec import loads
from tests.bot.sandbox.api import Api


async def test_edits_of_messages_older_than_an_hour_run_out(api: Api) -> None:
    _, sent = await api.send({"content": "old"})
    path = f"{api.at('general')}/messages/{sent['id']}"
    api.wire.world.clock.advance(3601)

    answers = [await api("PATCH", path, {"content": str(n)}) for n in range(4)]

    assert [status for status, _ in answers] == [200, 200, 200, 400]
    assert answers[-1][1]["code"] == 30046
    _, fresh = await api.send({"content": "new"})
    assert (await api("PATCH", f"{api.at('general')}/messages/{fresh['id']}", {"content": "n"}))[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/channels/1", 404, 10003),
        ("GET", "/guilds/1", 404, 10004),
        ("GET", "/channels/{general}/messages/1", 404, 10008),
        ("GET", "/users/1", 404, 10013),
        ("GET", "/webhooks/1", 404, 10015),
        ("GET", "/channels/abc", 400, 50035),
        ("POST", "/interactions/1/t/callback", 404, 10062),
        ("GET", "/channels/{stories}/messages", 400, 50008),
    ],
)
async def test_what_does_not_exist_has_its_code(
    api: Api, method: str, path: str, status: int, code: int
) -> None:
    names = {name: api.wire.world.channel(name)["id"] for name in ("general", "stories")}

    got, shown = await api(method, path.format(**names), {} if method == "POST" else None)

    assert (got, shown["code"]) == (status, code)


@pytest.mark.parametrize(
    ("denied", "method", "path", "body", "code"),
    [
        (Permission.VIEW_CHANNEL, "GET", "", None, 50001),
        (Permission.SEND_MESSAGES, "POST", "/messages", {"content": "x"}, 50013),
        (Permission.EMBED_LINKS, "POST", "/messages", {"embeds": [{"title": "x"}]}, 50013),
        (Permission.MANAGE_WEBHOOKS, "POST", "/webhooks", {"name": "voices"}, 50013),
        (Permission.CREATE_PUBLIC_THREADS, "POST", "/threads", {"name": "t", "type": 11}, 50013),
        (Permission.MANAGE_MESSAGES, "DELETE", "/messages/{hers}", None, 50013),
        (Permission.SEND_MESSAGES, "POST", "/typing", None, 50013),
    ],
)
async def test_a_missing_permission_is_a_403(
    api: Api, denied: Permission, method: str, path: str, body: Any, code: int
) -> None:
    world = api.wire.world
    hers = (await Human(api.wire, "Ana").say("general", "mine")).id
    world.set_overwrite(world.channel("general"), world.bot["id"], deny=int(denied))

    status, shown = await api(method, api.at("general") + path.format(hers=hers), body)

    assert (status, shown["code"]) == (403, code)


async def test_reactions_are_limited_to_twenty_kinds(api: Api) -> None:
    _, sent = await api.send({"content": "x"})
    path = f"{api.at('general')}/messages/{sent['id']}/reactions"

    for number in range(20):
        assert (await api("PUT", f"{path}/{chr(0x1F600 + number)}/@me"))[0] == 204
    status, shown = await api("PUT", f"{path}/🔥/@me")

    assert (status, shown["code"]) == (400, 30010)
    assert (await api("PUT", f"{path}/😀/@me"))[0] == 204


@pytest.mark.parametrize("count", [1, 101])
async def test_bulk_deletion_takes_two_to_a_hundred(api: Api, count: int) -> None:
    ids = [str(n) for n in range(count)]

    status, shown = await api("POST", api.at("general") + "/messages/bulk-delete", {"messages": ids})

    assert (status, shown["code"]) == (400, 50016)


async def test_mentions_ping_only_whom_the_sender_allows(api: Api) -> None:
    world = api.wire.world
    ana = world.user("Ana")["id"]

    _, quiet = await api.send({"content": f"<@{ana}> @everyone", "allowed_mentions": {"parse": []}})
    _, loud = await api.send({"content": f"<@{ana}> @everyone"})
    _, hook = await api("POST", api.at("general") + "/webhooks", {"name": "voices"})
    _, hooked = await api(
        "POST", f"/webhooks/{hook['id']}/{hook['token']}", {"content": "@everyone"}, wait="1"
    )

    assert (quiet["mentions"], quiet["mention_everyone"]) == ([], False)
    assert [u["id"] for u in loud["mentions"]] == [ana]
    assert not loud["mention_everyone"]  # the bot lacks the permission
    assert hooked["mention_everyone"]  # a webhook needs none


async def test_bad_json_is_50109_and_an_unknown_place_404(api: Api) -> None:
    url = api.wire.urls.api
    async with api.http.post(
        url + api.at("general") + "/messages", data=b"{", headers={"Content-Type": "application/json"}
    ) as answer:
        assert (answer.status, loads(await answer.read())["code"]) == (400, 50109)
    assert await api("GET", "/nowhere/at/all") == (404, {"message": "404: Not Found", "code": 0})
    assert api.wire.unknown == ["GET /api/v10/nowhere/at/all"]
    api.wire.unknown.clear()


async def test_a_crashing_endpoint_is_noted_and_answered_with_400(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("bot.sandbox.world.payloads.emoji")
    _, sent = await api.send({"content": "x"})

    status, shown = await api("PUT", f"{api.at('general')}/messages/{sent['id']}/reactions/🔥/@me")

    assert status == 400
    assert "sandbox endpoint failed" in shown["message"]
    assert len(api.wire.crashes) == 1
    api.wire.crashes.clear()


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
async def test_other_sites_are_kept_out(api: Api, headers: dict[str, str]) -> None:
    async with api.http.get(api.wire.urls.api + "/users/@me", headers=headers) as answer:
        assert answer.status == 403


async def test_an_id_in_the_query_that_is_none_is_refused(api: Api) -> None:
    status, shown = await api("GET", api.at("general") + "/messages", before="yesterday")

    assert (status, shown["code"]) == (400, 50035)
