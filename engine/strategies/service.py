"""What strategies do in the agent loop: the sources of a step are placed, and the loop delivers them.

The profile's compilation is the only snapshot of a step: texts, call parameters and records are of the same.
Where none is applied nothing happens here, and the profile renders itself. A strategy of the standard back
end hands its parts to the loop while the prompt is assembled; one of the advanced back end leaves the prompt
to the program and puts the request together once the step is admitted. Source: assembler spec 3 to 5; seed
001.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final
from weakref import WeakKeyDictionary

import structlog

from engine.agent import AssembleContext, Assembled, Assembly, Decision, PreStep, RequestAssembly
from engine.assembler import (
    AdvancedOutcome,
    Algorithms,
    Applied,
    AssemblyRequest,
    AssemblyStore,
    PlugInFailure,
    Sources,
    StandardOutcome,
    Strategy,
    check_rules,
    check_standard,
    check_standard_policy,
    native_sources,
    placements,
    plug_ins,
    require_advanced,
    story_sources,
)
from engine.hooks import Hooks, Next, Scope
from engine.session import Message, Session
from engine.strategies.advanced import (
    Conversation,
    Projector,
    begins_series,
    conversation_to_come,
    switched,
    with_sections,
)
from engine.strategies.assets import amended, assets_of
from engine.strategies.choice import APPLIED, Choice, LastAssembly, Told, Wanted
from engine.strategies.standard import continues, contributed, deliver, with_parts
from engine.tavern import Compilation, ProfileSection, ScriptRunner

__all__ = ["APPLIED", "LastAssembly", "Strategies", "Told", "Wanted", "contributed"]

log = structlog.get_logger(__name__)

_REMEMBERED: Final = 128  # sessions whose last assembly a panel can show; as many as compilations


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
        self.algorithms = Algorithms()
        self.failures: tuple[PlugInFailure, ...] = (
            *plug_ins(self.sources, owner=owner),
            *placements(self.algorithms, owner=owner),
        )
        """Plug-ins that could not be taken in. What their sources would say is missing in every request."""
        self._advanced = advanced
        self._scripts = scripts
        self._projector = Projector(self.sources, self.algorithms, scripts)
        self._profiles: ProfileSection | None = None
        self._choices: WeakKeyDictionary[AssembleContext, Choice] = WeakKeyDictionary()
        self._tried: WeakKeyDictionary[AssembleContext, Applied | None] = WeakKeyDictionary()
        self._steps: dict[str, Choice] = {}  # of the newest step of each session that is live
        self._last: OrderedDict[str, LastAssembly] = OrderedDict()
        self._told: dict[str, Told] = {}
        self._sent: dict[str, int] = {}  # by session: which of its histories was sent last
        # outermost: what other parts of the program make of the prompt and the step is what is placed
        hooks.on("system-prompt/assemble", self._assembled, owner=owner, prepend=True)
        hooks.on("agent/pre-step", self._pre_step, owner=owner, prepend=True)
        hooks.on("agent/assemble-request", self._request, owner=owner)
        hooks.on("agent/disposed", self._disposed, owner=owner)

    def bind(self, profiles: ProfileSection) -> None:
        """Whose compilations are placed; it asks `placed` of each assembly."""
        self._profiles = profiles

    @property
    def advanced(self) -> bool:
        """Whether strategies of the advanced back end are carried out here."""
        return self._advanced

    # -- what sessions use ---------------------------------------------------------------------------

    async def current(self, session_id: str) -> Applied | None:
        """What a session uses: its own, the default where nothing was ever said, None where it is off."""
        return await self.store.selection(session_id)

    async def apply(
        self,
        owner: str,
        session_id: str,
        strategy_id: str | None,
        *,
        running: bool = False,
        expected: str | None = None,
    ) -> Applied | None:
        """Let a session use a strategy of a library as it is now, or explicitly none.

        Raises AssemblyError STRATEGY_RUNNING while its agent runs, STRATEGY_NOT_FOUND, and as `check`;
        Conflict STRATEGY_CHANGED when its revision is not `expected`.
        """
        return await self.store.apply(
            owner, session_id, strategy_id, running=running, expected=expected, check=self.check
        )

    async def inherit(self, parent_id: str, child_id: str) -> None:
        """A continuation uses what its story does, once; nothing links them afterwards."""
        await self.store.inherit(parent_id, child_id)

    def check(self, strategy: Strategy) -> None:
        """Whether it can be carried out here. Raises AssemblyError ASSEMBLY_NATIVE_UNSUPPORTED,
        REQUEST_ASSEMBLY_CORE_REQUIRED and HISTORY_ADVANCED_REQUIRED for what needs the advanced back end, and
        SOURCE_RULE_UNSUPPORTED and its like for what a source cannot do."""
        if strategy.standard:
            check_standard(strategy)
            check_standard_policy(strategy.history_policy)
        else:
            require_advanced(self._advanced)
        check_rules(strategy, self.sources.capture())

    def last(self, session_id: str) -> LastAssembly | None:
        """The assembly of the session's last step, for those who want to see what came of it and why."""
        return self._last.get(session_id)

    def goes_on(self, session: Session, applied: Applied | None) -> bool:
        """Whether the next request of a session goes on where the last one ended, as far as that hangs on its
        history and on what places it: nothing of what was sent has been rewritten since, by a summary say."""
        unchanged = self._sent.get(session.id) in (None, session.surface.content_generation)
        return unchanged and not begins_series(session, applied)

    def told(self, session_id: str) -> Told | None:
        """What the newest step of a session that is live was told."""
        return self._told.get(session_id)

    # -- one assembly ----------------------------------------------------------------------------------

    async def placed(self, context: AssembleContext) -> bool:
        """Whether a strategy places the sources of this assembly; it does, even if the session is given
        another meanwhile."""
        if context in self._tried:
            applied = self._tried[context]
        else:
            applied = await self.current(context.session.id)
        choice = self._choices[context] = Choice(applied)
        if context.scope is not None:
            self._steps[context.session.id] = choice
            if applied is None:
                self._last.pop(context.session.id, None)
        return applied is not None

    @contextmanager
    def trying(self, context: AssembleContext, applied: Applied | None) -> Iterator[None]:
        """Let an assembly that is only looked at be made by this strategy, or by none."""
        self._tried[context] = applied
        try:
            yield
        finally:
            del self._tried[context]

    def chosen(self, context: AssembleContext) -> Choice | None:
        """The strategy of this very assembly and what it made of it."""
        return self._choices.get(context)

    async def _assembled(self, proposal: tuple[Assembly, AssembleContext], proceed: Next) -> Assembly:
        context = proposal[1]
        accepted: Assembly = await proceed()
        compiled = self._profiles.snapshot(context) if self._profiles is not None else None
        choice = self.chosen(context)
        if compiled is None or choice is None:
            return accepted
        accepted = await self._placed_parts(context, choice, compiled, accepted)
        if context.scope is not None:
            now = self._profiles.snapshot(context) if self._profiles is not None else None
            self._told[context.session.id] = Told(accepted, choice.applied, choice.made, now)
        return accepted

    async def _placed_parts(
        self, context: AssembleContext, choice: Choice, made: Compilation, accepted: Assembly
    ) -> Assembly:
        if choice.applied is None:
            return accepted
        self.check(choice.applied.strategy)
        if choice.advanced:
            choice.accepted = switched(accepted, choice.applied)
            choice.compilation = made
            return choice.accepted
        outcome = await self._delivered(choice.applied, made, context, accepted)
        self._keep(context, choice, made, outcome)
        return with_parts(accepted, outcome, made.profile.greeting)

    async def _delivered(
        self, applied: Applied, made: Compilation, context: AssembleContext, accepted: Assembly
    ) -> StandardOutcome:
        session, claimed = context.session, list(context.claimed)
        if self._scripts is not None:  # what is placed around is what the model reads
            claimed = await self._scripts.admitted(session, claimed)
        last = self._last.get(session.id)
        assets = assets_of(made)
        request = AssemblyRequest(
            session_id=session.id,
            native=(*session.derive(), *claimed),
            input_ids=frozenset(message["id"] for message in claimed),
            assets=assets,
            variables=accepted.variables,
            turn=None if context.scope is None else made.request.turn,
            preview=context.scope is None,
            max_bytes=made.profile.budget.max_bytes,
            previous=last.logical.texts() if last is not None else {},
            now=made.request.now,
            seed=made.request.seed,
        )
        outcome = await deliver(
            request, applied.strategy, self.sources, self.algorithms, accepted, context.token
        )
        self._amend(context, amended(made, assets, outcome.logical))
        return outcome

    def _amend(self, context: AssembleContext, made: Compilation) -> None:
        if self._profiles is not None:
            self._profiles.amend(context, made)

    def _keep(
        self,
        context: AssembleContext,
        choice: Choice,
        made: Compilation,
        outcome: StandardOutcome | AdvancedOutcome,
    ) -> None:
        assert choice.applied is not None
        remarked = outcome.logical if isinstance(outcome, StandardOutcome) else outcome
        diagnostics = remarked.diagnostics
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

    # -- a request that is put together anew ---------------------------------------------------------------

    async def _request(self, payload: RequestAssembly, proceed: Next) -> Assembled | None:
        """The request of an attempt, when the session's strategy makes it itself."""
        self._sent[payload.session.id] = payload.session.surface.content_generation
        choice = self.chosen(payload.context)
        if choice is None or choice.accepted is None:
            passed: Assembled | None = await proceed()
            return passed
        outcome = await self._projected(
            payload.context,
            choice,
            Conversation.of_step(payload.session, payload.messages),
            step=(payload.turn, payload.step),
            in_history=payload.call.system_prompt_update == "in-history",
        )
        return with_sections(outcome, choice.accepted.said)

    async def project(
        self, context: AssembleContext, history: Sequence[Message], batch: Sequence[Message], *, goes_on: bool
    ) -> None:
        """Let an advanced strategy make of an assembly that was only looked at what it would send if this
        batch were admitted behind this history. `goes_on` says that what instructed the model before stays.
        Raises as a step would end."""
        choice = self.chosen(context)
        if choice is None or choice.accepted is None or choice.applied is None:
            return
        session = context.session
        coming = conversation_to_come(session, history, choice.accepted.system_text, batch, goes_on=goes_on)
        await self._projected(context, choice, coming)

    async def _projected(
        self,
        context: AssembleContext,
        choice: Choice,
        conversation: Conversation,
        *,
        step: tuple[int, int] | None = None,
        in_history: bool = False,
    ) -> AdvancedOutcome:
        assert choice.applied is not None  # only such a choice has an accepted prompt
        assert choice.accepted is not None
        assert choice.compilation is not None
        outcome, made = await self._projector.project(
            context.session,
            choice.applied,
            choice.compilation,
            choice.accepted,
            conversation,
            context.token,
            step=step,
            in_history=in_history,
        )
        self._amend(context, made)
        self._keep(context, choice, choice.compilation, outcome)
        return outcome

    # -- the step ----------------------------------------------------------------------------------------

    async def _pre_step(self, step: PreStep, proceed: Next) -> Decision:
        decision: Decision = await proceed()
        choice = self._steps.get(step.session.id)
        if decision.kind != "enter" or choice is None:
            return decision
        new = decision.starts_series or begins_series(step.session, choice.applied)
        outcome = choice.made.standard if choice.made is not None else None
        if outcome is None:
            return replace(decision, starts_series=new)
        messages = contributed(decision.messages, outcome, continues=continues(step))
        return replace(decision, messages=messages, starts_series=new or outcome.reconcile_system)

    def _disposed(self, session_id: str) -> None:
        self._sent.pop(session_id, None)
        self._steps.pop(session_id, None)
        self._told.pop(session_id, None)
