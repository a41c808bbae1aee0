"""The library of strategies and what sessions use, kept in the database.

The rules are those of `selections`; here they are tables, with limits. Whatever is decided by what was read
is written only where that still holds, in the same unit: two people at once never undo each other. Assembler
spec 5, decision 32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from engine.assembler.builtins import DEFAULT_STRATEGY, RESERVED, built_in_strategies
from engine.assembler.faults import refuse
from engine.assembler.selections import Applied, Mode
from engine.assembler.strategy import Strategy, strategy_from_bytes
from engine.errors import AssemblyError, Conflict
from engine.ids import new_id
from engine.storage import Row, Store, Write

__all__ = ["AssemblyStore", "KeptStrategy"]

MAX_STRATEGIES: Final = 100
"""Of one owner: as many as templates; a list that somebody can still read."""

MAX_BYTES: Final = 8 * 1024 * 1024
"""Of one owner's strategies together, and …"""

MAX_DOCUMENT: Final = 2 * 1024 * 1024
"""… of one: the reference's limits of its file and of a request's body."""

_TOLD_STORIES: Final = 5  # that still use a strategy: as many as one line can name


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
        return (await self._found(owner, strategy_id))[0]

    async def create(
        self, owner: str, strategy: Strategy, by: str, *, beside: Sequence[Write] = ()
    ) -> KeptStrategy:
        """Keep a new one; nothing uses it yet. `beside` is written in the same unit.

        Raises AssemblyError STRATEGY_TOO_LARGE, or STRATEGY_LIMIT_REACHED when there is no room.
        """
        document, at = _document(strategy), self._clock()
        strategy_id = new_id("st")
        params = {
            "id": strategy_id,
            "owner": owner,
            "name": strategy.name,
            "document": document,
            "size": len(document),
            "by": by,
            "at": at,
            "max_count": MAX_STRATEGIES,
            "max_bytes": MAX_BYTES,
        }
        try:
            await self._store.commit(Write("strategy_insert", params, expect=1), *beside)
        except Conflict as conflict:
            if conflict.data.get("query") != "strategy_insert":
                raise
            raise _full() from None
        return KeptStrategy(strategy_id, strategy, owner, by, at, at)

    async def change(
        self,
        owner: str,
        strategy_id: str,
        strategy: Strategy,
        *,
        expected: str,
        beside: Sequence[Write] = (),
    ) -> KeptStrategy:
        """Another document under the same id, if its revision is `expected` still. `beside` is written in the
        same unit.

        Raises Conflict STRATEGY_CHANGED when it is another by now: nothing is written then. Also as `create`
        and `get`, and STRATEGY_READ_ONLY.
        """
        document, at = _document(strategy), self._clock()
        params = {
            "id": strategy_id,
            "owner": owner,
            "name": strategy.name,
            "document": document,
            "size": len(document),
            "at": at,
            "max_bytes": MAX_BYTES,
        }
        changing = Write("strategy_change", params, expect=1)
        while True:
            row = await self._own(owner, strategy_id, expected)
            if await self._unless_moved(owner, row, changing, *beside):
                return replace(_kept(row), strategy=strategy, updated_at=at)

    async def delete(self, owner: str, strategy_id: str, *, expected: str | None = None) -> None:
        """Delete one, if its revision is `expected` still (None: whatever it is).

        Raises AssemblyError STRATEGY_READ_ONLY, _NOT_FOUND, or _IN_USE while a session uses it, of a story
        the one where it stands (`stories`: the ids of some); Conflict STRATEGY_CHANGED.
        """
        while True:
            row = await self._own(owner, strategy_id, expected)
            gone = Write("strategy_delete", {"id": strategy_id, "owner": owner}, expect=1)
            if await self._unless_moved(owner, row, gone):
                return

    async def check_unused(self, strategy_id: str) -> None:
        """Raises AssemblyError STRATEGY_IN_USE where a story uses it now, as `delete` would."""
        if stories := await self._stories(strategy_id):
            raise _in_use(stories)

    # -- what sessions use -----------------------------------------------------------------------

    async def apply(
        self,
        owner: str,
        session_id: str,
        strategy_id: str | None,
        *,
        running: bool = False,
        expected: str | None = None,
        check: Callable[[Strategy], None] | None = None,
    ) -> Applied | None:
        """Let a session use a strategy as it is now, or explicitly none. What is used is what `check` has let
        pass, also when somebody changes it meanwhile.

        Raises AssemblyError STRATEGY_RUNNING while its agent runs, STRATEGY_NOT_FOUND, and what `check`
        raises; Conflict STRATEGY_CHANGED when its revision is not `expected`.
        """
        if running:
            raise refuse("STRATEGY_RUNNING", "The story is being written to; try again when it rests.")
        while True:
            kept, row = (None, None) if strategy_id is None else await self._found(owner, strategy_id)
            if kept is not None and expected is not None and kept.strategy.revision != expected:
                raise _changed()
            if kept is not None and check is not None:
                check(kept.strategy)
            applied = Applied(kept.id, kept.strategy) if kept is not None else None
            write = Write("applied_strategy_set", self._params(session_id, applied), expect=1)
            if await self._unless_moved(owner, row, write):
                return applied

    async def selection(self, session_id: str, *, mode: Mode = "play") -> Applied | None:
        """What a session uses. One that was never told anything uses the default of its mode."""
        row = await self._store.fetch_one("applied_strategy_get", session_id=session_id)
        if row is None:
            return (
                Applied(DEFAULT_STRATEGY, built_in_strategies()[DEFAULT_STRATEGY]) if mode == "play" else None
            )
        if row["strategy_id"] is None:
            return None
        return Applied(row["strategy_id"], strategy_from_bytes(row["document"]))

    async def inherit(self, parent_id: str, child_id: str, *, mode: Mode = "play") -> None:
        """Give a child session what its parent uses, unless something was said of it already."""
        default = DEFAULT_STRATEGY if mode == "play" else None
        params = {
            "session_id": child_id,
            "parent_id": parent_id,
            "default_id": default,
            "default_document": built_in_strategies()[default].to_bytes() if default is not None else None,
            "at": self._clock(),
        }
        await self._store.commit(Write("applied_strategy_inherit", params))

    def _params(self, session_id: str, applied: Applied | None) -> dict[str, object]:
        return {
            "session_id": session_id,
            "strategy_id": applied.id if applied is not None else None,
            "document": applied.strategy.to_bytes() if applied is not None else None,
            "at": self._clock(),
        }

    async def _own(self, owner: str, strategy_id: str, expected: str | None) -> Row:
        if strategy_id.startswith(RESERVED):
            raise refuse("STRATEGY_READ_ONLY", "Copy a built-in strategy to change it.", status=400)
        kept, row = await self._found(owner, strategy_id)
        assert row is not None  # only a built-in one has none
        if expected is not None and kept.strategy.revision != expected:
            raise _changed()
        return row

    async def _found(self, owner: str, strategy_id: str) -> tuple[KeptStrategy, Row | None]:
        """A strategy, and the row that it was read from unless it is built in."""
        for kept in _built_in():
            if kept.id == strategy_id:
                return kept, None
        row = await self._store.fetch_one("strategy_get", id=strategy_id)
        if row is None or row["owner"] != owner:
            raise refuse("STRATEGY_NOT_FOUND", "There is no such strategy.", status=404)
        return _kept(row), row

    async def _unless_moved(self, owner: str, row: Row | None, *writes: Write) -> bool:
        """Write in one unit with the proof that the strategy is still what was read; whether it was.

        Raises STRATEGY_LIMIT_REACHED or STRATEGY_IN_USE where one of these is why nothing was written.
        """
        unit = list(writes)
        if row is not None:
            same = {"id": row["id"], "owner": owner, "document": row["document"]}
            unit.insert(0, Write("strategy_same", same, expect=1))
        try:
            await self._store.commit(*unit)
        except Conflict as conflict:
            match conflict.data.get("query"):
                case "strategy_same":
                    return False
                case "strategy_change":
                    raise _full() from None
                case "strategy_delete":
                    assert row is not None  # only what is stored is deleted
                    raise _in_use(await self._stories(row["id"])) from None
            raise
        return True

    async def _stories(self, strategy_id: str) -> Sequence[str]:
        """Some of those that use it, by id."""
        users = await self._store.fetch("strategy_stories", id=strategy_id, limit=_TOLD_STORIES)
        return tuple(user["id"] for user in users)


def _in_use(stories: Sequence[str]) -> AssemblyError:
    return refuse("STRATEGY_IN_USE", "A session uses this strategy.", stories=stories)


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


def _changed() -> Conflict:
    return Conflict("Somebody saved another version of the strategy meanwhile.", code="STRATEGY_CHANGED")


def _full() -> Exception:
    return refuse(
        "STRATEGY_LIMIT_REACHED",
        f"There is room for {MAX_STRATEGIES} strategies of {MAX_BYTES} bytes together.",
        limit=MAX_STRATEGIES,
    )
