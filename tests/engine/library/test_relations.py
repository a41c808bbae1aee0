"""Which books come along, and which scripts may run: on a real database."""

import json

import pytest

from engine.errors import NotFound, ResourceError
from engine.library import MAX_RELATED, Library

GUILD, OTHER = "guild:1", "guild:2"


async def book(library: Library, name: str, owner: str = GUILD) -> str:
    data = json.dumps({"name": name, "entries": {}}).encode()
    return (await library.import_book(owner, data, f"{name}.json", "u1")).id


async def test_books_come_in_the_order_that_was_set_each_once(library: Library) -> None:
    x, y = await book(library, "x"), await book(library, "y")
    await library.relations.set_books("preset", "p1", [y, x, y], owner=GUILD)
    assert await library.relations.books("preset", "p1") == (y, x)
    assert await library.relations.books("card", "p1") == ()
    assert await library.relations.books("preset", None) == ()


async def test_an_empty_list_removes_all(library: Library) -> None:
    x = await book(library, "x")
    await library.relations.set_books("card", "c1", [x], owner=GUILD)
    await library.relations.set_books("card", "c1", [], owner=GUILD)
    assert await library.relations.books("card", "c1") == ()


async def test_a_book_that_is_not_there_rejects_the_whole_list(library: Library) -> None:
    x, foreign = await book(library, "x"), await book(library, "foreign", OTHER)
    await library.relations.set_books("card", "c1", [x], owner=GUILD)
    for missing in ("w_nothing", foreign):
        with pytest.raises(NotFound) as refused:
            await library.relations.set_books("card", "c1", [missing, x], owner=GUILD)
        assert refused.value.error_code == "WORLD_BOOK_NOT_FOUND"
    assert await library.relations.books("card", "c1") == (x,)


async def test_a_hundred_and_one_books_are_refused(library: Library) -> None:
    with pytest.raises(ResourceError) as refused:
        await library.relations.set_books("card", "c1", [f"w{n}" for n in range(101)], owner=GUILD)
    assert refused.value.error_code == "RESOURCE_WORLD_BOOK_BINDING_LIMIT_REACHED"
    assert MAX_RELATED == 100


async def test_a_deleted_book_leaves_every_list(library: Library) -> None:
    x, y = await book(library, "x"), await book(library, "y")
    await library.relations.set_books("card", "c1", [x, y], owner=GUILD)
    await library.relations.set_books("preset", "p1", [x], owner=GUILD)
    await library.delete(x)
    assert await library.relations.books("card", "c1") == (y,)
    assert await library.relations.books("preset", "p1") == ()


async def test_scripts_wait_until_somebody_allows_them_and_each_server_decides(library: Library) -> None:
    assert await library.consents.given(GUILD, "c1") is None
    await library.consents.give(GUILD, "c1", True, "u1")
    assert await library.consents.given(GUILD, "c1") is True
    assert await library.consents.given(OTHER, "c1") is None
    await library.consents.give(GUILD, "c1", False, "u2")
    assert await library.consents.given(GUILD, "c1") is False
