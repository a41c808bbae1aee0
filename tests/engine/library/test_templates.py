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
