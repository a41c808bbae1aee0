"""What a new story in a channel starts with: the channel's template, and what was chosen one by one.

What was chosen one by one counts before what the template says: it was chosen for this channel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from bot.bindings import Bindings, Defaults
from engine.errors import NotFound
from engine.library import Library, ResourceRow, Selection

__all__ = ["Beginnings"]


class Beginnings:
    """Reads what channels have chosen, against what is still in the library."""

    def __init__(self, library: Library, bindings: Bindings) -> None:
        self._library = library
        self._bindings = bindings

    async def card(self, owner: str, guild_id: int, channel_id: int) -> ResourceRow | None:
        """The card that stories here start with: the channel's, else its template's; None when people
        choose one, or when it has left the library. Raises as `selection`."""
        defaults = await self._bindings.defaults(guild_id, channel_id)
        if (own := await self._row(owner, defaults.card_id)) is not None:
            return own
        return await self._row(owner, (await self._template(owner, defaults)).card_id)

    async def selection(
        self, card: ResourceRow, guild_id: int, channel_id: int, *, user_id: int
    ) -> Selection:
        """All that a new story with this card uses, but for whom `{{user}}` names.

        What was chosen and has left the library since is passed over. Raises InputError
        SESSION_CONFIGURATION_UNAVAILABLE (data: name, missing, names) when the channel's template cannot
        be applied as a whole: half a template is not what anybody chose.
        """
        defaults = await self._bindings.defaults(guild_id, channel_id)
        template = await self._template(card.owner, defaults)
        if template.card_id != card.id:
            # Which greeting, and what of the card is preferred, was said of another one.
            template = replace(template, greeting_index=0, prefer_system=True, prefer_post_history=True)
        preset = await self._row(card.owner, defaults.preset_id)
        return replace(
            template,
            card_id=card.id,
            preset_id=preset.id if preset is not None else template.preset_id,
            persona_id=await self._own(template.persona_id, user_id),
            book_ids=(*template.book_ids, *await self._live(card.owner, defaults.book_ids)),
            regex_ids=(*template.regex_ids, *await self._live(card.owner, defaults.regex_ids)),
        )

    async def _template(self, owner: str, defaults: Defaults) -> Selection:
        if defaults.template_id is None:
            return Selection()
        try:
            return await self._library.templates.usable(owner, defaults.template_id)
        except NotFound:
            return Selection()  # the template itself was deleted: the channel has none

    async def _own(self, persona_id: str | None, user_id: int) -> str | None:
        """Who people play is their own: somebody else's persona is not bound to a story that they open."""
        stored = await self._library.personas.find(persona_id) if persona_id is not None else None
        return stored.id if stored is not None and stored.user_id == str(user_id) else None

    async def _live(self, owner: str, ids: Iterable[str]) -> list[str]:
        return [row.id for each in ids if (row := await self._row(owner, each)) is not None]

    async def _row(self, owner: str, resource_id: str | None) -> ResourceRow | None:
        if resource_id is None:
            return None
        try:
            return await self._library.get(resource_id, owner=owner)
        except NotFound:
            return None
