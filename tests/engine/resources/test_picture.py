"""Pictures for models: small enough, upright, of nothing but pixels; and what is refused."""

from __future__ import annotations

import io
import random
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from engine.errors import ResourceError
from engine.resources import Picture, is_picture, make_picture
from tests.engine.resources.pngs import SIGNATURE, chunk, header, picture, pixels, text


def saved(image: Image.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def opened(made: Picture) -> Image.Image:
    with Image.open(io.BytesIO(made.body)) as image:
        image.load()
        return image


def refused(data: bytes) -> str:
    with pytest.raises(ResourceError) as caught:
        make_picture(data)
    return caught.value.error_code


@pytest.mark.parametrize(
    ("form", "kind"),
    [("PNG", "image/png"), ("GIF", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/jpeg")],
)
def test_every_common_format_becomes_png_or_jpeg(form: str, kind: str) -> None:
    data = saved(Image.new("RGB", (90, 40), (200, 80, 40)), form)
    assert is_picture(data[:12])
    made = make_picture(data)
    assert (made.media_type, made.width, made.height) == (kind, 90, 40)
    assert opened(made).get_format_mimetype() == kind


def test_what_is_longer_than_models_look_is_made_smaller() -> None:
    made = make_picture(saved(Image.new("RGB", (4000, 3000), "navy"), "JPEG"))
    assert (made.width, made.height) == (1568, 1176)
    assert opened(made).size == (1568, 1176)


def test_a_very_long_picture_keeps_a_pixel_of_width() -> None:
    made = make_picture(saved(Image.new("RGB", (10_000, 2)), "PNG"))
    assert (made.width, made.height) == (1568, 1)


def test_a_photograph_that_lies_on_its_side_is_set_upright_and_loses_what_it_tells_of_its_place() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it by 90 degrees
    exif.get_ifd(0x8825)[1] = "N"  # where it was taken
    lying = Image.new("RGB", (300, 200), "white")
    made = make_picture(saved(lying, "JPEG", exif=exif))
    assert (made.width, made.height) == (200, 300)
    assert b"Exif" not in made.body


def test_of_a_moving_picture_the_first_is_taken() -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
    made = make_picture(saved(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    assert opened(made).convert("RGB").getpixel((5, 5)) == (255, 0, 0)


def test_what_is_transparent_stands_on_white() -> None:
    made = make_picture(saved(Image.new("RGBA", (20, 20), (0, 0, 0, 0)), "PNG"))
    assert opened(made).convert("RGB").getpixel((5, 5)) == (255, 255, 255)


def test_noise_fits_into_a_mebibyte_too() -> None:
    side = 1568
    noise = Image.frombytes("RGB", (side, side), random.Random(1).randbytes(side * side * 3))
    made = make_picture(saved(noise, "PNG", compress_level=0))
    assert made.media_type == "image/jpeg"
    assert len(made.body) <= 1_048_576
    assert opened(made).size == (made.width, made.height)


def test_texts_and_wrong_checksums_do_not_cost_the_picture_and_do_not_stay_in_it() -> None:
    bomb = text(b"Comment", b"x" * 200_000)
    made = make_picture(picture(bomb, chunk(b"tEXt", b"chara\0c2VjcmV0", crc=7)))
    assert (made.width, made.height) == (2, 2)
    assert b"c2VjcmV0" not in made.body


@pytest.mark.parametrize("side", [8_000, 12_000, 50_000])
def test_a_bomb_is_refused_before_it_is_decoded(side: int) -> None:
    assert refused(SIGNATURE + header(side, side) + pixels()) == "IMAGE_TOO_LARGE"


def test_a_bomb_whose_rows_are_really_there_is_refused_as_well() -> None:
    rows = zlib.compress(bytes(50_001) * 200, 9)
    head = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 0, 0, 0, 0)
    assert refused(SIGNATURE + chunk(b"IHDR", head) + chunk(b"IDAT", rows)) == "IMAGE_TOO_LARGE"


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_picture_that_is_cut_short_is_refused(form: str) -> None:
    noise = Image.frombytes("RGB", (64, 64), random.Random(2).randbytes(64 * 64 * 3))
    data = saved(noise, form)
    assert refused(data[: len(data) // 2]) == "IMAGE_INVALID"


@pytest.mark.parametrize(
    "data",
    [b"", b"nonsense", SIGNATURE, b"\xff\xd8\xff", b"GIF89a", b"RIFF\x04\0\0\0WEBP", b"<svg/>", b"BM"],
)
def test_what_is_no_picture_is_refused(data: bytes) -> None:
    assert refused(data) == "IMAGE_INVALID"


@given(st.sampled_from(["PNG", "JPEG", "WEBP", "GIF"]), st.data())
@settings(max_examples=150, deadline=None)
def test_whatever_the_bytes_it_is_a_good_picture_or_a_refusal(form: str, data: st.DataObject) -> None:
    body = bytearray(saved(Image.new("RGB", (9, 7), "teal"), form))
    for _ in range(data.draw(st.integers(1, 6))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        made = make_picture(bytes(body[: data.draw(st.integers(0, len(body)))]))
    except ResourceError as error:
        assert error.error_code in ("IMAGE_INVALID", "IMAGE_TOO_LARGE")
    else:
        assert opened(made).size == (made.width, made.height)
        assert max(made.width, made.height) <= 1568
        assert len(made.body) <= 1_048_576


@pytest.mark.parametrize(
    "start", [b"", b"\x89PNG", b"RIFF\x04\0\0\0WAVE", b"GIF88a", b'{"a": 1}', b"%PDF-1.7"]
)
def test_other_beginnings_are_no_pictures(start: bytes) -> None:
    assert not is_picture(start)
