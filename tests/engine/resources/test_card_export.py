"""A card as a file again: what was not edited is what came."""

import io
import json
import zipfile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from engine.errors import ResourceError
from engine.resources import (
    CardFormat,
    Diagnostics,
    edit_card,
    export_card,
    export_filename,
    parse_card,
    png,
    read_asset,
    read_card,
)
from tests.conformance.test_vectors import VECTORS
from tests.engine.resources.pngs import IEND, SIGNATURE, chunk, encoded, header, picture, pixels, text, v2, v3
from tests.engine.resources.test_card_edit import unknown
from tests.engine.resources.test_charx import card_json, charx, icon

FORMS: tuple[CardFormat, ...] = ("json", "png", "charx")
CARDS = sorted(
    path
    for path in (VECTORS / "cards").iterdir()
    if path.suffix != ".md" and path.stem not in ("expected", "recommended", "lorebook_conversion")
)


def texts(data: bytes) -> list[str]:
    chunks, _ = png.text_chunks(data, lambda keyword: True, Diagnostics())
    return [chunk.keyword for chunk in chunks]


def document(data: bytes, keyword: str) -> Any:
    chunks, _ = png.text_chunks(data, keyword.__eq__, Diagnostics())
    return read_card(picture(text(b"chara", bytes(chunks[0].packed)))).raw


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.name)
def test_a_second_export_is_the_first(path: Any, form: CardFormat) -> None:
    original = path.read_bytes()
    try:
        card = read_card(original, path.name)
    except ResourceError:
        return
    first = export_card(card.raw, form, original=original)
    again = read_card(first, f"again.{form}")
    assert export_card(again.raw, form, original=first) == first
    assert (again.name, again.greetings, again.extensions or {}) == (
        card.name,
        card.greetings,
        card.extensions or {},
    )
    assert (again.book and again.book.entries) == (card.book and card.book.entries)


def test_json_is_the_object_as_it_came_in_its_own_order() -> None:
    raw = {
        "spec_version": "2.0",
        "zeta": 1,
        "data": {"name": "Ada", "b": 1, "a": None},
        "spec": "chara_card_v2",
    }
    original = json.dumps(raw).encode()
    stored = json.loads(json.dumps(read_card(original).raw, sort_keys=True))
    exported = export_card(stored, "json", original=original)
    assert json.loads(exported) == raw
    assert list(json.loads(exported)) == list(raw)
    assert list(json.loads(exported)["data"]) == ["name", "b", "a"]
    assert exported.startswith(b'{\n  "spec_version"')


def test_a_png_has_both_chunks_and_everything_else_byte_for_byte() -> None:
    asset, icc = text(b"chara-ext-asset_:1", b"AAAA"), chunk(b"iCCP", b"x\0\0", crc=7)
    kept = asset + icc + pixels()
    old = text(b"chara", encoded(v2("Old")))
    original = SIGNATURE + header() + old + kept + chunk(b"zTXt", b"CHARA\0\0x") + IEND + b"tail"
    exported = export_card(read_card(original).raw, "png", original=original)
    assert texts(exported) == ["chara-ext-asset_:1", "chara", "ccv3"]
    assert exported.startswith(SIGNATURE + header() + kept)
    assert exported.endswith(IEND + b"tail")
    assert document(exported, "chara") == v2("Old")
    assert document(exported, "ccv3") == v3("Old")
    with Image.open(io.BytesIO(export_card(v2(), "png", original=picture()))) as shown:
        shown.verify()  # every checksum is right


def test_a_newer_card_keeps_its_version_and_old_readers_get_theirs() -> None:
    raw = {**v3("Ada", hologram=1), "spec_version": "3.7"}
    exported = export_card(raw, "png")
    assert document(exported, "ccv3") == raw
    assert document(exported, "chara") == {**v2("Ada", hologram=1)}


def test_a_flat_card_gets_its_wrapping_and_keeps_its_own_fields() -> None:
    raw = {"name": "Ada", "first_mes": "Hi", "creatorcomment": "c", "tags": ["elf"], "chat": "x"}
    exported = read_card(export_card(raw, "png"))
    assert (exported.spec, exported.name, exported.greetings) == ("v3", "Ada", ("Hi",))
    assert (exported.creator_notes, exported.tags) == ("c", ("elf",))
    assert {key: exported.raw[key] for key in raw} == raw
    pygmalion = read_card(export_card({"char_name": "Pyg", "char_persona": "p"}, "png"))
    assert (pygmalion.name, pygmalion.description) == ("Pyg", "p")


def test_a_broken_picture_is_made_whole() -> None:
    whole = picture(text(b"chara", encoded(v2())))
    for original in (whole[:-12], whole[:-20]):  # without its end; cut inside its pixels
        exported = export_card(v2(), "png", original=original)
        notes = Diagnostics()
        png.text_chunks(exported, lambda keyword: True, notes)
        assert notes.all() == ()
        assert texts(exported) == ["chara", "ccv3"]


def test_without_a_picture_there_is_a_placeholder_and_other_pictures_become_png() -> None:
    with Image.open(io.BytesIO(export_card(v2(), "png"))) as shown:
        assert (shown.format, shown.size) == ("PNG", (400, 600))
        shown.load()
    buffer = io.BytesIO()
    Image.new("RGB", (30, 20), "red").save(buffer, "WEBP", lossless=True)
    original = charx(
        {"card.json": card_json(icon("embeded://a.webp", ext="webp")), "a.webp": buffer.getvalue()}
    )
    exported = export_card(read_card(original).raw, "png", original=original)
    with Image.open(io.BytesIO(exported)) as shown:
        assert (shown.format, shown.size, shown.getpixel((0, 0))) == ("PNG", (30, 20), (255, 0, 0))


def test_a_charx_keeps_its_other_files_and_what_stands_before_it() -> None:
    original = charx(
        {"a/x.png": b"x" * 999, "card.json": card_json(), "module.risum": b"\x6f\0", "é": b""},
        prefix=b"\xff\xd8\xff a jpeg",
    )
    edited = edit_card(read_card(original).raw, {"name": "Bea"})
    exported = export_card(edited, "charx", original=original)
    assert exported.startswith(b"\xff\xd8\xff a jpegPK")
    before, after = members(original), members(exported)
    assert list(after) == list(before)
    assert json.loads(after.pop("card.json")) == edited
    before.pop("card.json")
    assert after == before
    # members that were not touched keep their packed bytes
    start = original.index(b"a/x.png") + len("a/x.png")
    assert original[start : start + 10] in exported


def test_a_png_becomes_a_charx_with_its_picture_and_its_assets() -> None:
    listed = [
        {"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"},
        {"type": "emotion", "uri": "__asset:7", "name": "happy", "ext": "png"},
    ]
    face = text(b"chara-ext-asset_:7", b"Ynl0ZXM=")
    original = picture(text(b"ccv3", encoded(v3(assets=listed))), face)
    exported = export_card(read_card(original).raw, "charx", original=original)
    card = read_card(exported, "a.charx")
    assert card.image == picture()
    assert [asset.category for asset in card.assets] == ["icon", "sprite"]
    assert read_asset(exported, card.assets[1]) == b"bytes"
    assert [remark.code for remark in card.warnings] == []


def test_an_archive_that_is_no_charx_becomes_a_new_one() -> None:
    character = {"name": "Ada", "images": [{"path": "a.png"}]}
    original = charx(
        {
            "manifest.json": json.dumps({"characters": ["c.json"], "scenarios": []}).encode(),
            "c.json": json.dumps(character).encode(),
            "a.png": picture(),
        }
    )
    exported = export_card(read_card(original).raw, "charx", original=original)
    assert list(members(exported)) == ["card.json", "assets/icon/image/main.png"]
    assert read_card(exported).image == picture()


def test_a_zip_that_cannot_be_taken_over_is_refused() -> None:
    whole = charx({"a.png": b"x" * 100, "card.json": card_json()})
    torn = bytearray(whole)
    torn[0:4] = b"XXXX"  # the first member's own header
    with pytest.raises(ResourceError) as caught:
        export_card(v3(), "charx", original=bytes(torn))
    assert caught.value.error_code == "CHARACTER_DOCUMENT_INVALID"


@settings(deadline=None)
@given(unknown, unknown, st.sampled_from(["v1", "v2", "v3"]), st.sampled_from(FORMS))
def test_import_and_export_are_a_fixed_point_for_any_card(
    top: dict[str, Any], inner: dict[str, Any], spec: str, form: CardFormat
) -> None:
    raw = (
        {**top, "name": "Ada", **inner}
        if spec == "v1"
        else {**top, **{"v2": v2, "v3": v3}[spec]("Ada", **inner)}
    )
    first = export_card(raw, form)
    card = read_card(first)
    assert export_card(card.raw, form, original=first) == first
    again = card.raw if spec == "v1" else card.raw["data"]
    source = raw if spec == "v1" else raw["data"]
    assert {key: again[key] for key in source} == source
    assert spec == "v1" or {key: card.raw[key] for key in top} == top
    if form == "json":
        assert card.raw == raw
    edited = edit_card(card.raw, {"scenario": "new"})
    written = read_card(export_card(edited, form, original=first))
    assert written.raw == edited if form == "json" else written.scenario == "new"


@pytest.mark.parametrize(
    ("name", "filename"),
    [
        ("Bad/Name:*?", "Bad_Name___.png"),
        ("..\\..\\x", "_.._x.png"),
        ("con", "_con.png"),
        ("...", "character.png"),
        ("艾达", "艾达.png"),
        ("a" * 300, "a" * 80 + ".png"),
        ("a\nb", "a_b.png"),
    ],
)
def test_a_file_name_is_safe_and_the_name_is_not_changed(name: str, filename: str) -> None:
    assert export_filename(name, "png") == filename
    assert parse_card(v2(name), Diagnostics()).name == " ".join(name.split())
