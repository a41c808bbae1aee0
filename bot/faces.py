"""Names and pictures under which characters and people speak.

A character's picture hangs in its story's top post, or in the thread itself when that is gone.
"""

from __future__ import annotations

import structlog

from bot.avatars import Avatars
from bot.bindings import Bindings
from bot.personas import Face
from engine.errors import EngineError, NotFound
from engine.host import Engine
from engine.play import UserText

__all__ = ["Faces"]

log = structlog.get_logger(__name__)


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

    async def of_person(self, words: UserText, channel_id: int) -> Face:
        """A person whose words are told again in a channel: in their persona's face, if it has a picture."""
        name = words.persona_name or words.author_name
        return Face(name, await self._own_picture(words, channel_id) or words.avatar_url)

    async def _own_picture(self, words: UserText, channel_id: int) -> str | None:
        personas = self._engine.library.personas
        try:
            own = await personas.list(words.author_id)
            stored = next((each for each in own if each.persona.name == words.persona_name), None)
            if stored is None or stored.avatar is None:
                return None
            picture = await personas.avatar(stored.id)
        except EngineError as error:
            log.warning("faces.no_picture", code=error.error_code)
            return None
        # The key is the picture's own hash: it hangs once, whoever is told again, and wherever.
        return None if picture is None else await self.avatars.hang(stored.avatar.hex(), channel_id, picture)

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
