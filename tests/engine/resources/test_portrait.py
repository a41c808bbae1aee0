"""Avatars: any picture becomes a small square one of nothing but pixels."""

import io
import random

import pytest
from PIL import Image

from engine.errors import ResourceError
from engine.resources import make_avatar
from tests.engine.resources.pngs import SIGNATURE, chunk, header, picture, pixels, text


def saved(picture: Image.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_any_common_picture_becomes_a_square_png(form: str) -> None:
    avatar = make_avatar(saved(Image.new("RGB", (900, 1400), (200, 80, 40)), form))
    with Image.open(io.BytesIO(avatar.body)) as result:
        assert (result.format, result.size) == ("PNG", (512, 512))
    assert (avatar.media_type, avatar.side) == ("image/png", 512)


def test_a_portrait_is_cut_near_its_top() -> None:
    tall = Image.new("RGB", (100, 200), (0, 0, 255))
    tall.paste((255, 0, 0), (0, 20, 100, 60))  # where a face would be
    with Image.open(io.BytesIO(make_avatar(saved(tall, "PNG")).body)) as result:
        assert result.size == (100, 100)
        assert result.getpixel((50, 20)) == (255, 0, 0)


def test_a_small_picture_is_not_blown_up() -> None:
    assert make_avatar(saved(Image.new("RGB", (64, 48)), "PNG")).side == 48


def test_transparency_stays() -> None:
    clear = Image.new("RGBA", (64, 64), (0, 0, 0, 0))
    with Image.open(io.BytesIO(make_avatar(saved(clear, "PNG")).body)) as result:
        assert result.mode == "RGBA"


def test_noise_that_png_cannot_pack_becomes_webp_under_a_megabyte() -> None:
    noise = Image.frombytes("RGBA", (512, 512), random.Random(1).randbytes(512 * 512 * 4))
    avatar = make_avatar(saved(noise, "PNG"))
    assert avatar.media_type == "image/webp"
    assert len(avatar.body) < 1_000_000


def test_texts_wrong_checksums_and_a_missing_end_do_not_cost_the_picture() -> None:
    bomb = text(b"Comment", b"x" * 200_000)
    broken = chunk(b"tEXt", b"chara\0e30=", crc=7)
    assert make_avatar(picture(bomb, broken, end=b"")).side == 2


def test_nothing_but_pixels_remains() -> None:
    avatar = make_avatar(picture(text(b"chara", b"c2VjcmV0")))
    assert b"c2VjcmV0" not in avatar.body
    assert b"tEXt" not in avatar.body


@pytest.mark.parametrize("side", [8_000, 12_000, 30_000])
def test_a_picture_of_too_many_pixels_is_refused_before_it_is_decoded(side: int) -> None:
    bomb = SIGNATURE + header(side, side) + pixels()
    with pytest.raises(ResourceError) as caught:
        make_avatar(bomb)
    assert caught.value.error_code == "IMAGE_TOO_LARGE"


@pytest.mark.parametrize(
    "data", [b"", b"nonsense", SIGNATURE, SIGNATURE + header() + chunk(b"IDAT", b"junk")]
)
def test_what_is_no_picture_is_refused(data: bytes) -> None:
    with pytest.raises(ResourceError) as caught:
        make_avatar(data)
    assert caught.value.error_code in ("IMAGE_INVALID", "CHARACTER_DOCUMENT_INVALID")
