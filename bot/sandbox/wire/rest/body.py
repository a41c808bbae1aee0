"""The bodies of requests: JSON, or a form with JSON and files; read as far as Discord would."""

from __future__ import annotations

from typing import Any

from aiohttp import BodyPartReader, hdrs, web

from bot.sandbox.limits import REQUEST_BYTES, Upload, refuse
from engine.codec import loads

__all__ = ["LARGEST", "read_body"]

LARGEST = REQUEST_BYTES + 256 * 1024
"""Bytes of a body; a multipart one has some around its files."""
_DRAIN = 256 * 1024 * 1024  # an oversized body is read up to here, so that its sender sees the 413


async def read_body(request: web.Request) -> tuple[Any, list[Upload]]:
    """The JSON and the files, in the order of their numbers. Too large 40005, no JSON 50109."""
    if not request.can_read_body:
        return None, []
    if (request.content_length or 0) > LARGEST:
        await _drain(request)
        raise refuse(40005)
    if request.content_type == "multipart/form-data":
        return await _read_parts(request)
    raw = bytearray()
    async for chunk in request.content.iter_any():
        raw += chunk
        if len(raw) > LARGEST:  # a chunked body tells its length only now
            raise refuse(40005)
    if not raw:
        return None, []
    try:
        return loads(bytes(raw)), []
    except ValueError:
        raise refuse(50109) from None


async def _drain(request: web.Request) -> None:
    seen = 0
    async for chunk in request.content.iter_any():
        seen += len(chunk)
        if seen > _DRAIN:
            return


async def _read_parts(request: web.Request) -> tuple[Any, list[Upload]]:
    body: Any = None
    files: dict[int, Upload] = {}
    reader = await request.multipart()
    total = 0
    while (part := await reader.next()) is not None:
        if not isinstance(part, BodyPartReader) or part.name is None:
            continue
        name = part.name
        raw = bytearray()
        while chunk := await part.read_chunk(1 << 16):
            total += len(chunk)
            if total <= LARGEST:
                raw += chunk
        if name == "payload_json":
            try:
                body = loads(bytes(raw))
            except ValueError:
                raise refuse(50109) from None
        elif name.startswith("files[") and name[6:-1].isdecimal():
            kind = part.headers.get(hdrs.CONTENT_TYPE)
            files[int(name[6:-1])] = Upload(part.filename or "file", bytes(raw), kind)
    if total > LARGEST:
        raise refuse(40005)
    return body, [files[index] for index in sorted(files)]
