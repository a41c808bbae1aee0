"""Which pictures of a request the model gets to see, and which are only named to it (decision 36)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.llm.adapter import LlmRequest, Message
from engine.llm.model import ImageLimits, ModelInfo

__all__ = ["Picture", "Pictures", "has_pictures", "media_type", "visible_pictures", "wanted_pictures"]

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


def has_pictures(messages: Iterable[Message]) -> bool:
    """Whether people show anything in these messages."""
    return next(_newest_first(messages), None) is not None


def wanted_pictures(messages: Sequence[Message], info: ModelInfo) -> Sequence[str]:
    """The attachment ids whose bytes a request with these messages needs, newest first.

    Chosen by what the log says of them, as `visible_pictures` chooses by the bytes themselves.
    """
    if "image" not in info.modalities:
        return ()

    def measure(attachment: Mapping[str, Any]) -> tuple[str, int]:
        return attachment["mediaType"], attachment["bytes"]

    return tuple(_chosen(messages, info.images, measure))


def visible_pictures(request: LlmRequest, info: ModelInfo) -> Pictures:
    """The newest pictures of users that the model takes, within its limits; none if it has no eyes.

    A picture that does not fit is passed over and older, smaller ones may still go.
    """
    if "image" not in info.modalities or not request.images:
        return Pictures({})

    def measure(attachment: Mapping[str, Any]) -> tuple[str, int] | None:
        data = request.images.get(attachment["attachmentId"])
        return None if data is None else (media_type(data), len(data))

    chosen = _chosen(request.messages, info.images, measure)
    return Pictures({key: Picture(kind, request.images[key]) for key, kind in chosen.items()})


def media_type(data: bytes) -> str:
    """What the bytes are, by their signature; empty for what is no picture that we know.

    Servers refuse a picture whose label is wrong, and labels come from whoever uploaded it.
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), "")


def _chosen(
    messages: Sequence[Message],
    limits: ImageLimits,
    measure: Callable[[Mapping[str, Any]], tuple[str, int] | None],
) -> dict[str, str]:
    """The media type of each picture that goes. `measure` gives type and size, None where there is none."""
    chosen: dict[str, str] = {}
    total = 0
    for block in _newest_first(messages):
        attachment = block["attachment"]
        key, known = attachment["attachmentId"], measure(attachment)
        if known is None or key in chosen or not _fits(*known, attachment, limits):
            continue
        if len(chosen) < limits.max_count and total + known[1] <= limits.max_total_bytes:
            chosen[key] = known[0]
            total += known[1]
    return chosen


def _newest_first(messages: Iterable[Message]) -> Iterator[Mapping[str, Any]]:
    for message in reversed(tuple(messages)):
        if message["role"] == "user":
            for block in reversed(message["content"]):
                if block["type"] == "image" and not block.get("offloaded"):
                    yield block


def _fits(kind: str, size: int, attachment: Mapping[str, Any], limits: ImageLimits) -> bool:
    side = max(attachment.get("width") or 0, attachment.get("height") or 0)
    return kind in limits.formats and size <= limits.max_bytes and side <= limits.max_side
