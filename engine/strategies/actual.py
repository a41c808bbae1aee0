"""What was sent: read from the log alone, with what each part of it was.

Beside every request of the loop the log keeps where it was cut and the hash of its messages, and for each
part of the prompt its name, its source and where in which message it stands: no bodies. Reading folds the log
up to the cut, so that nothing that came later can be in it, and shows nothing unless the hash is the same.
Names are those of that time. Source: assembler spec 6; seed 001.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import structlog

from engine.agent import ASSEMBLY, Part, last_assembly
from engine.agent.standing import SNAPSHOT_KIND
from engine.assembler import Node
from engine.codec import json_hash, text_hash
from engine.errors import EngineError, PlayError
from engine.hooks import Hooks, Scope
from engine.llm import Chunk, LlmRequest
from engine.session import Event, Journal, Message, Session, message_text
from engine.session.consistency import message_of
from engine.strategies.privacy import PRIVATE, private_places, private_words
from engine.strategies.projected import assembled_of, config_before, only_assembled, reference_to
from engine.strategies.provenance import VERSION, known_sources, said_in_turn, shown_messages
from engine.strategies.sentsteps import REQUEST_RECORD, Missing, SentStep, missing, sent_steps
from engine.strategies.service import Strategies, Told
from engine.strategies.shown import PreviewMessage, labelled_part
from engine.strategies.units import utf16
from engine.tavern import Compilation

__all__ = ["REQUEST_RECORD", "ActualRequest", "ActualRequests"]

log = structlog.get_logger(__name__)

_JOINT: Final = "\n\n"

Place: TypeAlias = tuple[str, int, int]
"""A session and two seqs of its log, both inclusive."""


@dataclass(frozen=True, slots=True)
class ActualRequest:
    """A request that was sent. Without `messages` the log does not prove what they were, and `reason` says
    why. A block that nobody recorded has the module `source-unrecorded` or `native-context-framing`. `config`
    is by recorded names.

    `steps` are the requests of its turn, oldest first, and `step` is the number of this one; 0 without any.
    `place` is where that turn stands, to ask for another of them: session, first and last seq.
    `private` are the words of personas in it by the hash of their descriptions; None when nobody knows."""

    seq: int
    time: int
    place: Place
    strategy: Mapping[str, Any] | None
    messages: tuple[PreviewMessage, ...]
    config: Mapping[str, Any]
    reason: Missing | None = None
    steps: tuple[SentStep, ...] = ()
    step: int = 0
    private: Mapping[str, frozenset[str]] | None = None

    @property
    def tokens(self) -> int:
        """An estimate of all messages."""
        return sum(message.tokens for message in self.messages)

    @property
    def text(self) -> str:
        """All of it, as a file shows it."""
        return _JOINT.join(f"[{message.role}]\n{message.text}" for message in self.messages) + "\n"


class ActualRequests:
    """Keeps and reads the evidence for one engine."""

    def __init__(self, journal: Journal, hooks: Hooks, strategies: Strategies, owner: Scope) -> None:
        self._journal = journal
        self._strategies = strategies
        hooks.on("llm/stream", self._sent, owner=owner)

    def _sent(self, request: LlmRequest, proceed: Callable[[], AsyncIterator[Chunk]]) -> AsyncIterator[Chunk]:
        session = self._journal.sessions.get(request.session_id or "")
        if session is not None and request.purpose is None:
            self._record(session, request)
        return proceed()

    def _record(self, session: Session, request: LlmRequest) -> None:
        """Evidence is for looking at: that it cannot be kept must not keep anybody from playing."""
        assembled = last_assembly(session)
        logged = session.derive() if assembled is None else assembled.data["messages"]
        if list(request.messages) != list(logged):
            return
        told = self._strategies.told(session.id)
        evidence = _evidence(session.seq - 1, request.messages, told)
        if assembled is not None:
            evidence |= reference_to(assembled)
        try:
            session.append(REQUEST_RECORD, evidence, ignorable=True)
        except EngineError as error:
            log.warning("request.not_recorded", session=session.id, code=error.error_code)

    async def of(self, session_id: str) -> ActualRequest | None:
        """The newest request that the session's log has evidence of. Raises NotFound, SessionCorrupt."""
        session = await self._journal.look(session_id)
        events = session.events()
        record = next((e for e in reversed(events) if e.type in (REQUEST_RECORD, ASSEMBLY)), None)
        if record is None:
            return None
        turn = next((e.seq for e in reversed(events[: record.seq]) if e.type == "turn/start"), 0)
        place = (session_id, turn, len(events) - 1)
        return self._read(session, events, record, place, sent_steps(events, turn, len(events) - 1))

    async def of_answer(
        self, session_id: str, start: int, end: int, step: int | None = None
    ) -> ActualRequest:
        """The request that was answered between two seqs of a session (both inclusive): the last of the turn
        that brought the answer, or that of a step. What the log holds no evidence of has a `reason`.

        Raises PlayError PLAY_STEP_UNKNOWN, NotFound, SessionCorrupt.
        """
        session = await self._journal.look(session_id)
        events = session.events()
        steps = sent_steps(events, start, end)
        place = (session_id, start, end)
        if not steps:
            return ActualRequest(end, events[end].time, place, None, (), {}, missing(events, end))
        sent = steps[-1] if step is None else next((each for each in steps if each.number == step), None)
        if sent is None:
            raise PlayError("This answer has no such step.", code="PLAY_STEP_UNKNOWN")
        return self._read(session, events, events[sent.record], place, steps)

    async def private(self, session_id: str) -> Mapping[str, frozenset[str]] | None:
        """The words of personas in all that was ever sent from a session, by the hash of their descriptions:
        what was said then is still in the conversation, or comes back to it. None when nobody knows."""
        session = await self._journal.look(session_id)
        events = session.events()
        messages = [message for event in events for message in _messages_of(event)]
        records = [event.data for event in events if event.type == REQUEST_RECORD]
        return private_words(messages, records)

    def _read(
        self,
        session: Session,
        events: Sequence[Event],
        record: Event,
        place: Place,
        steps: tuple[SentStep, ...],
    ) -> ActualRequest:
        data = record.data if record.type == REQUEST_RECORD else only_assembled(record)
        at = next((step.number for step in steps if step.record == record.seq), 0)
        if data.get("version") != VERSION:
            return ActualRequest(record.seq, record.time, place, None, (), {}, "version-unknown", steps, at)
        config: Mapping[str, Any] = {}
        messages: Sequence[Message] = ()
        reason: Missing | None = None
        assembled = assembled_of(events, data)
        try:
            if assembled is not None:
                messages, config = assembled.data["messages"], config_before(events, assembled.seq)
            else:
                messages, config = self._derived(session, events[: data["cut"] + 1])
        except EngineError:
            reason = "derivation-unavailable"
        if reason is None and json_hash(list(messages)) != data["messagesHash"]:
            messages, reason = (), "hash-mismatch"
        until = [event.data for event in events[: record.seq + 1] if event.type == REQUEST_RECORD]
        answered = said_in_turn(events, record.seq)
        return ActualRequest(
            seq=record.seq,
            time=record.time,
            place=place,
            strategy=data["strategy"],
            messages=tuple(shown_messages(messages, known_sources([*until, data]), answered, assembled)),
            config=config,
            reason=reason,
            steps=steps,
            step=at,
            private=private_words(messages, until) if PRIVATE in data else None,
        )

    def _derived(self, session: Session, events: Sequence[Event]) -> tuple[Sequence[Message], Any]:
        inherited = min(session.inherited_event_count, len(events))
        then = self._journal.sessions.detached(
            session.header, events, inherited_event_count=inherited, restored=True
        )
        header = then.request_header()
        return then.derive(), header["header"]["config"] if header is not None else {}


def _messages_of(event: Event) -> Sequence[Message]:
    """What an event brings into requests."""
    if event.type == ASSEMBLY:
        return tuple(event.data["messages"])
    message = message_of(event)
    return (message,) if isinstance(message, Mapping) and "id" in message else ()


# -- writing -----------------------------------------------------------------------------------------


def _evidence(cut: int, messages: Sequence[Message], told: Told | None) -> dict[str, Any]:
    strategy = None
    applied = told.applied if told is not None else None
    if applied is not None:
        strategy = {
            "id": applied.id,
            "name": applied.strategy.name,
            "revision": applied.strategy.revision,
        }
    evidence = {
        "version": VERSION,
        "cut": cut,
        "messagesHash": json_hash(list(messages)),
        "strategy": strategy,
        "sources": list(_sources(messages, told)) if told is not None else [],
    }
    if told is not None and told.compilation is not None:
        request = told.compilation.request
        at_table = (*request.players, *filter(None, [request.persona]))
        evidence[PRIVATE] = private_places(messages, [persona.description for persona in at_table])
    return evidence


def _sources(messages: Sequence[Message], told: Told) -> Iterator[dict[str, Any]]:
    nodes: dict[str, Node] = {}
    named: dict[str, str | None] = {}
    outcome = told.made.standard if told.made is not None else None
    if outcome is not None:
        nodes = {node.id: node for node in outcome.logical.nodes}
        named = {part.name: part.node_id for part in (*outcome.sections, *outcome.contexts)}

    hashes: dict[str, str] = {}  # of the messages that hold sources: one holds many

    def found(node: Node | None, part: Part, message: Message, start: int) -> dict[str, Any]:
        content = hashes.get(message["id"]) or hashes.setdefault(message["id"], json_hash(message["content"]))
        return _source(node, part, told.compilation, message["id"], content, start)

    def named_node(part: Part) -> Node | None:
        return nodes.get(named.get(part.name) or "")

    # what instructed the model before, and was told to it then, is in the evidence of then
    system = next((m for m in reversed(messages) if m["role"] == "system" and message_text(m)), None)
    if system is not None and message_text(system) == told.assembly.system_text:
        start = 0
        for part in told.assembly.said:
            yield found(named_node(part), part, system, start)
            start += utf16(part.text) + len(_JOINT)
    snapshot = next((m for m in reversed(messages) if m["source"].get("kind") == SNAPSHOT_KIND), None)
    if snapshot is not None:
        for part, start in _listed(snapshot):
            if part in told.assembly.facts:
                yield found(named_node(part), part, snapshot, start)
    contributed = {m["source"]["blockId"]: m for m in messages if "blockId" in m["source"]}
    for node in nodes.values():
        message = contributed.get(node.id)
        if message is not None and message_text(message) == node.text:
            yield found(node, Part(node.name, node.text), message, 0)


def _listed(snapshot: Message) -> Iterator[tuple[Part, int]]:
    """The facts that a snapshot lists, and where in its text each begins (UTF-16 units)."""
    text = message_text(snapshot)
    at = text.find(_JOINT) + len(_JOINT)  # behind the heading
    for section in snapshot["source"].get("sections", ()):
        part = Part(section["name"], section["text"])
        if part.text and text.startswith(part.text, at):
            yield part, utf16(text[:at])
            at += len(part.text) + len(_JOINT)


def _source(
    node: Node | None,
    part: Part,
    made: Compilation | None,
    message_id: str,
    message_hash: str,
    start: int,
) -> dict[str, Any]:
    label, module = (node.name or node.field, node.source_id) if node else labelled_part(part, made)
    return {
        "id": part.name if node is None else node.id,
        "name": label,
        "module": module,
        "ruleId": None if node is None else node.rule.id,
        "source": {
            "resourceId": None if node is None else node.resource_id,
            "field": None if node is None else node.field,
        },
        "hash": text_hash(part.text),
        "reference": {
            "messageId": message_id,
            "messageHash": message_hash,
            "startUtf16": start,
            "endUtf16": start + utf16(part.text),
        },
    }
