"""Drafts of strategies in a real database file: nobody's work is lost to what happens at the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.strategy.draft import Drafts
from engine.assembler import AssemblyStore, Strategy, built_in_strategies
from engine.assembler.editing import change_rule, change_strategy
from engine.errors import AssemblyError, Conflict, InputError
from engine.storage import Store

OWNER = "guild:1"
ANA, BEN = 1, 2
SLOTS = built_in_strategies()["builtin-native-slots"]


def without(kind: str, strategy: Strategy = SLOTS) -> Strategy:
    return change_rule(strategy, kind, {"enabled": False})


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "drafts.db") as opened:
        yield opened


@pytest.fixture
def library(store: Store) -> AssemblyStore:
    return AssemblyStore(store, lambda: 5)


@pytest.fixture
def drafts(store: Store, library: AssemblyStore) -> Drafts:
    return Drafts(store, library, lambda: 5)


async def test_a_draft_ends_with_what_is_saved_and_not_without_it(
    library: AssemblyStore, drafts: Drafts
) -> None:
    # given what Ana and Ben have made of one strategy
    kept = await library.create(OWNER, SLOTS, "1")
    hers = await drafts.change(ANA, OWNER, await drafts.get(OWNER, ANA, kept.id), without("persona"))
    his = await drafts.change(BEN, OWNER, await drafts.get(OWNER, BEN, kept.id), without("phi"))

    async def save(user: int, draft: object) -> None:
        mine = hers if draft is hers else his
        ends = drafts.saved(OWNER, user, mine)
        await library.change(OWNER, kept.id, mine.strategy, expected=mine.base, beside=[ends])

    # when both save at once
    outcomes = await asyncio.gather(save(ANA, hers), save(BEN, his), return_exceptions=True)

    # then one has, whose draft is gone, and the other has theirs still
    assert [type(outcome) for outcome in outcomes].count(Conflict) == 1
    after = {user: await drafts.get(OWNER, user, kept.id) for user in (ANA, BEN)}
    saved = next(user for user, outcome in zip((ANA, BEN), outcomes, strict=True) if outcome is None)
    late = BEN if saved == ANA else ANA
    assert not after[saved].unsaved
    assert after[late].unsaved and after[late].overtaken
    assert after[late].strategy == (hers if late == ANA else his).strategy


async def test_what_somebody_changed_on_while_it_was_saved_stays(
    library: AssemblyStore, drafts: Drafts
) -> None:
    # given a draft that Ana saves on her computer and changes on her phone
    kept = await library.create(OWNER, SLOTS, "1")
    first = await drafts.change(ANA, OWNER, await drafts.get(OWNER, ANA, kept.id), without("persona"))
    second = await drafts.change(ANA, OWNER, first, without("phi", first.strategy))
    ends = drafts.saved(OWNER, ANA, first)
    await library.change(OWNER, kept.id, first.strategy, expected=first.base, beside=[ends])

    # then what she changed on the phone is there
    assert (await drafts.get(OWNER, ANA, kept.id)).strategy == second.strategy


async def test_of_two_changes_at_once_one_is_told(library: AssemblyStore, drafts: Drafts) -> None:
    kept = await library.create(OWNER, SLOTS, "1")
    draft = await drafts.get(OWNER, ANA, kept.id)
    outcomes = await asyncio.gather(
        drafts.change(ANA, OWNER, draft, without("persona")),
        drafts.change(ANA, OWNER, draft, without("phi")),
        return_exceptions=True,
    )
    (late,) = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert isinstance(late, InputError) and late.error_code == "RESOURCE_CHANGED"


async def test_what_is_left_of_a_deleted_strategy_is_what_somebody_made_of_it(
    library: AssemblyStore, drafts: Drafts
) -> None:
    kept = await library.create(OWNER, SLOTS, "1")
    await drafts.change(BEN, OWNER, await drafts.get(OWNER, BEN, kept.id), without("phi"))
    await library.delete(OWNER, kept.id)
    left = await drafts.get(OWNER, BEN, kept.id)
    assert (left.gone, left.unsaved, left.overtaken) == (True, True, False)
    assert left.strategy == without("phi")
    # who has made nothing of it is told that it is gone
    with pytest.raises(AssemblyError) as caught:
        await drafts.get(OWNER, ANA, kept.id)
    assert caught.value.error_code == "STRATEGY_NOT_FOUND"


async def test_a_draft_that_somebody_else_has_saved_word_for_word_is_none(
    library: AssemblyStore, drafts: Drafts
) -> None:
    kept = await library.create(OWNER, SLOTS, "1")
    renamed = change_strategy(SLOTS, name="Ours")
    await drafts.change(ANA, OWNER, await drafts.get(OWNER, ANA, kept.id), renamed)
    await library.change(OWNER, kept.id, renamed, expected=SLOTS.revision)
    draft = await drafts.get(OWNER, ANA, kept.id)
    assert not draft.unsaved and not draft.overtaken
