"""What people attach to their words: how it is logged, where its bytes are, how they are read again.

A picture is an `image` block that names its bytes by their hash; a text file is text under its name;
everything else is only named (decision 36; session spec 1.4). The first block of a message is the words,
and each attachment is one block after it, in order; the message's source lists them the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import structlog

from engine.codec import digest
from engine.errors import NotFound, PlayError, StorageError
from engine.resources import Picture
from engine.session import Message, text_block
from engine.storage import Store, Write, blob_write

__all__ = ["Attachment", "Attachments", "Kept", "Named", "ShownImage", "TextFile", "blocks_of", "refs_of"]

log = structlog.get_logger(__name__)

_NAME = (
    100  # characters of a file's name that the model reads; longer ones are made to be looked at, not read
)


@dataclass(frozen=True, slots=True)
class ShownImage:
    """A picture. `ref` names the file where it came from, for as long as its words wait."""

    ref: str
    name: str
    picture: Picture


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file whose text is read."""

    ref: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Named:
    """What is named to the model and not read. `size` in bytes, for files."""

    ref: str
    name: str
    kind: Literal["file", "sticker", "embed", "poll"] = "file"
    size: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """What the words had already, when they are changed: nobody brings it a second time."""

    ref: str


Attachment: TypeAlias = ShownImage | TextFile | Named | Kept


def blocks_of(
    attachments: Iterable[Attachment], before: Message | None = None
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """The blocks after the words, and the entries of the source.

    `before` is the message whose words are changed: `Kept` attachments are taken from it.
    """
    known = _known(before) if before is not None else {}
    found = [
        known.get(each.ref) if isinstance(each, Kept) else (_block(each), _entry(each))
        for each in attachments
    ]
    pairs = [pair for pair in found if pair is not None]
    return [block for block, _ in pairs], [entry for _, entry in pairs]


def refs_of(message: Message) -> frozenset[str]:
    """What these words have attached."""
    return frozenset(_known(message))


class Attachments:
    """The bytes of pictures. `limit` is what all stories of one library may keep."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit

    async def keep(self, play_id: str, owner: str, attachments: Iterable[Attachment], at: int) -> None:
        """Store pictures, and that this story shows them; they are on the disk when this returns.

        Raises PlayError PLAY_PICTURES_FULL (data: limit) when the library has no room, before anything
        is stored.
        """
        pictures = {
            digest(each.picture.body): each.picture.body
            for each in attachments
            if isinstance(each, ShownImage)
        }
        if not pictures:
            return
        row = await self._store.fetch_one("attachment_bytes", owner=owner)
        assert row is not None  # a sum is always there
        if row["bytes"] + sum(map(len, pictures.values())) > self._limit:
            raise PlayError(
                "The pictures of this server's stories take all the room that they may.",
                code="PLAY_PICTURES_FULL",
                limit=self._limit,
            )
        writes = [
            write
            for hash, body in pictures.items()
            for write in (
                blob_write(body),
                Write("insert_attachment", {"play_id": play_id, "hash": hash, "size": len(body), "at": at}),
            )
        ]
        await self._store.commit(*writes)

    async def read(self, attachment_ids: Sequence[str]) -> Mapping[str, bytes]:
        """The bytes by attachment id. What is gone or damaged is left out: the model is told its name."""
        found: dict[str, bytes] = {}
        for attachment_id in attachment_ids:
            try:
                found[attachment_id] = await self._store.get_blob(bytes.fromhex(attachment_id))
            except (NotFound, ValueError) as error:
                log.warning("attachment.missing", attachment=attachment_id, error=str(error))
            except StorageError as error:
                if error.error_code != "BLOB_CORRUPT":
                    raise
                log.warning("attachment.damaged", attachment=attachment_id)
        return found


def _known(message: Message) -> Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    entries = message["source"].get("attachments", ())
    return {
        entry["ref"]: (block, entry) for block, entry in zip(message["content"][1:], entries, strict=True)
    }


def _block(attached: ShownImage | TextFile | Named) -> Mapping[str, Any]:
    name = _one_line(attached.name)
    if isinstance(attached, ShownImage):
        return {"type": "image", "attachment": _image(attached.picture, name)}
    if isinstance(attached, TextFile):
        return text_block(f"[file: {name}]\n{attached.text.rstrip()}\n[end of {name}]")
    if attached.kind == "file":
        return {
            "type": "file",
            "attachment": {"attachmentId": attached.ref, "name": name, "bytes": attached.size},
        }
    return text_block(f"[{attached.kind}: {name}]")


def _entry(attached: ShownImage | TextFile | Named) -> Mapping[str, Any]:
    kinds = {ShownImage: "image", TextFile: "text"}
    kind = attached.kind if isinstance(attached, Named) else kinds[type(attached)]
    return {"ref": attached.ref, "kind": kind, "name": _one_line(attached.name)}


def _image(picture: Picture, name: str) -> Mapping[str, Any]:
    return {
        "attachmentId": digest(picture.body).hex(),
        "mediaType": picture.media_type,
        "bytes": len(picture.body),
        "width": picture.width,
        "height": picture.height,
        "name": name,
    }


def _one_line(name: str) -> str:
    """A name that cannot pretend to be more than a name."""
    flat = " ".join(name.split()).replace("[", "(").replace("]", ")") or "without a name"
    return flat if len(flat) <= _NAME else flat[: _NAME - 1] + "…"
