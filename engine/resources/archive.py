"""A ZIP file that a stranger made, read within bounds and never onto the disk.

A path in it is only a name. What would not fit into memory is refused by the table of
contents, before anything is unpacked, and again while it is unpacked, since the table may
lie. Source: spec sillytavern 1.4, 10 case 30.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from engine.errors import ResourceError

__all__ = ["Archive", "holds_archive", "is_unsafe", "open_archive", "replaced", "zipped"]

MAX_MEMBERS = 10_000
MAX_TOTAL = 200 * 1024 * 1024  # bytes unpacked, by the table of contents
MAX_RATIO = 100  # unpacked to packed, of the whole file
RATIO_MATTERS = 4 * 1024 * 1024  # below this many unpacked bytes no ratio is a bomb: empty books pack well

_LOCAL = b"PK\x03\x04"
_CENTRAL = b"PK\x01\x02"
_END = b"PK\x05\x06"
_END_SIZE = 22
_COMMENT = 65_535
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile raises for a damaged file, a wrong password or an unknown packing.
_DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)


def holds_archive(data: bytes) -> bool:
    """Whether a ZIP stands in the file, also behind a picture or a program."""
    return data.startswith(_LOCAL) or (
        data.rfind(_END, max(0, len(data) - _COMMENT - _END_SIZE)) >= 0 and _CENTRAL in data
    )


def is_unsafe(path: str) -> bool:
    """Whether a path would lead out of a folder it was unpacked into."""
    parts = path.replace("\\", "/").split("/")
    return path.startswith(("/", "\\")) or ".." in parts or ":" in parts[0] or "\0" in path


class Archive:
    """The members of an open ZIP by name. Made by `open_archive`."""

    def __init__(self, archive: zipfile.ZipFile, noun: str) -> None:
        self._archive = archive
        self._noun = noun
        self.members = {member.filename: member for member in archive.infolist()}

    def __contains__(self, path: str) -> bool:
        return path in self.members

    def read(self, path: str, limit: int) -> bytes:
        """A member of at most `limit` bytes.

        Raises KeyError when it is not there, ResourceError ARTIFACT_TOO_LARGE, CHARACTER_DOCUMENT_INVALID.
        """
        member = self.members[path]
        if member.compress_type not in _PLAIN:
            raise _damaged(self._noun)  # LZMA may ask for a dictionary of gigabytes
        try:
            with self._archive.open(member) as stream:
                body = stream.read(limit + 1)
        except _DAMAGED as error:
            raise _damaged(self._noun) from error
        if len(body) > limit:
            raise ResourceError(
                f"“{path[:80]}” in this file unpacks to more than is allowed.",
                code="ARTIFACT_TOO_LARGE",
                limit=limit,
            )
        return body


@contextmanager
def open_archive(data: bytes, noun: str) -> Iterator[Archive]:
    """Open the ZIP in the bytes. `noun` is what it should be, for messages: "a CHARX or ZIP file".

    Raises ResourceError CHARACTER_DOCUMENT_INVALID (damaged), ARTIFACT_TOO_LARGE (a bomb).
    """
    if data.count(_CENTRAL) > MAX_MEMBERS:  # each line of the table costs a thousand bytes once it is read
        raise ResourceError(f"{noun} may hold {MAX_MEMBERS:,} files.", code="ARTIFACT_TOO_LARGE")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _DAMAGED as error:
        raise _damaged(noun) from error
    with archive:
        total = sum(member.file_size for member in archive.infolist())
        if total > MAX_TOTAL or total > max(RATIO_MATTERS, MAX_RATIO * len(data)):
            raise ResourceError(
                f"This file unpacks to {total // 1048576:,} MiB; that is more than is allowed.",
                code="ARTIFACT_TOO_LARGE",
                bytes=total,
            )
        yield Archive(archive, noun)


def replaced(data: bytes, path: str, body: bytes, noun: str) -> bytes:
    """The ZIP with another content of one member (a new one, when there is none of that name).

    Everything else, what stands before the ZIP included, keeps its packed bytes, order and dates.
    Raises as `open_archive`.
    """
    with open_archive(data, noun) as archive:
        members = list(archive.members.values())
    if any(member.flag_bits & 1 or member.compress_type not in _PLAIN for member in members):
        raise _damaged(noun)
    out = io.BytesIO()
    first = min((member.header_offset for member in members), default=0)
    out.write(data[:first])
    fresh = _packed(path, body)
    table: list[bytes] = []
    for member in members:
        info, packed = fresh if member.filename == path else (member, _raw(data, member, noun))
        table.append(_written(out, info, packed))
    if all(member.filename != path for member in members):
        table.append(_written(out, *fresh))
    _close(out, table)
    return out.getvalue()


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A ZIP of new members, always the same bytes for the same members."""
    out = io.BytesIO()
    _close(out, [_written(out, *_packed(path, body)) for path, body in members.items()])
    return out.getvalue()


def _packed(path: str, body: bytes) -> tuple[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = packer.compress(body) + packer.flush()
    info.compress_type = zipfile.ZIP_DEFLATED
    if len(packed) >= len(body):
        info.compress_type, packed = zipfile.ZIP_STORED, body
    info.file_size, info.compress_size, info.CRC = len(body), len(packed), zlib.crc32(body)
    return info, packed


def _raw(data: bytes, member: zipfile.ZipInfo, noun: str) -> bytes:
    """The packed bytes of a member, found by its own header."""
    at = member.header_offset
    if data[at : at + 4] != _LOCAL or at + 30 > len(data):
        raise _damaged(noun)
    names, extras = struct.unpack_from("<HH", data, at + 26)
    start = at + 30 + names + extras
    packed = data[start : start + member.compress_size]
    if len(packed) != member.compress_size:
        raise _damaged(noun)
    return packed


def _written(out: io.BytesIO, info: zipfile.ZipInfo, packed: bytes) -> bytes:
    """Write a member; returns its line of the table of contents."""
    name = info.filename.encode("utf-8", "surrogatepass")
    year, month, day, hour, minute, second = info.date_time
    stamp = (hour << 11 | minute << 5 | second // 2, max(0, year - 1980) << 9 | month << 5 | day)
    common = struct.pack(
        "<HHHHHIIIHH",
        20,  # the version that can unpack it
        0x800,  # the name is UTF-8; sizes stand in the header
        info.compress_type,
        *stamp,
        info.CRC,
        len(packed),
        info.file_size,
        len(name),
        0,
    )
    offset = out.tell()
    out.write(_LOCAL + common + name + packed)
    return (
        _CENTRAL
        + struct.pack("<H", info.create_system << 8 | 20)
        + common
        + struct.pack("<HHHII", len(info.comment), 0, 0, info.external_attr, offset)
        + name
        + info.comment
    )


def _close(out: io.BytesIO, table: list[bytes]) -> None:
    start = out.tell()
    lines = b"".join(table)
    out.write(lines + _END + struct.pack("<HHHHIIH", 0, 0, len(table), len(table), len(lines), start, 0))


def _damaged(noun: str) -> ResourceError:
    return ResourceError(
        f"This looks like {noun}, but it is damaged or packed in a way that cannot be read.",
        code="CHARACTER_DOCUMENT_INVALID",
        why="damaged-file",
    )
