"""What people change about a strategy before they save it: one draft for each person and strategy.

A draft outlives a restart, touches nobody else, and is never used by a story: only what is saved can be
applied (`ux` 6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from engine.assembler import AssemblyStore, KeptStrategy, Strategy, strategy_from_bytes
from engine.errors import AssemblyError, Conflict, InputError
from engine.storage import Store, Write

__all__ = ["Draft", "Drafts", "token_of"]

_MOST = 20  # of one person; the one that was left alone longest makes way


@dataclass(frozen=True, slots=True)
class Draft:
    """A strategy as a person sees it: as it is kept, with what they changed. `base` is the revision that
    they began with. One that is `gone` was deleted meanwhile: only what they made of it is left."""

    kept: KeptStrategy
    strategy: Strategy
    base: str
    gone: bool = False

    @property
    def unsaved(self) -> bool:
        """Whether anything differs from what is kept."""
        return self.gone or self.strategy.revision != self.kept.strategy.revision

    @property
    def overtaken(self) -> bool:
        """Whether somebody saved another version meanwhile, than which this one differs."""
        return self.unsaved and not self.gone and self.base != self.kept.strategy.revision

    @property
    def token(self) -> str:
        """Names the state in a custom_id."""
        return token_of(self.strategy)


def token_of(strategy: Strategy) -> str:
    """Names a version in a custom_id."""
    return strategy.revision[:10]


class Drafts:
    """All drafts. `clock` gives epoch ms."""

    def __init__(self, store: Store, strategies: AssemblyStore, clock: Callable[[], int]) -> None:
        self._store = store
        self._strategies = strategies
        self._clock = clock

    async def get(self, owner: str, user_id: int, strategy_id: str) -> Draft:
        """Somebody's draft, or the strategy as it is. Raises AssemblyError STRATEGY_NOT_FOUND when there is
        neither any more."""
        row = await self._store.fetch_one("strategy_draft_get", **_key(owner, user_id, strategy_id))
        mine = strategy_from_bytes(row["document"]) if row is not None else None
        try:
            kept = await self._strategies.get(owner, strategy_id)
        except AssemblyError as error:
            if row is None or mine is None or error.error_code != "STRATEGY_NOT_FOUND":
                raise
            return Draft(KeptStrategy(strategy_id, mine, owner), mine, row["base"], gone=True)
        if row is None or mine is None:
            return Draft(kept, kept.strategy, kept.strategy.revision)
        return Draft(kept, mine, row["base"])

    async def change(self, user_id: int, owner: str, draft: Draft, strategy: Strategy) -> Draft:
        """Keep the next state. Raises InputError RESOURCE_CHANGED when the draft is another one by now."""
        params = {
            **_key(owner, user_id, draft.kept.id),
            "document": strategy.to_bytes(),
            "base": draft.base,
            "revision": strategy.revision,
            "before": draft.strategy.revision,
            "at": self._clock(),
        }
        trim = Write("strategy_draft_trim", {"user_id": str(user_id), "most": _MOST})
        try:
            await self._store.commit(Write("strategy_draft_put", params, expect=1), trim)
        except Conflict:
            raise InputError("The draft has changed meanwhile.", code="RESOURCE_CHANGED") from None
        return replace(draft, strategy=strategy)

    async def drop(self, owner: str, user_id: int, strategy_id: str) -> None:
        """It was thrown away."""
        await self._store.commit(Write("strategy_draft_drop", _key(owner, user_id, strategy_id)))

    def saved(self, owner: str, user_id: int, draft: Draft) -> Write:
        """The write that takes a draft away which is saved in the same unit; one that has moved on stays."""
        key = _key(owner, user_id, draft.kept.id)
        return Write("strategy_draft_saved", {**key, "revision": draft.strategy.revision})


def _key(owner: str, user_id: int, strategy_id: str) -> dict[str, object]:
    return {"owner": owner, "user_id": str(user_id), "strategy_id": strategy_id}
