"""Cards in PNG files: which chunk counts, what is forgiven, what is refused."""

import base64
import json
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ResourceError
from engine.resources import read_card
from tests.engine.resources.pngs import (
    IEND,
    SIGNATURE,
    chunk,
    encoded,
    header,
    picture,
    pixels,
    text,
    v2,
    v3,
)


def codes(data: bytes) -> set[str]:
    return {warning.code for warning in read_card(data, "a.png").warnings}


def refusal(data: bytes, filename: str = "a.png") -> ResourceError:
    with pytest.raises(ResourceError) as caught:
        read_card(data, filename)
    return caught.value


def test_ccv3_wins_wherever_it_stands() -> None:
    old, new = text(b"chara", encoded(v2("Old"))), text(b"ccv3", encoded(v3("New")))
    assert read_card(picture(old, new)).name == "New"
    assert read_card(picture(new, old)).name == "New"
    assert "png-v3-precedence" in codes(picture(old, new))


def test_the_first_of_a_kind_wins_with_a_warning() -> None:
    data = picture(text(b"chara", encoded(v2("First"))), text(b"chara", encoded(v2("Second"))))
    assert read_card(data).name == "First"
    assert "several-cards" in codes(data)


def test_inside_a_keyword_text_beats_itxt_beats_ztxt() -> None:
    packed = chunk(b"zTXt", b"chara\0\0" + zlib.compress(encoded(v2("Packed"))))
    international = chunk(b"iTXt", b"chara\0\0\0\0\0" + encoded(v2("International")))
    plain = text(b"chara", encoded(v2("Plain")))
    assert read_card(picture(packed)).name == "Packed"
    assert read_card(picture(packed, international)).name == "International"
    assert read_card(picture(packed, international, plain)).name == "Plain"


def test_a_keyword_counts_in_any_case() -> None:
    assert read_card(picture(text(b"Chara", encoded(v2("Upper"))))).name == "Upper"
    assert read_card(picture(text(b"chara", encoded(v2())), text(b"CCV3", encoded(v3("New"))))).name == "New"


def test_a_packed_itxt_chunk_may_hold_bare_json() -> None:
    packed = zlib.compress(b" " + json.dumps(v2("Bare")).encode())
    assert read_card(picture(chunk(b"iTXt", b"chara\0\1\0\0\0" + packed))).name == "Bare"
    broken = (
        chunk(b"iTXt", b"chara\0\1\0\0\0junk") + chunk(b"iTXt", b"chara\0\1") + chunk(b"zTXt", b"chara\0\0x")
    )
    data = picture(broken, text(b"chara", encoded(v2("Plain"))))
    assert read_card(data).name == "Plain"
    assert refusal(picture(broken)).error_code == "CHARACTER_DOCUMENT_INVALID"
    assert "damaged" in refusal(picture(chunk(b"iTXt", b"chara\0\1\0\0\0junk"))).message


def test_base64_of_any_make_is_read() -> None:
    card = json.dumps(v2("Zoë", description="\u00fb\u00ff??>>")).encode()
    plain = base64.b64encode(card)
    unpadded = plain.translate(bytes.maketrans(b"+/", b"-_")).rstrip(b"=")
    lines = b"\r\n".join(plain[at : at + 40] for at in range(0, len(plain), 40)) + b" "
    marked = base64.b64encode(b"\xef\xbb\xbf" + card)
    for payload in (plain, unpadded, lines, marked):
        assert read_card(picture(text(b"chara", payload))).raw == v2("Zoë", description="\u00fb\u00ff??>>")
    assert "base64" in refusal(picture(text(b"chara", b"A"))).message


def test_a_broken_better_chunk_falls_back_to_a_good_worse_one() -> None:
    data = picture(text(b"ccv3", b"e30="), text(b"chara", encoded(v2("Whole"))))
    assert read_card(data).name == "Whole"
    assert "unreadable-chunk" in codes(data)


def test_a_card_after_the_pixels_is_found_and_what_follows_the_end_is_not() -> None:
    card = text(b"chara", encoded(v2("Late")))
    assert read_card(SIGNATURE + header() + pixels() + card + IEND).name == "Late"
    assert refusal(picture() + card).error_code == "CARD_NOT_FOUND_IN_IMAGE"


def test_wrong_checksum_and_missing_end_are_warnings() -> None:
    body = b"chara\0" + encoded(v2("Kept"))
    assert codes(picture(chunk(b"tEXt", body, crc=7))) == {"wrong-checksum"}
    assert codes(picture(text(b"chara", encoded(v2("Kept"))), end=b"")) == {"missing-end"}


def test_a_picture_cut_inside_its_pixels_still_gives_the_card() -> None:
    data = picture(text(b"chara", encoded(v2("Cut"))))[:-20]
    assert read_card(data).name == "Cut"
    assert codes(data) == {"cut-short"}


def test_a_picture_without_a_card_says_so_and_how_to_get_one() -> None:
    plain, other = refusal(picture()), refusal(picture(text(b"Software", b"GIMP")))
    assert plain.error_code == other.error_code == "CARD_NOT_FOUND_IN_IMAGE"
    assert "plain picture" in plain.message
    assert "none of it is a card" in other.message
    assert "original PNG" in plain.message


def test_a_novelai_lorebook_picture_is_named() -> None:
    assert "NovelAI" in refusal(picture(text(b"naidata", b"e30="))).message


@pytest.mark.parametrize("payload", [b"rcc||rccv1||abc||h||m", b"cmNjfHxyY2N2MXx8"])
def test_an_encrypted_risu_card_is_refused_by_name(payload: bytes) -> None:
    error = refusal(picture(text(b"chara", payload)))
    assert error.error_code == "CARD_ENCRYPTED"
    assert "password" in error.message


def test_broken_json_is_refused_with_its_place() -> None:
    error = refusal(picture(text(b"chara", b"eyJuYW1lIjogIngiLCA=")))  # {"name": "x", then nothing
    assert error.error_code == "CHARACTER_DOCUMENT_INVALID"
    assert (error.data["line"], error.data["column"]) == (1, 15)
    assert "line 1, column 15" in error.message


@pytest.mark.parametrize("form", [b"zTXt", b"iTXt"])
def test_a_bomb_in_a_packed_chunk_does_not_go_off(form: bytes) -> None:
    bomb = zlib.compress(b"0" * (64 * 1024 * 1024), 9)
    assert len(bomb) < 100_000
    head = b"chara\0\0" if form == b"zTXt" else b"chara\0\1\0\0\0"
    assert refusal(picture(chunk(form, head + bomb))).error_code == "CHARACTER_DOCUMENT_TOO_LARGE"


def test_text_that_is_no_card_may_be_large_and_is_never_unpacked() -> None:
    asset = text(b"chara-ext-asset_:1", b"A" * (17 * 1024 * 1024))
    bomb = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"0" * (64 * 1024 * 1024), 9))
    assert read_card(picture(asset, bomb, text(b"chara", encoded(v2("Small"))))).name == "Small"


def test_too_large_a_file_a_chunk_and_a_document_are_refused() -> None:
    assert refusal(b"x" * (32 * 1024 * 1024 + 1)).error_code == "ARTIFACT_TOO_LARGE"
    assert (
        refusal(picture(text(b"chara", b"A" * (16 * 1024 * 1024)))).error_code
        == "CHARACTER_DOCUMENT_TOO_LARGE"
    )
    long = b'{"name": "' + b"x" * (8 * 1024 * 1024) + b'"}'
    assert refusal(picture(text(b"chara", long))).error_code == "CHARACTER_DOCUMENT_TOO_LARGE"
    assert refusal(long, "a.json").error_code == "CHARACTER_DOCUMENT_TOO_LARGE"


def test_a_v3_card_in_the_old_chunk_is_told() -> None:
    assert codes(picture(text(b"chara", encoded(v3())))) == {"v3-in-legacy-chunk"}
    assert codes(picture(text(b"chara", encoded(v2())))) == set()


def test_only_some_broken_chunks_are_looked_at() -> None:
    broken, whole = text(b"chara", b"e30="), text(b"chara", encoded(v2("Fifth")))
    assert read_card(picture(*[broken] * 3, whole)).name == "Fifth"
    assert refusal(picture(*[broken] * 4, whole)).error_code == "CHARACTER_DOCUMENT_INVALID"


def test_more_than_ten_thousand_chunks_are_refused() -> None:
    assert refusal(picture(*[chunk(b"tIME", b"")] * 10_001)).error_code == "ARTIFACT_TOO_LARGE"


def test_a_first_chunk_that_is_no_header_is_refused() -> None:
    assert refusal(SIGNATURE + pixels() + header() + IEND).error_code == "CHARACTER_DOCUMENT_INVALID"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\xff\xd8\xff\xe0JFIF", "JPEG"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "WebP"),
        (b"GIF89a", "GIF"),
    ],
)
def test_another_picture_renamed_to_png_is_called_what_it_is(data: bytes, name: str) -> None:
    error = refusal(data, "hero.png")
    assert error.error_code == "CARD_NOT_FOUND_IN_IMAGE"
    assert name in error.message


def test_an_empty_file_and_noise_are_refused() -> None:
    assert refusal(b"").error_code == "CHARACTER_DOCUMENT_INVALID"
    assert refusal(b"MZ\x90\0\x03").error_code == "CHARACTER_DOCUMENT_INVALID"


@given(st.binary(max_size=400))
def test_any_tail_after_a_header_is_read_or_refused_never_more(tail: bytes) -> None:
    try:
        read_card(SIGNATURE + header() + tail, "a.png")
    except ResourceError as error:
        assert error.message


@given(st.integers(0, 4000), st.binary(min_size=1, max_size=4))
def test_a_damaged_card_file_is_read_or_refused_never_more(place: int, noise: bytes) -> None:
    data = bytearray(picture(text(b"chara", encoded(v2("Ada", description="x" * 2000)))))
    place %= len(data)
    data[place : place + len(noise)] = noise
    try:
        read_card(bytes(data), "a.png")
    except ResourceError as error:
        assert error.message


def test_a_length_field_that_lies_reads_nothing_beyond_the_file() -> None:
    lying = struct.pack(">I", 0x7FFFFFFF) + b"tEXt" + b"chara\0e30="
    data = SIGNATURE + header() + lying
    assert refusal(data).error_code == "CARD_NOT_FOUND_IN_IMAGE"
