"""Which books come along, and which scripts may run: on a real database."""

import json

import pytest

from engine.errors import NotFound, ResourceError
from engine.library import MAX_RELATED, Holder, Library, Selection

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


async def test_a_persona_brings_in_each_library_what_was_set_there(library: Library) -> None:
    x, y, theirs = await book(library, "x"), await book(library, "y"), await book(library, "z", OTHER)
    await library.relations.set_books("persona", "user_1", [theirs], owner=OTHER)
    await library.relations.set_books("persona", "user_1", [y, x], owner=GUILD)
    assert await library.relations.books("persona", "user_1") == (y, x, theirs)
    assert await library.relations.books("persona", "user_1", within={GUILD}) == (y, x)
    await library.relations.set_books("persona", "user_1", [], owner=GUILD)
    assert await library.relations.books("persona", "user_1", within={OTHER, GUILD}) == (theirs,)


async def test_scripts_wait_until_somebody_allows_them_and_each_server_decides(library: Library) -> None:
    assert await library.consents.given(GUILD, "c1") is None
    await library.consents.give(GUILD, "c1", True, "u1")
    assert await library.consents.given(GUILD, "c1") is True
    assert await library.consents.given(OTHER, "c1") is None
    await library.consents.give(GUILD, "c1", False, "u2")
    assert await library.consents.given(GUILD, "c1") is False


async def test_a_deleted_book_leaves_persona_preset_and_card_and_the_cards_own_book_stays(
    library: Library,
) -> None:
    # given a book that comes along with everything, and a card with a book of its own
    lore, other = await book(library, "lore"), await book(library, "other")
    embedded = {"name": "own", "entries": [{"keys": ["inn"], "content": "An inn.", "extensions": {}}]}
    data = {"name": "Ada", "first_mes": "Hi", "character_book": embedded}
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
    row = await library.import_card(GUILD, json.dumps(card).encode(), "ada.json", "u1")
    persona = await library.personas.create("u1", "Vale")
    await library.selections.set("s1", Selection(card_id=row.id, book_ids=(lore, other)))
    for kind, holder in holders(persona.id, row.id):
        await library.relations.set_books(kind, holder, [lore, other], owner=GUILD)
    # when it is deleted
    await library.delete(lore)
    # then the other one is left everywhere
    for kind, holder in holders(persona.id, row.id):
        assert await library.relations.books(kind, holder) == (other,)
    assert await library.selections.get("s1") == Selection(card_id=row.id, book_ids=(other,))
    own = (await library.card(row.id)).book
    assert own is not None
    assert [entry.content for entry in own.entries] == ["An inn."]


async def test_no_export_says_which_books_come_along(library: Library) -> None:
    lore = await book(library, "lore")
    card = json.dumps({"name": "Ada", "first_mes": "Hi"}).encode()
    preset = json.dumps({"prompts": [], "prompt_order": []}).encode()
    row = await library.import_card(GUILD, card, "ada.json", "u1")
    other = await library.import_preset(GUILD, preset, "p.json", "u1")
    persona = await library.personas.create("u1", "Vale")
    await library.relations.set_books("card", row.id, [lore], owner=GUILD)
    await library.relations.set_books("preset", other.id, [lore], owner=GUILD)
    await library.relations.set_books("persona", persona.id, [lore], owner=GUILD)
    for file in (
        await library.export(row.id),
        await library.export(other.id),
        await library.personas.export("u1", persona.id),
    ):
        assert lore.encode() not in file.body
        assert b"lore" not in file.body


def holders(persona_id: str, card_id: str) -> list[tuple[Holder, str]]:
    return [("persona", persona_id), ("preset", "p_1"), ("card", card_id)]
