"""The strict relations between the events of a log: what storage demands before it hands a log out.

Enforced at append as well, so that nothing can be written that cannot be read back.
Source: session spec 6.2, 11; decision 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from engine.errors import AppendRefused
from engine.session.brackets import Brackets
from engine.session.chains import Commands, Retries, Titles
from engine.session.companion import Position
from engine.session.consistency import message_of
from engine.session.event import Event
from engine.session.objection import Objection, object_to
from engine.session.repair import NOT_STARTED, RECOVERY_TEXT
from engine.session.surface import Surface, is_append_event
from engine.session.vocabulary import KNOWN_TYPES, SURFACE_TYPES

__all__ = ["Relations"]

_LASTING: Final = frozenset({"command/run", "command/done", "llm/retry", "llm/retry-started"})
"""Types that later events may refer to from another turn; of request headers only the last one counts."""


class _Call:
    """A tool call that an assistant message of the open step advertises and that has no result yet."""

    __slots__ = ("arguments", "name", "started")

    def __init__(self, block: Mapping[str, Any]) -> None:
        self.name = block.get("name")
        self.arguments = block.get("arguments")
        self.started = False


class Relations:
    """The state that the relations of one session need, and the checks themselves.

    `history` is what is about to be replayed; `closing` says that an end-seed will follow it at once, as
    after every seed. (A compaction that a crash left open may be crossed by turns when a marker follows.)
    """

    def __init__(self, surface: Surface, history: Sequence[Event] = (), *, closing: bool = True) -> None:
        self._surface = surface
        self._position = Position()
        self._calls: dict[str, _Call] = {}
        self._brackets = Brackets(surface, self._position, history, closing=closing)
        self._titles = Titles(surface)
        self._commands = Commands(surface)
        self._retries = Retries(self._position)
        self._checks: dict[str, Callable[[Event], None]] = {
            "step/end": self._check_answered,
            "system/message": self._check_head,
            "assistant/message": self._check_advertised,
            "assistant/attempt": _check_stream,
            "tool/call": self._check_call,
            "tool/result": self._check_result,
            "agent/inbox/spliced": _check_inbox,
            **self._brackets.checks,
            **self._titles.checks,
            **self._commands.checks,
            **self._retries.checks,
        }
        self._followers: dict[str, tuple[Callable[[Event], None], ...]] = {
            "step/end": (lambda _: self._calls.clear(),),
            "assistant/message": (self._follow_assistant,),
            "tool/call": (self._follow_call,),
            "tool/result": (self._follow_result,),
            **{kind: (follow,) for kind, follow in self._brackets.followers.items()},
            **{kind: (follow,) for kind, follow in self._commands.followers.items()},
            **{kind: (follow,) for kind, follow in self._retries.followers.items()},
        }

    def check(self, event: Event) -> None:
        """Raises AppendRefused(category='stored-relationship', or 'unknown-required-type')."""
        if event.type not in KNOWN_TYPES:
            if not event.ignorable:
                raise AppendRefused(
                    f"{event.type} is unknown and not ignorable",
                    category="unknown-required-type",
                    seq=event.seq,
                )
            return
        try:
            objection = self._position.objection(event)
            if objection is not None:
                object_to(objection)
            if event.type in SURFACE_TYPES:
                _check_message(message_of(event))
            check = self._checks.get(event.type)
            if check is not None:
                check(event)
        except Objection as error:
            why = str(error)
        except (KeyError, TypeError, AttributeError) as error:
            # The data is not shaped as its relations need it; which field it was says the error.
            why = f"malformed data ({error!r})"
        else:
            return
        raise AppendRefused(
            f"{event.type} at seq {event.seq}: {why}", category="stored-relationship", seq=event.seq
        )

    def accept(self, event: Event) -> None:
        self._position.advance(event)
        for follow in self._followers.get(event.type, ()):
            follow(event)

    def resume(self, events: Sequence[Event]) -> None:
        """Take up the state after these events as `accept` for each would leave it.

        What is open can only have begun in the last turn or after it; of what came before, few types leave
        anything behind. So the rest is not even decoded. Raises AppendRefused for events that cannot have
        been checked.
        """
        try:
            self._resume(events)
        except (KeyError, TypeError, AttributeError) as error:
            raise AppendRefused(
                f"the log was never checked: malformed data ({error!r})", category="stored-relationship"
            ) from error

    def _resume(self, events: Sequence[Event]) -> None:
        last_turn = next((e.seq for e in reversed(events) if e.type == "turn/start"), 0)
        before, after = events[:last_turn], events[last_turn:]
        header = next((e for e in reversed(before) if e.type == "request/header"), None)
        for event in before:
            if event.type in _LASTING or event is header:
                for follow in self._followers[event.type]:
                    follow(event)
        for event in after:
            self.accept(event)

    # -- messages and tool calls ------------------------------------------------------------------

    def _check_head(self, event: Event) -> None:
        if self._surface.nodes and not self._surface.has_system_head:
            object_to("a system message needs an empty surface or a system head")
        for block in event.data["message"]["content"]:
            if not _is_known_block(block):
                object_to("the system prompt holds a malformed block")

    def _check_advertised(self, event: Event) -> None:
        _check_stream(event)
        fresh: set[str] = set()
        for block in event.data["message"]["content"]:
            if block["type"] == "tool-call":
                call_id = block["id"]
                if type(call_id) is not str or call_id in self._calls or call_id in fresh:
                    object_to(f"the call {call_id} is advertised twice")
                fresh.add(call_id)

    def _follow_assistant(self, event: Event) -> None:
        for block in event.data["message"]["content"]:
            if block["type"] == "tool-call":
                self._calls[block["id"]] = _Call(block)

    def _check_call(self, event: Event) -> None:
        call = self._calls.get(event.data["callId"])
        if call is None or call.started:
            object_to(f"no advertised call {event.data['callId']} waits")
        if (call.name, call.arguments) != (event.data["name"], event.data["arguments"]):
            object_to("name and arguments are not those that were advertised")

    def _follow_call(self, event: Event) -> None:
        self._calls[event.data["callId"]].started = True

    def _check_result(self, event: Event) -> None:
        if not is_append_event(event):
            return
        call_id = event.data["message"]["toolCallId"]
        call = self._calls.get(call_id)
        if call is None:
            object_to(f"no advertised call {call_id} waits")
        if not call.started and not _is_not_started_repair(event, call_id):
            object_to(f"the call {call_id} was not started, and this is not its repair")

    def _follow_result(self, event: Event) -> None:
        if is_append_event(event):
            self._calls.pop(event.data["message"]["toolCallId"], None)

    def _check_answered(self, event: Event) -> None:
        if self._calls:
            object_to(f"the calls {sorted(self._calls)} have no result")


def _check_message(message: Mapping[str, Any]) -> None:
    if message["source"]["kind"] == "plugin":
        object_to("a source names its producer; the kind 'plugin' is retired")
    for block in message["content"]:
        if isinstance(block, Mapping) and block.get("type") == "tool-result":
            object_to("tool-result blocks are retired; a result is a message of role tool")


_TEXT_BLOCKS: Final = frozenset({"text", "reasoning"})


def _is_known_block(block: Mapping[str, Any]) -> bool:
    return type(block["type"]) is str and (block["type"] not in _TEXT_BLOCKS or type(block["text"]) is str)


def _check_stream(event: Event) -> None:
    stream = event.data["stream"]
    if not isinstance(stream, tuple):
        object_to("stream must be an array")
    for entry in stream:
        chunk = entry.get("chunk") if isinstance(entry, Mapping) else None
        if isinstance(chunk, Mapping) and chunk.get("type") == "tool-result":
            object_to("tool-result chunks are retired")


def _is_not_started_repair(event: Event, call_id: str) -> bool:
    """Whether the result is the one that repair writes for a call that never ran."""
    data, message = event.data, event.data["message"]
    if (
        message.get("isError") is not True
        or data.get("error") != NOT_STARTED
        or event.source_event_seqs is not None
    ):
        return False
    if message["id"].startswith(f"forked-tool-result-{call_id}-"):
        return True
    text = ({"type": "text", "text": RECOVERY_TEXT["interrupted", False]},)
    exact: bool = (
        message["id"] == f"interrupted-tool-result-{call_id}-{event.seq}" and message["content"] == text
    )
    return exact


def _check_inbox(event: Event) -> None:
    if not isinstance(event.data["inserted"], tuple):
        object_to("inserted must be an array")
