"""Stored rows of any format become whole events: packed rows are unpacked, ranges of seqs spelled out.

Source: session spec 1.5, 5.2, 7.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from engine.errors import SessionCorrupt
from engine.session import seqranges
from engine.session.formats.log import Log, Wire, is_interpreted
from engine.session.frozen import is_seq
from engine.session.streams import expand

__all__ = ["plain_header", "read_physical"]

_PACKED: Final = frozenset({"text-chunks", "reasoning-chunks", "tool-call-chunks"})
_LONGEST_RUN: Final = 100_000
"""Chunks in one packed row: more than a model ever writes at once, so more is damage."""

FIRST_MARKED: Final = 2
"""From this format on a marker event shows the inherited cut; before, the header counts it."""


def plain_header(header: Wire) -> dict[str, Any]:
    """A stored header without what only its place in a file gave it."""
    plain = {name: value for name, value in header.items() if name not in ("type", "seedLength")}
    if header["version"] < FIRST_MARKED:
        plain["isSeeded"] = "seedLength" in header
    return plain


def read_physical(header: Wire, rows: Iterable[Wire]) -> Log:
    """The log of a stored header and its rows. Raises SessionCorrupt for what cannot be a row."""
    plain = plain_header(header)
    events = list(_events(rows, packed=header["version"] < FIRST_MARKED))
    if header["version"] >= FIRST_MARKED:
        return Log(plain, _marked_cut(events), events)
    length = header.get("seedLength")
    if length is not None and (not is_seq(length) or length > len(events)):
        raise SessionCorrupt("seedLength is no length of the log's start", category="header")
    return Log(plain, length or 0, events)


def _events(rows: Iterable[Wire], *, packed: bool) -> Iterator[Wire]:
    expected = 0
    for row in rows:
        if not isinstance(row, Mapping):
            raise SessionCorrupt("a row is no object", category="envelope")
        for event in _unpacked(row) if packed and row.get("type") in _PACKED else (_spelled_out(row),):
            if event.get("seq") != expected:
                raise SessionCorrupt(f"event {expected} is missing", category="seq", seq=expected)
            expected += 1
            yield event


def _spelled_out(row: Wire) -> Wire:
    if "sourceEventSeqs" not in row or not is_interpreted(row):
        return row
    return {**row, "sourceEventSeqs": seqranges.decode(row["sourceEventSeqs"])}


def _unpacked(row: Wire) -> Iterator[Wire]:
    """The `assistant/chunk` events that formats 0 and 1 packed into one row."""
    data = row["data"]
    record: dict[str, Any] = {**data, "type": row["type"], "time0": row["time0"]}
    members = data.get("texts", data.get("args"))
    if len(members) > _LONGEST_RUN or len(data["dt"]) != len(members) - 1:
        raise SessionCorrupt("a packed row is malformed", category="envelope")
    where = {"turn": data["turn"], "step": data["step"]}
    for offset, (time, chunk) in enumerate(expand([record])):
        yield {
            "type": "assistant/chunk",
            "seq": row["seq0"] + offset,
            "time": time,
            "data": {**where, "chunk": chunk},
        }


def _marked_cut(events: Iterable[Wire]) -> int:
    cut: int = 0
    for event in events:
        if event.get("type") == "session/end-seed" and event["data"] == {"inherited": True}:
            cut = event["seq"]
    return cut
