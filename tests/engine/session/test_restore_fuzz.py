"""Whatever stands in a store, opening it gives a session or a typed refusal, and a refusal changes nothing
(session spec 5.2, 6.2, 7.3)."""

import asyncio
from dataclasses import replace as altered
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.codec import canonical
from engine.errors import FormatUnsupported, SessionCorrupt
from engine.session import (
    Journal,
    MemoryEventStore,
    Session,
    Sessions,
    StoredEvent,
    StoredSession,
    StrictValidator,
)
from tests.engine.session.build import Ticks, header
from tests.engine.session.formats import rows as old
from tests.engine.session.test_unread import eventful

VALID = [StoredEvent.of(event) for event in eventful().events()]
HEADER = canonical(header().to_wire())


class ProvenStore(MemoryEventStore):
    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> StoredSession:
        return altered(await super().read(session_id, start, stop), proven=True)


def place(store: MemoryEventStore, head: bytes, rows: list[StoredEvent], inherited: int = 0) -> None:
    """Put rows into a store that would not take them: what stands there may be anything."""
    asyncio.run(store.create("s", head, inherited=inherited, parent=None, rows=[]))
    store._sessions["s"].rows.extend(rows)


def outcome(store: MemoryEventStore) -> Session | str:
    """The opened session, read to its end, or the code of its refusal. Everything else is a bug."""

    async def work() -> Session | str:
        before = (await store.read("s")).rows
        journal = Journal(Sessions(validators=[StrictValidator], clock=Ticks()), store, drain_after_s=60)
        try:
            session = await journal.open("s")
            list(session.derive())
            [event.to_wire() for event in session.events()]
        except (SessionCorrupt, FormatUnsupported) as error:
            if not isinstance(store, ProvenStore):  # there the log may open before a lie in it is read
                assert (await store.read("s")).rows == before
            return error.error_code
        return session

    return asyncio.run(work())


def refused(head: bytes, rows: list[StoredEvent]) -> str:
    store = MemoryEventStore()
    place(store, head, rows)
    found = outcome(store)
    assert isinstance(found, str), "this log must not open"
    return found


def with_body(body: bytes, at: int = 0, kind: str = "turn/start") -> list[StoredEvent]:
    return [*VALID[:at], StoredEvent(at, kind, 1, body), *VALID[at + 1 :]]


def test_the_valid_log_opens() -> None:
    for store in (MemoryEventStore(), ProvenStore()):
        place(store, HEADER, VALID)
        assert isinstance(outcome(store), Session)


ENVELOPE = b',"seq":0,"time":1,"type":"turn/start"}'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"{",
        b'{"data":{"turn":1}' + ENVELOPE[:-1],
        b'{"data":' + b"[" * 300 + b"]" * 300 + ENVELOPE,
        b'{"data":' + b"[" * 100_000 + b"]" * 100_000 + ENVELOPE,
        b'{"data":' + b'{"a":' * 600 + b"1" + b"}" * 600 + ENVELOPE,
        b'{"data":{"turn":1,"turn":1}' + ENVELOPE,
        b'{"data":{"turn":1},"data":{"turn":1}' + ENVELOPE,
        b'{"data":{"turn":1,"x":"\\ud800"}' + ENVELOPE,
        b'{"data":{"turn":1,"\\udfff":1}' + ENVELOPE,
        b'{"data":{"turn":1,"x":"\xff"}' + ENVELOPE,
        b'{"data":{"turn":1,"x":9007199254740993}' + ENVELOPE,
        b'{"data":{"turn":1,"x":' + b"9" * 5000 + b"}" + ENVELOPE,
        b'{"data":{"turn":1,"x":1e999}' + ENVELOPE,
        b'{"data":{"turn":1,"x":-0.0}' + ENVELOPE,
        b'{"data":{"turn":1,"x":NaN}' + ENVELOPE,
        b'{"data":{"turn":1},"ignorable":false' + ENVELOPE,
        b'{"data":{"turn":1},"more":1' + ENVELOPE,
        b'{"data":{"turn":true}' + ENVELOPE,
        b'{"data":{"turn":1.0}' + ENVELOPE,
        b'{"data":{"turn":1},"seq":0,"sourceEventSeqs":[],"time":1,"type":"turn/start"}',
        b'{"data":{"turn":1},"seq":-1,"time":1,"type":"turn/start"}',
        b'{"data":{"turn":1},"seq":0,"time":1e30,"type":"turn/start"}',
        b'{"data":{"turn":1},"seq":0,"time":1,"type":7}',
    ],
    ids=lambda body: body[:40].decode(errors="replace"),
)
def test_a_hostile_body_is_refused(body: bytes) -> None:
    assert refused(HEADER, with_body(body)) == "SESSION_CORRUPT"


@pytest.mark.parametrize(
    ("head", "code"),
    [
        (b"", "SESSION_CORRUPT"),
        (b"[]", "SESSION_CORRUPT"),
        (b"null", "SESSION_CORRUPT"),
        (b"[" * 100_000, "SESSION_CORRUPT"),
        (b'{"version":4}', "SESSION_CORRUPT"),
        (canonical({**header().to_wire(), "version": True}), "SESSION_CORRUPT"),
        (canonical({**header().to_wire(), "version": "4"}), "SESSION_CORRUPT"),
        (canonical({**header().to_wire(), "version": 5}), "FORMAT_UNSUPPORTED"),
        (canonical({**header().to_wire(), "version": -3}), "FORMAT_UNSUPPORTED"),
        (canonical({**header().to_wire(), "id": "other"}), "SESSION_CORRUPT"),
        (canonical({**header().to_wire(), "cwd": None}), "SESSION_CORRUPT"),
        (canonical({**header().to_wire(), "isSeeded": True}), "SESSION_CORRUPT"),
        (canonical({**header().to_wire(), "createdAt": -1}), "SESSION_CORRUPT"),
    ],
)
def test_a_hostile_header_is_refused(head: bytes, code: str) -> None:
    assert refused(head, VALID[:3]) == code


def test_a_log_of_another_order_is_refused() -> None:
    for rows in (VALID[1:], [*VALID[:4], *VALID[5:]], [*VALID, VALID[-1]], list(reversed(VALID))):
        assert refused(HEADER, rows) == "SESSION_CORRUPT"


def test_a_required_event_that_nobody_knows_is_unsupported() -> None:
    body = b'{"data":{},"seq":0,"time":1,"type":"future/thing"}'

    assert refused(HEADER, [StoredEvent(0, "future/thing", 1, body)]) == "FORMAT_UNSUPPORTED"


# -- at random ------------------------------------------------------------------------------------------


@st.composite
def damaged(draw: st.DrawFn) -> list[StoredEvent]:
    """The valid log after up to three accidents."""
    rows = list(VALID)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(rows) - 1))
        row = rows[at]
        match draw(st.sampled_from(["flip", "cut", "drop", "double", "swap", "retype", "insert", "end"])):
            case "flip":
                byte = draw(st.integers(0, max(0, len(row.body) - 1)))
                mask = bytes([draw(st.integers(0, 255))])
                rows[at] = row._replace(body=row.body[:byte] + mask + row.body[byte + 1 :])
            case "cut":
                rows[at] = row._replace(body=row.body[: draw(st.integers(0, len(row.body)))])
            case "drop":
                del rows[at]
            case "double":
                rows.insert(at, row)
            case "swap":
                other = draw(st.integers(0, len(rows) - 1))
                rows[at], rows[other] = rows[other], rows[at]
            case "retype":
                rows[at] = row._replace(type=draw(st.sampled_from([r.type for r in VALID])))
            case "insert":
                wild = draw(st.binary(max_size=40) | st.text(max_size=20).map(str.encode))
                body = row.body.replace(b'"data":{', b'"data":{' + wild, 1)
                rows[at] = row._replace(body=body)
            case "end":
                del rows[at:]
        if not rows:
            return rows
    return rows


@settings(max_examples=300, deadline=None)
@given(damaged())
def test_a_damaged_log_opens_or_is_refused(rows: list[StoredEvent]) -> None:
    for store in (MemoryEventStore(), ProvenStore()):
        place(store, HEADER, rows)
        outcome(store)


wild_json = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.sampled_from(["", "user", "append", "turn/start"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "turn",
                    "step",
                    "message",
                    "content",
                    "source",
                    "kind",
                    "type",
                    "id",
                    "role",
                    "callId",
                    "data",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(VALID) - 1), wild_json, st.sampled_from([row.type for row in VALID]))
def test_any_data_under_any_type_opens_or_is_refused(at: int, data: Any, kind: str) -> None:
    wire: dict[str, Any] = {"type": kind, "seq": at, "time": 1, "data": data}
    if kind in ("user/message", "assistant/message", "tool/result", "system/message"):
        wire["surfaceOp"] = "append"
    rows = [*VALID[:at], StoredEvent(at, kind, 1, canonical(wire)), *VALID[at + 1 :]]
    for store in (MemoryEventStore(), ProvenStore()):
        place(store, HEADER, rows)
        outcome(store)


STORY = old.log(
    *old.START,
    old.request("P"),
    ("user/message", old.user("u"), old.APPEND),
    ("assistant/message", {**old.answer("a"), "stream": []}, old.APPEND),
    ("session/title", {"title": "T", "messageSeqs": [3], "source": {"kind": "model"}}),
    *old.END,
)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 3), st.integers(0, len(STORY) - 1), wild_json, st.booleans())
def test_an_old_log_with_anything_in_it_opens_or_is_refused(
    version: int, at: int, wild: Any, whole: bool
) -> None:
    broken = wild if whole else {**STORY[at], "data": wild}
    rows = [*STORY[:at], broken, *STORY[at + 1 :]]
    store = MemoryEventStore()
    stored = [StoredEvent(seq, "x", 1, canonical(row)) for seq, row in enumerate(rows)]
    place(store, canonical(old.header(version)), stored)
    outcome(store)
