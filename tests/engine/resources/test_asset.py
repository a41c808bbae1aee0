"""The files that a card brings along: what they are for, and their bytes."""

import base64
import json
from typing import Any

import pytest

from engine.errors import ResourceError
from engine.resources import Asset, read_asset, read_card
from tests.engine.resources.pngs import encoded, picture, text, v2, v3
from tests.engine.resources.test_charx import charx


def assets_of(*assets: Any, **data: Any) -> tuple[Asset, ...]:
    return read_card(json.dumps(v3(assets=list(assets), **data)).encode(), "a.json").assets


def asset(kind: str = "emotion", uri: str = "embeded://a.png", name: str = "a", ext: str = "png") -> Any:
    return {"type": kind, "uri": uri, "name": name, "ext": ext}


def code(file: bytes, wanted: Asset) -> str:
    with pytest.raises(ResourceError) as caught:
        read_asset(file, wanted)
    return caught.value.error_code


@pytest.mark.parametrize(
    ("kind", "ext", "category"),
    [
        ("icon", "png", "icon"),
        ("user_icon", "webp", "icon"),
        ("emotion", "png", "sprite"),
        ("expression", "GIF", "sprite"),
        ("background", "jpg", "background"),
        ("x-risu-asset", "avif", "misc"),
        ("emotion", "mp3", "other"),
        ("icon", "exe", "other"),
    ],
)
def test_what_an_asset_is_for(kind: str, ext: str, category: str) -> None:
    assert assets_of(asset(kind, ext=ext))[0].category == category


@pytest.mark.parametrize(
    ("kind", "name", "label"),
    [
        ("emotion", "Happy  Face!.png", "happy-face"),
        ("emotion", "微笑", "微笑"),
        ("background", "The Old Room", "the_old_room"),
        ("emotion", "", "sprite-0"),
        ("misc", "--", "misc-0"),
        ("emotion", "v1.5", "v1-5"),
    ],
)
def test_labels_are_tidy(kind: str, name: str, label: str) -> None:
    assert assets_of(asset(kind, name=name))[0].label == label


def test_prefixes_are_read_in_any_case_and_paths_as_they_are() -> None:
    found = assets_of(asset(uri="EMBEDED://A/b.png"), asset(uri="__Asset:3"), asset(uri="embedded://x"))
    assert [(item.place, item.path) for item in found] == [("file", "A/b.png"), ("file", "3"), ("file", "x")]


def test_addresses_and_defaults_are_listed_and_never_fetched() -> None:
    found = assets_of(asset(uri="https://example.com/a.png"), asset("icon", "ccdefault:"), asset(uri="?"))
    assert [item.place for item in found] == ["remote", "default", "unknown"]
    assert {code(b"", item) for item in found} == {"CARD_ASSET_REMOTE"}


def test_what_is_no_asset_is_passed_over_and_places_are_kept() -> None:
    found = assets_of(7, {"type": "emotion"}, asset(ext=""), None)
    assert [(item.index, item.ext) for item in found] == [(2, "png")]
    assert read_card(json.dumps(v3(assets={"a": 1})).encode(), "a.json").assets == ()


def test_bytes_come_from_the_archive_when_they_are_asked_for() -> None:
    listed = [asset(uri="embeded://e/a.png"), asset(uri="embeded://gone.png"), asset(uri="embeded://../x")]
    file = charx({"card.json": json.dumps(v3(assets=listed)).encode(), "e/a.png": b"bytes"})
    here, gone, out = read_card(file, "a.charx").assets
    assert read_asset(file, here) == b"bytes"
    assert code(file, gone) == "CARD_ASSET_MISSING"
    assert code(file, out) == "CARD_ASSET_UNSAFE"


@pytest.mark.parametrize("keyword", [b"chara-ext-asset_:1", b"chara-ext-asset_1"])
def test_bytes_come_from_risus_chunks(keyword: bytes) -> None:
    card = v3(assets=[asset(uri="__asset:1"), asset(uri="__asset:2")])
    file = picture(text(b"ccv3", encoded(card)), text(keyword, base64.b64encode(b"bytes")))
    here, gone = read_card(file, "a.png").assets
    assert read_asset(file, here) == b"bytes"
    assert code(file, gone) == "CARD_ASSET_MISSING"


def test_risus_own_lists_are_read_too() -> None:
    risu = {
        "emotions": [["happy", "__asset:0"], ["sad", base64.b64encode(b"x" * 90).decode()], ["broken"]],
        "additionalAssets": [["map", "__asset:1", "map.webp"], "noise"],
    }
    card = read_card(json.dumps(v2(extensions={"risuai": risu})).encode(), "a.json")
    rows = [(item.kind, item.name, item.category, item.place, item.ext) for item in card.assets]
    assert rows == [
        ("emotion", "happy", "sprite", "file", "png"),
        ("emotion", "sad", "sprite", "inline", "png"),
        ("x-risu-asset", "map", "misc", "file", "webp"),
    ]
    assert read_asset(b"", card.assets[1]) == b"x" * 90


def test_an_icon_inside_the_json_is_the_picture() -> None:
    url = "data:image/webp;base64," + base64.b64encode(picture()).decode()
    found = read_card(json.dumps(v3(assets=[asset("icon", url, "main", "")])).encode(), "a.json")
    assert found.image == picture()
    assert found.assets[0].ext == "webp"


def test_a_broken_icon_inside_the_json_costs_only_itself() -> None:
    found = read_card(json.dumps(v3(assets=[asset("icon", "data:image/png;base64,a")])).encode(), "a.json")
    assert found.image is None
    assert [remark.code for remark in found.warnings] == ["unreadable-asset"]


def test_a_list_without_end_is_cut() -> None:
    found = read_card(json.dumps(v3(assets=[asset()] * 2_001)).encode(), "a.json")
    assert len(found.assets) == 2_000
    assert [remark.code for remark in found.warnings] == ["too-many-assets"]
