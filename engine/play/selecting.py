"""What a story may be told to use, and when: the rules of spec tavern 2.

A story keeps its card; what it uses beside that changes between turns only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engine.assembler import Applied
from engine.errors import PlayError
from engine.library import Selection
from engine.play.model import Playthrough
from engine.play.stories import Stories

__all__ = ["Choices", "card_refused", "running", "templated"]

_RUNNING = (
    ("preset_id", "PRESET_AGENT_RUNNING"),
    ("card_id", "CHARACTER_AGENT_RUNNING"),
    ("persona_id", "USER_AGENT_RUNNING"),
    ("book_ids", "WORLD_BOOK_AGENT_RUNNING"),
)


def running(before: Selection, after: Selection) -> PlayError:
    """Why this change has to wait: an answer is being written. The code says what would change."""
    changed = [code for field, code in _RUNNING if getattr(before, field) != getattr(after, field)]
    return PlayError(
        "An answer is being written. What the story uses can be changed afterwards.",
        code=changed[0] if changed else "PLAY_BUSY",
    )


def card_refused(play: Playthrough, requested: str | None, sessions: int) -> PlayError:
    """Why a story cannot be given another card; `sessions` is how many it has, the head's included."""
    conflict = {
        "playthroughId": play.id,
        "title": play.title,
        "sessionId": play.head.session_id,
        "expectedCharacterId": play.card_id,
        "requestedCharacterId": requested,
        "descendantSessionCount": sessions - 1,
    }
    return PlayError(
        "A story keeps its character. Another one needs a story of its own.",
        code="CHARACTER_PLAYTHROUGH_DETACH_REQUIRED",
        conflicts=(conflict,),
    )


def templated(current: Selection, template: Selection, *, begun: bool) -> Selection:
    """What a story uses when a template was applied to it: all that the template says.

    Its own stay the seed and the name in `{{user}}`, once it has begun its greeting, and the card where
    the template names none.
    """
    if template.card_id is None:
        template = replace(
            template,
            card_id=current.card_id,
            greeting_index=current.greeting_index,
            prefer_system=current.prefer_system,
            prefer_post_history=current.prefer_post_history,
        )
    return replace(
        template,
        seed=current.seed,
        user_name=current.user_name,
        greeting_index=current.greeting_index if begun else template.greeting_index,
    )


class Choices(Stories):
    """What stories use, and changing it."""

    async def select(self, play_id: str, change: Callable[[Selection], Selection]) -> Selection:
        """Change which resources the head uses, from the next turn on.

        While a turn runs it is refused with a PlayError that says what would change: PRESET_AGENT_RUNNING,
        CHARACTER_AGENT_RUNNING, USER_AGENT_RUNNING, WORLD_BOOK_AGENT_RUNNING, for anything else PLAY_BUSY.
        Another card than the story's: CHARACTER_PLAYTHROUGH_DETACH_REQUIRED (data: conflicts).
        """
        async with self.lock(play_id):
            play = await self._open(play_id)
            before = await self._selected(play.head.session_id)
            after = change(before)
            if await self._busy(play):
                raise running(before, after)
            await self._use(play, before, after)
            return after

    async def apply_template(self, play_id: str, template: Selection) -> Selection:
        """Use all that a template says, as one change (decision 28); see `selecting.templated`.

        That everything in it is there is the caller's to check (`Templates.usable`). Raises PlayError
        SESSION_CONFIGURATION_AGENT_RUNNING while a turn runs, CHARACTER_PLAYTHROUGH_DETACH_REQUIRED for
        the template of another card; nothing is changed then.
        """
        async with self.lock(play_id):
            play = await self._open(play_id)
            if await self._busy(play):
                raise PlayError(
                    "An answer is being written. A template can be applied afterwards.",
                    code="SESSION_CONFIGURATION_AGENT_RUNNING",
                )
            before = await self._selected(play.head.session_id)
            after = templated(before, template, begun=await self._begun(play))
            await self._use(play, before, after)
            return after

    async def strategy(self, play_id: str) -> Applied | None:
        """The strategy that the story's head uses; None where it is off."""
        play = await self.table.get(play_id)
        return await self.strategies.current(play.head.session_id)

    async def use_strategy(
        self, play_id: str, strategy_id: str | None, *, expected: str | None = None
    ) -> Applied | None:
        """Use a strategy of the story's library from the next turn on, or explicitly none. `expected` is the
        revision that somebody looked at.

        Raises as `Strategies.apply`, with STRATEGY_RUNNING while a turn runs; PLAY_ENDED.
        """
        async with self.lock(play_id):
            play = await self._open(play_id)
            running = await self._busy(play)
            return await self.strategies.apply(
                play.owner, play.head.session_id, strategy_id, running=running, expected=expected
            )

    async def choose_greeting(self, play_id: str, index: int) -> Selection:
        """Switch the draft's greeting. Raises PlayError PLAY_GREETING_LOCKED once the story has begun."""
        async with self.lock(play_id):
            play = await self._open(play_id)
            if await self._begun(play):
                raise PlayError("The story has begun; its greeting stands.", code="PLAY_GREETING_LOCKED")
            chosen = replace(await self._selected(play.head.session_id), greeting_index=index)
            await self._selections.set(play.head.session_id, chosen)
            return chosen

    async def _use(self, play: Playthrough, before: Selection, after: Selection) -> None:
        # A card that was deleted from the library left the selection; it may come back.
        if after.card_id not in (before.card_id, play.card_id):
            raise card_refused(play, after.card_id, await self.table.session_count(play.id))
        await self._selections.set(play.head.session_id, after)
