"""Avatars: kept ones, those that webhooks name by address, and drawn ones for whoever has none."""

from __future__ import annotations

import hashlib
import io
from functools import lru_cache
from urllib.parse import parse_qs, unquote, urlsplit

from PIL import Image, ImageDraw, ImageFont, UnidentifiedImageError

from bot.sandbox.world.state import State

__all__ = ["Pictures", "draw", "media_type"]

_SIZE = 256
_BYTES = 1024 * 1024  # an avatar beyond this is dropped without a word (api-docs 1303)
_HUES = (
    (88, 101, 242), (87, 150, 92), (214, 132, 52), (194, 74, 92), (122, 84, 176), (46, 138, 150),
)  # fmt: skip


class Pictures:
    """The pictures of a world, stored under `avatars/<hash>`."""

    def __init__(self, state: State) -> None:
        self._state = state

    def keep(self, body: bytes) -> str:
        """Store a picture; returns its hash."""
        name = hashlib.md5(body, usedforsecurity=False).hexdigest()
        self._state.store.put_file(f"avatars/{name}", body)
        return name

    def from_url(self, url: str) -> str | None:
        """What Discord makes of an `avatar_url`: the hash of its copy, or None when the address gives no
        picture (expired link, no image, too large). Addresses outside of our CDN are not fetched: the
        picture is drawn, or for a loopback address the browser is sent there."""
        own = url.startswith(self._state.cdn + "/")
        if not own:
            name = hashlib.md5(url.encode(), usedforsecurity=False).hexdigest()
            self._state.store.put_file(f"remote/{name}", url.encode())
            return name
        parts = urlsplit(url[len(self._state.cdn) + 1 :])
        path = unquote(parts.path)
        if path.startswith("avatars/"):
            return path.rpartition("/")[2].partition(".")[0]
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if not self._state.link_is_good(path, query.get("ex", "0"), query.get("hm", "")):
            return None
        body = self._state.store.get_file(path)
        if body is None or len(body) > _BYTES or not _is_picture(body):
            return None
        return self.keep(body)

    def get(self, name: str) -> bytes | None:
        """A kept picture."""
        return self._state.store.get_file(f"avatars/{name}")

    def remote(self, name: str) -> str | None:
        """The loopback address that a picture comes from."""
        url = self._state.store.get_file(f"remote/{name}")
        if url is None:
            return None
        host = urlsplit(url.decode()).hostname
        return url.decode() if host in ("127.0.0.1", "localhost", "::1") else None


def _is_picture(body: bytes) -> bool:
    try:
        with Image.open(io.BytesIO(body)) as picture:
            picture.verify()
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return False
    return True


def media_type(body: bytes) -> str:
    """The content type of a picture by its first bytes."""
    kinds = {
        b"\x89PNG": "image/png",
        b"\xff\xd8\xff": "image/jpeg",
        b"GIF8": "image/gif",
        b"RIFF": "image/webp",
    }
    return next((kind for magic, kind in kinds.items() if body.startswith(magic)), "application/octet-stream")


@lru_cache(maxsize=256)
def draw(seed: str, name: str) -> bytes:
    """A PNG for somebody without a picture: the initial on a colour, or a pattern when the font lacks it."""
    digest = hashlib.sha256(seed.encode()).digest()
    back = _HUES[digest[0] % len(_HUES)]
    picture = Image.new("RGB", (_SIZE, _SIZE), back)
    pen = ImageDraw.Draw(picture)
    light = tuple(min(255, c + 130) for c in back)
    initial = name[:1].upper()
    if initial.isascii() and initial.isalnum():
        font = ImageFont.load_default(size=_SIZE * 0.55)
        pen.text((_SIZE / 2, _SIZE / 2), initial, fill=light, font=font, anchor="mm")
    else:
        cell = _SIZE // 7
        for index in range(15):  # three columns of five cells, mirrored to five
            column, row = divmod(index, 5)
            if digest[1 + index] % 2:
                for x in (column + 1, 5 - column):
                    pen.rectangle((x * cell, (row + 1) * cell, (x + 1) * cell, (row + 2) * cell), fill=light)
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()
