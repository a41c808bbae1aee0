"""The library of strategies and what sessions use, kept in the database.

The rules are those of `selections`; here they are tables, with limits. Assembler spec 5, decision 32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from engine.assembler.builtins import DEFAULT_STRATEGY, RESERVED, built_in_strategies
from engine.assembler.faults import refuse
from engine.assembler.selections import Applied, Mode
from engine.assembler.strategy import Strategy, strategy_from_bytes
from engine.errors import Conflict
from engine.ids import new_id
from engine.storage import Row, Store, Write

__all__ = ["AssemblyStore", "KeptStrategy"]

MAX_STRATEGIES: Final = 100
"""Of one owner: as many as templates; a list that somebody can still read."""

MAX_BYTES: Final = 8 * 1024 * 1024
"""Of one owner's strategies together, and …"""

MAX_DOCUMENT: Final = 2 * 1024 * 1024
"""… of one: the reference's limits of its file and of a request's body."""


@dataclass(frozen=True, slots=True)
class KeptStrategy:
    """A strategy of an owner's library; a built-in one belongs to nobody and has no times. Epoch ms."""

    id: str
    strategy: Strategy
    owner: str | None = None
    created_by: str | None = None
    created_at: int = 0
    updated_at: int = 0

    @property
    def built_in(self) -> bool:
        """Whether it came with the program and cannot be changed."""
        return self.id.startswith(RESERVED)


class AssemblyStore:
    """All strategies and selections on a `Store`. `clock` gives epoch ms."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock

    # -- the library ---------------------------------------------------------------------------

    async def list(self, owner: str) -> Sequence[KeptStrategy]:
        """Built-in ones first, then the owner's by name."""
        rows = await self._store.fetch("strategy_list", owner=owner)
        return [*_built_in(), *map(_kept, rows)]

    async def get(self, owner: str, strategy_id: str) -> KeptStrategy:
        """Raises AssemblyError STRATEGY_NOT_FOUND."""
        for kept in _built_in():
            if kept.id == strategy_id:
                return kept
        row = await self._store.fetch_one("strategy_get", id=strategy_id)
        if row is None or row["owner"] != owner:
            raise refuse("STRATEGY_NOT_FOUND", "There is no such strategy.", status=404)
        return _kept(row)

    async def create(self, owner: str, strategy: Strategy, by: str) -> KeptStrategy:
        """Keep a new one; nothing uses it yet.

        Raises AssemblyError STRATEGY_TOO_LARGE, or STRATEGY_LIMIT_REACHED when there is no room.
        """
        document = _document(strategy)
        params = {
            "id": new_id("st"),
            "owner": owner,
            "name": strategy.name,
            "document": document,
            "size": len(document),
            "by": by,
            "at": self._clock(),
            "max_count": MAX_STRATEGIES,
            "max_bytes": MAX_BYTES,
        }
        try:
            await self._store.commit(Write("strategy_insert", params, expect=1))
        except Conflict:
            raise _full() from None
        return await self.get(owner, str(params["id"]))

    async def change(self, owner: str, strategy_id: str, strategy: Strategy) -> KeptStrategy:
        """Another document under the same id. Raises as `create` and `get`, and STRATEGY_READ_ONLY."""
        await self._own(owner, strategy_id)
        document = _document(strategy)
        params = {
            "id": strategy_id,
            "owner": owner,
            "name": strategy.name,
            "document": document,
            "size": len(document),
            "at": self._clock(),
            "max_bytes": MAX_BYTES,
        }
        try:
            await self._store.commit(Write("strategy_change", params, expect=1))
        except Conflict:
            raise _full() from None
        return await self.get(owner, strategy_id)

    async def delete(self, owner: str, strategy_id: str) -> None:
        """Raises AssemblyError STRATEGY_READ_ONLY, _NOT_FOUND, or _IN_USE while a session uses it."""
        await self._own(owner, strategy_id)
        try:
            await self._store.commit(Write("strategy_delete", {"id": strategy_id, "owner": owner}, expect=1))
        except Conflict:
            raise refuse("STRATEGY_IN_USE", "A session uses this strategy.") from None

    # -- what sessions use -----------------------------------------------------------------------

    async def apply(
        self, owner: str, session_id: str, strategy_id: str | None, *, running: bool = False
    ) -> Applied | None:
        """Let a session use a strategy as it is now, or explicitly none.

        Raises AssemblyError STRATEGY_RUNNING while its agent runs, STRATEGY_NOT_FOUND.
        """
        if running:
            raise refuse("STRATEGY_RUNNING", "The story is being written to; try again when it rests.")
        applied = None
        if strategy_id is not None:
            applied = Applied(strategy_id, (await self.get(owner, strategy_id)).strategy)
        await self._store.commit(self.applying(session_id, applied))
        return applied

    async def selection(self, session_id: str, *, mode: Mode = "play") -> Applied | None:
        """What a session uses. One that was never told anything uses the default of its mode."""
        row = await self._store.fetch_one("applied_strategy_get", session_id=session_id)
        if row is None:
            return (
                Applied(DEFAULT_STRATEGY, built_in_strategies()[DEFAULT_STRATEGY]) if mode == "play" else None
            )
        if row is None or row["strategy_id"] is None:
            return None
        return Applied(row["strategy_id"], strategy_from_bytes(row["document"]))

    async def inherit(self, parent_id: str, child_id: str, *, mode: Mode = "play") -> None:
        """Give a child session what its parent uses, unless something was said of it already."""
        applied = await self.selection(parent_id, mode=mode)
        await self._store.commit(Write("applied_strategy_inherit", self._params(child_id, applied)))

    def applying(self, session_id: str, applied: Applied | None) -> Write:
        """The write of `apply`, for a caller that has more to change in the same unit."""
        return Write("applied_strategy_set", self._params(session_id, applied), expect=1)

    def _params(self, session_id: str, applied: Applied | None) -> dict[str, object]:
        return {
            "session_id": session_id,
            "strategy_id": applied.id if applied is not None else None,
            "document": applied.strategy.to_bytes() if applied is not None else None,
            "at": self._clock(),
        }

    async def _own(self, owner: str, strategy_id: str) -> None:
        if strategy_id.startswith(RESERVED):
            raise refuse("STRATEGY_READ_ONLY", "Copy a built-in strategy to change it.", status=400)
        await self.get(owner, strategy_id)


def _built_in() -> list[KeptStrategy]:
    return [KeptStrategy(strategy_id, strategy) for strategy_id, strategy in built_in_strategies().items()]


def _kept(row: Row) -> KeptStrategy:
    return KeptStrategy(
        row["id"],
        strategy_from_bytes(row["document"]),
        row["owner"],
        row["created_by"],
        row["created_at"],
        row["updated_at"],
    )


def _document(strategy: Strategy) -> bytes:
    document = strategy.to_bytes()
    if len(document) > MAX_DOCUMENT:
        raise refuse(
            "STRATEGY_TOO_LARGE",
            f"The strategy takes {len(document)} bytes; {MAX_DOCUMENT} are allowed.",
            status=413,
            bytes=len(document),
            most=MAX_DOCUMENT,
        )
    return document


def _full() -> Exception:
    return refuse(
        "STRATEGY_LIMIT_REACHED",
        f"There is room for {MAX_STRATEGIES} strategies of {MAX_BYTES} bytes together.",
        limit=MAX_STRATEGIES,
    )
