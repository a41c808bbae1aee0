"""What a session's next request would be: the final messages, and where each part of them is from.

The same compilation, hooks and assembler as for a step, on the session as it stands. Nothing is written, no
model is called and no agent is started; what is not said yet is not waited for. Source: assembler spec 3,
"Preview"; `ux.md` 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engine.agent import AssembleContext, Assembly, Part, SystemPrompt
from engine.agent.projection import propose_snapshot
from engine.agent.standing import SNAPSHOT_KIND
from engine.assembler import ASSEMBLER_KIND, Applied, Node, Strategy
from engine.cancel import CancelToken
from engine.codec import JsonObject
from engine.llm import CallConfig
from engine.session import Journal, Message, Session, estimate_tokens, message_text, message_tokens
from engine.strategies.assets import remark_of
from engine.strategies.service import APPLIED, LastAssembly, Strategies, Wanted, contributed
from engine.tavern import Compilation, ModelFacts, PresetParameters, ProfileSection, ScriptRunner
from engine.tavern.compilation import PART

__all__ = ["Preview", "PreviewBlock", "PreviewMessage", "Previews", "labelled_part"]

UNSAVED = ""
"""The id of a strategy that is in no library (yet)."""


@dataclass(frozen=True, slots=True)
class PreviewBlock:
    """A part of a message. `label` is what people call it: the entry's own name, or that of a section;
    `module` the source that it is from; `changed_role` the one that its author gave it, if it was changed."""

    label: str
    text: str
    tokens: int
    module: str = ""
    node_id: str | None = None
    changed_role: str | None = None


@dataclass(frozen=True, slots=True)
class PreviewMessage:
    """`source` is `system`, `history`, `input`, `pre-step` or `context`."""

    role: str
    text: str
    tokens: int
    source: str
    blocks: tuple[PreviewBlock, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """`strategy` is what places the parts (without an id when it is not saved), None where it is off.

    `tokens` is an estimate of all messages; `added_bytes` is what was added to the conversation, of
    `max_bytes` that are allowed. `diagnostics` have a `code` each.
    """

    strategy: Applied | None
    messages: tuple[PreviewMessage, ...]
    contexts: tuple[PreviewBlock, ...]
    parameters: CallConfig
    diagnostics: tuple[JsonObject, ...]
    tokens: int
    window: int | None
    max_response: int | None
    added_bytes: int
    max_bytes: int

    @property
    def text(self) -> str:
        """All of it, as a file shows it."""
        return "\n\n".join(f"[{message.role}]\n{message.text}" for message in self.messages) + "\n"


class Previews:
    """Makes previews for one engine."""

    def __init__(
        self,
        journal: Journal,
        prompt: SystemPrompt,
        strategies: Strategies,
        profiles: ProfileSection,
        parameters: PresetParameters,
        scripts: ScriptRunner,
        model: Callable[[], ModelFacts],
    ) -> None:
        self._journal = journal
        self._prompt = prompt
        self._strategies = strategies
        self._profiles = profiles
        self._parameters = parameters
        self._scripts = scripts
        self._model = model

    async def of(
        self, session_id: str, said: Sequence[Message] = (), strategy: Strategy | Wanted | None = APPLIED
    ) -> Preview:
        """What would be sent if `said` were said in the session now. A strategy need not be saved for this;
        None is for none.

        Raises AssemblyError or ResourceError where the step would end with it, NotFound, SessionCorrupt.
        """
        session = await self._journal.look(session_id)
        applied: Applied | None
        if isinstance(strategy, Strategy):
            applied = Applied(UNSAVED, strategy)
        elif strategy is None:
            applied = None
        else:
            applied = await self._strategies.current(session_id)
        context = AssembleContext(session, tuple(said), CancelToken())
        with self._strategies.trying(context, applied):
            assembly = await self._prompt.assemble(context)
        placed = self._strategies.made(context)
        made = placed.compilation if placed is not None else self._profiles.snapshot(context)
        assert made is not None  # the profile is a section of every prompt
        admitted = await self._scripts.admitted(session, said)
        messages = _Request(session, assembly, admitted, placed).messages()
        model = self._model()
        diagnostics = (
            placed.diagnostics if placed is not None else tuple(map(remark_of, made.profile.diagnostics))
        )
        return Preview(
            strategy=applied,
            messages=tuple(messages),
            contexts=_blocks(assembly.facts, placed),
            parameters=self._parameters.proposed(made.call_config),
            diagnostics=diagnostics,
            tokens=sum(message.tokens for message in messages),
            window=model.window,
            max_response=made.request.max_response,
            added_bytes=_added(made, placed),
            max_bytes=made.profile.budget.max_bytes,
        )


class _Request:
    """The messages as the loop would log and derive them."""

    def __init__(
        self, session: Session, assembly: Assembly, said: Sequence[Message], placed: LastAssembly | None
    ) -> None:
        self._session = session
        self._assembly = assembly
        self._said = said
        self._placed = placed

    def messages(self) -> list[PreviewMessage]:
        found: list[PreviewMessage] = []
        system = _blocks(self._assembly.said, self._placed)
        if system:
            text = self._assembly.system_text
            # as the loop counts a message of one text
            tokens = message_tokens({"content": [{"type": "text", "text": text}]})
            found.append(PreviewMessage("system", text, tokens, "system", system))
        for message in self._session.derive():
            if message["role"] != "system":
                found.append(_shown(message, "history", "history"))
        found += [self._step(message) for message in self._batch()]
        return found

    def _batch(self) -> Sequence[Message]:
        snapshot = propose_snapshot(self._session, self._assembly.facts)
        batch = (*self._said, snapshot) if snapshot is not None else tuple(self._said)
        if self._placed is None:
            return batch
        return contributed(batch, self._placed.outcome, continues=True)

    def _step(self, message: Message) -> PreviewMessage:
        source = message["source"]
        if source.get("kind") == ASSEMBLER_KIND:
            node = self._node(source["blockId"])
            text = message_text(message)
            block = _block(node, text) if node is not None else PreviewBlock("", text, estimate_tokens(text))
            return PreviewMessage(message["role"], text, message_tokens(message), "pre-step", (block,))
        if source.get("kind") == SNAPSHOT_KIND:
            text = message_text(message)
            blocks = _blocks(self._assembly.facts, self._placed)
            return PreviewMessage(message["role"], text, message_tokens(message), "context", blocks)
        return _shown(message, "input", "input")

    def _node(self, node_id: str) -> Node | None:
        assert self._placed is not None
        return next((node for node in self._placed.outcome.logical.nodes if node.id == node_id), None)


def _shown(message: Message, source: str, module: str) -> PreviewMessage:
    text, tokens = message_text(message), message_tokens(message)
    kind = message["source"].get("kind", "")
    label = message["source"].get("persona") or (kind if kind not in ("user", "") else message["role"])
    return PreviewMessage(
        message["role"], text, tokens, source, (PreviewBlock(label, text, tokens, module=module),)
    )


def _blocks(parts: Iterable[Part], placed: LastAssembly | None) -> tuple[PreviewBlock, ...]:
    """The parts with their labels: of the strategy's the entry's name, of others the section's."""
    nodes: dict[str, Node] = {}
    if placed is not None:
        by_id = {node.id: node for node in placed.outcome.logical.nodes}
        planned = (*placed.outcome.sections, *placed.outcome.contexts)
        nodes = {part.name: by_id[part.node_id] for part in planned if part.node_id is not None}
    blocks = []
    for part in parts:
        node = nodes.get(part.name)
        blocks.append(_block(node, part.text) if node is not None else _official(part))
    return tuple(blocks)


def _block(node: Node, text: str) -> PreviewBlock:
    changed = node.authored_role if node.authored_role not in (None, node.role) else None
    return PreviewBlock(
        node.name or node.field or node.source_id,
        text,
        estimate_tokens(text),
        module=node.source_id,
        node_id=node.id,
        changed_role=changed,
    )


def labelled_part(part: Part) -> tuple[str, str]:
    """(name, source) of a part that no strategy placed."""
    if not part.name.startswith(f"{PART}:"):
        return part.name, "native-system"
    _, _, _, module, label = part.name.split(":", 4)
    return label, module


def _official(part: Part) -> PreviewBlock:
    label, module = labelled_part(part)
    return PreviewBlock(label, part.text, estimate_tokens(part.text), module=module)


def _added(made: Compilation, placed: LastAssembly | None) -> int:
    if placed is not None:
        return placed.outcome.logical.extra_bytes
    return len(made.system_text.encode())
