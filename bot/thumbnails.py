"""Small pictures for lists: a page of them must come quickly to a phone."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from engine.codec import digest
from engine.errors import ResourceError
from engine.resources import make_thumbnail

__all__ = ["thumbnail"]

_KEPT = 400  # pictures of some 6 KB: fifty pages of lists
_small: OrderedDict[bytes, bytes] = OrderedDict()


async def thumbnail(picture: bytes) -> bytes | None:
    """The picture as a small WebP; None when it cannot be read. The last ones are remembered."""
    key = digest(picture)
    if key in _small:
        _small.move_to_end(key)
        return _small[key]
    try:
        body = await asyncio.to_thread(make_thumbnail, picture)
    except ResourceError:
        return None
    _small[key] = body
    while len(_small) > _KEPT:
        _small.popitem(last=False)
    return body
