"""Discord's limits, checked with plain HTTP: status, code, and the field that is wrong."""

from __future__ import annotations

import io
from typing import Any

import aiohttp
import pytest

from bot.sandbox.human import Human
from engine.codec import loads
from tests.bot.sandbox.api import Api


def row(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": 1, "components": list(parts)}


def button(custom_id: str = "a", **more: Any) -> dict[str, Any]:
    return {"type": 2, "style": 1, "label": "x", "custom_id": custom_id, **more}


def menu(**more: Any) -> dict[str, Any]:
    return {"type": 3, "custom_id": "m", "options": [{"label": "a", "value": "a"}], **more}


def text(content: str) -> dict[str, Any]:
    return {"type": 10, "content": content}


V2 = 1 << 15


@pytest.mark.parametrize(
    "body",
    [
        {"content": "x" * 2000},
        {"embeds": [{"title": "t" * 256, "description": "d" * 4096}]},
        {"content": "x", "components": [row(*(button(str(n)) for n in range(5))) for _ in range(1)]},
        {
            "content": "x",
            "components": [row(menu(options=[{"label": str(n), "value": str(n)} for n in range(25)]))],
        },
        {"content": "x", "components": [row(button("c" * 100, label="l" * 80))]},
        {"flags": V2, "components": [text("x" * 4000)]},
        {"flags": V2, "components": [text("字" * 3386)]},
        {"flags": V2, "components": [text(str(n)) for n in range(40)]},
    ],
    ids=lambda body: ",".join(body),
)
async def test_what_is_just_allowed_is_taken(api: Api, body: dict[str, Any]) -> None:
    status, shown = await api.send(body)

    assert status == 200, shown


def wrong(body: dict[str, Any], path: str, code: str, status: int = 400) -> Any:
    return pytest.param(body, path, code, status, id=f"{path}:{code}")


@pytest.mark.parametrize(
    ("body", "path", "code", "status"),
    [
        wrong({"content": "x" * 2001}, "content", "BASE_TYPE_MAX_LENGTH"),
        wrong({"embeds": [{"title": "t" * 257}]}, "embeds.0.title", "BASE_TYPE_MAX_LENGTH"),
        wrong(
            {"embeds": [{"fields": [{"name": "", "value": "v"}]}]},
            "embeds.0.fields.0.name",
            "BASE_TYPE_REQUIRED",
        ),
        wrong({"embeds": [{"description": "d" * 3001}] * 2}, "embeds", "MAX_EMBED_SIZE_EXCEEDED"),
        wrong({"embeds": [{"title": "t"}] * 11}, "embeds", "BASE_TYPE_MAX_LENGTH"),
        wrong({"components": [row(button())] * 6}, "components", "BASE_TYPE_MAX_LENGTH"),
        wrong(
            {"components": [row(*(button(str(n)) for n in range(6)))]},
            "components.0.components",
            "BASE_TYPE_BAD_LENGTH",
        ),
        wrong(
            {"components": [row(button("c" * 101))]},
            "components.0.components.0.custom_id",
            "BASE_TYPE_BAD_LENGTH",
        ),
        wrong({"components": [row(button(""))]}, "components.0.components.0.custom_id", "BASE_TYPE_REQUIRED"),
        wrong(
            {"components": [row(button(), button())]},
            "components.0.components.1.custom_id",
            "COMPONENT_CUSTOM_ID_DUPLICATED",
        ),
        wrong(
            {"components": [row(button(label="l" * 81))]},
            "components.0.components.0.label",
            "BASE_TYPE_MAX_LENGTH",
        ),
        wrong({"components": [row(menu(), button())]}, "components.0", "COMPONENT_LAYOUT_WIDTH_EXCEEDED"),
        wrong(
            {"components": [row(menu(placeholder="p" * 151))]},
            "components.0.components.0.placeholder",
            "BASE_TYPE_MAX_LENGTH",
        ),
        wrong(
            {"components": [row(menu(options=[]))]},
            "components.0.components.0.options",
            "BASE_TYPE_BAD_LENGTH",
        ),
        wrong(
            {"components": [row(menu(options=[{"label": "a", "value": "a"}] * 2))]},
            "components.0.components.0.options.1.value",
            "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED",
        ),
        wrong({"components": [text("needs the flag")]}, "components.0.type", "UNION_TYPE_CHOICES"),
        wrong(
            {"flags": V2, "content": "x", "components": [text("y")]},
            "content",
            "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
        ),
        wrong(
            {"flags": V2, "components": [text("x" * 2001), text("y" * 2000)]},
            "components",
            "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
        ),
        wrong(
            {"flags": V2, "components": [row(button(str(n))) for n in range(21)]},
            "components",
            "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED",
        ),
        wrong({"content": "x", "nonce": "n" * 26}, "nonce", "NONCE_TYPE_TOO_LONG"),
        wrong(
            {"content": "x", "message_reference": {"message_id": "1"}},
            "message_reference",
            "MESSAGE_REFERENCE_UNKNOWN_MESSAGE",
        ),
        wrong(
            {"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}},
            "allowed_mentions",
            "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
        ),
    ],
)
async def test_a_wrong_field_is_named(
    api: Api, body: dict[str, Any], path: str, code: str, status: int
) -> None:
    got, shown = await api.send(body)

    assert (got, shown["code"]) == (status, 50035)
    place = shown["errors"]
    for part in path.split("."):
        place = place[part]
    assert code in [e["code"] for e in place["_errors"]]
    assert Human(api.wire, "Ana").screen("general") == []


@pytest.mark.parametrize("body", [{}, {"content": ""}, {"content": " \n "}, {"embeds": []}])
async def test_an_empty_message_is_50006(api: Api, body: dict[str, Any]) -> None:
    status, shown = await api.send(body)

    assert (status, shown["code"]) == (400, 50006)


async def test_components_v2_text_beyond_the_hidden_byte_limit_is_a_500(api: Api) -> None:
    status, shown = await api.send({"flags": V2, "components": [text("字" * 3387)]})

    assert (status, shown["code"]) == (500, 0)


async def test_the_v2_flag_cannot_be_taken_away(api: Api) -> None:
    _, sent = await api.send({"flags": V2, "components": [text("a")]})
    path = f"{api.at('general')}/messages/{sent['id']}"

    status, shown = await api("PATCH", path, {"content": "plain", "flags": 0, "components": []})

    assert (status, shown["code"]) == (400, 50035)


async def test_the_same_enforced_nonce_sends_once(api: Api) -> None:
    body = {"content": "once", "nonce": "n1", "enforce_nonce": True}
    _, first = await api.send(body)

    _, second = await api.send({**body, "content": "twice?"})
    _, third = await api.send({**body, "enforce_nonce": False})

    assert (first["id"], second["content"]) == (second["id"], "once")
    assert third["id"] != first["id"]


async def test_an_enforced_nonce_is_forgotten_after_some_minutes(api: Api) -> None:
    body = {"content": "once", "nonce": "n1", "enforce_nonce": True}
    _, first = await api.send(body)

    api.wire.world.clock.advance(301)
    _, second = await api.send(body)

    assert second["id"] != first["id"]


@pytest.mark.parametrize(
    ("count", "size", "status", "code"),
    [
        (1, 10 * 1024 * 1024, 200, None),
        (1, 10 * 1024 * 1024 + 1, 413, 40005),
        (11, 1, 400, 30015),
        (3, 9 * 1024 * 1024, 413, 40005),
    ],
)
async def test_files_have_limits(api: Api, count: int, size: int, status: int, code: int | None) -> None:
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("payload_json", "{}")
    for index in range(count):
        form.add_field(f"files[{index}]", io.BytesIO(b"x" * size), filename=f"{index}.bin")

    async with api.http.post(api.wire.urls.api + api.at("general") + "/messages", data=form) as answer:
        shown = loads(await answer.read())

    assert (answer.status, shown.get("code")) == (status, code)
