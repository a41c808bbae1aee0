"""Personas on a real database: several of one person, one of them played."""

import pytest

from engine.errors import Conflict, NotFound, ResourceError
from engine.library import MAX_PERSONAS, Library, Selection
from engine.resources import Avatar

PICTURE = Avatar(b"\x89PNG picture", "image/png", 64)


async def test_without_a_persona_a_person_plays_as_themselves(library: Library) -> None:
    assert await library.personas.active("u1") is None
    assert await library.personas.list("u1") == []


async def test_playing_a_name_makes_it_and_playing_it_again_finds_it(library: Library) -> None:
    first = await library.personas.play("u1", " Mira ", "tall")
    again = await library.personas.play("u1", "Mira")
    changed = await library.personas.play("u1", "Mira", "taller")
    assert (first.persona.name, first.persona.description, first.active) == ("Mira", "tall", True)
    assert (again.id, again.persona.description, again.revision) == (first.id, "tall", 1)
    assert (changed.id, changed.persona.description, changed.revision) == (first.id, "taller", 2)


async def test_one_of_several_is_played_and_the_others_are_kept(library: Library) -> None:
    personas = library.personas
    mira = await personas.play("u1", "Mira")
    wren = await personas.play("u1", "Wren")
    await personas.play("u2", "Tobias")
    assert [(p.persona.name, p.active) for p in await personas.list("u1")] == [
        ("Mira", False),
        ("Wren", True),
    ]

    await personas.use("u1", mira.id)
    assert [(p.persona.name, p.active) for p in await personas.list("u1")] == [
        ("Mira", True),
        ("Wren", False),
    ]

    await personas.use("u1", None)
    assert await personas.active("u1") is None
    assert (await personas.get("u1", wren.id)).persona.name == "Wren"


async def test_nobody_reads_or_plays_somebody_elses_persona_by_its_id(library: Library) -> None:
    tobias = await library.personas.play("u2", "Tobias")
    for attempt in (
        library.personas.get("u1", tobias.id),
        library.personas.use("u1", tobias.id),
        library.personas.delete("u1", tobias.id),
        library.personas.change("u1", tobias.id, expected_revision=1, name="Mine"),
    ):
        with pytest.raises(NotFound) as refused:
            await attempt
        assert refused.value.error_code == "USER_NOT_FOUND"
    assert (await library.personas.get("u2", tobias.id)).active is True


async def test_a_change_keeps_what_is_not_named_and_needs_the_newest_revision(library: Library) -> None:
    made = await library.personas.create("u1", "Mira", "tall", PICTURE)
    named = await library.personas.change("u1", made.id, expected_revision=1, name="Mira Vale")
    assert (named.persona.name, named.persona.description, named.revision) == ("Mira Vale", "tall", 2)
    assert await library.personas.avatar(made.id) == PICTURE.body
    with pytest.raises(Conflict) as stale:
        await library.personas.change("u1", made.id, expected_revision=1, description="short")
    assert stale.value.error_code == "RESOURCE_CHANGED"
    assert (await library.personas.get("u1", made.id)).persona.description == "tall"


async def test_a_name_is_taken_once_a_person(library: Library) -> None:
    mira = await library.personas.create("u1", "Mira")
    wren = await library.personas.create("u1", "Wren")
    await library.personas.create("u2", "Mira")
    with pytest.raises(ResourceError) as taken:
        await library.personas.create("u1", "Mira")
    assert taken.value.error_code == "USER_ID_EXISTS"
    with pytest.raises(ResourceError):
        await library.personas.change("u1", wren.id, expected_revision=1, name="Mira")
    assert (await library.personas.get("u1", mira.id)).persona.name == "Mira"


async def test_a_nameless_persona_is_refused(library: Library) -> None:
    with pytest.raises(ResourceError) as refused:
        await library.personas.play("u1", " ")
    assert refused.value.error_code == "PERSONA_INVALID"


async def test_the_hundred_and_first_is_refused_and_all_others_stay(library: Library) -> None:
    for n in range(MAX_PERSONAS):
        await library.personas.create("u1", f"P{n}")
    with pytest.raises(ResourceError) as full:
        await library.personas.create("u1", "one more")
    assert full.value.error_code == "PERSONA_LIMIT_REACHED"
    assert len(await library.personas.list("u1")) == 100
    await library.personas.create("u2", "somebody else's")


async def test_a_deleted_persona_leaves_selections_and_relations(library: Library) -> None:
    mira = await library.personas.play("u1", "Mira")
    row = await library.import_book("guild:1", b'{"entries": {}}', "lore.json", "u1")
    await library.relations.set_books("persona", mira.id, [row.id], owner="guild:1")
    await library.selections.set("s1", Selection(persona_id=mira.id, card_id="c1"))

    await library.personas.delete("u1", mira.id)

    assert await library.personas.find(mira.id) is None
    assert await library.relations.books("persona", mira.id) == ()
    assert await library.selections.get("s1") == Selection(card_id="c1")
    assert (await library.get(row.id)).name == "lore"
