"""A card that was deleted and comes again, and what a posted file is (spec tavern 1.3, case 19)."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.codec import dumps
from engine.errors import NotFound, ResourceError
from engine.library import Library, LibraryLimits, recognised
from engine.storage import Store

OWNER = "guild:1"


def card(mood: str, name: str = "Mira") -> bytes:
    data = {"name": name, "first_mes": "Hello.", "personality": mood}
    return dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": data})


async def brought(library: Library, mood: str, name: str = "Mira") -> str:
    return (await library.import_card(OWNER, card(mood, name), f"{name}.json", "ana")).id


async def test_the_same_bytes_are_the_same_card_again(library: Library) -> None:
    first = await brought(library, "dry")
    await library.delete(first, release=False)
    row = await library.import_card(OWNER, card("dry"), "x.json", "ben")
    assert (row.id, row.known, row.relinked) == (first, True, False)


async def test_other_bytes_take_the_place_when_the_name_is_unique_on_both_sides(library: Library) -> None:
    # given a deleted card
    first = await brought(library, "dry")
    await library.delete(first, release=False)

    # when another file of that name comes
    row = await library.import_card(OWNER, card("wet"), "y.json", "ben")

    # then it has the deleted one's id, its own content, and belongs to whoever brought it
    assert (row.id, row.known, row.relinked) == (first, False, True)
    assert (await library.card(first)).personality == "wet"
    assert (row.created_by, row.filename) == ("ben", "y.json")
    assert row.revision > 1
    # and its bytes are known from now on
    again = await library.import_card(OWNER, card("wet"), "z.json", "ana")
    assert (again.id, again.known) == (first, True)


async def test_a_living_card_of_the_name_is_never_replaced(library: Library) -> None:
    gone = await brought(library, "dry")
    await library.delete(gone, release=False)
    other = await brought(library, "old", "Zoe")
    await library.rename(other, "Mira")
    row = await library.import_card(OWNER, card("wet"), "y.json", "ben")
    assert row.id not in (gone, other)
    assert not row.relinked


async def test_between_two_deleted_ones_nothing_is_guessed(library: Library) -> None:
    # given two deleted cards of one name
    await brought(library, "dry")
    await brought(library, "wet")
    gone = [row.id for row in await library.list(OWNER, "card")]
    for each in gone:
        await library.delete(each, release=False)

    # when a third comes, it is another card, until a person says which it is
    row = await library.import_card(OWNER, card("odd"), "c.json", "ana")
    assert row.id not in gone
    assert {lost.id for lost in await library.lost(row)} == set(gone)
    linked = await library.relink(row.id, gone[1])
    assert (linked.id, linked.relinked) == (gone[1], True)
    assert [found.id for found in await library.list(OWNER, "card")] == [gone[1]]
    with pytest.raises(NotFound):
        await library.get(row.id)


async def test_what_is_used_already_is_not_moved(library: Library) -> None:
    for mood in ("dry", "wet"):
        await library.delete(await brought(library, mood), release=False)
        await brought(library, mood)  # back again, so that both are there
    rows = await library.list(OWNER, "card")
    for row in rows:
        await library.delete(row.id, release=False)
    came = await library.import_card(OWNER, card("odd"), "c.json", "ana")
    await library.touch(came.id)
    lost = (await library.lost(came))[0]
    with pytest.raises(ResourceError) as caught:
        await library.relink(came.id, lost.id)
    assert caught.value.error_code == "RELINK_TOO_LATE"
    assert (await library.get(came.id)).id == came.id
    # and neither is a stranger's id
    with pytest.raises(ResourceError):
        await library.relink(came.id, "c_none")


async def test_another_server_has_nothing_to_do_with_it(library: Library) -> None:
    first = await brought(library, "dry")
    await library.delete(first, release=False)
    row = await library.import_card("guild:2", card("wet"), "y.json", "ben")
    assert row.id != first


async def test_presets_are_never_taken_for_one_another(library: Library) -> None:
    def preset(text: str) -> bytes:
        return dumps({"prompts": [{"identifier": "main", "name": "Main", "content": text}]})

    first = await library.import_preset(OWNER, preset("a"), "Rain.json", "ana")
    await library.delete(first.id, release=False)
    second = await library.import_preset(OWNER, preset("b"), "Rain.json", "ana")
    assert second.id != first.id


async def test_a_full_library_takes_no_card_back(store: Store) -> None:
    library = Library(store, LibraryLimits(cards=1))
    first = await brought(library, "dry")
    await library.delete(first, release=False)
    await brought(library, "x", "Zoe")
    with pytest.raises(ResourceError) as caught:
        await library.import_card(OWNER, card("wet"), "y.json", "ben")
    assert caught.value.error_code == "LIBRARY_LIMIT_REACHED"


# --- what a posted file is

SAMPLES = Path(__file__).parents[3] / "config" / "samples"


@pytest.mark.parametrize(
    ("name", "kind"), [("maren.png", "card"), ("fireside.json", "preset"), ("low_reach.json", "world_book")]
)
def test_the_samples_are_recognised(name: str, kind: str) -> None:
    assert recognised((SAMPLES / name).read_bytes(), name) == kind


def test_regex_scripts_are_recognised() -> None:
    script = {"scriptName": "a", "findRegex": "/a/", "replaceString": "", "placement": [2]}
    assert recognised(dumps(script), "a.json") == "regex"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[1, 2]",
        b"hello",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0 a photograph",
        b"name: left-pad\nversion: 1",
        b'{"name": "left-pad", "version": "1.0.0", "description": "Pads.", "scripts": {}}',
        b'{"entries": []}',
        b'{"compilerOptions": {}}',
        b"\x00" * 100,
    ],
)
def test_what_nobody_would_want_in_a_library_is_not(body: bytes) -> None:
    assert recognised(body, "a.json") is None
