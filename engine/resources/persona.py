"""Who a person plays: exactly a name and a description. Source: spec tavern 1.4."""

from __future__ import annotations

from dataclasses import dataclass

from PIL import Image, ImageOps

from engine.errors import ResourceError
from engine.resources.fields import clean_text, visible_line
from engine.resources.picture import decoded, saved
from engine.resources.portrait import Avatar

__all__ = ["Persona", "make_persona", "make_persona_picture"]

MAX_NAME = 80  # Discord's limit for the name a webhook speaks under; the seed's own limit is 200
MAX_DESCRIPTION = 100_000
MAX_PICTURE = 128 * 1024  # bytes; the seed's limit for a picture in a file
# Discord shows avatars at 80 pixels. Only PNG, which loses nothing, so that an export that is imported again
# is the same picture; a photo fits at 256, and nothing can be too large at 160.
_SIDES = (512, 384, 256, 160)


@dataclass(frozen=True, slots=True)
class Persona:
    """`name` is one trimmed line; `description` may be empty."""

    name: str
    description: str = ""


def make_persona(name: str, description: str = "") -> Persona:
    """A persona from what a person typed. Raises ResourceError PERSONA_INVALID saying what to change."""
    line = visible_line(name)
    body = clean_text(description).strip()
    if not line:
        raise ResourceError("A persona needs a name.", code="PERSONA_INVALID", field="name")
    if len(line) > MAX_NAME:
        raise ResourceError(
            f"A persona's name may have {MAX_NAME} characters; this one has {len(line)}.",
            code="PERSONA_INVALID",
            field="name",
        )
    if len(body) > MAX_DESCRIPTION:
        raise ResourceError(
            f"A description may have {MAX_DESCRIPTION:,} characters; this one has {len(body):,}.",
            code="PERSONA_INVALID",
            field="description",
        )
    return Persona(line, body)


def make_persona_picture(image: bytes) -> Avatar:
    """A square of at most 512 pixels and 128 KiB. Slow: run it off the event loop.

    Raises ResourceError IMAGE_INVALID or IMAGE_TOO_LARGE.
    """
    picture, _ = decoded(image, _SIDES[0])
    for most in _SIDES:
        side = min(most, *picture.size)
        square = ImageOps.fit(picture, (side, side), Image.Resampling.LANCZOS, centering=(0.5, 0.2))
        body = saved(square, "PNG", optimize=True)
        if len(body) <= MAX_PICTURE:
            break
    return Avatar(body, "image/png", side)
