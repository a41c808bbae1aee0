"""Which pictures of a request the model gets to see, and which are only named to it (decision 36)."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.llm.adapter import LlmRequest
from engine.llm.model import ImageLimits, ModelInfo

__all__ = ["Picture", "Pictures", "media_type", "visible_pictures"]

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that goes out, with the type that its bytes have, whatever it was called."""

    media_type: str
    data: bytes

    @property
    def base64(self) -> str:
        return base64.b64encode(self.data).decode("ascii")


class Pictures:
    """The pictures of one request that are sent, by attachment."""

    def __init__(self, chosen: Mapping[str, Picture]) -> None:
        self._chosen = chosen

    def of(self, block: Mapping[str, Any]) -> Picture | None:
        """The picture of an image block, or None where words must do."""
        if block["type"] != "image" or block.get("offloaded"):
            return None
        return self._chosen.get(block["attachment"]["attachmentId"])


def visible_pictures(request: LlmRequest, info: ModelInfo) -> Pictures:
    """The newest pictures of users that the model takes, within its limits; none if it has no eyes.

    A picture that does not fit is passed over and older, smaller ones may still go.
    """
    chosen: dict[str, Picture] = {}
    limits, total = info.images, 0
    if "image" not in info.modalities or not request.images:
        return Pictures(chosen)
    for block in _newest_first(request):
        attachment = block["attachment"]
        key = attachment["attachmentId"]
        data = request.images.get(key)
        if data is None or key in chosen or not _fits(data, attachment, limits):
            continue
        if len(chosen) < limits.max_count and total + len(data) <= limits.max_total_bytes:
            chosen[key] = Picture(media_type(data), data)
            total += len(data)
    return Pictures(chosen)


def media_type(data: bytes) -> str:
    """What the bytes are, by their signature; empty for what is no picture that we know.

    Servers refuse a picture whose label is wrong, and labels come from whoever uploaded it.
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), "")


def _newest_first(request: LlmRequest) -> Iterator[Mapping[str, Any]]:
    for message in reversed(request.messages):
        if message["role"] == "user":
            for block in reversed(message["content"]):
                if block["type"] == "image" and not block.get("offloaded"):
                    yield block


def _fits(data: bytes, attachment: Mapping[str, Any], limits: ImageLimits) -> bool:
    side = max(attachment.get("width") or 0, attachment.get("height") or 0)
    return media_type(data) in limits.formats and len(data) <= limits.max_bytes and side <= limits.max_side
