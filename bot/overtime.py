"""Patterns that took too long three times (decision 17): told to whoever brought them in, shown on panels."""

from __future__ import annotations

from collections.abc import Collection

import discord
import structlog

from bot.bindings import Bindings
from bot.excerpts import one_line, plain
from bot.i18n import t
from bot.outbox import Outbox
from bot.stage import Stage
from engine.errors import NotFound
from engine.hooks import Scope
from engine.host import Engine
from engine.library import ResourceRow
from engine.patterns import key_pattern
from engine.resources import WorldBook
from engine.tavern import PATTERN_STOPPED, PatternStopped

__all__ = ["Overtime", "stopped_keys"]

log = structlog.get_logger(__name__)

_SHOWN = 100  # characters of a pattern in a message


def stopped_keys(book: WorldBook, stopped: Collection[str]) -> list[tuple[str, str]]:
    """The patterns (source, flags) among a book's keys that are not run any more; `stopped` are all such
    patterns of the library, as `Watches.stopped` gives them."""
    if not stopped:
        return []
    keys = {
        key.strip()
        for entry in book.entries
        for key in (*entry.keys, *entry.secondary_keys)
        if key.lstrip().startswith("/")
    }
    found = {(made.source, made.flags) for key in keys if (made := key_pattern(key)) is not None}
    return sorted(pair for pair in found if f"/{pair[0]}/{pair[1]}" in stopped)


class Overtime:
    """Follows the engine. The notice is a direct message; where Discord takes none, it is a line in the
    story in which it happened."""

    def __init__(
        self, client: discord.Client, engine: Engine, bindings: Bindings, outbox: Outbox, stage: Stage
    ) -> None:
        self._client = client
        self._engine = engine
        self._bindings = bindings
        self._outbox = outbox
        self._stage = stage

    def attach(self, owner: Scope) -> None:
        """Follow the engine from now on."""
        self._engine.hooks.on(PATTERN_STOPPED, self._stopped, owner=owner)

    async def _stopped(self, stopped: PatternStopped) -> None:
        log.info("pattern.stopped", resource=stopped.resource_id, library=stopped.owner)
        try:
            found = await self._engine.library.get(stopped.resource_id)
        except NotFound:
            return  # nobody has it any more, so nobody can mend it
        play = await self._engine.plays.table.owner_of_session(stopped.session_id)
        binding = self._bindings.of_play(play[0]) if play is not None else None
        locale = self._stage.locale(binding.channel_id) if binding is not None else None
        key = "overtime.script" if stopped.script else "overtime.book"
        pattern = f"`{one_line(stopped.pattern, _SHOWN).replace('`', 'ˋ')}`"
        text = t(locale, key, name=plain(found.name, 100), pattern=pattern)
        if not await self._written_to(found, text) and binding is not None:
            mark = f"pattern:{found.id}:{self._engine.clock()}"
            await self._outbox.notice(binding.channel_id, text, key=mark)

    async def _written_to(self, found: ResourceRow, text: str) -> bool:
        """Whether whoever brought it in could be told in person."""
        if not found.created_by.isdecimal():
            return False
        try:
            user = await self._client.fetch_user(int(found.created_by))
            await user.send(text)
        except discord.HTTPException as error:
            log.info("pattern.not_told", status=error.status, code=error.code)
            return False
        return True
