"""Given the tables of what a chat platform needs, when they are written, then their fences hold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.errors import Conflict
from engine.storage import Store, Write


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "discord.db") as opened:
        yield opened


def took(message_id: int) -> Write:
    params = {
        "message_id": message_id,
        "channel_id": 7,
        "play_id": "p",
        "session_id": None,
        "key": f"discord:7:{message_id}",
        "now": 1,
    }
    return Write("intake_take", params)


async def test_a_message_is_taken_in_once(store: Store) -> None:
    assert await store.commit(took(10)) == [1]
    assert await store.commit(took(10)) == [0]


async def test_what_was_not_answered_is_listed_in_the_order_of_writing(store: Store) -> None:
    for message_id in (12, 10, 11):
        await store.commit(took(message_id))
    params = {"message_id": 10, "session_id": None, "now": 2}
    await store.commit(Write("intake_state", {**params, "state": "accepted"}))
    await store.commit(Write("intake_state", {**params, "state": "accepted"}))
    row = await store.fetch_one("intake_by_key", key="discord:7:10")
    assert row is not None and (row["state"], row["attempts"]) == ("accepted", 2)
    await store.commit(Write("intake_state", {**params, "state": "done"}))
    assert [row["message_id"] for row in await store.fetch("intake_waiting", channel_id=7)] == [11, 12]
    assert [row["message_id"] for row in await store.fetch("intake_open")] == [11, 12]


async def test_a_cursor_never_goes_back(store: Store) -> None:
    for last_seen in (50, 70, 60):
        await store.commit(Write("cursor_advance", {"channel_id": 7, "last_seen": last_seen, "now": 1}))
    row = await store.fetch_one("cursor_get", channel_id=7)
    assert row is not None and row["last_seen"] == 70


async def test_a_channel_stands_for_one_story(store: Store) -> None:
    for play_id in ("p", "q"):
        await store.commit(
            Write("binding_put", {"channel_id": 7, "play_id": play_id, "guild_id": 1, "now": 1})
        )
    assert [(row["channel_id"], row["play_id"]) for row in await store.fetch("binding_all")] == [(7, "q")]
    await store.commit(Write("binding_drop", {"channel_id": 7}))
    assert await store.fetch_one("binding_of_channel", channel_id=7) is None


async def test_a_server_setting_is_replaced_and_dropped(store: Store) -> None:
    for value in ('"en"', '"zh"'):
        await store.commit(
            Write("guild_setting_put", {"guild_id": 1, "key": "language", "value": value, "now": 1})
        )
    assert [row["value"] for row in await store.fetch("guild_settings", guild_id=1)] == ['"zh"']
    await store.commit(Write("guild_setting_drop", {"guild_id": 1, "key": "language"}))
    assert await store.fetch_one("guild_setting_get", guild_id=1, key="language") is None


async def test_a_part_of_an_answer_has_one_message_at_a_time(store: Store) -> None:
    plan = {
        "spot": "s",
        "play_id": "p",
        "node_id": None,
        "variant_id": None,
        "session_id": "x",
        "turn": 1,
        "part": 0,
        "kind": "answer",
        "channel_id": 7,
        "now": 1,
    }
    await store.commit(Write("post_plan", {**plan, "nonce": "a"}))
    with pytest.raises(Conflict):
        await store.commit(Write("post_plan", {**plan, "nonce": "b"}))
    await store.commit(Write("post_deleted", {"nonce": "a", "now": 2}))
    assert await store.commit(Write("post_plan", {**plan, "nonce": "b"})) == [1]
