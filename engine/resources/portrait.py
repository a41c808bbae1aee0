"""A card's picture made fit to be shown: checked, cut square, small. Pure; run it off the event loop."""

from __future__ import annotations

from dataclasses import dataclass

from PIL import Image, ImageOps

from engine.resources.picture import decoded, saved

__all__ = ["Avatar", "make_avatar", "make_thumbnail"]

SIDE = 512  # pixels; Discord shows avatars at 80 at most, 512 is what its picture viewer wants
MAX_BYTES = 1_000_000  # PNG up to here; only noise passes it, and WebP packs that
THUMBNAIL = 160  # pixels; Discord draws a thumbnail in a list at about 80, on a phone twice as many
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
    picture, _ = decoded(image, SIDE)
    side = min(SIDE, *picture.size)
    return _encode(ImageOps.fit(picture, (side, side), Image.Resampling.LANCZOS, centering=(0.5, _TOP)))


def make_thumbnail(image: bytes) -> bytes:
    """The same as a WebP of at most 160 pixels, for lists of many. Raises as `make_avatar`."""
    picture, _ = decoded(image, THUMBNAIL)
    side = min(THUMBNAIL, *picture.size)
    fitted = ImageOps.fit(picture, (side, side), Image.Resampling.LANCZOS, centering=(0.5, _TOP))
    return saved(fitted, "WEBP", quality=80, method=4)


def _encode(picture: Image.Image) -> Avatar:
    body = saved(picture, "PNG", optimize=True)
    if len(body) <= MAX_BYTES:
        return Avatar(body, "image/png", picture.width)
    return Avatar(saved(picture, "WEBP", quality=90, method=4), "image/webp", picture.width)
