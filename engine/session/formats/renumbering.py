"""A new log being written from an old one, with the references between its events moved along.

Source: session spec 5.2 (references renumbered), 1.2, 1.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from engine.session.formats.log import Wire, is_interpreted, unsupported

__all__ = ["Renumbering"]

Move = Callable[[Any], Any]


class Renumbering:
    """The events of the new log. Events that are kept get the next seq; so do those that a step adds.

    A reference to an event that was not kept refuses the log: it would point at something else.
    """

    def __init__(self) -> None:
        self.events: list[Wire] = []
        self._moved: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.events)

    def keep(self, event: Wire) -> int:
        """Take an event of the old log over; the references in it move along. Its new seq."""
        seq = len(self.events)
        self._moved[event["seq"]] = seq
        moved = {**event, "seq": seq, "data": self._moved_data(event)}
        if is_interpreted(event):
            if "sourceEventSeqs" in event:
                moved["sourceEventSeqs"] = self._all(event["sourceEventSeqs"])
            if isinstance(event.get("surfaceOp"), Mapping):
                moved["surfaceOp"] = self._ends(event["surfaceOp"])
        self.events.append(moved)
        return seq

    def add(self, event: Wire) -> int:
        """Write an event that the old log has not; the references in it are new seqs. Its seq."""
        seq = len(self.events)
        self.events.append({**event, "seq": seq})
        return seq

    def _moved_data(self, event: Wire) -> Any:
        fields = _REFERENCES.get(event["type"])
        if fields is None:
            return event["data"]
        data = dict(event["data"])
        for name, shape in fields.items():
            if name in data:
                data[name] = getattr(self, shape)(data[name])
        return data

    def _one(self, seq: Any) -> int:
        moved = self._moved.get(seq) if type(seq) is int else None
        if moved is None:
            unsupported(f"a reference names event {seq}, which the newer format has no place for")
        return moved

    def _all(self, seqs: Sequence[Any]) -> list[int]:
        return [self._one(seq) for seq in seqs]

    def _ends(self, span: Wire) -> Wire:
        return {key: self._one(value) if key in _ENDS else value for key, value in span.items()}

    def _targets(self, targets: Sequence[Wire]) -> list[Wire]:
        return [{**target, "seq": self._one(target["seq"])} for target in targets]


_ENDS: Final = frozenset({"start", "end", "startSeq", "endSeq"})

_SHADOW: Final = {"shadowedRange": "_ends", "shadowedSeqs": "_all"}

_REFERENCES: Final[Mapping[str, Mapping[str, str]]] = {
    "command/done": {"sourceEventSeq": "_one"},
    "compaction/prune": _SHADOW,
    "compaction/summary": _SHADOW,
    "image/offload": {"targets": "_targets"},
    "session/title": {"messageSeqs": "_all"},
    "session/title-llm-request": {"messageSeqs": "_all"},
}
"""Where the data of an event names other events of its log, and in which form."""
