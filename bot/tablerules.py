"""What whoever leads a story allows everybody at its table (`ux` 7). It is the story's, not its sessions'."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import discord

from bot.excerpts import plain
from bot.i18n import t
from bot.press import button
from bot.sheet import PRIMARY, Layout, Sheet
from bot.stories import leads
from engine.codec import canonical, loads
from engine.errors import PlayError
from engine.play import Playthrough
from engine.storage import Store, Write

__all__ = ["PROMPTS_SET", "TableRules", "prompts_panel"]

PROMPTS_SET: Final = "prompts-set"
"""The op of the switch; its arguments are the story, and 1 for everybody."""

_PROMPTS: Final = "prompts"
_TITLE: Final = 100


class TableRules:
    """Reads and sets the rules of stories. `clock` gives epoch ms."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock

    async def prompts_for_all(self, play_id: str) -> bool:
        """Whether everybody at the table may see what the model was sent. No, unless somebody said so."""
        found = await self._store.fetch_one("story_setting_get", play_id=play_id, key=_PROMPTS)
        return found is not None and loads(found["value"]) is True

    async def show_prompts(self, play_id: str, to_all: bool) -> None:
        """From now on."""
        params = {
            "play_id": play_id, "key": _PROMPTS, "value": canonical(to_all).decode(), "now": self._clock()
        }  # fmt: skip
        await self._store.commit(Write("story_setting_put", params))

    async def may_see_prompts(self, interaction: discord.Interaction, play: Playthrough) -> bool:
        """Whether somebody may see the prompts of a story in whose channel they are."""
        return leads(interaction, play) or await self.prompts_for_all(play.id)

    async def check_prompts(self, interaction: discord.Interaction, play: Playthrough) -> None:
        """Raises PlayError PROMPT_LEADERS_ONLY for whoever may not see them."""
        if not await self.may_see_prompts(interaction, play):
            raise PlayError("Prompts are not shown to everybody here.", code="PROMPT_LEADERS_ONLY")


def prompts_panel(play: Playthrough, to_all: bool, locale: str) -> Layout:
    """Who sees the prompts of a story, and the switch."""
    sheet = Sheet()
    title = t(locale, "prompts.title", title=plain(play.title, _TITLE))
    state = t(locale, "prompts.all" if to_all else "prompts.leaders")
    sheet.text(f"## {title}\n{t(locale, 'prompts.about')}\n{state}")
    text = t(locale, "button.to_leaders" if to_all else "button.to_all")
    sheet.row(button(PROMPTS_SET, play.id, int(not to_all), label=text, style=PRIMARY))
    return sheet.layout()
