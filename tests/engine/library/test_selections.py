"""Selections: frozen at first use, copied at a fork, cleared when what they name is gone."""

import pytest

from engine.errors import ResourceError
from engine.library import Library, Selection
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
