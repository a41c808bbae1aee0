"""The library on a real database: imports, what comes back, limits, deletion."""

import asyncio
import json
from typing import Any

import pytest

from engine.errors import NotFound, ResourceError
from engine.library import Library, LibraryLimits, Selection
from engine.storage import Store
from tests.engine.resources.pngs import encoded, picture, text, v2

GUILD, OTHER = "guild:1", "guild:2"


def card(name: str = "Ada", **data: Any) -> bytes:
    return json.dumps(v2(name, **data)).encode()


def preset(**root: Any) -> bytes:
    return json.dumps({"prompts": [{"identifier": "main", "content": "Write."}], **root}).encode()


def book(content: str = "lore") -> bytes:
    return json.dumps({"entries": {"0": {"key": ["a"], "content": content}}}).encode()


async def test_a_card_comes_back_as_it_was_with_its_picture_and_its_bytes(store: Store) -> None:
    data = picture(text(b"chara", encoded(v2("Ada", first_mes="Hi", tags=["elf", "NSFW"], creator="me"))))
    row = await Library(store).import_card(GUILD, data, "ada.png", "u1")
    assert (row.name, row.kind, row.owner, row.created_by, row.revision) == ("Ada", "card", GUILD, "u1", 1)
    assert (row.tags, row.nsfw, row.known) == (("elf", "NSFW"), True, False)
    assert (row.summary["greetings"], row.summary["creator"]) == (1, "me")
    again = Library(store)  # nothing of this comes from memory
    assert (await again.card(row.id)).first_mes == "Hi"
    assert await again.original(row.id) == data
    avatar = await again.avatar(row.id)
    assert avatar is not None
    assert avatar.startswith(b"\x89PNG")
    assert row.avatar_type == "image/png"


async def test_a_card_without_a_picture_has_none(library: Library) -> None:
    row = await library.import_card(GUILD, card(), "ada.json", "u1")
    assert await library.avatar(row.id) is None


async def test_a_broken_picture_is_a_warning_and_not_a_refusal(library: Library) -> None:
    data = picture(text(b"chara", encoded(v2("Ada"))))
    data = data[: data.index(b"IDAT") + 8] + b"\0" * 6 + data[data.index(b"IDAT") + 14 :]
    row = await library.import_card(GUILD, data, "ada.png", "u1")
    assert row.avatar is None
    assert "avatar-unreadable" in {warning.code for warning in row.warnings}


async def test_warnings_stay_with_the_row(library: Library) -> None:
    row = await library.import_card(GUILD, card(tags="a, b"), "ada.json", "u1")
    (warning,) = (await library.get(row.id)).warnings
    assert (warning.code, warning.where, warning.severity) == ("text-as-list", "data.tags", "warning")


async def test_what_is_refused_leaves_nothing_behind(library: Library, store: Store) -> None:
    with pytest.raises(ResourceError):
        await library.import_card(GUILD, b"{", "x.json", "u1")
    assert await library.list(GUILD) == []
    assert await store.fetch("resource_list", owner=GUILD) == []


async def test_the_same_bytes_are_the_same_resource_in_one_library_only(library: Library) -> None:
    first = await library.import_card(GUILD, card(), "a.json", "u1")
    second = await library.import_card(GUILD, card(), "b.json", "u2")
    third = await library.import_card(OTHER, card(), "a.json", "u1")
    assert (second.id, second.known) == (first.id, True)
    assert third.id != first.id
    assert len(await library.list(GUILD)) == 1


async def test_imports_of_one_file_at_the_same_time_make_one_resource(library: Library) -> None:
    rows = await asyncio.gather(*[library.import_card(GUILD, card(), "a.json", "u1") for _ in range(8)])
    assert len({row.id for row in rows}) == 1
    assert len(await library.list(GUILD)) == 1


async def test_a_presets_secrets_never_reach_the_database(library: Library, store: Store) -> None:
    data = preset(proxy_password="hunter2-secret", reverse_proxy="http://evil.example", temperature=0.8)
    row = await library.import_preset(GUILD, data, "My.json", "u1")
    found = await library.preset(row.id)
    assert (found.name, found.temperature, found.prompts[0].content) == ("My", 0.8, "Write.")
    await store.aclose()
    for file in store.path.parent.iterdir():
        content = file.read_bytes()
        assert b"hunter2-secret" not in content
        assert b"evil.example" not in content


async def test_a_world_book_comes_back_under_its_name(library: Library) -> None:
    row = await library.import_book(GUILD, book("The wood."), "Eldoria.json", "u1")
    found = await library.book(row.id)
    assert (found.name, found.entries[0].content) == ("Eldoria", "The wood.")
    assert (row.kind, row.summary["entries"]) == ("world_book", 1)


async def test_one_kind_is_not_read_as_another(library: Library) -> None:
    row = await library.import_preset(GUILD, preset(), "p.json", "u1")
    with pytest.raises(NotFound):
        await library.card(row.id)


async def test_what_another_library_has_is_not_found_there(library: Library) -> None:
    row = await library.import_card(GUILD, card(), "a.json", "u1")
    assert (await library.get(row.id, owner=GUILD)).id == row.id
    with pytest.raises(NotFound):
        await library.get(row.id, owner=OTHER)
    with pytest.raises(NotFound):
        await library.resolve(OTHER, "card", row.id)


async def test_a_full_library_refuses_and_keeps_what_it_has(store: Store) -> None:
    library = Library(store, LibraryLimits(cards=2))
    for name in ("A", "B"):
        await library.import_card(GUILD, card(name), f"{name}.json", "u1")
    with pytest.raises(ResourceError) as caught:
        await library.import_card(GUILD, card("C"), "c.json", "u1")
    assert caught.value.error_code == "LIBRARY_LIMIT_REACHED"
    assert [row.name for row in await library.list(GUILD)] == ["A", "B"]
    assert (await library.import_card(GUILD, card("A"), "a.json", "u1")).known
    await library.import_card(OTHER, card("C"), "c.json", "u1")
    await library.import_preset(GUILD, preset(), "p.json", "u1")


async def test_imports_at_the_same_time_cannot_pass_the_limit(store: Store) -> None:
    library = Library(store, LibraryLimits(cards=3))
    imports = [library.import_card(GUILD, card(f"C{n}"), "c.json", "u1") for n in range(8)]
    outcomes = await asyncio.gather(*imports, return_exceptions=True)
    assert sum(isinstance(outcome, ResourceError) for outcome in outcomes) == 5
    assert len(await library.list(GUILD)) == 3


async def test_the_bytes_of_a_library_are_limited_together(store: Store) -> None:
    library = Library(store, LibraryLimits(bytes=20_000))
    await library.import_card(GUILD, card("A", description="x" * 9000), "a.json", "u1")
    with pytest.raises(ResourceError) as caught:
        await library.import_preset(GUILD, preset(x="y" * 9000), "p.json", "u1")
    assert caught.value.error_code == "LIBRARY_STORAGE_LIMIT_REACHED"


async def test_deleting_frees_room_and_clears_every_selection(store: Store) -> None:
    library = Library(store, LibraryLimits(cards=1))
    row = await library.import_card(GUILD, card(), "a.json", "u1")
    chosen = Selection(card_id=row.id, preset_id="p_1", greeting_index=2, prefer_system=False)
    await library.selections.set("s1", chosen)
    deleted = await library.delete(row.id)
    assert deleted.name == "Ada"
    assert await library.list(GUILD) == []
    assert await library.selections.get("s1") == Selection(preset_id="p_1")
    for broken in (library.get(row.id), library.delete(row.id), library.touch(row.id)):
        with pytest.raises(NotFound):
            await broken
    await library.import_card(GUILD, card("B"), "b.json", "u1")


async def test_a_session_can_go_on_with_a_card_that_left_the_library(store: Store) -> None:
    data = picture(text(b"chara", encoded(v2("Ada", first_mes="Hi"))))
    library = Library(store, LibraryLimits(cards=1))
    row = await library.import_card(GUILD, data, "ada.png", "u1")
    await library.selections.set("s1", Selection(card_id=row.id, greeting_index=2))

    await library.delete(row.id, release=False)

    again = Library(store)  # nothing of this comes from memory
    chosen = await again.selections.get("s1")
    assert chosen == Selection(card_id=row.id, greeting_index=2)
    assert (await again.card(row.id)).first_mes == "Hi"
    assert (await again.avatar(row.id) or b"").startswith(b"\x89PNG")
    # It has left the library all the same: nothing lists or finds it, and its room is free.
    assert await again.list(GUILD) == []
    with pytest.raises(NotFound):
        await again.resolve(GUILD, "card", row.id)
    await library.import_card(GUILD, card("B"), "b.json", "u1")


async def test_a_deleted_preset_and_book_can_still_be_read(library: Library) -> None:
    rules = await library.import_preset(GUILD, preset(temperature=0.8), "p.json", "u1")
    lore = await library.import_book(GUILD, book("The wood."), "b.json", "u1")
    await library.delete(rules.id, release=False)
    await library.delete(lore.id, release=False)
    assert (await library.preset(rules.id)).temperature == 0.8
    assert (await library.book(lore.id)).entries[0].content == "The wood."


async def test_content_that_never_was_is_not_found(library: Library) -> None:
    for broken in (library.card("c_none"), library.preset("p_none"), library.avatar("c_none")):
        with pytest.raises(NotFound):
            await broken


async def test_a_deleted_card_that_comes_again_is_the_same_one(library: Library) -> None:
    row = await library.import_card(GUILD, card(), "a.json", "u1")
    await library.delete(row.id)
    back = await library.import_card(GUILD, card(), "a.json", "u2")
    assert (back.id, back.known) == (row.id, True)
    assert back.revision > row.revision
    assert (await library.card(row.id)).name == "Ada"
    assert [found.id for found in await library.list(GUILD)] == [row.id]


async def test_a_deleted_card_does_not_come_back_into_a_full_library(store: Store) -> None:
    library = Library(store, LibraryLimits(cards=1))
    row = await library.import_card(GUILD, card(), "a.json", "u1")
    await library.delete(row.id)
    await library.import_card(GUILD, card("B"), "b.json", "u1")
    with pytest.raises(ResourceError) as caught:
        await library.import_card(GUILD, card(), "a.json", "u1")
    assert caught.value.error_code == "LIBRARY_LIMIT_REACHED"


async def test_renaming_changes_the_label_and_not_the_character(library: Library) -> None:
    row = await library.import_card(GUILD, card(), "a.json", "u1")
    renamed = await library.rename(row.id, "  Ada of  March ")
    assert (renamed.name, renamed.revision) == ("Ada of March", 2)
    assert (await library.card(row.id)).name == "Ada"
    assert (await library.resolve(GUILD, "card", "ada of")).id == row.id
    with pytest.raises(ResourceError, match="1 to 200"):
        await library.rename(row.id, " ")
    with pytest.raises(NotFound):
        await library.rename("c_nothing", "x")


async def test_search_asks_nothing_of_the_database_once_the_shelf_is_open(library: Library) -> None:
    await library.import_card(GUILD, card("Ada"), "a.json", "u1")
    assert [row.name for row in library.suggest(GUILD, "card", "ad")] == ["Ada"]
    assert library.suggest(OTHER, "card", "ad") == []
    await library.search(OTHER, "card", "")
    assert library.suggest(OTHER, "card", "") == []


async def test_touching_moves_to_the_front(store: Store) -> None:
    now = [1000.0]
    library = Library(store, clock=lambda: now[0])
    rows = []
    for name in ("A", "B", "C"):
        now[0] += 1
        rows.append(await library.import_card(GUILD, card(name), "x.json", "u1"))
    assert [row.name for row in await library.search(GUILD, "card")] == ["C", "B", "A"]
    now[0] += 1
    await library.touch(rows[0].id)
    assert [row.name for row in await library.search(GUILD, "card")] == ["A", "C", "B"]
    assert [row.name for row in await Library(store).search(GUILD, "card")] == ["A", "C", "B"]


async def test_a_name_that_nothing_or_several_bear_is_not_found(library: Library) -> None:
    for name in ("Adam", "Adele"):
        await library.import_card(GUILD, card(name), "x.json", "u1")
    assert (await library.resolve(GUILD, "card", "ADAM")).name == "Adam"
    assert (await library.resolve(GUILD, "card", "ade")).name == "Adele"
    for unclear in ("ad", "zoe", ""):
        with pytest.raises(NotFound):
            await library.resolve(GUILD, "card", unclear)


async def test_contents_are_kept_parsed_and_forgotten_in_turn(library: Library) -> None:
    rows = [await library.import_card(GUILD, card(f"C{n}"), "c.json", "u1") for n in range(70)]
    first = await library.card(rows[0].id)
    assert await library.card(rows[0].id) is first
    for row in rows[1:]:
        await library.card(row.id)
    again = await library.card(rows[0].id)
    assert again is not first
    assert again == first
