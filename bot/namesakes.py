"""Whether somebody else in a story has the name that somebody wants to play under.

Nothing is forbidden: two people may share a name, and a persona may be called like the character. But who
reads on, and the model, would mix them up, so it is said once, kindly.
"""

from __future__ import annotations

import discord

from bot.bindings import Bindings
from bot.excerpts import plain
from bot.faces import Faces
from bot.i18n import t
from engine.errors import EngineError
from engine.host import Engine
from engine.library.shelf import fold

__all__ = ["Namesakes"]


class Namesakes:
    """Looks at the story of a channel."""

    def __init__(self, engine: Engine, bindings: Bindings, faces: Faces) -> None:
        self._engine = engine
        self._bindings = bindings
        self._faces = faces

    async def remark(self, interaction: discord.Interaction, name: str) -> str | None:
        """A line about the name where the person is; None when it is theirs alone, or no story is there."""
        binding = self._bindings.of_channel(interaction.channel_id or 0)
        if binding is None:
            return None
        try:
            character = (await self._faces.of_play(binding.play_id)).name
            speakers = await self._engine.plays.speakers(binding.play_id)
        except EngineError:
            return None  # a story that cannot be read keeps nobody from choosing a name
        shown = plain(name, 80)
        if fold(name) == fold(character):
            return "-# ⚠ " + t(interaction.locale, "persona.like_character", name=shown)
        others = {fold(each) for each, author in speakers.items() if author != str(interaction.user.id)}
        if fold(name) in others:
            return "-# ⚠ " + t(interaction.locale, "persona.like_player", name=shown)
        return None
