"""Session templates on a real database: kept, looked at, refused when something is missing."""

import json

import pytest

from engine.errors import InputError, NotFound, ResourceError
from engine.library import Library, Selection

GUILD, OTHER = "guild:1", "guild:2"


async def card(library: Library) -> str:
    data = json.dumps({"name": "Ada", "description": "", "first_mes": "Hi"}).encode()
    return (await library.import_card(GUILD, data, "ada.json", "u1")).id


async def book(library: Library) -> str:
    return (await library.import_book(GUILD, b'{"entries": {}}', "lore.json", "u1")).id


async def test_a_template_keeps_the_choice_and_not_the_story(library: Library) -> None:
    chosen = Selection(card_id=await card(library), greeting_index=2, seed="p_1", user_name="Mira")
    made = await library.templates.create(GUILD, "  The   inn ", chosen, "u1")
    found = await library.templates.get(GUILD, made.id)
    assert (found.name, found.created_by) == ("The inn", "u1")
    assert found.selection == Selection(card_id=chosen.card_id, greeting_index=2)


async def test_a_preview_names_what_is_missing_and_usable_refuses(library: Library) -> None:
    lore = await book(library)
    chosen = Selection(card_id=await card(library), book_ids=(lore,), preset_id="p_gone")
    made = await library.templates.create(GUILD, "inn", chosen, "u1")
    await library.delete(lore)

    preview = await library.templates.preview(GUILD, made.id)
    assert preview.missing == (
        ("SESSION_CONFIGURATION_PRESET_MISSING", "p_gone"),
        ("SESSION_CONFIGURATION_WORLD_BOOK_MISSING", lore),
    )
    with pytest.raises(InputError) as refused:
        await library.templates.usable(GUILD, made.id)
    assert refused.value.error_code == "SESSION_CONFIGURATION_UNAVAILABLE"
    assert refused.value.data["missing"] == [
        "SESSION_CONFIGURATION_PRESET_MISSING",
        "SESSION_CONFIGURATION_WORLD_BOOK_MISSING",
    ]


async def test_what_is_all_there_is_usable(library: Library) -> None:
    chosen = Selection(card_id=await card(library), book_ids=(await book(library),))
    made = await library.templates.create(GUILD, "inn", chosen, "u1")
    assert await library.templates.usable(GUILD, made.id) == chosen


async def test_a_name_is_taken_once_a_server(library: Library) -> None:
    await library.templates.create(GUILD, "inn", Selection(), "u1")
    second = await library.templates.create(GUILD, "road", Selection(), "u1")
    await library.templates.create(OTHER, "inn", Selection(), "u1")
    for attempt in (
        library.templates.create(GUILD, "inn", Selection(), "u1"),
        library.templates.change(GUILD, second.id, name="inn"),
    ):
        with pytest.raises(ResourceError) as taken:
            await attempt
        assert taken.value.error_code == "SESSION_TEMPLATE_ID_EXISTS"
    assert [found.name for found in await library.templates.list(GUILD)] == ["inn", "road"]


async def test_names_are_bounded(library: Library) -> None:
    for name in ("", "   ", "a" * 121, "龙" * 161):
        with pytest.raises(ResourceError) as refused:
            await library.templates.create(GUILD, name, Selection(), "u1")
        assert refused.value.error_code == "NAME_INVALID"


async def test_the_hundred_and_first_is_refused(library: Library) -> None:
    for n in range(100):
        await library.templates.create(GUILD, f"t{n}", Selection(), "u1")
    with pytest.raises(ResourceError) as full:
        await library.templates.create(GUILD, "more", Selection(), "u1")
    assert full.value.error_code == "SESSION_TEMPLATE_LIMIT_REACHED"
    assert len(await library.templates.list(GUILD)) == 100


async def test_another_server_sees_nothing_of_it(library: Library) -> None:
    made = await library.templates.create(GUILD, "inn", Selection(), "u1")
    for attempt in (
        library.templates.get(OTHER, made.id),
        library.templates.delete(OTHER, made.id),
        library.templates.usable(OTHER, made.id),
    ):
        with pytest.raises(NotFound) as refused:
            await attempt
        assert refused.value.error_code == "SESSION_TEMPLATE_NOT_FOUND"


async def test_a_changed_and_a_deleted_template(library: Library) -> None:
    made = await library.templates.create(GUILD, "inn", Selection(), "u1")
    await library.templates.change(GUILD, made.id, selection=Selection(greeting_index=1))
    assert (await library.templates.get(GUILD, made.id)).selection == Selection(greeting_index=1)
    await library.templates.delete(GUILD, made.id)
    assert await library.templates.list(GUILD) == []


# --- files


def template_file(name: str, **selection: object) -> bytes:
    data = {"name": name, "selection": selection}
    return json.dumps(
        {"format": "pmp-dsh-tavern", "version": 1, "resourceType": "session-template", "data": data}
    ).encode()


async def test_a_template_goes_out_and_comes_back_under_another_name(library: Library) -> None:
    chosen = Selection(
        card_id=await card(library), greeting_index=1, book_ids=(await book(library),), tools=("dice",)
    )
    made = await library.templates.create(GUILD, "inn", chosen, "u1")
    file = await library.templates.export(GUILD, made.id)
    assert file.filename == "inn.json"
    with pytest.raises(ResourceError) as taken:
        await library.templates.import_(GUILD, file.body, "u2")
    assert taken.value.error_code == "SESSION_TEMPLATE_ID_EXISTS"
    again = await library.templates.import_(GUILD, file.body, "u2", name="the other inn")
    assert again.id != made.id
    assert await library.templates.usable(GUILD, again.id) == chosen


async def test_in_another_library_a_template_finds_nothing_and_tells_nothing(library: Library) -> None:
    lore = await book(library)
    made = await library.templates.import_(OTHER, template_file("inn", worldBookIds=[lore]), "u2")
    preview = await library.templates.preview(OTHER, made.id)
    assert preview.missing == (("SESSION_CONFIGURATION_WORLD_BOOK_MISSING", lore),)
    assert preview.names == {}


async def test_what_was_deleted_is_named(library: Library) -> None:
    lore = await book(library)
    made = await library.templates.create(GUILD, "inn", Selection(book_ids=(lore,)), "u1")
    await library.delete(lore)
    assert (await library.templates.preview(GUILD, made.id)).names == {lore: "lore"}


async def test_a_persona_counts_only_when_it_is_of_whoever_made_the_template(library: Library) -> None:
    hers = await library.personas.create("u1", "Vale")
    made = await library.templates.create(GUILD, "inn", Selection(persona_id=hers.id), "u1")
    assert (await library.templates.usable(GUILD, made.id)).persona_id == hers.id
    file = template_file("taken", userId=hers.id)
    taken = await library.templates.import_(GUILD, file, "u2")
    preview = await library.templates.preview(GUILD, taken.id)
    assert preview.missing == (("SESSION_CONFIGURATION_USER_MISSING", hers.id),)
    assert preview.names == {}


async def test_a_refused_file_leaves_nothing_behind(library: Library) -> None:
    for file in (template_file("inn", messages=["Hello"]), template_file("  "), b"{}"):
        with pytest.raises(ResourceError):
            await library.templates.import_(GUILD, file, "u1")
    assert await library.templates.list(GUILD) == []


async def test_a_thing_of_another_kind_is_no_card(library: Library) -> None:
    made = await library.templates.create(GUILD, "inn", Selection(card_id=await book(library)), "u1")
    codes = [code for code, _ in (await library.templates.preview(GUILD, made.id)).missing]
    assert codes == ["SESSION_CONFIGURATION_CHARACTER_MISSING_OR_INVALID"]


async def test_the_templates_of_one_server_have_so_much_room_together(library: Library) -> None:
    long = Selection(book_ids=tuple(f"w_{n:0190}" for n in range(100)))
    made = 0
    with pytest.raises(ResourceError) as full:
        while made < 100:
            await library.templates.create(GUILD, f"t{made}", long, "u1")
            made += 1
    assert full.value.error_code == "SESSION_TEMPLATE_LIMIT_REACHED"
    assert len(await library.templates.list(GUILD)) == made > 10
