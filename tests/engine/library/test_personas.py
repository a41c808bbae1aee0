"""Personas on a real database: several of one person, one of them played."""

import io
import json

import pytest
from PIL import Image

from engine.errors import Conflict, NotFound, ResourceError
from engine.library import MAX_PERSONAS, Library, Selection
from engine.resources import Avatar, make_persona_picture

PICTURE = Avatar(b"\x89PNG picture", "image/png", 64)


def square() -> bytes:
    """A small picture."""
    buffer = io.BytesIO()
    Image.new("RGB", (48, 48), "teal").save(buffer, "PNG")
    return buffer.getvalue()


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


# --- files


def persona_file(name: str, description: str = "") -> bytes:
    data = {"name": name, "description": description}
    return json.dumps(
        {"format": "pmp-dsh-tavern", "version": 1, "resourceType": "user", "data": data}
    ).encode()


def backup_of(*names: str) -> bytes:
    return json.dumps({"personas": {f"{n}.png": name for n, name in enumerate(names)}}).encode()


async def test_an_import_is_always_a_new_one_and_changes_nothing_else(library: Library) -> None:
    first = await library.personas.play("u1", "Vale", "Tall.")
    file = await library.personas.export("u1", first.id)
    assert (file.filename, file.media_type) == ("Vale.json", "application/json")
    came = await library.personas.import_("u1", file.body)
    (again,) = came.personas
    assert again.id != first.id
    assert (again.persona.name, again.persona.description) == ("Vale (2)", "Tall.")
    assert (await library.personas.active("u1")) == await library.personas.get("u1", first.id)


async def test_a_picture_goes_out_and_comes_back(library: Library) -> None:
    face = make_persona_picture(square())
    made = await library.personas.create("u1", "Vale", avatar=face)
    file = await library.personas.export("u1", made.id)
    (again,) = (await library.personas.import_("u2", file.body)).personas
    assert await library.personas.avatar(again.id) == face.body
    bare = await library.personas.change("u2", again.id, expected_revision=again.revision, drop_avatar=True)
    assert bare.avatar is None


async def test_a_backup_passes_over_what_is_there(library: Library) -> None:
    await library.personas.create("u1", "Vale")
    came = await library.personas.import_("u1", backup_of("Vale", "Wren", "Wren"))
    assert ([made.persona.name for made in came.personas], came.known) == (["Wren"], 2)
    again = await library.personas.import_("u1", backup_of("Vale", "Wren"))
    assert (again.personas, again.known) == ((), 2)


async def test_an_import_that_has_no_room_brings_nothing(library: Library) -> None:
    await library.personas.import_("u1", backup_of(*(f"P{n}" for n in range(MAX_PERSONAS - 1))))
    with pytest.raises(ResourceError) as refused:
        await library.personas.import_("u1", backup_of("One", "Two"))
    assert refused.value.error_code == "PERSONA_LIMIT_REACHED"
    assert len(await library.personas.list("u1")) == MAX_PERSONAS - 1


async def test_an_export_says_nothing_of_books_or_stories(library: Library) -> None:
    made = await library.personas.create("u1", "Vale")
    lore = await library.import_book("user:u1", b'{"entries": {}}', "lore.json", "u1")
    await library.relations.set_books("persona", made.id, [lore.id], owner="user:u1")
    file = json.loads((await library.personas.export("u1", made.id)).body)
    assert file["data"] == {"name": "Vale", "description": ""}


async def test_others_cannot_export_it(library: Library) -> None:
    made = await library.personas.create("u1", "Vale")
    with pytest.raises(NotFound) as refused:
        await library.personas.export("u2", made.id)
    assert refused.value.error_code == "USER_NOT_FOUND"


async def test_the_longest_name_gets_its_number_too(library: Library) -> None:
    long = "V" * 80
    await library.personas.create("u1", long)
    (again,) = (await library.personas.import_("u1", persona_file(long))).personas
    assert again.persona.name == "V" * 76 + " (2)"
