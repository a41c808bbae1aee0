"""Names and pictures under which characters and people speak.

A character's picture hangs in its story's top post, or in the thread itself when that is gone.
"""

from __future__ import annotations

from bot.avatars import Avatars
from bot.bindings import Bindings
from bot.personas import Face
from engine.errors import NotFound
from engine.host import Engine
from engine.play import UserText

__all__ = ["Faces"]


class Faces:
    """Looks up who speaks. A missing picture never keeps anybody from speaking."""

    def __init__(self, engine: Engine, avatars: Avatars, bindings: Bindings) -> None:
        self._engine = engine
        self._bindings = bindings
        self.avatars = avatars

    async def of_play(self, play_id: str) -> Face:
        """The character of a story."""
        play = await self._engine.plays.get(play_id)
        try:
            name = (await self._engine.library.card(play.card_id)).speaker
        except NotFound:
            name = play.title
        return Face(name, await self._picture(play_id, play.card_id))

    async def of_person(self, words: UserText) -> Face:
        """A person whose words are told again."""
        return Face(words.persona_name or words.author_name, words.avatar_url)

    async def _picture(self, play_id: str, card_id: str) -> str | None:
        url = await self.avatars.url(play_id)
        binding = self._bindings.of_play(play_id)
        if url is not None or binding is None:
            return url
        try:
            picture = await self._engine.library.avatar(card_id)
        except NotFound:
            return None
        if picture is None:
            return None
        return await self.avatars.hang(play_id, binding.channel_id, picture)
