"""The rules of answering: once, in time, in the right way, and only for the one who asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.sandbox.human import Human, NotPossible
from bot.sandbox.limits import Refusal, Upload
from bot.sandbox.screen import InteractionResult
from bot.sandbox.store import Record
from tests.bot.sandbox.api import Api

PING = {"name": "ping", "description": "x", "type": 1}


class Table:
    """Ana, and a bot that answers by hand."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.ana = Human(api.wire, "Ana")
        self.ben = Human(api.wire, "Ben")
        self.opened: list[Record] = []
        api.wire.world.subscribe_bot(self._hear)

    def _hear(self, name: str, data: Record, only_for: str | None) -> None:
        if name == "INTERACTION_CREATE":
            self.opened.append(data)

    async def register(self, *commands: Record) -> None:
        me = self.api.wire.world.bot["id"]
        status, shown = await self.api("PUT", f"/applications/{me}/commands", list(commands))
        assert status == 200, shown

    async def open(self, command: str = "ping", **options: Any) -> InteractionResult:
        return await self.ana.slash("general", command, options, wait=False)

    async def respond(self, kind: int, data: Record | None = None, **query: str) -> tuple[int, Any]:
        opened = self.opened[-1]
        body = {"type": kind, "data": data or {}}
        path = f"/interactions/{opened['id']}/{opened['token']}/callback"
        return await self.api("POST", path, body, **query)

    def follow(self, tail: str = "") -> str:
        opened = self.opened[-1]
        return f"/webhooks/{opened['application_id']}/{opened['token']}{tail}"


@pytest.fixture
async def table(api: Api) -> Table:
    made = Table(api)
    await made.register(PING)
    return made


async def test_the_payload_tells_who_where_and_with_what_rights(table: Table) -> None:
    await table.open()

    opened = table.opened[0]
    assert opened["member"]["user"]["id"] == table.ana.id
    assert opened["data"]["name"] == "ping"
    assert opened["channel"]["name"] == "general"
    assert int(opened["member"]["permissions"]) & 8
    assert not int(opened["app_permissions"]) & 8
    assert (opened["context"], opened["locale"], opened["attachment_size_limit"]) == (0, "en-US", 10485760)


async def test_with_response_tells_of_the_message(table: Table) -> None:
    result = await table.open()

    status, shown = await table.respond(4, {"content": "pong"}, with_response="1")

    assert status == 200
    assert (
        shown["interaction"]["response_message_id"] == shown["resource"]["message"]["id"] == result.message.id
    )
    assert shown["resource"]["message"]["interaction_metadata"]["user"]["id"] == table.ana.id
    assert (await table.open()).state == "pending"
    assert await table.respond(4, {"content": "pong"}) == (204, None)


async def test_a_second_answer_is_40060(table: Table) -> None:
    await table.open()
    await table.respond(5)

    status, shown = await table.respond(4, {"content": "again"})

    assert (status, shown["code"]) == (400, 40060)


async def test_a_late_answer_is_10062(table: Table) -> None:
    table.api.wire.interactions.deadline = 0.05
    result = await table.open()
    await result.until("failed")

    status, shown = await table.respond(4, {"content": "sorry"})

    assert (status, shown["code"]) == (404, 10062)
    assert (await table.api("POST", table.follow(), {"content": "x"}))[1]["code"] == 10015


@pytest.mark.parametrize("kind", [1, 6, 7, 8, 99])
async def test_a_command_does_not_take_the_answers_of_other_kinds(table: Table, kind: int) -> None:
    await table.open()

    status, shown = await table.respond(kind, {"content": "x"})

    assert (status, shown["code"]) == (400, 50035)
    assert (await table.respond(4, {"content": "still open"}))[0] == 204


async def test_a_refused_answer_leaves_the_interaction_open(table: Table) -> None:
    await table.open()

    assert (await table.respond(4, {"content": ""}))[1]["code"] == 50006
    assert (await table.respond(4, {"content": "y" * 2001}))[1]["code"] == 50035
    assert (await table.respond(4, {"content": "y"}))[0] == 204


async def test_the_first_follow_up_replaces_the_thinking_message_and_the_next_is_new(table: Table) -> None:
    result = await table.open()
    await table.respond(5)
    thinking = result.message
    assert (result.state, thinking.thinking) == ("deferred", True)

    await table.api("POST", table.follow(), {"content": "one"})
    await table.api("POST", table.follow(), {"content": "two", "flags": 64})

    assert [(m.text, m.ephemeral) for m in result.messages] == [("one", False), ("two", True)]
    assert result.messages[0].id == thinking.id
    assert not result.messages[0].edited
    assert [m.text for m in table.ben.screen("general")] == ["one"]


async def test_the_original_can_be_read_edited_and_deleted(table: Table) -> None:
    result = await table.open()
    await table.respond(5, {"flags": 64})

    _, edited = await table.api("PATCH", table.follow("/messages/@original"), {"content": "new"})
    _, read = await table.api("GET", table.follow("/messages/@original"))

    assert (edited["content"], read["content"], read["flags"]) == ("new", "new", 64)
    assert result.state == "done"
    assert (await table.api("DELETE", table.follow("/messages/@original")))[0] == 204
    assert result.messages == []
    assert (await table.api("GET", table.follow("/messages/@original")))[1]["code"] == 10008


async def test_a_token_lives_fifteen_minutes_but_a_public_answer_can_be_edited_as_a_message(
    table: Table,
) -> None:
    result = await table.open()
    await table.respond(4, {"content": "a"})

    table.api.wire.world.clock.advance(15 * 60 + 1)

    status, shown = await table.api("PATCH", table.follow("/messages/@original"), {"content": "b"})
    assert (status, shown["code"]) == (404, 10015)
    path = f"{table.api.at('general')}/messages/{result.message.id}"
    assert (await table.api("PATCH", path, {"content": "b"}))[0] == 200
    assert (await table.api("POST", table.follow("x"), {"content": "b"}))[1]["code"] == 50027


async def test_an_ephemeral_message_is_not_among_the_channels_messages(table: Table) -> None:
    result = await table.open()
    await table.respond(4, {"content": "psst", "flags": 64})
    message_id = result.message.id

    status, shown = await table.api("GET", f"{table.api.at('general')}/messages/{message_id}")

    assert (status, shown["code"]) == (404, 10008)
    assert (await table.api("GET", table.api.at("general") + "/messages"))[1] == []
    with pytest.raises(Refusal):
        table.ben.shown(message_id)
    await table.ana.delete(result.message)  # she dismisses it
    assert table.ana.screen("general") == []


async def test_a_component_updates_its_message_and_a_disabled_one_cannot_be_pressed(table: Table) -> None:
    buttons = [
        {"type": 2, "style": 1, "label": n, "custom_id": n, "disabled": n == "no"} for n in ("yes", "no")
    ]
    _, sent = await table.api.send({"content": "q", "components": [{"type": 1, "components": buttons}]})

    with pytest.raises(NotPossible):
        await table.ana.click(sent, "no")
    with pytest.raises(LookupError, match="there are: yes, no"):
        await table.ana.click(sent, "maybe")
    result = await table.ana.click(sent, "yes", wait=False)
    assert table.opened[-1]["message"]["id"] == sent["id"]
    await table.respond(7, {"content": "a", "components": []})

    assert result.state == "done"
    assert table.ana.shown(sent).text == "a"
    assert table.ana.shown(sent).buttons == ()


async def test_a_click_on_a_deleted_message_is_not_possible(table: Table) -> None:
    button = {"type": 2, "style": 1, "label": "x", "custom_id": "x"}
    _, sent = await table.api.send({"content": "q", "components": [{"type": 1, "components": [button]}]})
    result = await table.ana.click(sent, "x", wait=False)
    await table.api("DELETE", f"{table.api.at('general')}/messages/{sent['id']}")

    assert (await table.respond(7, {"content": "a"}))[1]["code"] == 10008
    with pytest.raises(Refusal):
        await table.ana.click(sent, "x")
    assert result.state == "pending"


@pytest.mark.parametrize(
    "modal",
    [
        {"title": "t" * 46, "custom_id": "m", "components": [{"type": 10, "content": "x"}]},
        {"title": "t", "custom_id": "m", "components": []},
        {"title": "t", "custom_id": "m", "components": [{"type": 10, "content": "x"}] * 6},
        {"title": "t", "custom_id": "m", "components": [{"type": 1, "components": [{"type": 2}]}]},
        {
            "title": "t",
            "custom_id": "m",
            "components": [
                {
                    "type": 18,
                    "label": "l",
                    "component": {"type": 4, "custom_id": "a", "style": 1, "max_length": 4001},
                }
            ],
        },
        {
            "title": "t",
            "custom_id": "m",
            "components": [
                {"type": 18, "label": "l" * 46, "component": {"type": 4, "custom_id": "a", "style": 1}}
            ],
        },
    ],
)
async def test_a_modal_beyond_the_limits_is_refused(table: Table, modal: Record) -> None:
    await table.open()

    status, shown = await table.respond(9, modal)

    assert (status, shown["code"]) == (400, 50035)


async def test_a_modal_cannot_open_a_modal(table: Table) -> None:
    field = {"type": 4, "custom_id": "a", "style": 1, "label": "A", "value": "kept"}
    modal = {"title": "t", "custom_id": "m", "components": [{"type": 1, "components": [field]}]}
    opened = await table.open()
    await table.respond(9, modal)
    assert opened.state == "modal"

    sent = await table.ana.submit(opened, wait=False)

    assert table.opened[-1]["data"]["components"][0]["components"][0]["value"] == "kept"
    assert (await table.respond(9, modal))[1]["code"] == 50035
    assert (await table.respond(4, {"content": "thanks"}))[0] == 204
    assert sent.text == "thanks"


async def test_choices_beyond_the_limits_are_refused(table: Table) -> None:
    option = {"type": 3, "name": "what", "description": "x", "autocomplete": True}
    await table.register({**PING, "options": [option]})

    typing = table.ana.autocomplete("general", "ping", "what", "q", timeout=5)
    task = asyncio.create_task(typing)
    await asyncio.sleep(0)
    assert table.opened[-1]["data"]["options"] == [{"name": "what", "type": 3, "value": "q", "focused": True}]
    many = [{"name": str(n), "value": str(n)} for n in range(26)]
    assert (await table.respond(8, {"choices": many}))[1]["code"] == 50035
    assert (await table.respond(8, {"choices": [{"name": "n" * 101, "value": "v"}]}))[1]["code"] == 50035
    assert (await table.respond(8, {"choices": many[:25]}))[0] == 204
    assert len(await task) == 25


# --- commands ------------------------------------------------------------------------


def bad(change: Record, code: str) -> Any:
    return pytest.param({**PING, **change}, code, id=f"{next(iter(change))}:{code}")


OPTION = {"type": 3, "name": "a", "description": "x"}


@pytest.mark.parametrize(
    ("command", "code"),
    [
        bad({"name": "Ping"}, "APPLICATION_COMMAND_INVALID_NAME"),
        bad({"name": "two words"}, "APPLICATION_COMMAND_INVALID_NAME"),
        bad({"name": "p" * 33}, "BASE_TYPE_BAD_LENGTH"),
        bad({"description": ""}, "BASE_TYPE_REQUIRED"),
        bad({"description": "d" * 101}, "BASE_TYPE_BAD_LENGTH"),
        bad({"options": [OPTION, OPTION]}, "APPLICATION_COMMAND_OPTIONS_NAME_INVALID"),
        bad({"options": [{**OPTION, "name": f"o{n}"} for n in range(26)]}, "BASE_TYPE_MAX_LENGTH"),
        bad(
            {"options": [OPTION, {**OPTION, "name": "b", "required": True}]},
            "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
        ),
        bad(
            {"options": [{**OPTION, "choices": [{"name": "c", "value": "c" * 100}] * 26}]},
            "BASE_TYPE_MAX_LENGTH",
        ),
        bad({"name_localizations": {"de": "Ping"}}, "APPLICATION_COMMAND_INVALID_NAME"),
        bad({"type": 3}, "APPLICATION_COMMAND_INVALID_FIELD"),
    ],
)
async def test_a_command_beyond_the_limits_is_refused(table: Table, command: Record, code: str) -> None:
    me = table.api.wire.world.bot["id"]

    status, shown = await table.api("PUT", f"/applications/{me}/commands", [command])

    assert (status, shown["code"]) == (400, 50035)
    assert f"'code': '{code}'" in str(shown["errors"])
    assert [c["name"] for c in table.ana.commands("general")] == ["ping"]


async def test_a_command_counts_at_most_8000_characters(table: Table) -> None:
    choices = [{"name": f"{n:02}" + "n" * 98, "value": "v" * 100} for n in range(25)]
    options = [{**OPTION, "name": name, "choices": choices} for name in "ab"]
    me = table.api.wire.world.bot["id"]

    status, shown = await table.api("PUT", f"/applications/{me}/commands", [{**PING, "options": options}])

    assert (status, "APPLICATION_COMMAND_TOO_LARGE" in str(shown["errors"])) == (400, True)


async def test_overwriting_keeps_the_ids_of_commands_that_stay(table: Table) -> None:
    world = table.api.wire.world
    before = world.commands.where(name="ping")[0]["id"]

    await table.register({**PING, "description": "new"}, {**PING, "name": "pong"})

    assert world.commands.where(name="ping")[0]["id"] == before
    await table.register({**PING, "name": "pong"})
    assert [c["name"] for c in world.commands.values()] == ["pong"]


async def test_commands_are_offered_by_permission_place_and_language(table: Table) -> None:
    await table.register(
        {**PING, "name": "admin", "default_member_permissions": "32"},
        {**PING, "name": "spicy", "nsfw": True},
        {**PING, "name": "private", "contexts": [1]},
        {**PING, "name": "hello", "name_localizations": {"zh-CN": "你好"}},
    )
    chen = Human(table.api.wire, "Chen")

    assert [c["name"] for c in table.ana.commands("general")] == ["admin", "hello"]
    assert [c["name"] for c in table.ben.commands("general")] == ["hello"]
    assert [c["name"] for c in table.ben.commands("after-dark")] == ["spicy", "hello"]
    assert [c["name"] for c in table.ana.commands(table.ana.direct())] == ["admin", "private", "hello"]
    await chen.slash("general", "你好", wait=False)
    assert table.opened[-1]["data"]["name"] == "hello"
    with pytest.raises(NotPossible):
        await table.ben.slash("general", "你好", wait=False)


async def test_too_large_an_upload_does_not_leave_the_client(table: Table) -> None:
    await table.register({**PING, "options": [{"type": 11, "name": "file", "description": "x"}]})

    with pytest.raises(Refusal) as refused:
        await table.open(file=Upload("big.png", bytes(10 * 1024 * 1024 + 1)))

    assert refused.value.code == 40005
    assert table.opened == []
