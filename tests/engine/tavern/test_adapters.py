"""The one adapter of each kind: who takes its place, who gives it up, and what it is told."""

from typing import Any

import pytest

from engine.errors import ResourceError
from engine.hooks import Scope
from engine.library import Selection
from engine.lore import Book, compose
from engine.resources import Card, Diagnostic, Entry, Persona, WorldBook
from engine.tavern import (
    Adapters,
    CharacterFound,
    Query,
    Slot,
    StoryBooks,
    UserFound,
    WorldBooksFound,
)
from tests.engine.tavern.stage import Stage


def test_a_second_adapter_is_refused_and_an_old_disposer_leaves_the_new_one() -> None:
    slot: Slot[str] = Slot("user")
    owner = Scope("plugins")
    dispose = slot.register("first", owner=owner)
    with pytest.raises(ResourceError) as caught:
        slot.register("second", owner=owner)
    assert caught.value.error_code == "ADAPTER_REGISTERED"
    assert slot.adapter == "first"
    dispose()
    slot.register("second", owner=owner)
    dispose()
    assert slot.adapter == "second"


async def test_the_end_of_its_owner_frees_the_place() -> None:
    slot: Slot[str] = Slot("user")
    first, second = Scope("first"), Scope("second")
    slot.register("first", owner=first)
    await first.aclose()
    slot.register("second", owner=second)
    assert slot.adapter == "second"


class Script:
    """All three kinds; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Query]] = []

    async def character(self, query: Query) -> CharacterFound:
        self.asked.append(("character", query))
        return CharacterFound(Card("v2", "Bel", {}, description="A bell."), "c_bel")

    async def user(self, query: Query) -> UserFound:
        self.asked.append(("user", query))
        return UserFound(Persona("Ono", "An owl."), None, (Persona("Ono", "An owl."),))

    async def world_books(self, query: Query) -> WorldBooksFound:
        self.asked.append(("world book", query))
        book = Book("w_1", WorldBook("W", (Entry(1, ("moon",), "MOON"),)))
        note = Diagnostic("FROM_OUTSIDE", "A remark.")
        return WorldBooksFound(StoryBooks((book,), None, compose(session=["w_1"])), (note,))


async def test_adapters_are_asked_in_order_and_told_what_was_said(stage: Stage) -> None:
    script, adapters = Script(), Adapters()
    adapters.character.register(script, owner=stage.owner)
    adapters.user.register(script, owner=stage.owner)
    adapters.world_book.register(script, owner=stage.owner)
    other = Stage(stage.library, adapters=adapters)
    made = await other.compiled(await other.story(card_id="whatever"), "The moon!")
    assert [kind for kind, _ in script.asked] == ["character", "user", "world book"]
    query: Any = script.asked[-1][1]
    assert query.session_id == "s1"
    assert query.selection == Selection(card_id="whatever", seed="story")
    assert query.conversation_text == "Mira: The moon!"
    assert query.activation.metadata["pendingMessageCount"] == 1
    assert [speaker.name for speaker in query.speakers] == ["Mira"]
    assert (query.character.id, query.user.user.name) == ("c_bel", "Ono")
    for text in ("A bell.", "An owl.", "MOON"):
        assert text in made.system_text
    assert "FROM_OUTSIDE" in {note.code for note in made.diagnostics}


async def test_without_adapters_there_is_the_preset_alone(stage: Stage) -> None:
    other = Stage(stage.library, adapters=Adapters())
    made = await other.compiled(await other.story(card_id="whatever"), "Hello")
    assert made.system_text == "BUILTIN MAIN"
    assert made.diagnostics == ()
