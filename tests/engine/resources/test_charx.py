"""CHARX files: the card, the icon, and the ways in which they attack."""

import io
import json
import random
import zipfile
from typing import Any

import pytest

from engine.errors import ResourceError
from engine.resources import read_card
from tests.engine.resources.pngs import picture, v3


def charx(members: dict[str, bytes], prefix: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return prefix + buffer.getvalue()


def icon(uri: str, name: str = "main", ext: str = "png") -> dict[str, str]:
    return {"type": "icon", "uri": uri, "name": name, "ext": ext}


def card_json(*assets: Any) -> bytes:
    return json.dumps(v3("Ada", assets=list(assets))).encode()


def refusal(data: bytes, name: str = "a.charx") -> ResourceError:
    with pytest.raises(ResourceError) as caught:
        read_card(data, name)
    return caught.value


def test_the_main_icon_is_the_picture() -> None:
    side, main = picture(), picture() + b"main"
    data = charx(
        {
            "card.json": card_json(
                icon("embeded://assets/side.png", "side"), icon("embedded://assets/main.png")
            ),
            "assets/side.png": side,
            "assets/main.png": main,
        }
    )
    found = read_card(data, "a.charx")
    assert (found.name, found.image) == ("Ada", main)


def test_a_charx_behind_a_jpeg_is_found_whatever_it_is_called() -> None:
    data = charx({"card.json": card_json()}, prefix=b"\xff\xd8\xff\xe0 a picture, so to speak \xff\xd9")
    assert read_card(data, "hero.jpg").name == "Ada"


@pytest.mark.parametrize("uri", ["embeded://../../etc/passwd", "embeded:///etc/passwd", "embeded://C:/x.png"])
def test_a_path_that_leads_out_costs_only_the_picture(uri: str) -> None:
    found = read_card(charx({"card.json": card_json(icon(uri))}), "a.charx")
    assert found.image is None
    assert [warning.code for warning in found.warnings] == ["unsafe-asset"]


def test_a_missing_icon_costs_only_the_picture() -> None:
    found = read_card(charx({"card.json": card_json(icon("embeded://gone.png"))}), "a.charx")
    assert found.image is None
    assert [warning.code for warning in found.warnings] == ["missing-asset"]


def test_a_card_in_one_folder_is_accepted_in_two_it_is_not() -> None:
    assert read_card(charx({"x/card.json": card_json()}), "a.charx").name == "Ada"
    assert (
        refusal(charx({"x/card.json": card_json(), "y/card.json": card_json()})).error_code
        == "CHARACTER_DOCUMENT_INVALID"
    )


def test_a_zip_bomb_does_not_go_off() -> None:
    bomb = charx({"card.json": b'{"name": "' + b"x" * (100 * 1024 * 1024) + b'"}'})
    assert len(bomb) < 200_000
    assert refusal(bomb).error_code == "ARTIFACT_TOO_LARGE"
    icons = charx({"card.json": card_json(icon("embeded://a.png")), "a.png": b"\0" * (64 * 1024 * 1024)})
    assert refusal(icons).error_code == "ARTIFACT_TOO_LARGE"


def test_a_large_picture_beside_the_card_costs_only_itself() -> None:
    large = random.Random(1).randbytes(17 * 1024 * 1024)
    found = read_card(charx({"card.json": card_json(icon("embeded://a.png")), "a.png": large}), "a.charx")
    assert found.image is None
    assert [warning.code for warning in found.warnings] == ["unreadable-asset"]


def test_packings_that_could_ask_for_gigabytes_are_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("card.json", card_json())
    assert refusal(buffer.getvalue()).error_code == "CHARACTER_DOCUMENT_INVALID"


def test_files_are_found_from_the_folder_of_the_card() -> None:
    main = picture() + b"main"
    data = charx({"x/card.json": card_json(icon("embeded://a.png")), "x/a.png": main})
    assert read_card(data, "a.charx").image == main


def test_risu_scripts_stay_closed_and_are_told() -> None:
    found = read_card(charx({"card.json": card_json(), "module.risum": b"\x6f\0"}), "a.charx")
    assert [warning.code for warning in found.warnings] == ["risu-scripts-kept"]


def test_a_png_whose_card_stands_in_a_zip_behind_it_is_read() -> None:
    assert read_card(charx({"card.json": card_json()}, prefix=picture()), "a.png").name == "Ada"


def test_an_archive_without_a_card_is_refused_by_name() -> None:
    assert "no card.json" in refusal(charx({"readme.txt": b"x"})).message


def test_damaged_and_encrypted_archives_are_refused() -> None:
    whole = charx({"card.json": card_json()})
    assert refusal(whole[:-30]).error_code == "CHARACTER_DOCUMENT_INVALID"
    locked = bytearray(whole)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[whole.index(signature) + offset] |= 1  # the encryption flag
    assert refusal(bytes(locked)).error_code == "CHARACTER_DOCUMENT_INVALID"
