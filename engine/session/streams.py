"""Embedded stream records: a model stream packed into its settlement event, without loss.

Adjacent deltas of one kind become a run with their time gaps; everything else is stored as it came.
Source: session spec 1.5, 11; seed 002, 2.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from engine.codec import Json

__all__ = ["Record", "StreamRecorder", "expand", "joined_text", "record"]

Record: TypeAlias = dict[str, Any]

_RUN_OF: Final = {
    "text-delta": ("text-chunks", "texts", "text"),
    "reasoning-delta": ("reasoning-chunks", "texts", "text"),
    "tool-call-delta": ("tool-call-chunks", "args", "argumentsDelta"),
}
_DELTA_OF: Final = {run: (delta, many, one) for delta, (run, many, one) in _RUN_OF.items()}
_KEYS: Final = {
    "text-delta": ({"type", "index", "text"},),
    "reasoning-delta": ({"type", "index", "text"},),
    "tool-call-delta": (
        {"type", "index", "id", "argumentsDelta"},
        {"type", "index", "id", "name", "argumentsDelta"},
    ),
}


class StreamRecorder:
    """Packs timed chunks as they arrive. `records()` may be read at any time."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._last_time = 0

    def add(self, time: int, chunk: Mapping[str, Any]) -> None:
        """Record one chunk. `time` is in milliseconds since the epoch and may go backwards."""
        run = _run_start(time, chunk)
        if run is None:
            self._records.append({"type": "chunk", "time": time, "chunk": chunk})
            return
        many = _DELTA_OF[run["type"]][1]
        last = self._records[-1] if self._records else None
        if last is not None and _continues(last, run):
            last["dt"].append(time - self._last_time)
            last[many].extend(run[many])
        else:
            self._records.append(run)
        self._last_time = time

    def records(self) -> list[Record]:
        """The records so far, detached from the recorder: the `stream` of a settlement event."""
        return [
            {key: list(value) if isinstance(value, list) else value for key, value in entry.items()}
            for entry in self._records
        ]


def record(chunks: Iterable[tuple[int, Mapping[str, Any]]]) -> list[Record]:
    """The records of a whole stream of `(time, chunk)`."""
    recorder = StreamRecorder()
    for time, chunk in chunks:
        recorder.add(time, chunk)
    return recorder.records()


def expand(records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, Json]]:
    """The `(time, chunk)` pairs that were recorded, exactly."""
    for entry in records:
        if entry["type"] == "chunk":
            yield entry["time"], entry["chunk"]
        else:
            yield from _expand_run(entry)


def joined_text(chunks: Iterable[Mapping[str, Any]]) -> str:
    """Every text delta of a stream, as it was delivered, before any block was corrected at its end."""
    return "".join(chunk["text"] for chunk in chunks if chunk["type"] == "text-delta")


def _run_start(time: int, chunk: Mapping[str, Any]) -> Record | None:
    """A run of this one delta, or None when the chunk must be stored raw to come back the same."""
    kind = chunk["type"]
    if kind not in _RUN_OF or chunk.keys() not in _KEYS[kind]:
        return None
    run, many, one = _RUN_OF[kind]
    entry: Record = {"type": run, "time0": time, "index": chunk["index"], "dt": []}
    if kind == "tool-call-delta":
        if not chunk["id"] or ("name" in chunk and not chunk["name"]):
            return None
        entry["id"] = chunk["id"]
        if "name" in chunk:
            entry["name"] = chunk["name"]
    entry[many] = [chunk[one]]
    return entry


def _continues(last: Record, run: Record) -> bool:
    return all(last.get(key) == run.get(key) for key in ("type", "index", "id", "name"))


def _expand_run(entry: Mapping[str, Any]) -> Iterator[tuple[int, Json]]:
    delta, many, one = _DELTA_OF[entry["type"]]
    members: Sequence[Any] = entry[many]
    time = entry["time0"]
    for position, member in enumerate(members):
        if position:
            time += entry["dt"][position - 1]
        chunk: dict[str, Any] = {"type": delta, "index": entry["index"]}
        for key in ("id", "name"):
            if key in entry:
                chunk[key] = entry[key]
        chunk[one] = member
        yield time, chunk
