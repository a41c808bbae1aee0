"""What strategies do in the agent loop: the sources of a step are placed, and the loop delivers them.

The profile's compilation is the only snapshot of a step: texts, call parameters and records are of the same.
Where none is applied nothing happens here, and the profile renders itself. Source: assembler spec 3 to 5;
seed 001.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

import structlog

from engine.agent import AssembleContext, Assembly, Decision, Part, PreStep
from engine.agent.standing import SNAPSHOT_KIND
from engine.assembler import (
    ASSEMBLER_KIND,
    Applied,
    AssemblyRequest,
    AssemblyStore,
    OfficialPart,
    PlannedPart,
    Sources,
    StandardOutcome,
    Strategy,
    check_standard,
    deliver_standard,
    native_sources,
    require_advanced,
    story_sources,
)
from engine.assembler import PreStep as Contribution
from engine.assembler.faults import unsupported
from engine.codec import JsonObject
from engine.hooks import Hooks, Next, Scope
from engine.ids import new_id
from engine.resources import Diagnostics
from engine.session import Message, user_message
from engine.strategies.assets import assets_of
from engine.tavern import Compilation, ProfileSection, ScriptRunner, Section
from engine.tavern.compilation import PART
from engine.tavern.variables import changes_of

__all__ = ["APPLIED", "LastAssembly", "Strategies", "Told", "Wanted", "contributed"]

log = structlog.get_logger(__name__)

_REMEMBERED: Final = 128  # sessions whose last assembly a panel can show; as many as compilations


class Wanted(Enum):
    """What a preview takes when it is given no strategy of its own."""

    APPLIED = "applied"


APPLIED: Final = Wanted.APPLIED
"""The strategy that the session has applied."""


@dataclass(frozen=True, slots=True)
class LastAssembly:
    """One assembly of a session by a strategy, and what it was made of."""

    strategy: Applied
    outcome: StandardOutcome
    compilation: Compilation
    diagnostics: tuple[JsonObject, ...]
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What the newest step of a session was told: the prompt as it was accepted, and what a strategy made of
    it; None where none is applied."""

    assembly: Assembly
    made: LastAssembly | None


@dataclass(slots=True)
class _Choice:
    """The strategy of one assembly, and what came of it."""

    context: AssembleContext
    applied: Applied | None
    made: LastAssembly | None = None


class Strategies:
    """Binds the assembler to the agents of one engine. `advanced` allows the other back end."""

    def __init__(
        self,
        store: AssemblyStore,
        hooks: Hooks,
        owner: Scope,
        *,
        scripts: ScriptRunner | None = None,
        advanced: bool = False,
    ) -> None:
        self.store = store
        self.sources = Sources()
        self.sources.register_all((*native_sources(), *story_sources()), owner=owner)
        self._advanced = advanced
        self._scripts = scripts
        self._profiles: ProfileSection | None = None
        self._choices: dict[tuple[str, bool], _Choice] = {}
        self._tried: dict[int, Applied | None] = {}
        self._last: OrderedDict[str, LastAssembly] = OrderedDict()
        self._told: dict[str, Told] = {}
        # outermost: what other parts of the program make of the prompt and the step is what is placed
        hooks.on("system-prompt/assemble", self._assembled, owner=owner, prepend=True)
        hooks.on("agent/pre-step", self._pre_step, owner=owner, prepend=True)
        hooks.on("agent/disposed", self._disposed, owner=owner)

    def bind(self, profiles: ProfileSection) -> None:
        """Whose compilations are placed; it asks `placed` of each assembly."""
        self._profiles = profiles

    # -- what sessions use ---------------------------------------------------------------------------

    async def current(self, session_id: str) -> Applied | None:
        """What a session uses: its own, the default where nothing was ever said, None where it is off."""
        return await self.store.selection(session_id)

    async def apply(
        self, owner: str, session_id: str, strategy_id: str | None, *, running: bool = False
    ) -> Applied | None:
        """Let a session use a strategy of a library as it is now, or explicitly none.

        Raises AssemblyError STRATEGY_RUNNING while its agent runs, STRATEGY_NOT_FOUND, and as `check`.
        """
        if strategy_id is not None and not running:
            self.check((await self.store.get(owner, strategy_id)).strategy)
        return await self.store.apply(owner, session_id, strategy_id, running=running)

    async def inherit(self, parent_id: str, child_id: str) -> None:
        """A continuation uses what its story does, once; nothing links them afterwards."""
        await self.store.inherit(parent_id, child_id)

    def check(self, strategy: Strategy) -> None:
        """Whether it can be carried out here. Raises AssemblyError ASSEMBLY_NATIVE_UNSUPPORTED, or
        REQUEST_ASSEMBLY_CORE_REQUIRED for what needs the advanced back end."""
        if not strategy.standard:
            require_advanced(self._advanced)
            raise unsupported("The advanced back end cannot send from here.", detail={"backend": "core"})
        check_standard(strategy)

    def last(self, session_id: str) -> LastAssembly | None:
        """The assembly of the session's last step, for those who want to see what came of it and why."""
        return self._last.get(session_id)

    def told(self, session_id: str) -> Told | None:
        """What the newest step of a session that is live was told."""
        return self._told.get(session_id)

    # -- one assembly ----------------------------------------------------------------------------------

    async def placed(self, context: AssembleContext) -> bool:
        """Whether a strategy places the sources of this assembly; it does, even if the session is given
        another meanwhile."""
        if id(context) in self._tried:
            applied = self._tried[id(context)]
        else:
            applied = await self.current(context.session.id)
        self._choices[_slot(context)] = _Choice(context, applied)
        if applied is None and context.scope is not None:
            self._last.pop(context.session.id, None)
        return applied is not None

    @contextmanager
    def trying(self, context: AssembleContext, applied: Applied | None) -> Iterator[None]:
        """Let an assembly that is only looked at be made by this strategy, or by none."""
        self._tried[id(context)] = applied
        try:
            yield
        finally:
            del self._tried[id(context)]

    def made(self, context: AssembleContext) -> LastAssembly | None:
        """What a strategy made of this very assembly, while it is the session's newest."""
        choice = self._choices.get(_slot(context))
        return choice.made if choice is not None and choice.context is context else None

    async def _assembled(self, proposal: tuple[Assembly, AssembleContext], proceed: Next) -> Assembly:
        context = proposal[1]
        accepted = await self._placed_parts(context, await proceed())
        if context.scope is not None:
            self._told[context.session.id] = Told(accepted, self.made(context))
        return accepted

    async def _placed_parts(self, context: AssembleContext, accepted: Assembly) -> Assembly:
        choice = self._choices.get(_slot(context))
        if choice is None or choice.context is not context or choice.applied is None:
            return accepted
        made = self._profiles.snapshot(context) if self._profiles is not None else None
        if made is None:
            return accepted
        outcome = await self._delivered(choice.applied, made, context, accepted)
        sections = _parts(accepted.sections, outcome.sections)
        if made.profile.greeting is not None:
            sections = _with_greeting(sections, outcome, made.profile.greeting)
        self._keep(choice, made, outcome)
        return replace(accepted, sections=sections, contexts=_parts(accepted.contexts, outcome.contexts))

    async def _delivered(
        self, applied: Applied, made: Compilation, context: AssembleContext, accepted: Assembly
    ) -> StandardOutcome:
        self.check(applied.strategy)
        session, claimed = context.session, list(context.claimed)
        if self._scripts is not None:  # what is placed around is what the model reads
            claimed = await self._scripts.admitted(session, claimed)
        last = self._last.get(session.id)
        request = AssemblyRequest(
            session_id=session.id,
            native=(*session.derive(), *claimed),
            input_ids=frozenset(message["id"] for message in claimed),
            assets=assets_of(made),
            variables=accepted.variables,
            turn=None if context.scope is None else made.request.turn,
            preview=context.scope is None,
            max_bytes=made.profile.budget.max_bytes,
            previous=last.outcome.logical.texts() if last is not None else {},
            now=made.request.now,
            seed=made.request.seed,
        )
        outcome = await deliver_standard(
            request,
            applied.strategy,
            self.sources.capture(),
            sections=[OfficialPart(part.name, part.text) for part in accepted.said],
            contexts=[OfficialPart(part.name, part.text) for part in accepted.facts],
            token=context.token,
        )
        context.token.check()
        self._amend(made, context, request, outcome)
        return outcome

    def _amend(
        self,
        made: Compilation,
        context: AssembleContext,
        request: AssemblyRequest,
        outcome: StandardOutcome,
    ) -> None:
        """The compilation with the parts of this assembly, and what their texts made of variables."""
        notes = Diagnostics()
        variables = request.assets.variables
        assert variables is not None  # `assets_of` gives them
        asked = made.request
        sections = tuple(
            Section(node.source_id, node.field or node.source_id, node.text)
            for node in outcome.logical.nodes
            if not node.native
        )
        there = {node.field for node in outcome.logical.nodes if node.source_id == "worldbook"}
        profile = replace(
            made.profile,
            sections=sections,
            system_text="\n\n".join(section.text for section in sections),
            variables=changes_of(variables, asked.local_variables, asked.global_variables, notes),
            lore=tuple(active for active in made.profile.active if active.id in there),
            diagnostics=(*made.profile.diagnostics, *notes.all()),
        )
        if self._profiles is not None:
            self._profiles.amend(context, replace(made, profile=profile))

    def _keep(self, choice: _Choice, made: Compilation, outcome: StandardOutcome) -> None:
        assert choice.applied is not None
        context = choice.context
        diagnostics = outcome.logical.diagnostics
        turn = made.request.turn if context.scope is not None else None
        choice.made = LastAssembly(choice.applied, outcome, made, diagnostics, turn)
        if context.scope is None:
            return
        self._last[context.session.id] = choice.made
        self._last.move_to_end(context.session.id)
        while len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)
        if diagnostics:
            codes = sorted({str(note.get("code")) for note in diagnostics})
            log.debug("assembly.diagnostics", session=context.session.id, codes=codes)

    # -- the step ----------------------------------------------------------------------------------------

    async def _pre_step(self, step: PreStep, proceed: Next) -> Decision:
        decision: Decision = await proceed()
        choice = self._choices.get((step.session.id, True))
        if decision.kind != "enter" or choice is None or choice.made is None:
            return decision
        outcome = choice.made.outcome
        messages = contributed(decision.messages, outcome, continues=_continues(step))
        return replace(
            decision,
            messages=messages,
            starts_series=decision.starts_series or outcome.reconcile_system,
        )

    def _disposed(self, session_id: str) -> None:
        for running in (True, False):
            self._choices.pop((session_id, running), None)
        self._told.pop(session_id, None)


def contributed(
    messages: Sequence[Message], outcome: StandardOutcome, *, continues: bool
) -> tuple[Message, ...]:
    """The batch of a step with what the strategy says before and after it, each time under new ids.

    Nothing is added to a batch that holds nothing but facts, unless the step goes on after a tool: a
    contribution never spends a model call.
    """
    enters = any(message["source"].get("kind") != SNAPSHOT_KIND for message in messages)
    if not enters and not continues:
        return tuple(messages)
    return (*map(_said, outcome.before_input), *messages, *map(_said, outcome.after_input))


def _said(contribution: Contribution) -> Message:
    return user_message(new_id("asm"), contribution.text, dict(contribution.source))


def _continues(step: PreStep) -> bool:
    """Whether the model is about to read the results of its tools."""
    said = step.session.derive()
    last = next((m for m in reversed(said) if m["source"].get("kind") != ASSEMBLER_KIND), None)
    return last is not None and last["role"] == "tool"


def _parts(accepted: Sequence[Part], planned: Sequence[PlannedPart]) -> tuple[Part, ...]:
    official: Mapping[str, Part] = {part.name: part for part in accepted}
    return tuple(
        Part(part.name, part.text) if part.node_id is not None else official[part.name] for part in planned
    )


def _with_greeting(
    sections: tuple[Part, ...], outcome: StandardOutcome, greeting: Section
) -> tuple[Part, ...]:
    """The greeting behind the story's own parts: how it began, until the model has answered."""
    ours = {part.name for part in outcome.sections if part.node_id is not None}
    at = max((at for at, part in enumerate(sections, start=1) if part.name in ours), default=len(sections))
    number = len(ours) + len(outcome.contexts)
    part = Part(f"{PART}:{number:04}:{greeting.kind}:{greeting.field}", greeting.text)
    return (*sections[:at], part, *sections[at:])


def _slot(context: AssembleContext) -> tuple[str, bool]:
    """A preview during a step must not take the step's place."""
    return context.session.id, context.scope is not None
