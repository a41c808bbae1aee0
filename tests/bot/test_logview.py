"""`bot log`: a session as people read it and as it is stored."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import logview
from bot.logline import describe, line, one_line
from bot.settings import Settings
from engine.session import Event, Journal, Sessions, freeze, user_message
from engine.storage import EventTable, Store


def event(type: str, data: Mapping[str, Any], seq: int = 7, **envelope: Any) -> Event:
    return Event(type, seq, 1_700_000_000_123, freeze(data), **envelope)


def message(role: str, text: str, **source: Any) -> dict[str, Any]:
    return {"id": "m", "role": role, "content": [{"type": "text", "text": text}], "source": source}


# --- one event


@pytest.mark.parametrize(
    ("type", "data", "expected"),
    [
        ("turn/start", {"turn": 3}, "3"),
        ("turn/end", {"turn": 3, "reason": {"kind": "completed"}}, "3 completed"),
        (
            "turn/end",
            {"turn": 3, "reason": {"kind": "aborted", "reason": {"kind": "user"}}},
            "3 aborted (user)",
        ),
        (
            "turn/end",
            {"turn": 3, "reason": {"kind": "error", "error": {"code": "AUTH", "message": "no key"}}},
            "3 error AUTH: no key",
        ),
        ("step/start", {"turn": 3, "step": 1}, "3.1"),
        ("user/message", message("user", "Ana: hello\nthere", kind="user"), "Ana: hello⏎there"),
        (
            "user/message",
            message("user", "It rains.", kind="runtime-context"),
            "(runtime-context) It rains.",
        ),
        (
            "assistant/message",
            {
                "turn": 1,
                "step": 1,
                "stream": [],
                "message": message("assistant", "Hi", kind="model", provider="p", model="m"),
                "usage": {"inputTokens": 12, "outputTokens": 3},
                "interrupted": True,
            },
            "Hi [12 → 3 tokens] [interrupted]",
        ),
        (
            "assistant/attempt",
            {
                "turn": 1,
                "step": 1,
                "stream": [
                    {"type": "text-chunks", "time0": 1, "index": 0, "dt": [5], "texts": ["doo", "med"]},
                    {
                        "type": "chunk",
                        "time": 2,
                        "chunk": {
                            "type": "finish",
                            "reason": {"kind": "error", "failure": {"code": "SERVER", "message": "down"}},
                        },
                    },
                ],
            },
            "error SERVER: down doomed",
        ),
        ("assistant/attempt", {"turn": 1, "step": 1, "stream": []}, "cut off"),
        (
            "agent/inbox/spliced",
            {"target": "next-turn", "start": 0, "inserted": [message("user", "Ana: hi", kind="user")]},
            "next-turn: takes “Ana: hi”",
        ),
        (
            "agent/inbox/spliced",
            {"target": "next-turn", "start": 0, "inserted": [], "removedCount": 2},
            "next-turn: claims 2 at 0",
        ),
        (
            "agent/inbox/spliced",
            {"target": "next-turn", "start": 1, "inserted": [], "removedCount": 1, "outcome": "canceled"},
            "next-turn: cancels 1 at 1",
        ),
        (
            "request/header",
            {
                "header": {"config": {"provider": "openai", "model": "m", "temperature": 0.7}},
                "reason": "initial",
            },
            "initial: openai/m, temperature 0.7",
        ),
        (
            "developer/message",
            {
                "turn": 1,
                "step": 1,
                "headerSeq": 4,
                "message": {
                    "id": "d",
                    "role": "developer",
                    "source": {"kind": "tool-registry"},
                    "content": [
                        {"type": "tool-removal", "toolName": "dice"},
                        {"type": "tool-addition", "toolName": "map"},
                    ],
                },
            },
            "(tool-registry) -dice +map",
        ),
        (
            "plugin:tavern/parameters",
            {
                "turn": 1,
                "step": 1,
                "provider": "openai",
                "model": "m",
                "requested": {"temperature": 1.4, "stop": ["X"]},
                "effective": {"stop": ["X"], "maxTokens": 99},
                "omitted": {"temperature": "refused"},
                "filled": ["maxTokens"],
            },
            "asked for temperature 1.4, stop ['X']; sent stop ['X'], maxTokens 99; "
            "without temperature (refused)",
        ),
        (
            "request/context",
            {"provider": "openai", "model": "m", "contextWindow": 8192},
            "openai/m, window 8192",
        ),
        (
            "request/assembly",
            {
                "messages": [{}, {}],
                "metadata": {
                    "strategy": {"id": "st", "name": "Mine", "revision": "r"},
                    "extraBytes": 812,
                    "historyPolicy": {"decisions": [{"action": "edit"}, {"action": "keep"}]},
                },
            },
            "“Mine”: 2 messages, 812 bytes added, 1 old messages cut or left out",
        ),
        (
            "plugin:tavern/request",
            {
                "version": 1,
                "cut": 9,
                "messagesHash": "0123456789abcdef",
                "strategy": {"id": "st", "name": "Mine", "revision": "r"},
                "sources": [{}, {}],
                "private": [],
            },
            "“Mine”: 2 parts known, messages 0123456789ab",
        ),
        (
            "llm/retry",
            {"retry": 2, "delayMs": 1000, "failure": {"code": "RATE_LIMIT", "message": "slow down"}},
            "number 2 in 1000 ms after RATE_LIMIT: slow down",
        ),
        ("plugin:bot/seen", {"b": 1, "a": [2]}, '{"a":[2],"b":1}'),
        ("turn/start", {"unexpected": 1}, '{"unexpected":1}'),
    ],
)
def test_an_event_in_words(type: str, data: dict[str, Any], expected: str) -> None:
    assert describe(event(type, data)) == expected


def test_a_replacement_names_what_it_replaces() -> None:
    shadow = event(
        "user/message",
        message("user", "summary", kind="compact-checkpoint"),
        surface_op=freeze({"op": "replace", "startSeq": 2, "endSeq": 5}),
    )

    assert describe(shadow) == "(compact-checkpoint) summary [replaces 2–5]"


def test_a_line_has_seq_time_type_and_content_in_columns() -> None:
    assert line(event("turn/start", {"turn": 3}), zone=UTC) == "    7  22:13:20.123  turn/start           3"


def test_what_a_fork_inherited_is_marked() -> None:
    assert line(event("turn/start", {"turn": 3}), inherited=True).startswith("    7↑ ")


def test_a_line_is_cut_to_the_width() -> None:
    long = event("user/message", message("user", "x" * 500, kind="user"))

    assert len(line(long, width=80)) == 80
    assert line(long, width=80).endswith("…")


@given(st.text())
def test_no_text_can_break_the_line_or_steer_the_terminal(text: str) -> None:
    shown = one_line(text)
    assert len(shown.splitlines()) <= 1
    assert "\x1b" not in shown


# --- a whole session


async def story(path: Path) -> None:
    """A database with session `s`, which was cut off in a turn, and its fork `t`."""
    async with await Store.open(path) as store:
        journal = Journal(Sessions(), EventTable(store))
        session = await journal.create("s")
        session.append("turn/start", {"turn": 1})
        session.append("step/start", {"turn": 1, "step": 1})
        session.append("user/message", user_message("m", "Ana: hello", {"kind": "user"}), surface_op="append")
        await journal.flush("s")
        await journal.fork("s", 0, "t")
        await journal.aclose()


async def test_a_session_is_printed_for_people(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    await story(settings.storage.path)

    assert await logview.run(settings, "s", as_json=False) == 0

    title, *events, last = capsys.readouterr().out.splitlines()
    assert title.startswith("session s · format 4 · begun ")
    assert title.endswith(" · 3 events")
    assert [row.split(maxsplit=3)[::2] for row in events] == [
        ["0", "turn/start"],
        ["1", "step/start"],
        ["2", "user/message"],
    ]
    assert events[2].endswith("Ana: hello")
    assert last == "The last turn is open: opening the session writes step/end, turn/end (interrupted)."


async def test_a_fork_says_where_it_comes_from(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    await story(settings.storage.path)

    assert await logview.run(settings, "t", as_json=False) == 0

    title, first = capsys.readouterr().out.splitlines()[:2]
    assert title.endswith(" · forked from s after event 0")
    assert first.startswith("    0↑ ")


async def test_as_json_it_is_what_is_stored(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    await story(settings.storage.path)

    assert await logview.run(settings, "s", as_json=True) == 0

    async with await Store.open(settings.storage.path) as store:
        stored = await EventTable(store).read("s")
    assert capsys.readouterr().out.encode() == b"".join(row.body + b"\n" for row in stored.rows)


async def test_it_can_be_read_while_the_bot_is_running(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    await story(settings.storage.path)

    async with await Store.open(settings.storage.path):  # as the bot holds it
        assert await logview.run(settings, "s", as_json=True) == 0

    assert len(capsys.readouterr().out.splitlines()) == 3


async def test_an_unknown_session_is_one_line(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    await story(settings.storage.path)

    assert await logview.run(settings, "none", as_json=False) == 1

    assert capsys.readouterr() == ("", "inglenook: There is no session none.\n")


async def test_without_a_database_none_is_made(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await logview.run(settings, "s", as_json=False) == 1

    assert capsys.readouterr().err == f"inglenook: There is no database at {settings.storage.path}.\n"
    assert list(settings.storage.path.parent.iterdir()) == []


async def test_words_are_cut_to_a_terminal_only(settings: Settings) -> None:
    await story(settings.storage.path)
    async with await Store.open(settings.storage.path) as store:
        stored = await EventTable(store).read("s")
    out = io.StringIO()

    logview.write("s", stored, out, as_json=False)

    assert "…" not in out.getvalue()


def test_what_was_shown_is_named() -> None:
    picture = {"type": "image", "attachment": {"attachmentId": "a", "name": "cat.png"}}
    said = message("user", "Ana: Look.", kind="user")
    said |= {"content": [*said["content"], picture, picture | {"offloaded": True}, {"type": "odd"}]}
    shown = "Ana: Look. [image: cat.png] [image: cat.png, offloaded] [odd]"
    assert describe(event("user/message", said)) == shown


def test_what_scripts_did_is_one_line() -> None:
    record = {
        "messages": [{"id": "k1", "scripts": ["quotes", "ooc"]}, {"id": "k2", "scripts": []}],
        "problems": [{"script": "slow", "code": "PATTERN_TIMEOUT"}],
        "ms": 31,
    }
    shown = "k1: quotes, ooc; slow failed (PATTERN_TIMEOUT) in 31 ms"
    assert describe(event("plugin:tavern/scripts", record)) == shown
