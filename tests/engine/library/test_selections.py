"""Selections: frozen at first use, copied at a fork, cleared when what they name is gone."""

import asyncio

import pytest

from engine.errors import ResourceError
from engine.library import Library, Selection, selection_from_wire
from engine.storage import Store

A = Selection(card_id="c_a", preset_id="p_a", greeting_index=2, book_ids=("w_1", "w_2"))
B = Selection(card_id="c_b")


async def test_reading_settles_nothing_and_the_first_use_does(library: Library) -> None:
    assert await library.selections.get("s1") is None
    assert await library.selections.freeze("s1", A) == A
    assert await library.selections.freeze("s1", B) == A
    assert await library.selections.get("s1") == A


async def test_a_fork_takes_what_its_parent_uses_now_and_then_goes_its_own_way(library: Library) -> None:
    await library.selections.set("parent", A)
    await library.selections.copy("parent", "child")
    await library.selections.set("parent", B)
    assert await library.selections.get("child") == A
    await library.selections.copy("parent", "child")
    assert await library.selections.get("child") == A


async def test_a_fork_of_an_open_session_is_open(library: Library) -> None:
    await library.selections.copy("nobody", "child")
    assert await library.selections.get("child") is None


async def test_books_are_unique_in_order_and_at_most_a_hundred(library: Library) -> None:
    await library.selections.set("s1", Selection(book_ids=("w_2", "w_1", "w_2")))
    found = await library.selections.get("s1")
    assert found is not None
    assert found.book_ids == ("w_2", "w_1")
    with pytest.raises(ResourceError) as caught:
        await library.selections.set("s1", Selection(book_ids=tuple(f"w_{n}" for n in range(101))))
    assert caught.value.error_code == "SESSION_SELECTION_LIMIT_REACHED"
    assert await library.selections.get("s1") == found


async def test_a_deleted_book_leaves_every_list_in_order(library: Library, store: Store) -> None:
    await library.selections.set("s1", Selection(book_ids=("w_1", "w_2", "w_3")))
    await library.selections.set("s2", Selection(book_ids=("w_3",)))
    await store.commit(library.selections.clear_write("world_book", "w_2"))
    first, second = await library.selections.get("s1"), await library.selections.get("s2")
    assert first is not None
    assert second is not None
    assert (first.book_ids, second.book_ids) == (("w_1", "w_3"), ("w_3",))


async def test_a_deleted_preset_clears_only_itself(library: Library, store: Store) -> None:
    await library.selections.set("s1", A)
    await store.commit(library.selections.clear_write("preset", "p_a"))
    assert await library.selections.get("s1") == Selection(
        card_id="c_a", greeting_index=2, book_ids=("w_1", "w_2")
    )


async def test_writes_join_the_callers_own_unit(library: Library, store: Store) -> None:
    writes = [library.selections.set_write("s1", A), library.selections.copy_write("s1", "s2")]
    await store.commit(*writes)
    assert await library.selections.get("s2") == A


async def test_tools_are_off_until_they_are_turned_on_and_go_along_to_a_fork(library: Library) -> None:
    await library.selections.set("s1", A)
    assert (await library.selections.freeze("s1", A)).tools == ()
    await library.selections.set("s1", Selection(tools=("dice", "recall", "dice")))
    await library.selections.copy("s1", "s2")
    await library.selections.set("s1", Selection())
    assert (await library.selections.freeze("s2", A)).tools == ("dice", "recall")


# --- merging


async def test_a_patch_changes_what_it_names_and_null_is_the_usual(library: Library) -> None:
    await library.selections.set("s1", A)
    merged = await library.selections.merge("s1", {"preset_id": "p_b", "card_id": None})
    assert merged == Selection(preset_id="p_b", greeting_index=2, book_ids=("w_1", "w_2"))
    assert await library.selections.get("s1") == merged


@pytest.mark.parametrize(
    "patch",
    [
        {"mood": "tired"},
        {"__proto__": {}},
        {"greeting_index": "2"},
        {"greeting_index": True},
        {"prefer_system": 1},
        {"book_ids": "w_1"},
        {"book_ids": [1]},
        {"card_id": 7},
        {"card_id": "__proto__"},
        {"card_id": "c" * 201},
        {"book_ids": ["constructor"]},
    ],
)
async def test_a_patch_that_does_not_fit_changes_nothing(library: Library, patch: dict[str, object]) -> None:
    await library.selections.set("s1", A)
    with pytest.raises(ResourceError) as refused:
        await library.selections.merge("s1", patch)
    assert refused.value.error_code == "SELECTION_INVALID"
    assert await library.selections.get("s1") == A


async def test_many_patches_are_one_change_or_none(library: Library) -> None:
    await library.selections.set("s1", A)
    patches = {"s1": {"preset_id": "p_b"}, "s2": {"card_id": "c_b"}, "s/3": {"card_id": "c_b"}}
    with pytest.raises(ResourceError) as refused:
        await library.selections.merge_many(patches)
    assert refused.value.error_code == "SESSION_ID_INVALID"
    assert [await library.selections.get(each) for each in ("s1", "s2")] == [A, None]
    del patches["s/3"]
    await library.selections.merge_many(patches)
    assert await library.selections.get("s2") == B


async def test_concurrent_patches_both_count(library: Library) -> None:
    await asyncio.gather(
        *(library.selections.merge("s1", patch) for patch in ({"preset_id": "p"}, {"card_id": "c"}))
    )
    assert await library.selections.get("s1") == Selection(card_id="c", preset_id="p")


@pytest.mark.parametrize(
    "hostile", ["__proto__", "constructor", "prototype", "s" * 201, "a/b", "", "-a", "ä"]
)
async def test_a_hostile_session_id_is_refused_and_nothing_is_written(
    library: Library, store: Store, hostile: str
) -> None:
    await library.selections.set("s1", A)
    for attempt in (
        library.selections.set(hostile, B),
        library.selections.freeze(hostile, B),
        library.selections.copy("s1", hostile),
        library.selections.merge(hostile, {"card_id": "c"}),
    ):
        with pytest.raises(ResourceError) as refused:
            await attempt
        assert refused.value.error_code == "SESSION_ID_INVALID"
    assert await library.selections.get(hostile) is None


async def test_before_the_first_use_the_default_counts_and_afterwards_nothing_of_it(library: Library) -> None:
    p, q = Selection(preset_id="p"), Selection(preset_id="q")
    # read, but never used: what is the default counts
    assert await library.selections.get("s1") or p == p
    assert await library.selections.get("s1") or q == q
    # used once: it stays
    assert await library.selections.freeze("s1", q) == q
    assert await library.selections.freeze("s1", p) == q


async def test_a_new_session_without_a_parent_starts_from_the_defaults(library: Library) -> None:
    await library.selections.set("looked-at-before", A)
    assert await library.selections.freeze("fresh", Selection()) == Selection()


async def test_a_selection_of_a_later_version_is_read_as_far_as_it_is_known(library: Library) -> None:
    wire = A.to_wire() | {"moods": ["tired"]}
    assert selection_from_wire(wire) == A


async def test_a_deleted_card_takes_its_options_along(library: Library, store: Store) -> None:
    await library.selections.set("s1", A)
    await library.selections.set("s2", Selection(card_id="c_b", greeting_index=1))
    await store.commit(library.selections.clear_write("card", "c_a"))
    assert await library.selections.get("s1") == Selection(preset_id="p_a", book_ids=("w_1", "w_2"))
    assert await library.selections.get("s2") == Selection(card_id="c_b", greeting_index=1)
