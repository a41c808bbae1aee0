"""Format 1 to 2: the chunks of a stream move into the event that settles it.

An `assistant/message` takes over the chunks that it cites; chunks that no message cites become an
`assistant/attempt` where the last of them stood. A forked log gets the marker of its cut.
Source: session spec 5.2, 1.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from engine.session.formats.interrupted import interrupted_turns
from engine.session.formats.log import Log, Wire, check_types, unsupported
from engine.session.formats.renumbering import Renumbering
from engine.session.streams import StreamRecorder

__all__ = ["upgrade"]


def upgrade(log: Log) -> Log:
    """Raises FormatUnsupported when a reference names a chunk, or the cut of a fork splits a stream."""
    check_types(log, ignorable_pass=False)
    folding = _Folding(log)
    ends = interrupted_turns(log.events)
    for event in log.events:
        if event["seq"] in ends:
            folding.settle()
            folding.add(event["seq"], ends[event["seq"]])
        folding.take(event)
    return folding.finish()


_SETTLING: Final = frozenset({"turn/end", "step/end", "llm/retry", "llm/retry-started"})


@dataclass(slots=True)
class _Attempt:
    """A stream that is not settled yet, and the events that came between its chunks and its settlement."""

    turn: Any
    step: Any
    recorder: StreamRecorder = field(default_factory=StreamRecorder)
    chunks: list[Wire] = field(default_factory=list)
    waiting: list[Wire] = field(default_factory=list)
    finished: bool = False


class _Folding:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._out = Renumbering()
        self._attempt: _Attempt | None = None
        self._cut: int | None = None if log.header["isSeeded"] else 0
        self._last_time: Any = log.header["createdAt"]

    def take(self, event: Wire) -> None:
        self._last_time = event["time"]
        if event["type"] == "assistant/chunk":
            self._chunk(event)
        elif event["type"] == "assistant/message":
            self._message(event)
        elif event["type"] in _SETTLING:
            self.settle()
            self._keep(event)
        elif self._attempt is not None:
            self._attempt.waiting.append(event)
        else:
            self._keep(event)

    def add(self, origin: int, event: Wire) -> None:
        """Write an event that stands for what happened at `origin`."""
        self._mark_cut(origin, event)
        self._out.add(event)

    def settle(self) -> None:
        """What is under way ended without a message: it becomes an attempt."""
        attempt, self._attempt = self._attempt, None
        if attempt is None:
            return
        last = attempt.chunks[-1]
        data = {"turn": attempt.turn, "step": attempt.step, "stream": attempt.recorder.records()}
        self.add(last["seq"], {"type": "assistant/attempt", "time": last["time"], "data": data})
        for event in attempt.waiting:
            self._keep(event)

    def finish(self) -> Log:
        self.settle()
        if self._cut is None:
            self._cut = len(self._out)
            self._out.add(_marker(self._last_time))
        return Log({**self._log.header, "version": 2}, self._cut, self._out.events)

    def _chunk(self, event: Wire) -> None:
        where = (event["data"]["turn"], event["data"]["step"])
        attempt = self._attempt
        if attempt is not None and (attempt.finished or (attempt.turn, attempt.step) != where):
            self.settle()
            attempt = None
        if attempt is None:
            attempt = self._attempt = _Attempt(*where)
        self._release(attempt)
        self._check_whole(attempt, event)
        attempt.chunks.append(event)
        attempt.recorder.add(event["time"], event["data"]["chunk"])
        attempt.finished = event["data"]["chunk"]["type"] == "finish"

    def _message(self, event: Wire) -> None:
        data, cited = event["data"], event.get("sourceEventSeqs")
        attempt = self._attempt
        if attempt is not None and (attempt.turn, attempt.step) != (data["turn"], data["step"]):
            self.settle()
            attempt = None
        elif not cited:
            if attempt is not None and cited is None:
                unsupported(f"the assistant/message at {event['seq']} does not cite its chunks")
            self.settle()
            attempt = None
        elif attempt is None or [chunk["seq"] for chunk in attempt.chunks] != list(cited):
            unsupported(f"the assistant/message at {event['seq']} does not cite one whole stream")
        stream: list[Any] = []
        if attempt is not None:
            self._check_whole(attempt, event)
            self._release(attempt)
            stream = attempt.recorder.records()
            self._attempt = None
        message = {key: value for key, value in event.items() if key != "sourceEventSeqs"}
        self._keep({**message, "data": {**data, "stream": stream}})

    def _release(self, attempt: _Attempt) -> None:
        """What came between the chunks keeps its order before their settlement."""
        for event in attempt.waiting:
            self._keep(event)
        attempt.waiting.clear()

    def _check_whole(self, attempt: _Attempt, event: Wire) -> None:
        first = attempt.chunks[0]["seq"] if attempt.chunks else event["seq"]
        if first < self._log.inherited <= event["seq"]:
            unsupported("the cut of the fork splits a stream")

    def _keep(self, event: Wire) -> None:
        at_cut = self._log.header["isSeeded"] and event["seq"] == self._log.inherited
        if at_cut and event["type"] == "session/end-seed":
            event = {**event, "data": {"inherited": True}}
        self._mark_cut(event["seq"], event)
        self._out.keep(event)

    def _mark_cut(self, origin: int, event: Wire) -> None:
        """The first event of the child's own has the marker before it, unless it is the marker."""
        if self._cut is not None or origin < self._log.inherited:
            return
        self._cut = len(self._out)
        if not (origin == self._log.inherited and event["type"] == "session/end-seed"):
            self._out.add(_marker(event["time"]))


def _marker(time: Any) -> Mapping[str, Any]:
    return {"type": "session/end-seed", "time": time, "data": {"inherited": True}}
