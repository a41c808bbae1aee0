"""A card's picture made fit to be shown: checked, cut square, small. Pure; run it off the event loop."""

from __future__ import annotations

import io
from dataclasses import dataclass

from PIL import Image, ImageOps

from engine.errors import ResourceError
from engine.resources import png

__all__ = ["Avatar", "make_avatar"]

SIDE = 512  # pixels; Discord shows avatars at 80 at most, 512 is what its picture viewer wants
MAX_PIXELS = 50_000_000  # 200 MB of RGBA: what a 2-core machine decodes in about a second
MAX_BYTES = 1_000_000  # PNG up to here; only noise passes it, and WebP packs that
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
_TOP = 0.2  # portraits are cut around a point this far down the spare height: faces are near the top


@dataclass(frozen=True, slots=True)
class Avatar:
    """A square picture of at most 512 pixels and 1 MB. `media_type` is image/png or image/webp."""

    body: bytes
    media_type: str
    side: int


def make_avatar(image: bytes) -> Avatar:
    """Decode and re-encode a picture, so that nothing but pixels of it remains.

    Raises ResourceError IMAGE_INVALID or IMAGE_TOO_LARGE.
    """
    if image.startswith(png.SIGNATURE):
        image = png.picture_only(image)  # wrong checksums and huge texts must not cost the picture
    try:
        with Image.open(io.BytesIO(image), formats=_FORMATS) as opened:
            if opened.width * opened.height > MAX_PIXELS:
                raise Image.DecompressionBombError
            opened.draft("RGB", (SIDE * 2, SIDE * 2))  # lets JPEG decode at a fraction of its size
            upright = ImageOps.exif_transpose(opened)
            picture = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ResourceError(
            f"A picture may have {MAX_PIXELS // 1_000_000} million pixels; this one has more.",
            code="IMAGE_TOO_LARGE",
        ) from None
    except (OSError, SyntaxError, ValueError, MemoryError) as error:
        raise ResourceError("This picture is damaged or of an unknown kind.", code="IMAGE_INVALID") from error
    side = min(SIDE, *picture.size)
    return _encode(ImageOps.fit(picture, (side, side), Image.Resampling.LANCZOS, centering=(0.5, _TOP)))


def _encode(picture: Image.Image) -> Avatar:
    body = _saved(picture, "PNG", optimize=True)
    if len(body) <= MAX_BYTES:
        return Avatar(body, "image/png", picture.width)
    return Avatar(_saved(picture, "WEBP", quality=90, method=4), "image/webp", picture.width)


def _saved(picture: Image.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()
