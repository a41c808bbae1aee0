"""The profile in the system prompt of every agent, and what is remembered once a step is admitted.

One section holds the profile's place; when the prompt is assembled its parts stand there, each with a name
that says where it is from. Everything else that concerns the same step (call parameters, records) is
taken from the same compilation, so that a change of selection in between cannot mix two. Records are
written when the step's input enters the history, never for a preview or a step that was refused.
Source: spec tavern 5, seed 003.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final
from weakref import WeakKeyDictionary

import structlog

from engine.agent import AssembleContext, Assembly, Part, Section, SectionOrder, SystemPrompt
from engine.errors import StorageError
from engine.hooks import Hooks, Next, Scope
from engine.library import GlobalVariables
from engine.lore import EFFECTS_RECORD
from engine.session import Session
from engine.tavern.compilation import PART, SECTION, Compilation
from engine.tavern.loader import ProfileLoader
from engine.tavern.parameters import PresetParameters
from engine.tavern.variables import VARIABLES_RECORD

__all__ = ["ProfileSection"]

log = structlog.get_logger(__name__)

POLICY: Final = "rp:policy"
"""The one section of the program that stays beside a profile which wants to be alone (spec tavern 5)."""


class ProfileSection:
    """Binds a loader to the agents of one engine."""

    def __init__(
        self,
        loader: ProfileLoader,
        hooks: Hooks,
        prompt: SystemPrompt,
        parameters: PresetParameters,
        variables: GlobalVariables,
        owner: Scope,
        placed: Callable[[AssembleContext], Awaitable[bool]] | None = None,
    ) -> None:
        """`placed` tells whether a strategy places the sources of an assembly; of the profile there is only
        the cast then, until the strategy has amended it."""
        self._placed = placed
        self._loader = loader
        self._parameters = parameters
        self._variables = variables
        self._snapshots: WeakKeyDictionary[AssembleContext, Compilation] = WeakKeyDictionary()
        prompt.section(Section(SECTION, SectionOrder.STORY, self._text), owner=owner)
        hooks.on("system-prompt/assemble", self._assembled, owner=owner)
        hooks.on("agent/admitted", self._admitted, owner=owner)
        hooks.on("agent/assembled", self._put_together, owner=owner)
        hooks.on("agent/turn-ended", self._ended, owner=owner)

    def snapshot(self, context: AssembleContext) -> Compilation | None:
        """The compilation of this very assembly, whatever else is assembled for the session meanwhile."""
        return self._snapshots.get(context)

    def amend(self, context: AssembleContext, made: Compilation) -> None:
        """What a strategy made of this assembly's compilation; it is remembered when the step is admitted."""
        if self.snapshot(context) is None:
            return
        self._snapshots[context] = made
        if context.scope is not None:
            self._loader.remember(made)

    async def _text(self, context: AssembleContext) -> str:
        placed = self._placed is not None and await self._placed(context)
        context.token.check()
        made = await self._loader.compile(
            context.session, context.claimed, resolve_only=placed, tried=context.scope is None
        )
        context.token.check()
        self._snapshots[context] = made
        if context.scope is not None:  # a preview must not speak for the step that runs
            self._parameters.keep(context.session.id, made.call_config)
        if made.diagnostics:
            codes = sorted({note.code for note in made.diagnostics})
            log.debug("profile.diagnostics", session=context.session.id, codes=codes)
        return made.system_text

    async def _assembled(self, proposal: tuple[Assembly, AssembleContext], proceed: Next) -> Assembly:
        """The profile's parts in its place; alone, where the preset wants that."""
        accepted: Assembly = await proceed()
        made = self.snapshot(proposal[1])
        if made is None:
            return accepted
        sections: list[Part] = []
        for part in accepted.sections:
            if part.name == SECTION and part.text == made.system_text:
                cast = made.profile.cast
                sections += [Part(f"{PART}:0000:cast:cast", cast.text)] if cast is not None else []
                sections += [Part(named.name, named.text) for named in made.sections]
            else:
                sections.append(part)
        if made.system_prompt_mode == "replace":
            sections = [part for part in sections if _stays(part.name)]
        return replace(accepted, sections=tuple(sections))

    def _admitted(
        self, session: Session, turn: int, step: int, context: AssembleContext
    ) -> Awaitable[None] | None:
        made = self.snapshot(context)
        if made is None:
            return None
        if made.profile.lore_record is not None:
            session.append_plugin_record(EFFECTS_RECORD, made.profile.lore_record)
        return self._remember(session, turn, step, made)

    def _put_together(
        self, session: Session, turn: int, step: int, context: AssembleContext
    ) -> Awaitable[None] | None:
        """The texts of a request that is put together anew are made only then. Each attempt's say what holds
        after it, all counted from what held before the step: a retry counts nothing twice."""
        made = self.snapshot(context)
        return self._remember(session, turn, step, made) if made is not None else None

    def _remember(self, session: Session, turn: int, step: int, made: Compilation) -> Awaitable[None] | None:
        """What the texts of a step made of variables."""
        profile, record = made.profile, made.profile.variables.record()
        if record is not None:
            session.append_plugin_record(VARIABLES_RECORD, {"turn": turn, "step": step, **record})
        if profile.variables.shared and made.request.owner:
            self._variables.put(made.request.owner, profile.variables.shared)
            return self._variables.flush()
        return None

    async def _ended(self, session_id: str, result: object) -> None:
        # What could not be saved at admission is tried again before anybody hears that the turn is over.
        try:
            await self._variables.flush()
        except StorageError as error:
            log.error("variables.not_saved", session=session_id, code=error.error_code)


def _stays(name: str) -> bool:
    return name in (SECTION, POLICY) or name.startswith(f"{PART}:")
