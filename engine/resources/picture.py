"""A picture that somebody shows in a story, made fit for a model. Pure; run it off the event loop.

Sizes follow what models take: Anthropic scales whatever is longer than 1568 pixels down before it
looks at it, OpenAI fits pictures into 2048 and then brings the shorter side to 768. Larger ones would
cost bytes, and be seen no better.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

from PIL import Image, ImageOps

from engine.errors import ResourceError
from engine.resources import png

__all__ = ["MAX_BYTES", "SIDE", "Picture", "decoded", "is_picture", "make_picture", "saved"]

SIDE = 1568
MAX_PIXELS = 20_000_000  # 170 MB while it is decoded and shrunk, measured; nothing may take more than 256
MAX_PIXELS_WEBP = 10_000_000  # its decoder holds four copies
MAX_BYTES = 1_048_576  # twenty of these are what one request may carry to any hosted model
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
_LOSSLESS = ("PNG", "GIF", "BMP")  # drawings, screenshots: letters in them stay sharp as PNG
_QUALITIES = (90, 80, 65)
_SMALLER = 0.7  # noise alone does not fit by quality; half the pixels do
_SIGNATURES = (png.SIGNATURE, b"\xff\xd8\xff", b"GIF87a", b"GIF89a")


@dataclass(frozen=True, slots=True)
class Picture:
    """Nothing but pixels: no place and no camera in it. `media_type` is image/png or image/jpeg.

    At most 1568 pixels long and 1 MiB heavy.
    """

    body: bytes
    media_type: str
    width: int
    height: int


def is_picture(start: bytes) -> bool:
    """Whether a file that begins like this is a picture that can be read. Twelve bytes tell; names do not."""
    return start.startswith(_SIGNATURES) or (start[:4] == b"RIFF" and start[8:12] == b"WEBP")


def make_picture(image: bytes) -> Picture:
    """Decode a picture (the first of a moving one), set it upright and on white, and encode it anew.

    Raises ResourceError IMAGE_INVALID or IMAGE_TOO_LARGE.
    """
    picture, form = decoded(image, SIDE)
    if picture.mode == "RGBA":
        # What a model makes of transparency is up to its server; on white it is the same everywhere.
        ground = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(ground, picture).convert("RGB")
    picture.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    if form in _LOSSLESS and len(body := saved(picture, "PNG")) <= MAX_BYTES:
        return Picture(body, "image/png", *picture.size)
    while True:
        for quality in _QUALITIES:
            if len(body := saved(picture, "JPEG", quality=quality)) <= MAX_BYTES:
                return Picture(body, "image/jpeg", *picture.size)
        width, height = (max(1, int(side * _SMALLER)) for side in picture.size)
        picture.thumbnail((width, height), Image.Resampling.LANCZOS)


def decoded(image: bytes, side: int) -> tuple[Image.Image, str]:
    """The pixels, upright, as RGB or RGBA, and the format they came in.

    `side` is how long the result needs to be: a JPEG is decoded at a fraction of its size then.
    Raises ResourceError IMAGE_INVALID or IMAGE_TOO_LARGE, the latter before anything is decoded.
    """
    try:
        if image.startswith(png.SIGNATURE):
            image = png.picture_only(image)  # wrong checksums and huge texts must not cost the picture
        with Image.open(io.BytesIO(image), formats=_FORMATS) as opened:
            most = MAX_PIXELS_WEBP if opened.format == "WEBP" else MAX_PIXELS
            if opened.width * opened.height > most:
                raise Image.DecompressionBombError
            opened.draft("RGB", (side * 2, side * 2))
            ImageOps.exif_transpose(opened, in_place=True)
            opened.load()
            mode = "RGBA" if opened.has_transparency_data else "RGB"
            # A second copy of millions of pixels is made only where it must be.
            picture = opened if opened.mode == mode else opened.convert(mode)
            return picture, str(opened.format)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ResourceError(
            f"A picture may have {MAX_PIXELS // 1_000_000} million pixels, as WebP "
            f"{MAX_PIXELS_WEBP // 1_000_000} million; this one has more.",
            code="IMAGE_TOO_LARGE",
        ) from None
    except (ResourceError, OSError, SyntaxError, ValueError, MemoryError, EOFError) as error:
        raise ResourceError("This picture is damaged or of an unknown kind.", code="IMAGE_INVALID") from error


def saved(picture: Image.Image, form: str, **options: object) -> bytes:
    """The encoded picture."""
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()
