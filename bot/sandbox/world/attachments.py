"""Files on messages and in interactions: stored under their path, shown by signed links."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from PIL import Image, UnidentifiedImageError

from bot.sandbox.limits import Upload
from bot.sandbox.store import Record
from bot.sandbox.world.state import State

__all__ = ["attach", "content_type"]


def attach(
    state: State, channel_id: str, files: Sequence[Upload], given: Any = None, *, ephemeral: bool = False
) -> list[Record]:
    """Store uploaded files; `given` is the body's `attachments` with names and descriptions."""
    described = {str(a.get("id")): a for a in given or []}
    kept = []
    for index, upload in enumerate(files):
        attachment_id = state.ids.new()
        about = described.get(str(index), {})
        name = re.sub(r"[^\w.\-]", "_", about.get("filename") or upload.name) or "file"
        path = f"attachments/{channel_id}/{attachment_id}/{name}"
        state.store.put_file(path, upload.body)
        kept.append(
            {
                "id": attachment_id,
                "filename": name,
                "path": path,
                "size": len(upload.body),
                "description": about.get("description") or upload.description,
                "ephemeral": True if ephemeral else None,
                **_looks(upload, name),
            }
        )
    return kept


_KINDS = {
    "txt": "text/plain; charset=utf-8", "md": "text/markdown; charset=utf-8", "json": "application/json",
    "jsonl": "application/x-ndjson", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
    "webp": "image/webp", "gif": "image/gif", "zip": "application/zip",
}  # fmt: skip


def content_type(name: str) -> str:
    """What a file is, by its name: Discord, too, does not look inside."""
    return _KINDS.get(name.rpartition(".")[2].lower(), "application/octet-stream")


def _looks(upload: Upload, name: str) -> Record:
    kind = content_type(name)
    looks: Record = {"content_type": kind}
    if kind.startswith("image/"):
        try:
            with Image.open(io.BytesIO(upload.body)) as picture:  # reads the header only
                looks |= {"width": picture.width, "height": picture.height}
        except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError):
            pass  # Discord takes the file all the same and shows no size
    return looks
