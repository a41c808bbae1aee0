"""People who save, apply and delete at the same moment, on one real database file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.assembler import Applied, AssemblyStore, Strategy
from engine.errors import AssemblyError, Conflict, EngineError
from engine.storage import Store
from tests.engine.assembler.stage import strategy

MINE = strategy("history", "input", name="Mine")
WRITERS = [strategy("history", "input", name=f"By {number}") for number in range(12)]


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[Sequence[AssemblyStore]]:
    """Two who read beside each other and whose writes come in whatever order they do."""
    async with await Store.open(tmp_path / "assembly.db") as opened:
        yield [AssemblyStore(opened, lambda: 5), AssemblyStore(opened, lambda: 6)]


def codes(outcomes: Sequence[Any]) -> list[str]:
    failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert all(isinstance(error, EngineError) for error in failed), failed
    return sorted(error.error_code for error in failed if isinstance(error, EngineError))


def named(number: int) -> Strategy:
    return strategy("history", "input", name=f"Round {number}")


async def test_of_many_who_save_at_once_one_does_and_the_others_are_told(
    stores: Sequence[AssemblyStore],
) -> None:
    # given a strategy that twelve people have read
    kept = await stores[0].create("guild", MINE, "ada")

    # when they all save what they made of it
    work = [
        stores[number % 2].change("guild", kept.id, it, expected=MINE.revision)
        for number, it in enumerate(WRITERS)
    ]
    outcomes = await asyncio.gather(*work, return_exceptions=True)

    # then one of them has, and it is what stands there
    assert codes(outcomes) == ["STRATEGY_CHANGED"] * 11
    assert all(isinstance(error, Conflict) for error in outcomes if isinstance(error, BaseException))
    (saved,) = [it for it in outcomes if not isinstance(it, BaseException)]
    assert (await stores[1].get("guild", kept.id)).strategy == saved.strategy


async def test_one_after_the_other_everybody_who_reads_again_gets_in(stores: Sequence[AssemblyStore]) -> None:
    kept = await stores[0].create("guild", MINE, "ada")
    seen: list[str] = []

    async def add(store: AssemblyStore, name: str) -> None:
        """Write one's name behind those that are there, over and over until nobody was faster."""
        while True:
            before = (await store.get("guild", kept.id)).strategy
            after = strategy("history", "input", name=f"{before.name} {name}")
            try:
                await store.change("guild", kept.id, after, expected=before.revision)
            except Conflict as conflict:
                seen.append(conflict.error_code)
                continue
            return

    await asyncio.gather(*(add(stores[number % 2], f"n{number}") for number in range(8)))
    names = (await stores[0].get("guild", kept.id)).strategy.name.split()
    assert sorted(names) == ["Mine", *(f"n{number}" for number in range(8))]
    assert set(seen) == {"STRATEGY_CHANGED"}


async def test_who_has_read_an_older_version_writes_and_deletes_nothing(
    stores: Sequence[AssemblyStore],
) -> None:
    kept = await stores[0].create("guild", MINE, "ada")
    await stores[0].change("guild", kept.id, WRITERS[0], expected=MINE.revision)
    with pytest.raises(Conflict) as caught:
        await stores[1].change("guild", kept.id, WRITERS[1], expected=MINE.revision)
    assert caught.value.error_code == "STRATEGY_CHANGED"
    with pytest.raises(Conflict) as caught:
        await stores[1].delete("guild", kept.id, expected=MINE.revision)
    assert caught.value.error_code == "STRATEGY_CHANGED"
    assert (await stores[1].get("guild", kept.id)).strategy == WRITERS[0]


@pytest.mark.parametrize("turn", range(6))
async def test_what_is_deleted_is_used_by_nobody(stores: Sequence[AssemblyStore], turn: int) -> None:
    # given a strategy that somebody deletes while others let their stories use it
    kept = await stores[0].create("guild", MINE, "ada")
    sessions = [f"s{number}" for number in range(6)]
    deleting = stores[turn % 2].delete("guild", kept.id)
    applying = [
        stores[number % 2].apply("guild", session, kept.id) for number, session in enumerate(sessions)
    ]

    # when all of it happens at once
    work = [*applying[:turn], deleting, *applying[turn:]]
    outcomes = await asyncio.gather(*work, return_exceptions=True)

    # then either it stays and is used, or it is gone and no story has it
    assert set(codes(outcomes)) <= {"STRATEGY_IN_USE", "STRATEGY_NOT_FOUND"}
    used = [await stores[0].selection(session) for session in sessions]
    users = [applied for applied in used if applied is not None and applied.id == kept.id]
    try:
        await stores[1].get("guild", kept.id)
    except AssemblyError as error:
        assert error.error_code == "STRATEGY_NOT_FOUND"
        assert users == []
    else:
        assert "STRATEGY_IN_USE" in codes(outcomes)
        assert len(users) == 6


async def test_two_who_delete_it_are_not_told_that_a_story_uses_it(stores: Sequence[AssemblyStore]) -> None:
    kept = await stores[0].create("guild", MINE, "ada")
    outcomes = await asyncio.gather(
        *(store.delete("guild", kept.id) for store in stores), return_exceptions=True
    )
    assert codes(outcomes) == ["STRATEGY_NOT_FOUND"]


async def test_what_is_used_was_checked_also_while_it_changes(stores: Sequence[AssemblyStore]) -> None:
    # given a strategy that is saved again and again, and a check that refuses every second version
    kept = await stores[0].create("guild", named(0), "ada")
    checked: list[str] = []

    def check(it: Strategy) -> None:
        checked.append(it.revision)
        if int(it.name.split()[1]) % 2:
            raise AssemblyError("An odd one.", code="ODD")

    async def save() -> None:
        for number in range(20):
            await stores[0].change("guild", kept.id, named(number + 1), expected=named(number).revision)

    async def use(session: str) -> Applied | None:
        return await stores[1].apply("guild", session, kept.id, check=check)

    # when stories begin to use it meanwhile
    saving = asyncio.create_task(save())
    outcomes: list[Any] = []
    while not saving.done():
        outcomes += await asyncio.gather(*(use(f"s{n}") for n in range(3)), return_exceptions=True)
    await saving

    # then none has a version that the check did not let pass
    assert set(codes(outcomes)) <= {"ODD"}
    for session in ("s0", "s1", "s2"):
        applied = await stores[0].selection(session)
        if applied is not None and applied.id == kept.id:
            assert int(applied.strategy.name.split()[1]) % 2 == 0
            assert applied.strategy.revision in checked


async def test_only_what_somebody_looked_at_is_applied(stores: Sequence[AssemblyStore]) -> None:
    kept = await stores[0].create("guild", MINE, "ada")
    await stores[1].change("guild", kept.id, WRITERS[0], expected=MINE.revision)
    with pytest.raises(Conflict) as caught:
        await stores[0].apply("guild", "s", kept.id, expected=MINE.revision)
    assert caught.value.error_code == "STRATEGY_CHANGED"
    applied = await stores[0].apply("guild", "s", kept.id, expected=WRITERS[0].revision)
    assert applied == Applied(kept.id, WRITERS[0])


@pytest.mark.parametrize("turn", range(4))
async def test_a_child_never_gets_what_was_deleted_meanwhile(
    stores: Sequence[AssemblyStore], turn: int
) -> None:
    # given a story that uses a strategy, goes on to another, and the first one is deleted
    kept = await stores[0].create("guild", MINE, "ada")
    await stores[0].apply("guild", "parent", kept.id)

    async def leave() -> None:
        await stores[0].apply("guild", "parent", None)
        await stores[0].delete("guild", kept.id)

    work: list[Any] = [stores[1].inherit("parent", f"child{number}") for number in range(4)]
    work.insert(turn, leave())
    outcomes = await asyncio.gather(*work, return_exceptions=True)

    # then a child that got it has kept it from being deleted
    children = [await stores[0].selection(f"child{number}") for number in range(4)]
    if "STRATEGY_IN_USE" in codes(outcomes):
        assert any(child is not None and child.id == kept.id for child in children)
        await stores[0].get("guild", kept.id)
    else:
        assert children == [None] * 4
