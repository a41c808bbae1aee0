"""Editing, exporting, creating, ordering: on a real database."""

import asyncio
import json
from typing import Any

import pytest

from engine.errors import Conflict, InputError, NotFound, ResourceError
from engine.library import Library, LibraryLimits
from engine.resources import (
    add_entry,
    add_prompt,
    edit_card,
    edit_entry,
    edit_preset,
    edit_prompt,
    read_card,
    read_preset,
    read_regex_scripts,
    read_world_book,
)
from engine.storage import Store
from tests.engine.resources.pngs import encoded, picture, text, v2

GUILD = "guild:1"
SCRIPT = {
    "id": "1",
    "scriptName": "Bold",
    "findRegex": "/a/g",
    "replaceString": "b",
    "placement": [2],
    "x": 1,
}


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


async def test_an_edit_changes_what_is_read_and_counts_the_revision(library: Library) -> None:
    row = await library.import_card(GUILD, as_json(v2("Ada", first_mes="Hi")), "ada.json", "u1")
    edited = await library.edit(
        row.id, lambda raw: edit_card(raw, {"name": "Ada Vale", "tags": ["elf"]}), expected_revision=1
    )
    assert (edited.revision, edited.name, edited.tags) == (2, "Ada Vale", ("elf",))
    assert (await library.card(row.id)).name == "Ada Vale"
    assert [found.name for found in await library.search(GUILD, "card", "vale")] == ["Ada Vale"]
    assert (await library.original(row.id)) == as_json(v2("Ada", first_mes="Hi"))


async def test_a_stale_edit_is_refused_and_nothing_changes(library: Library) -> None:
    row = await library.import_card(GUILD, as_json(v2("Ada")), "ada.json", "u1")
    edits = [
        library.edit(row.id, lambda raw, n=n: edit_card(raw, {"name": f"Ada {n}"}), expected_revision=1)
        for n in range(3)
    ]
    outcomes = await asyncio.gather(*edits, return_exceptions=True)
    refused = [found for found in outcomes if isinstance(found, Conflict)]
    assert [error.error_code for error in refused] == ["RESOURCE_CHANGED", "RESOURCE_CHANGED"]
    assert (await library.get(row.id)).revision == 2


async def test_an_edit_that_is_refused_leaves_everything(library: Library) -> None:
    row = await library.import_book(GUILD, as_json({"entries": {}}), "lore.json", "u1")
    with pytest.raises(ResourceError) as unknown:
        await library.edit(row.id, lambda raw: add_entry(raw, {"foo": 1})[0], expected_revision=1)
    assert unknown.value.error_code == "FIELD_UNKNOWN"
    with pytest.raises(ResourceError) as guarded:
        await library.edit(row.id, lambda raw: {"entries": [{}] * 10_001}, expected_revision=1)
    assert guarded.value.error_code == "WORLD_BOOK_ENTRY_LIMIT"
    assert (await library.get(row.id)).revision == 1


async def test_a_name_that_somebody_gave_stays_when_the_content_changes(library: Library) -> None:
    row = await library.import_card(GUILD, as_json(v2("Ada")), "ada.json", "u1")
    named = await library.rename(row.id, "Our Ada")
    edited = await library.edit(
        row.id, lambda raw: edit_card(raw, {"name": "Ada Vale"}), expected_revision=named.revision
    )
    assert edited.name == "Our Ada"


async def test_an_edit_that_has_no_room_is_refused(store: Store) -> None:
    library = Library(store, LibraryLimits(bytes=1_000))
    row = await library.import_book(GUILD, as_json({"entries": {}}), "lore.json", "u1")
    with pytest.raises(ResourceError) as full:
        await library.edit(
            row.id, lambda raw: add_entry(raw, {"content": "x" * 2_000})[0], expected_revision=1
        )
    assert full.value.error_code == "LIBRARY_STORAGE_LIMIT_REACHED"
    assert (await library.get(row.id)).revision == 1


async def test_what_nobody_edited_goes_out_as_it_came(library: Library) -> None:
    book = b'{ "name": "B", "entries": {"0": {"uid":0, "key": ["a"], "content": "lore", "z": 1}} }'
    script = json.dumps([SCRIPT], indent=4).encode()
    for kept, data in (
        (await library.import_book(GUILD, book, "b.json", "u1"), book),
        (await library.import_regex(GUILD, script, "bold.json", "u1"), script),
    ):
        assert (await library.export(kept.id)).body == data


async def test_an_edited_book_differs_only_where_it_was_edited(library: Library) -> None:
    came = {"name": "B", "z": [3, 1], "entries": {"7": {"uid": 7, "key": ["a"], "content": "old", "y": 1}}}
    row = await library.import_book(GUILD, as_json(came), "b.json", "u1")
    await library.edit(row.id, lambda raw: edit_entry(raw, 7, {"content": "new"}), expected_revision=1)
    exported = await library.export(row.id)
    assert (exported.filename, exported.media_type) == ("B.json", "application/json")
    told = json.loads(exported.body)
    assert list(told) == ["name", "z", "entries"]
    assert told == came | {"entries": {"7": came["entries"]["7"] | {"content": "new"}}}  # type: ignore[index]
    assert read_world_book(exported.body).entries[0].content == "new"


async def test_an_edited_preset_keeps_unknown_keys_and_other_orders(library: Library) -> None:
    came = {
        "zeta": {"b": 1, "a": 2},
        "temperature": 0.7,
        "prompts": [
            {"identifier": "main", "name": "Main", "content": "Write.", "custom": True},
            {"identifier": "b", "name": "B", "content": "b"},
        ],
        "prompt_order": [
            {"character_id": 100000, "order": [{"identifier": "b", "enabled": True, "q": 1}]},
            {"character_id": 100001, "order": [{"identifier": "main", "enabled": True, "w": 2}]},
        ],
        "proxy_password": "secret",
    }
    row = await library.import_preset(GUILD, as_json(came), "mine.json", "u1")
    row = await library.edit(
        row.id, lambda raw: edit_preset(raw, {"temperature": 1.1, "max_tokens": 400}), expected_revision=1
    )
    row = await library.edit(
        row.id, lambda raw: edit_prompt(raw, "main", {"content": "Go."}), expected_revision=2
    )
    exported = await library.export(row.id)
    told = json.loads(exported.body)
    assert exported.filename == "mine.json"
    assert list(told) == ["zeta", "temperature", "prompts", "prompt_order", "openai_max_tokens"]
    assert b"secret" not in exported.body
    assert told["prompts"][0] == {"identifier": "main", "name": "Main", "content": "Go.", "custom": True}
    assert told["prompts"][1] == came["prompts"][1]  # type: ignore[index]
    assert told["prompt_order"] == came["prompt_order"]
    again = read_preset(exported.body, "mine.json")
    assert (again.temperature, again.max_tokens) == (1.1, 400)


async def test_a_single_script_goes_out_as_one_object(library: Library) -> None:
    row = await library.import_regex(GUILD, as_json(SCRIPT), "bold_text.json", "u1")
    assert (row.name, row.summary["scripts"]) == ("bold text", 1)
    assert json.loads((await library.export(row.id)).body) == SCRIPT
    (script,) = await library.scripts(row.id)
    assert (script.name, script.find) == ("Bold", "/a/g")


async def test_a_card_goes_out_in_the_form_it_came_in_or_another(library: Library) -> None:
    data = picture(text(b"chara", encoded(v2("Ada", first_mes="Hi"))))
    row = await library.import_card(GUILD, data, "ada.png", "u1")
    own = await library.export(row.id)
    plain = await library.export(row.id, "json")
    packed = await library.export(row.id, "charx")
    assert [file.filename for file in (own, plain, packed)] == ["Ada.png", "Ada.json", "Ada.charx"]
    for file in (own, plain, packed):
        assert read_card(file.body, file.filename).first_mes == "Hi"
    with pytest.raises(ResourceError) as unknown:
        await library.export(row.id, "pdf")
    assert unknown.value.error_code == "EXPORT_FORM_UNKNOWN"


async def test_scripts_within_presets_and_cards_are_found(library: Library) -> None:
    preset = as_json({"prompts": [], "extensions": {"regex_scripts": [SCRIPT]}})
    row = await library.import_preset(GUILD, preset, "p.json", "u1")
    assert row.summary["scripts"] == 1
    assert [script.name for script in await library.scripts(row.id)] == ["Bold"]
    card = await library.import_card(GUILD, as_json(v2("Ada")), "ada.json", "u1")
    assert await library.scripts(card.id) == ()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (as_json(v2("Ada")), "card"),
        (as_json({"name": "Ada", "description": "d", "first_mes": "Hi"}), "card"),
        (picture(text(b"chara", encoded(v2("Ada")))), "card"),
        (as_json({"prompts": [{"identifier": "main", "content": "x"}]}), "preset"),
        (as_json({"entries": {"0": {"key": ["a"], "content": "x"}}}), "world_book"),
        (as_json({"name": "B", "entries": []}), "world_book"),
        (as_json({"type": "risu", "ver": 1, "data": []}), "world_book"),
        (as_json({"kind": "memory", "name": "M", "entries": []}), "world_book"),
        (as_json({"lorebookVersion": 4, "entries": []}), "world_book"),
        (as_json(SCRIPT), "regex"),
        (as_json([SCRIPT]), "regex"),
    ],
)
async def test_a_file_of_any_kind_is_told_by_its_content(library: Library, data: bytes, kind: str) -> None:
    assert (await library.import_file(GUILD, data, "file", "u1")).kind == kind


async def test_a_file_of_no_kind_is_refused(library: Library) -> None:
    for data in (as_json({"a": 1}), as_json([1, 2])):
        with pytest.raises(ResourceError) as unknown:
            await library.import_file(GUILD, data, "notes.json", "u1")
        assert unknown.value.error_code == "FILE_UNKNOWN"


async def test_empty_ones_can_be_made_and_filled(library: Library) -> None:
    preset = await library.create(GUILD, "preset", "Mine", "u1")
    book = await library.create(GUILD, "world_book", "Lore", "u1")
    scripts = await library.create(GUILD, "regex", "Marks", "u1")
    assert (preset.name, book.name, scripts.name) == ("Mine", "Lore", "Marks")
    await library.edit(
        preset.id, lambda raw: add_prompt(raw, {"name": "Tone", "content": "Dark."})[0], expected_revision=1
    )
    await library.edit(book.id, lambda raw: add_entry(raw, {"keys": ["fox"]})[0], expected_revision=1)
    assert [prompt.name for prompt in (await library.preset(preset.id)).prompts] == ["Main", "Tone"]
    assert (await library.book(book.id)).entries[0].keys == ("fox",)
    assert read_regex_scripts((await library.export(scripts.id)).body).scripts == ()


async def test_two_empty_ones_of_one_name_are_two(library: Library) -> None:
    first = await library.create(GUILD, "world_book", "Lore", "u1")
    second = await library.create(GUILD, "world_book", "Lore", "u1")
    assert first.id != second.id


async def test_a_card_is_brought_in_and_never_made(library: Library) -> None:
    with pytest.raises(ResourceError) as refused:
        await library.create(GUILD, "card", "Ada", "u1")
    assert refused.value.error_code == "KIND_NOT_CREATED"


async def test_an_own_order_names_everything_once_and_outlives_a_restart(store: Store) -> None:
    library = Library(store)
    ids = [(await library.import_card(GUILD, as_json(v2(name)), "c.json", "u1")).id for name in "abc"]
    for wrong in (ids[:2], [*ids, ids[0]], [*ids[:2], "c_other"], []):
        with pytest.raises(ResourceError) as refused:
            await library.set_order(GUILD, "card", wrong)
        assert refused.value.error_code == "ORDER_INVALID"
    await library.set_order(GUILD, "card", [ids[2], ids[0], ids[1]])
    again = Library(store)
    assert [row.name for row in await again.list(GUILD, "card", "custom")] == ["c", "a", "b"]
    late = await again.import_card(GUILD, as_json(v2("0 new")), "c.json", "u1")
    assert [row.name for row in await again.list(GUILD, "card", "custom")] == ["c", "a", "b", "0 new"]
    assert (await again.list(GUILD, "card"))[0].id == late.id


async def test_lists_by_change_and_by_use(store: Store) -> None:
    now = [1_000.0]
    library = Library(store, clock=lambda: now[0])
    rows = {}
    for name in "abc":
        now[0] += 1
        rows[name] = await library.import_card(GUILD, as_json(v2(name)), "c.json", "u1")
    now[0] += 1
    await library.touch(rows["a"].id)
    assert [row.name for row in await library.list(GUILD, "card", "updated")] == ["c", "b", "a"]
    assert [row.name for row in await library.list(GUILD, "card", "used")] == ["a", "b", "c"]


async def test_a_deleted_one_is_neither_edited_nor_exported(library: Library) -> None:
    row = await library.import_card(GUILD, as_json(v2("Ada")), "ada.json", "u1")
    await library.delete(row.id)
    for attempt in (
        library.export(row.id),
        library.edit(row.id, lambda raw: raw, expected_revision=2),
        library.document(row.id),
    ):
        with pytest.raises(InputError) as gone:
            await attempt
        assert isinstance(gone.value, NotFound)
