"""The surface: which events make the model's history now, in which order, and what they say.

Every event is first planned (all checks, no change) and then applied. Source: session spec 3, 4;
seed 002, 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from engine.errors import AppendRefused, SessionError
from engine.session.consistency import blocks_of, message_of
from engine.session.event import Event
from engine.session.frozen import FrozenDict, freeze, is_seq
from engine.session.messages import Message
from engine.session.projections import History, Projection, Projections
from engine.session.view import View
from engine.session.vocabulary import KNOWN_TYPES, LOG_ONLY_TYPES, PROJECTION_TYPES, SURFACE_TYPES

__all__ = ["Plan", "Surface", "is_append_event", "is_replacement_event", "is_surface_event"]

_REPLACE_KEYS: Final = {"op", "startSeq", "endSeq"}
_PLAIN: Final = LOG_ONLY_TYPES - PROJECTION_TYPES
"""Types that change nothing but the log, unless somebody registers a projection for one."""

_SILENT_WHEN_EMPTY: Final = frozenset({"system/message", "developer/message", "assistant/message"})

Plan = Callable[[], None]
"""What to do once the event is in the log. It cannot fail."""


def is_surface_event(event: Event) -> bool:
    """Whether the event makes a node of the surface."""
    return event.type in SURFACE_TYPES


def is_append_event(event: Event) -> bool:
    """Whether the event came as an appended message: what a person's transcript shows, shadowed or not."""
    return event.type in SURFACE_TYPES and event.surface_op == "append"


def is_replacement_event(event: Event) -> bool:
    """Whether the event stands in for others in the model's history. A transcript leaves it out."""
    return event.type in SURFACE_TYPES and event.surface_op != "append"


class Surface:
    """The current nodes of one session and their messages.

    `nodes` are seqs in the order of the model's history, which need not be numeric. A replacement raises
    both generations, a message projection only `content_generation`, an append none. Reading raises
    SessionError(category='projection-unloaded') while an interpreter that was used is not in force.
    """

    __slots__ = (
        "_content_generation",
        "_log",
        "_messages",
        "_nodes",
        "_projected",
        "_projections",
        "_replace_generation",
        "_used",
    )

    def __init__(self, log: list[Event], projections: Projections) -> None:
        self._log = log
        self._projections = projections
        self._nodes: list[int] = []
        # One for each node from the first on, as far as somebody looked; None derives to nothing.
        self._messages: list[Message | None] = []
        self._projected: dict[int, Message] = {}
        self._used: dict[str, Projection] = {}
        self._replace_generation = 0
        self._content_generation = 0

    @property
    def nodes(self) -> Sequence[int]:
        """The current nodes. The view that is handed out does not change later."""
        self.check_readable()
        return View(self._nodes)

    @property
    def replace_generation(self) -> int:
        """How often nodes were replaced."""
        self.check_readable()
        return self._replace_generation

    @property
    def content_generation(self) -> int:
        """How often anything but an append changed the history: a replacement or a projection."""
        self.check_readable()
        return self._content_generation

    @property
    def has_system_head(self) -> bool:
        """Whether node 0 is a system message, which only another one may replace."""
        return bool(self._nodes) and self._log[self._nodes[0]].type == "system/message"

    @property
    def log(self) -> Sequence[Event]:
        """The session's events, as they are now."""
        return View(self._log)

    def node_messages(self, start: int = 0) -> Sequence[Message | None]:
        """The messages of the nodes from position `start` on; None where a node says nothing."""
        self.check_readable()
        return View(self._spoken_so_far(), start)

    def message(self, event: Event) -> Message | None:
        """What this event says to the model, if anything, whether it is still a node or not."""
        self.check_readable()
        return self._projected.get(event.seq) or _spoken(event)

    def span(self, start_seq: int, end_seq: int) -> Sequence[int] | None:
        """The current nodes from one to the other, both included; None unless both are nodes in order."""
        try:
            start, end = self._nodes.index(start_seq), self._nodes.index(end_seq)
        except ValueError:
            return None
        return self._nodes[start : end + 1] if start <= end else None

    def check_readable(self) -> None:
        """Raises SessionError when a used interpreter was taken out or exchanged."""
        for event_type, projection in self._used.items():
            if self._projections.get(event_type) is not projection:
                raise SessionError(
                    f"the message projection {event_type} is not loaded any more",
                    code="PROJECTION_UNLOADED",
                    category="projection-unloaded",
                )

    # -- admission ------------------------------------------------------------------------------

    def plan(self, event: Event) -> Plan | None:
        """Check that the event may follow the log, and hand out how to apply it, if it changes anything.

        Raises AppendRefused with the category of the first rule that is broken (session spec 2, position 6).
        """
        if self._used:
            self._check_interpreters()
        if event.seq != len(self._log):
            _refuse("seq", f"seq {event.seq} does not continue a log of {len(self._log)}")
        if event.type in SURFACE_TYPES:
            return self._plan_message(event)
        _check_log_only(event)
        projection = self._projections.get(event.type)
        if projection is not None:
            return self._plan_projection(event, projection)
        if event.type in PROJECTION_TYPES:
            _refuse("projection-missing", f"{event.type} needs its interpreter")
        return None

    def _check_interpreters(self) -> None:
        try:
            self.check_readable()
        except SessionError as error:
            raise AppendRefused(error.message, category="projection-unloaded") from error

    def _plan_message(self, event: Event) -> Plan:
        op = event.surface_op
        if op is None:
            _refuse("surface-op-required", f"{event.type} makes a message and needs a surfaceOp")
        replaces = op != "append"
        if replaces:
            _check_replace_shape(event, op)
        if event.source_event_seqs is not None:
            _check_sources(event)
        if event.type == "developer/message":
            _check_header_reference(event, self._log)
        if not replaces:
            return lambda: self._append(event)
        start, end = self._locate(op["startSeq"], op["endSeq"])
        shadowed = self._nodes[start : end + 1]
        missing = set(shadowed).difference(event.source_event_seqs or ())
        if missing:
            _refuse("replace-coverage", f"sourceEventSeqs lack the shadowed nodes {sorted(missing)}")
        if event.type == "tool/result":
            self._check_rewrite(event, shadowed)
        if start == 0 and self.has_system_head and not (event.type == "system/message" and end == 0):
            _refuse("system-head-protected", "only a system/message over exactly node 0 may replace it")
        return lambda: self._replace(event, start, end)

    def _locate(self, start_seq: int, end_seq: int) -> tuple[int, int]:
        positions = []
        for seq in (start_seq, end_seq):
            try:
                positions.append(self._nodes.index(seq))
            except ValueError:
                _refuse("replace-endpoint-not-current", f"seq {seq} is not a current node")
        start, end = positions
        if start > end:
            _refuse("replace-reversed", f"seq {start_seq} stands after seq {end_seq}")
        return start, end

    def _check_rewrite(self, event: Event, shadowed: Sequence[int]) -> None:
        """A tool result may be rewritten alone, and only in its content."""
        if len(shadowed) != 1:
            _refuse("tool-rewrite", "a tool/result rewrites exactly one node")
        original = self._log[shadowed[0]]
        if original.type != "tool/result":
            _refuse("tool-rewrite", "a tool/result rewrites a tool/result")
        if _without_content(event) != _without_content(original):
            _refuse("tool-rewrite", "a rewrite may change only the content of a tool result")

    def _plan_projection(self, event: Event, projection: Projection) -> Plan:
        history = History(
            View(self._nodes), View(self._log), _NodeMessages(self._nodes, self._spoken_so_far())
        )
        try:
            changes = {
                seq: _frozen_message(message) for seq, message in projection.interpret(event, history).items()
            }
        except Exception as error:
            raise AppendRefused(f"{event.type}: {error}", category="projection-rejected") from error
        positions = {seq: position for position, seq in enumerate(self._nodes) if seq in changes}
        if len(positions) != len(changes):
            _refuse("projection-rejected", f"{event.type} changes a message that is not a current node")
        return lambda: self._project(projection, changes, positions)

    # -- application ----------------------------------------------------------------------------

    def take_over(self, events: Iterable[Event]) -> None:
        """Put events into the log that were checked when they were appended, and apply them.

        Decodes none of them that only extends the log or its tail. Raises AppendRefused where an interpreter
        is missing or rejects, and for a replacement that cannot be.
        """
        log, plain = self._log, _PLAIN.difference(self._projections.types())
        for seq, event in enumerate(events, len(log)):
            if event.seq != seq:
                _refuse("seq", f"seq {event.seq} does not continue a log of {seq}")
            if event.type not in plain:
                if event.type in SURFACE_TYPES and event.surface_op == "append":
                    self._nodes.append(seq)
                else:
                    plan = self.plan(event)
                    log.append(event)
                    if plan is not None:
                        plan()
                    continue
            log.append(event)

    def _spoken_so_far(self) -> list[Message | None]:
        for seq in self._nodes[len(self._messages) :]:
            self._messages.append(self._projected.get(seq) or _spoken(self._log[seq]))
        return self._messages

    def _append(self, event: Event) -> None:
        self._nodes.append(event.seq)

    def _replace(self, event: Event, start: int, end: int) -> None:
        # New lists: views of the old ones may be held.
        self._nodes = [*self._nodes[:start], event.seq, *self._nodes[end + 1 :]]
        self._messages = self._messages[:start]
        self._replace_generation += 1
        self._content_generation += 1

    def _project(
        self, projection: Projection, changes: Mapping[int, Message], positions: Mapping[int, int]
    ) -> None:
        self._used[projection.type] = projection
        self._messages = list(self._messages)
        for seq, message in changes.items():
            self._projected[seq] = message
            self._messages[positions[seq]] = message
        self._content_generation += 1


class _NodeMessages(Mapping[int, "Message | None"]):
    """Messages by seq, looked up in the node list: an interpreter asks for few of them."""

    def __init__(self, nodes: Sequence[int], messages: Sequence[Message | None]) -> None:
        self._nodes = nodes
        self._messages = messages

    def __getitem__(self, seq: int) -> Message | None:
        try:
            return self._messages[self._nodes.index(seq)]
        except ValueError:
            raise KeyError(seq) from None

    def __iter__(self) -> Iterator[int]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)


def _spoken(event: Event) -> Message | None:
    """The event's own message; None for log-only events and for empty ones of system and model."""
    if event.type not in SURFACE_TYPES:
        return None
    message: Message = message_of(event)
    if event.type in _SILENT_WHEN_EMPTY and not (isinstance(message, Mapping) and message.get("content")):
        return None
    return message


def _frozen_message(message: Mapping[str, Any]) -> Message:
    frozen = freeze(message if isinstance(message, FrozenDict) else dict(message))
    assert isinstance(frozen, FrozenDict)  # freeze makes a FrozenDict of every dict
    return frozen


def _check_log_only(event: Event) -> None:
    """Log-only events carry no surface metadata; what nobody interprets may carry anything."""
    if event.ignorable and event.type not in KNOWN_TYPES:
        return
    if event.surface_op is not None:
        _refuse("surface-op-forbidden", f"{event.type} is log-only and cannot carry surfaceOp")
    if event.source_event_seqs is not None:
        _refuse("sources-forbidden-log-only", f"{event.type} is log-only and cannot carry sourceEventSeqs")


def _check_replace_shape(event: Event, op: object) -> None:
    if (
        not isinstance(op, FrozenDict)
        or op.keys() != _REPLACE_KEYS
        or op["op"] != "replace"
        or not is_seq(op["startSeq"])
        or not is_seq(op["endSeq"])
    ):
        _refuse("surface-op-shape", "surfaceOp is 'append' or exactly {op: 'replace', startSeq, endSeq}")
    if op["startSeq"] >= event.seq or op["endSeq"] >= event.seq:
        _refuse("replace-endpoint-not-earlier", "both ends of a replacement must be earlier events")


def _check_sources(event: Event) -> None:
    sources = event.source_event_seqs
    if event.type == "assistant/message":
        _refuse(
            "sources-forbidden-assistant", "an assistant/message carries its stream, never sourceEventSeqs"
        )
    if not isinstance(sources, tuple):
        _refuse("sources-shape", "sourceEventSeqs must be an array")
    if not sources:
        _refuse("sources-empty", "sourceEventSeqs must not be empty")
    for seq in sources:
        if not is_seq(seq):
            _refuse("sources-shape", "sourceEventSeqs must hold non-negative integers")
    if len(set(sources)) != len(sources):
        _refuse("sources-duplicate", "sourceEventSeqs must not repeat a seq")
    if max(sources) >= event.seq:
        _refuse("sources-not-earlier", f"sourceEventSeqs must be earlier than {event.seq}")


def _check_header_reference(event: Event, log: Sequence[Event]) -> None:
    """The header that a tool addition names must exist and hold the added tools."""
    if not isinstance(event.data, Mapping) or "headerSeq" not in event.data:
        return
    seq = event.data["headerSeq"]
    if not is_seq(seq) or seq >= event.seq or log[seq].type != "request/header":
        _refuse("developer-header-seq", "headerSeq must name an earlier request/header")
    offered = _offered_tools(log[seq].data)
    for block in blocks_of(message_of(event)):
        if block.get("type") == "tool-addition" and block["toolName"] not in offered:
            _refuse("developer-header-seq", f"the header at {seq} does not offer {block['toolName']}")


def _offered_tools(data: object) -> list[object]:
    header = data.get("header") if isinstance(data, Mapping) else None
    tools = header.get("tools", ()) if isinstance(header, Mapping) else ()
    return [tool.get("name") for tool in tools if isinstance(tool, Mapping)]


def _without_content(event: Event) -> object:
    message = message_of(event)
    if not isinstance(message, Mapping):
        return event.data
    rest = {key: value for key, value in message.items() if key != "content"}
    return {**event.data, "message": rest}


def _refuse(category: str, message: str) -> NoReturn:
    raise AppendRefused(message, category=category)
