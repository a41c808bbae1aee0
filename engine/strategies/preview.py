"""What a session's next request would be: the final messages, and where each part of them is from.

The same compilation, hooks and assembler as for a step, on the session as it stands. Nothing is written, no
model is called and no agent is started; what is not said yet is not waited for. Source: assembler spec 3,
"Preview"; `ux.md` 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from engine.agent import AssembleContext, Assembly, Part, Services, told_tools
from engine.agent.projection import propose_snapshot
from engine.agent.standing import SNAPSHOT_KIND
from engine.assembler import ASSEMBLER_KIND, AdvancedOutcome, Applied, Node, StandardOutcome, Strategy
from engine.cancel import CancelToken
from engine.codec import JsonObject
from engine.llm import CallConfig
from engine.session import Message, Session, estimate_tokens, freeze, message_text, message_tokens
from engine.strategies.advanced import with_sections
from engine.strategies.assets import remark_of
from engine.strategies.choice import APPLIED, LastAssembly, Wanted
from engine.strategies.history import foreseen, repeated
from engine.strategies.projected import blocks_of
from engine.strategies.provenance import KnownSources, known_sources, shown_messages
from engine.strategies.sentsteps import REQUEST_RECORD
from engine.strategies.service import Strategies
from engine.strategies.shown import UNRECORDED, PreviewBlock, PreviewMessage, labelled_part
from engine.strategies.standard import contributed
from engine.tavern import Compilation, ModelFacts, PresetParameters, ProfileSection, ScriptRunner

__all__ = ["Preview", "PreviewBlock", "PreviewMessage", "Previews", "labelled_part"]

EARLIER = "historical-system-update"
"""The module of instructions that newer ones have taken the place of."""

_FOR_WANT_OF_WORDS: Final = ("ASSEMBLY_EMPTY", "ASSEMBLY_SYSTEM_ONLY")
"""Remarks that say nothing of what will be sent where only looking at it says nothing."""

UNSAVED = ""
"""The id of a strategy that is in no library (yet)."""


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
        services: Services,
        strategies: Strategies,
        profiles: ProfileSection,
        parameters: PresetParameters,
        scripts: ScriptRunner,
        model: Callable[[], ModelFacts],
    ) -> None:
        self._services = services
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
        session = await self._services.journal.look(session_id)
        applied: Applied | None
        if isinstance(strategy, Strategy):
            applied = Applied(UNSAVED, strategy)
        elif strategy is None:
            applied = None
        else:
            applied = await self._strategies.current(session_id)
        context = AssembleContext(session, tuple(said), CancelToken())
        with self._strategies.trying(context, applied):
            assembly = await self._services.prompt.assemble(context)
        choice, compiled = self._strategies.chosen(context), self._profiles.snapshot(context)
        admitted = await self._scripts.admitted(session, said)
        history = foreseen(session, applied)
        snapshot = propose_snapshot(session, assembly.facts)
        batch = tuple(admitted) if snapshot is None else (*admitted, snapshot)
        model = self._model()
        # else the request begins anew, and nothing is left of what instructed the model before
        goes_on = (
            model.later_instructions
            and tuple(history) == tuple(session.derive())
            and self._strategies.goes_on(session, applied)
            and (model.later_tools or not await self._has_other_tools(session))
        )
        await self._strategies.project(context, history, batch, goes_on=goes_on)
        placed = choice.made if choice is not None else None
        made = placed.compilation if placed is not None else compiled
        assert made is not None  # the profile is a section of every prompt
        records = [event.data for event in session.events() if event.type == REQUEST_RECORD]
        request = _Request(history, assembly, batch, placed, made, known_sources(records), goes_on)
        messages = request.messages()
        diagnostics = (
            placed.diagnostics if placed is not None else tuple(map(remark_of, made.profile.diagnostics))
        )
        return Preview(
            strategy=applied,
            messages=tuple(messages),
            contexts=_blocks(assembly.facts, placed.standard if placed is not None else None, made),
            parameters=self._parameters.proposed(made.call_config),
            diagnostics=(
                *(remark for remark in diagnostics if said or remark.get("code") not in _FOR_WANT_OF_WORDS),
                *repeated(history, applied, says=_says(placed)),
            ),
            tokens=sum(message.tokens for message in messages),
            window=model.window,
            max_response=made.request.max_response,
            added_bytes=_added(made, placed),
            max_bytes=made.profile.budget.max_bytes,
        )

    async def _has_other_tools(self, session: Session) -> bool:
        """Whether the next request tells the model of other tools than the last one did."""
        told = told_tools(session)
        if told is None:
            return False
        coming = await self._services.tools.coming(session, self._services.hooks)
        now = {tool["name"]: freeze(tool) for tool in coming}
        return {tool["name"]: tool for tool in told} != now


class _Request:
    """The messages as the loop would log and derive them, or as a strategy would put them together."""

    def __init__(
        self,
        history: Sequence[Message],
        assembly: Assembly,
        batch: Sequence[Message],
        placed: LastAssembly | None,
        made: Compilation,
        sources: KnownSources,
        goes_on: bool,
    ) -> None:
        """`sources` are what earlier requests have put into the history; `goes_on` says that earlier
        instructions stay in it and new ones are told behind it."""
        self._history = history
        self._sources = sources
        self._assembly = assembly
        self._batch = batch
        self._placed = placed
        self._made = made
        self._standard = placed.standard if placed is not None else None
        self._goes_on = goes_on and not (self._standard is not None and self._standard.reconcile_system)

    def messages(self) -> list[PreviewMessage]:
        if self._placed is not None and self._placed.advanced is not None:
            return self._projected(self._placed.advanced)
        talk = self._said([message for message in self._history if message["role"] != "system"])
        instructions = self._instructions()
        told = [message for message in self._history if message["role"] == "system"]
        if self._goes_on and told and instructions:
            talk = self._told_behind(instructions[0], told[-1])
        else:
            talk = [*instructions, *talk]
        return [*talk, *(self._step(message) for message in self._step_batch())]

    def _instructions(self) -> list[PreviewMessage]:
        """The system text; none where it is empty."""
        blocks = _blocks(self._assembly.said, self._standard, self._made)
        if not blocks:
            return []
        text = self._assembly.system_text
        # as the loop counts a message of one text
        tokens = message_tokens({"content": [{"type": "text", "text": text}]})
        return [PreviewMessage("system", text, tokens, "system", blocks)]

    def _told_behind(self, now: PreviewMessage, last: Message) -> list[PreviewMessage]:
        """The history with what instructed the model before; what does now stands behind it, unless it is the
        same."""
        same = message_text(last) == now.text
        found: list[PreviewMessage] = []
        for message in self._history:
            if message is last and same:
                found.append(now)
            elif message["role"] == "system":
                found.append(self._earlier(message))
            else:
                found += self._said([message])
        return found if same else [*found, now]

    def _said(self, messages: Sequence[Message]) -> list[PreviewMessage]:
        """What stands in the history, with what of it a strategy has put there."""
        return list(shown_messages(messages, self._sources))

    def _earlier(self, message: Message) -> PreviewMessage:
        """Instructions that newer ones stand behind, by their parts where these were recorded."""
        (shown,) = self._said([message])
        if all(block.module != UNRECORDED for block in shown.blocks):
            return shown
        text = message_text(message)
        block = PreviewBlock("", text, estimate_tokens(text), module=EARLIER)
        return replace(shown, blocks=(block,))

    def _projected(self, outcome: AdvancedOutcome) -> list[PreviewMessage]:
        record = with_sections(outcome, self._assembly.said)
        blocks = blocks_of(record.messages, record.metadata)
        coming = {message["id"] for message in self._batch}
        found = []
        for message in record.messages:
            text, tokens = message_text(message), message_tokens(message)
            if parts := blocks.get(message["id"]):
                source = "system" if message["role"] == "system" else "pre-step"
                found.append(PreviewMessage(message["role"], text, tokens, source, parts))
            elif message["id"] in coming:
                found.append(self._step(message))
            else:
                found += self._said([message])
        return found

    def _step_batch(self) -> Sequence[Message]:
        if self._standard is None:
            return self._batch
        return contributed(self._batch, self._standard, continues=True)

    def _step(self, message: Message) -> PreviewMessage:
        source = message["source"]
        if source.get("kind") == ASSEMBLER_KIND:
            node = self._node(source["blockId"])
            text = message_text(message)
            block = _block(node, text) if node is not None else PreviewBlock("", text, estimate_tokens(text))
            return PreviewMessage(message["role"], text, message_tokens(message), "pre-step", (block,))
        if source.get("kind") == SNAPSHOT_KIND:
            text = message_text(message)
            blocks = _blocks(self._assembly.facts, self._standard, self._made)
            return PreviewMessage(message["role"], text, message_tokens(message), "context", blocks)
        return _said_now(message)

    def _node(self, node_id: str) -> Node | None:
        assert self._standard is not None
        return next((node for node in self._standard.logical.nodes if node.id == node_id), None)


def _says(placed: LastAssembly | None) -> bool:
    """Whether the strategy says something beside the input, to stay in the history."""
    outcome = placed.standard if placed is not None else None
    return outcome is not None and bool(outcome.before_input or outcome.after_input)


def _said_now(message: Message) -> PreviewMessage:
    text, tokens = message_text(message), message_tokens(message)
    kind = message["source"].get("kind", "")
    label = message["source"].get("persona") or (kind if kind not in ("user", "") else message["role"])
    block = PreviewBlock(label, text, tokens, module="input")
    return PreviewMessage(message["role"], text, tokens, "input", (block,))


def _blocks(
    parts: Iterable[Part], placed: StandardOutcome | None, made: Compilation
) -> tuple[PreviewBlock, ...]:
    """The parts with their labels: of the strategy's the entry's name, of others the section's."""
    nodes: dict[str, Node] = {}
    if placed is not None:
        by_id = {node.id: node for node in placed.logical.nodes}
        planned = (*placed.sections, *placed.contexts)
        nodes = {part.name: by_id[part.node_id] for part in planned if part.node_id is not None}
    blocks = []
    for part in parts:
        node = nodes.get(part.name)
        blocks.append(_block(node, part.text) if node is not None else _official(part, made))
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


def _official(part: Part, made: Compilation) -> PreviewBlock:
    label, module = labelled_part(part, made)
    return PreviewBlock(label, part.text, estimate_tokens(part.text), module=module)


def _added(made: Compilation, placed: LastAssembly | None) -> int:
    if placed is not None:
        return placed.logical.extra_bytes
    return len(made.system_text.encode())
