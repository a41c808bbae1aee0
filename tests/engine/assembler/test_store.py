"""Strategies and selections in a real database file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine.assembler import DEFAULT_STRATEGY, AssemblyStore, built_in_strategies
from engine.assembler.store import MAX_STRATEGIES
from engine.errors import AssemblyError
from engine.storage import Store
from tests.engine.assembler.stage import strategy

MINE = strategy("history", "input", name="Mine")
OTHER = strategy("history", "input", name="Other")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "assembly.db") as opened:
        yield opened


@pytest.fixture
def kept(store: Store) -> AssemblyStore:
    return AssemblyStore(store, lambda: 5)


async def refused(code: str, work: Any) -> None:
    with pytest.raises(AssemblyError) as caught:
        await work
    assert caught.value.error_code == code


async def test_a_library_has_the_built_in_strategies_and_the_owners(kept: AssemblyStore) -> None:
    mine = await kept.create("guild", MINE, "ada")
    assert [it.id for it in await kept.list("guild")] == [*built_in_strategies(), mine.id]
    assert [it.id for it in await kept.list("elsewhere")] == [*built_in_strategies()]
    assert (mine.strategy, mine.created_by, mine.created_at, mine.built_in) == (MINE, "ada", 5, False)
    await refused("STRATEGY_NOT_FOUND", kept.get("elsewhere", mine.id))


async def test_what_was_applied_stays_as_it_was_also_after_a_restart(
    kept: AssemblyStore, store: Store, tmp_path: Path
) -> None:
    mine = await kept.create("guild", MINE, "ada")
    await kept.apply("guild", "s", mine.id)
    await kept.change("guild", mine.id, OTHER, expected=MINE.revision)
    await store.aclose()
    async with await Store.open(tmp_path / "assembly.db") as again:
        applied = await AssemblyStore(again, lambda: 6).selection("s")
        assert applied is not None and applied.strategy == MINE
        assert (await AssemblyStore(again, lambda: 6).get("guild", mine.id)).strategy == OTHER


async def test_an_explicit_none_is_not_nothing_said(kept: AssemblyStore) -> None:
    untold = await kept.selection("s")
    assert untold is not None and untold.id == DEFAULT_STRATEGY
    assert await kept.selection("s", mode="native") is None
    await kept.apply("guild", "s", None)
    assert await kept.selection("s") is None


async def test_a_child_copies_once(kept: AssemblyStore) -> None:
    await kept.apply("guild", "parent", "builtin-native-roles")
    await kept.inherit("parent", "child")
    await kept.apply("guild", "parent", "builtin-st")
    await kept.inherit("parent", "child")
    applied = await kept.selection("child")
    assert applied is not None and applied.id == "builtin-native-roles"


async def test_what_is_used_built_in_or_gone_cannot_be_deleted(kept: AssemblyStore) -> None:
    mine = await kept.create("guild", MINE, "ada")
    await kept.apply("guild", "s", mine.id)
    await refused("STRATEGY_IN_USE", kept.delete("guild", mine.id))
    await kept.apply("guild", "s", None)
    await kept.delete("guild", mine.id)
    await refused("STRATEGY_NOT_FOUND", kept.delete("guild", mine.id))
    await refused("STRATEGY_READ_ONLY", kept.delete("guild", DEFAULT_STRATEGY))
    await refused("STRATEGY_READ_ONLY", kept.change("guild", DEFAULT_STRATEGY, MINE, expected=""))


async def test_a_running_session_keeps_what_it_uses(kept: AssemblyStore) -> None:
    await kept.apply("guild", "s", "builtin-native-roles")
    await refused("STRATEGY_RUNNING", kept.apply("guild", "s", None, running=True))
    applied = await kept.selection("s")
    assert applied is not None and applied.id == "builtin-native-roles"


async def test_a_library_refuses_what_it_has_no_room_for(kept: AssemblyStore) -> None:
    texts = [{"id": f"r{n}", "kind": "custom", "text": "x" * 500_000} for n in range(5)]
    await refused("STRATEGY_TOO_LARGE", kept.create("guild", strategy(*texts), "ada"))
    wide = strategy(*texts[:4])
    for _ in range(4):
        last = await kept.create("guild", wide, "ada")
    await refused("STRATEGY_LIMIT_REACHED", kept.create("guild", wide, "ada"))
    await kept.delete("guild", last.id)
    small = await kept.create("guild", MINE, "ada")
    await kept.create("guild", wide, "ada")
    await refused("STRATEGY_LIMIT_REACHED", kept.change("guild", small.id, wide, expected=MINE.revision))
    for _ in range(MAX_STRATEGIES):
        await kept.create("other", MINE, "ada")
    await refused("STRATEGY_LIMIT_REACHED", kept.create("other", MINE, "ada"))
