"""What was sent: read from the log alone, with what each part of it was.

Beside every request of the loop the log keeps where it was cut and the hash of its messages, and for each
part of the prompt its name, its source and where in which message it stands: no bodies. Reading folds the log
up to the cut, so that nothing that came later can be in it, and shows nothing unless the hash is the same.
Names are those of that time. Source: assembler spec 6; seed 001.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog

from engine.agent import Part
from engine.agent.standing import SNAPSHOT_KIND
from engine.assembler import ASSEMBLER_KIND, Node
from engine.codec import canonical, digest
from engine.errors import EngineError
from engine.hooks import Hooks, Scope
from engine.llm import Chunk, LlmRequest
from engine.session import (
    Event,
    Journal,
    Message,
    Session,
    estimate_tokens,
    message_text,
    message_tokens,
    thaw,
)
from engine.strategies.preview import PreviewBlock, PreviewMessage, labelled_part
from engine.strategies.service import Strategies, Told

__all__ = ["REQUEST_RECORD", "ActualRequest", "ActualRequests"]

log = structlog.get_logger(__name__)

REQUEST_RECORD: Final = "plugin:tavern/request"
"""`{version, cut, messagesHash, strategy: {id, name, revision} | None, sources: [...]}`.

`cut` is the seq of the last event that the request was derived from. A source is `{id, name, module, ruleId,
source: {resourceId, field}, hash, reference: {messageId, messageHash, startUtf16, endUtf16}}`, its hashes
SHA-256 of the text and of the message's content.
"""

_VERSION: Final = 1
_JOINT: Final = "\n\n"


@dataclass(frozen=True, slots=True)
class ActualRequest:
    """The newest request of a session. Without `messages` the log does not prove what they were, and `reason`
    says why: `hash-mismatch` or `derivation-unavailable`. A block that nobody recorded has the module
    `source-unrecorded` or `native-context-framing`. `config` is by recorded names."""

    seq: int
    time: int
    strategy: Mapping[str, Any] | None
    messages: tuple[PreviewMessage, ...]
    config: Mapping[str, Any]
    reason: str | None = None

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
        if list(request.messages) != list(session.derive()):
            return
        told = self._strategies.told(session.id)
        try:
            session.append(REQUEST_RECORD, _evidence(session.seq - 1, request.messages, told), ignorable=True)
        except EngineError as error:
            log.warning("request.not_recorded", session=session.id, code=error.error_code)

    async def of(self, session_id: str) -> ActualRequest | None:
        """The newest request that the session's log has evidence of. Raises NotFound, SessionCorrupt."""
        session = await self._journal.look(session_id)
        events = session.events()
        record = next((event for event in reversed(events) if event.type == REQUEST_RECORD), None)
        if record is None or record.data.get("version") != _VERSION:
            return None
        config: Mapping[str, Any] = {}
        messages: Sequence[Message] = ()
        reason: str | None = None
        try:
            messages, config = self._derived(session, events[: record.data["cut"] + 1])
        except EngineError:
            reason = "derivation-unavailable"
        if reason is None and _hash(messages) != record.data["messagesHash"]:
            messages, reason = (), "hash-mismatch"
        return ActualRequest(
            seq=record.seq,
            time=record.time,
            strategy=record.data["strategy"],
            messages=tuple(_shown(messages, record.data["sources"])),
            config=config,
            reason=reason,
        )

    def _derived(self, session: Session, events: Sequence[Event]) -> tuple[Sequence[Message], Any]:
        inherited = min(session.inherited_event_count, len(events))
        then = self._journal.sessions.detached(
            session.header, events, inherited_event_count=inherited, restored=True
        )
        header = then.request_header()
        return then.derive(), header["header"]["config"] if header is not None else {}


# -- writing -----------------------------------------------------------------------------------------


def _evidence(cut: int, messages: Sequence[Message], told: Told | None) -> dict[str, Any]:
    strategy = None
    if told is not None and told.made is not None:
        applied = told.made.strategy
        strategy = {
            "id": applied.id,
            "name": applied.strategy.name,
            "revision": applied.strategy.revision,
        }
    return {
        "version": _VERSION,
        "cut": cut,
        "messagesHash": _hash(messages),
        "strategy": strategy,
        "sources": list(_sources(messages, told)) if told is not None else [],
    }


def _sources(messages: Sequence[Message], told: Told) -> Iterator[dict[str, Any]]:
    nodes: dict[str, Node] = {}
    named: dict[str, str | None] = {}
    if told.made is not None:
        outcome = told.made.outcome
        nodes = {node.id: node for node in outcome.logical.nodes}
        named = {part.name: part.node_id for part in (*outcome.sections, *outcome.contexts)}

    def found(part: Part, message: Message, start: int) -> dict[str, Any]:
        return _source(nodes.get(named.get(part.name) or ""), part, message, start)

    system = [message for message in messages if message["role"] == "system" and message_text(message)]
    if len(system) == 1 and message_text(system[0]) == told.assembly.system_text:
        start = 0
        for part in told.assembly.said:
            yield found(part, system[0], start)
            start += len(part.text) + len(_JOINT)
    snapshot = _last(messages, "kind", SNAPSHOT_KIND)
    if snapshot is not None:
        text = message_text(snapshot)
        for part in told.assembly.facts:
            if text.count(part.text) == 1:
                yield found(part, snapshot, text.index(part.text))
    for node in nodes.values():
        message = _last(messages, "blockId", node.id)
        if message is not None and message_text(message) == node.text:
            yield _source(node, Part(node.name, node.text), message, 0)


def _last(messages: Sequence[Message], key: str, value: str) -> Message | None:
    return next((m for m in reversed(messages) if m["source"].get(key) == value), None)


def _source(node: Node | None, part: Part, message: Message, start: int) -> dict[str, Any]:
    text = message_text(message)
    begin = _utf16(text[:start])
    label, module = labelled_part(part) if node is None else (node.name or node.field, node.source_id)
    return {
        "id": part.name if node is None else node.id,
        "name": label,
        "module": module,
        "ruleId": None if node is None else node.rule.id,
        "source": {
            "resourceId": None if node is None else node.resource_id,
            "field": None if node is None else node.field,
        },
        "hash": _digest(part.text),
        "reference": {
            "messageId": message["id"],
            "messageHash": _hash(message["content"]),
            "startUtf16": begin,
            "endUtf16": begin + _utf16(part.text),
        },
    }


# -- reading -----------------------------------------------------------------------------------------


def _shown(messages: Sequence[Message], sources: Sequence[Mapping[str, Any]]) -> Iterator[PreviewMessage]:
    by_message: dict[str, list[Mapping[str, Any]]] = {}
    for source in sources:
        by_message.setdefault(source["reference"]["messageId"], []).append(source)
    for message in messages:
        text = message_text(message)
        held = list(_proven(message, text, by_message.get(message["id"], ())))
        blocks = tuple(_with_gaps(message, text, held))
        yield PreviewMessage(message["role"], text, message_tokens(message), _kind(message), blocks)


def _proven(
    message: Message, text: str, sources: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """The sources whose words are where they say; of those that overlap, none."""
    units = text.encode("utf-16-le", "surrogatepass")
    content = _hash(message["content"]) if sources else ""
    ranges = []
    for source in sources:
        reference = source["reference"]
        start, end = reference["startUtf16"], reference["endUtf16"]
        words = units[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")
        if reference["messageHash"] == content and _digest(words) == source["hash"] and end > start:
            ranges.append((start, end, source))
    ranges.sort(key=lambda found: found[:2])
    for at, (start, end, source) in enumerate(ranges):
        others = [*ranges[:at], *ranges[at + 1 :]]
        if not any(start < other[1] and other[0] < end for other in others):
            yield start, end, source


def _with_gaps(
    message: Message, text: str, held: Sequence[tuple[int, int, Mapping[str, Any]]]
) -> Iterator[PreviewBlock]:
    units = text.encode("utf-16-le", "surrogatepass")
    source = message["source"]
    at = 0

    def words(start: int, end: int) -> str:
        return units[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")

    def gap(end: int) -> Iterator[PreviewBlock]:
        said = words(at, end)
        if held and not said.strip():
            return
        if message["role"] == "system" or source.get("kind") == ASSEMBLER_KIND:
            module = "source-unrecorded"
        elif source.get("kind") == SNAPSHOT_KIND:
            module = "native-context-framing" if held else "source-unrecorded"
        else:
            module = "native"
        label = source.get("persona") or (source.get("kind") or message["role"])
        yield PreviewBlock(label, said, estimate_tokens(said), module=module)

    for start, end, found in held:
        if start > at:
            yield from gap(start)
        said = words(start, end)
        yield PreviewBlock(
            found["name"], said, estimate_tokens(said), module=found["module"], node_id=found["id"]
        )
        at = end
    total = len(units) // 2
    if at < total or not held:
        yield from gap(total)


def _kind(message: Message) -> str:
    kind = message["source"].get("kind")
    if message["role"] == "system":
        return "system"
    return {ASSEMBLER_KIND: "pre-step", SNAPSHOT_KIND: "context"}.get(kind, "history")


def _hash(value: Sequence[Any]) -> str:
    return digest(canonical([thaw(item) for item in value])).hex()


def _digest(text: str) -> str:
    return digest(text.encode("utf-8", "surrogatepass")).hex()


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
