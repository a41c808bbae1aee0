"""Tells a table once that its model cannot see the pictures that are shown to it."""

from __future__ import annotations

from bot.bindings import Bindings
from bot.i18n import t
from bot.outbox import Outbox
from bot.stage import Stage
from engine.hooks import Scope
from engine.host import Engine
from engine.storage import Store, Write

__all__ = ["Sight"]

_NOBODY = 0  # settings of no server in particular


class Sight:
    """Follows the engine. A story is told once, whatever becomes of the line."""

    def __init__(
        self, engine: Engine, store: Store, bindings: Bindings, outbox: Outbox, stage: Stage
    ) -> None:
        self._engine = engine
        self._store = store
        self._bindings = bindings
        self._outbox = outbox
        self._stage = stage

    def attach(self, owner: Scope) -> None:
        """Follow the engine from now on."""
        self._engine.hooks.on("agent/pictures-unseen", self._unseen, owner=owner)

    async def _unseen(self, session_id: str) -> None:
        found = await self._engine.plays.table.owner_of_session(session_id)
        binding = self._bindings.of_play(found[0]) if found is not None else None
        if binding is None:
            return
        key = f"unseen:{binding.play_id}"
        if await self._store.fetch_one("guild_setting_get", guild_id=_NOBODY, key=key) is not None:
            return
        line = t(self._stage.locale(binding.channel_id), "attachment.unseen")
        # Said before it is remembered: the key keeps a repetition from being a second message.
        await self._outbox.notice(binding.channel_id, line, key=key)
        row = {"guild_id": _NOBODY, "key": key, "value": "true", "now": self._engine.clock()}
        await self._store.commit(Write("guild_setting_put", row))
