"""Which books a conversation reads, and in which order."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.library import Library, Selection
from engine.resources import read_card
from engine.storage import Store
from engine.tavern import own_book, story_books


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    async with await Store.open(tmp_path / "library.db") as store:
        yield Library(store)


async def book(library: Library, name: str) -> str:
    body = json.dumps({"name": name, "entries": {"0": {"uid": 0, "key": [name], "content": name}}}).encode()
    return (await library.import_book("guild:1", body, f"{name}.json", "ana")).id


CARD = {
    "spec": "chara_card_v2",
    "data": {
        "name": "Mira",
        "first_mes": "Hi",
        "character_book": {"entries": [{"keys": ["a"], "content": "A"}]},
    },
}


async def test_the_order_is_the_storys_the_personas_the_presets_the_cards(library: Library) -> None:
    # given a session, a persona, a preset and a card that share books (spec tavern 12, case 43)
    x, y, z = [await book(library, name) for name in ("x", "y", "z")]
    card = await library.import_card("guild:1", json.dumps(CARD).encode(), "mira.json", "ana")
    preset = await library.create("guild:1", "preset", "P", "ana")
    persona = await library.personas.create("7", "Captain")
    relations = library.relations
    await relations.set_books("persona", persona.id, [y, x], owner="guild:1")
    await relations.set_books("preset", preset.id, [z], owner="guild:1")
    await relations.set_books("card", card.id, [y], owner="guild:1")

    # when the books are asked for
    found = await story_books(
        library,
        Selection(card_id=card.id, preset_id=preset.id, book_ids=(x,)),
        persona_id=persona.id,
        card=await library.card(card.id),
    )

    # then each comes once, at its first place, and the card's own after all
    assert [held.id for held in found.books] == [x, y, z]
    assert [held.tier for held in found.books] == [0, 1, 2]
    assert found.order.duplicates == (x, y)
    assert found.origins[x] == ("session", "user")
    assert found.embedded is not None
    assert [held.book.entries[0].content for held in found.all] == ["x", "y", "z", "A"]
    assert found.origins[found.embedded.id] == ("character",)
    assert found.missing == ()


async def test_a_book_that_was_deleted_is_read_on_and_one_that_never_was_is_missing(library: Library) -> None:
    gone = await book(library, "gone")
    await library.delete(gone, release=False)
    found = await story_books(library, Selection(book_ids=(gone, "w_never")))
    assert [held.id for held in found.all] == [gone]
    assert found.missing == ("w_never",)


async def test_without_a_persona_or_card_nothing_comes_along(library: Library) -> None:
    found = await story_books(library, Selection())
    assert found.all == ()
    assert found.origins == {}


def test_a_card_without_a_book_has_none() -> None:
    card = read_card(json.dumps({"name": "Ada", "first_mes": "Hi"}).encode(), "ada.json")
    assert own_book("c1", card) is None
    assert own_book("c1", None) is None
