"""Files made to exhaust whoever reads them, and `python -m tests.engine.resources.bombs FOLDER`, which
imports each file of a folder in a process of its own and prints what it took."""

from __future__ import annotations

import base64
import io
import json
import os
import struct
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from engine.errors import ResourceError
from engine.library.drafts import draft_of_card
from tests.engine.resources.pngs import IEND, SIGNATURE, chunk, encoded, header, picture, text, v2, v3

MIB = 1024 * 1024


def _filled(piece: bytes, marks: int) -> bytes:
    """A card of as many small values as the reader lets through: `marks` of them in each piece."""
    count = min(999_900 // marks, 8_300_000 // len(piece))
    return b'{"name": "Ada", "x": [' + piece * count + b"0]}"


def _zip(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return buffer.getvalue()


def _ztxt(count: int) -> bytes:
    packed = zlib.compress(b"{" + b" " * (16 * MIB - 10), 9)
    return picture(*[chunk(b"zTXt", b"chara\0\0" + packed)] * count)


def _painted(width: int, height: int, form: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGBA" if form == "PNG" else "RGB", (width, height), (200, 100, 50)).save(buffer, form)
    body = buffer.getvalue()
    return body.replace(IEND, text(b"chara", encoded(v2())) + IEND) if form == "PNG" else body


def _iconed(icon: bytes, ext: str) -> bytes:
    asset = {"type": "icon", "uri": f"embeded://i.{ext}", "name": "main", "ext": ext}
    return _zip({"card.json": json.dumps(v3(assets=[asset])).encode(), f"i.{ext}": icon}, zipfile.ZIP_STORED)


def _lying_zip() -> bytes:
    """A table of contents that says a member is small."""
    body = b'{"name": "' + b"x" * (150 * MIB) + b'"}'
    data = bytearray(_zip({"card.json": body}))
    real = struct.pack("<I", len(body))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(signature) + offset
        assert data[at : at + 4] == real
        data[at : at + 4] = struct.pack("<I", 1000)
    return bytes(data)


def _overlapping_zip() -> bytes:
    """Ten thousand names for one member."""
    body = b"\0" * (20 * 1024)
    data = _zip({"card.json": json.dumps(v2()).encode(), "a.bin": body})
    start = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 4)
    end = data.index(b"PK\x05\x06")
    table = data[data.index(b"PK\x01\x02") : end] + data[start:end] * 9_990
    offset = data.index(b"PK\x01\x02")
    tail = struct.pack("<HHHHIIH", 0, 0, 9_992, 9_992, len(table), offset, 0)
    return data[:offset] + table + b"PK\x05\x06" + tail


def _comment_of_numbers() -> bytes:
    comment = b"ASCII\0\0\0" + b",".join([b"123"] * 500_000)
    ifd = struct.pack("<H", 1) + struct.pack("<HHII", 0x8769, 4, 1, 26) + b"\0\0\0\0"
    exif = struct.pack("<H", 1) + struct.pack("<HHII", 0x9286, 7, len(comment), 44) + b"\0\0\0\0"
    tiff = b"II*\0" + struct.pack("<I", 8) + ifd + exif + comment
    body = b"WEBPEXIF" + struct.pack("<I", len(tiff)) + tiff
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _book(count: int) -> bytes:
    entries = [{"keys": "a, b, c", "content": "x" * 300, "extensions": {"position": "4"}}] * count
    return json.dumps(v2(character_book={"entries": entries})).encode()


def _name(head: str, body: str, size: int = 8 * MIB - 2_000) -> bytes:
    count = (size - len(head)) // len(body.encode())
    return json.dumps(v2(description=body * count, first_mes="Hi"), ensure_ascii=False).encode()


BOMBS: dict[str, Callable[[], bytes]] = {
    "lists.json": lambda: _filled(b"[],", 2),
    "objects.json": lambda: _filled(b'{"a":{}},', 3),
    "numbers.json": lambda: _filled(b"1.5,", 1),
    "strings.json": lambda: _filled('"é€",'.encode(), 1),
    "lenient.json": lambda: _filled(b'{"a\x01":"b\x01"},', 2),
    "wide.json": lambda: _name("", "a" * 1000 + "\N{DRAGON}"),
    "chinese.json": lambda: _name("", "你好"),
    "mojibake.json": lambda: _name("", "é".encode().decode("latin-1")),
    "controls.json": lambda: b'{"name": "Ada", "description": "' + b"a\x01" * (4 * MIB - 1_000) + b'"}',
    "surrogates.json": lambda: b'{"name": "Ada", "description": "' + rb"\ud800" * (MIB) + b'"}',
    "twice.json": lambda: json.dumps(_filled(b"[],", 2).decode()).encode(),
    "deep.json": lambda: b'{"name":' + b"[" * (900_000) + b"]" * 900_000 + b"}",
    "greetings.json": lambda: json.dumps(v2(alternate_greetings=["ab"] * 900_000)).encode(),
    "tags.json": lambda: json.dumps(v2(tags=",".join(map(str, range(900_000))))).encode(),
    "assets.json": lambda: json.dumps(
        v3(assets=[{"type": "icon", "uri": "embeded://a", "name": "b", "ext": "png"}] * 90_000)
    ).encode(),
    "book.json": lambda: _book(9_000),
    "macros.json": lambda: _name("{{", "{{"),
    "packed.png": lambda: _ztxt(1_500),
    "broken.png": lambda: picture(*[text(b"chara", b"e30=" * 1_000_000)] * 7),
    "heavy.png": lambda: picture(
        chunk(b"IDAT", b"\0" * (12 * MIB)),
        text(b"chara", base64.b64encode(_name("", "你\N{DRAGON}", 8 * MIB - 2_000))),
    ),
    "chunks.png": lambda: picture(*[chunk(b"tEXt", b"chara\0e30=")] * 9_990),
    "pixels.png": lambda: _painted(5_000, 3_990, "PNG"),
    "more_pixels.png": lambda: SIGNATURE + header(7_000, 7_000) + text(b"chara", encoded(v2())) + IEND,
    "pixels.webp.charx": lambda: _iconed(_painted(3_300, 3_000, "WEBP"), "webp"),
    "pixels.jpg.charx": lambda: _iconed(_painted(5_000, 3_990, "JPEG"), "jpg"),
    "pixels.gif.charx": lambda: _iconed(_painted(5_000, 3_990, "GIF"), "gif"),
    "ratio.charx": lambda: _zip({"card.json": json.dumps(v2()).encode(), "a.png": b"\0" * (190 * MIB)}),
    "members.charx": lambda: _zip({f"{n}": b"" for n in range(60_000)}),
    "lying.charx": _lying_zip,
    "overlap.charx": _overlapping_zip,
    "full.charx": lambda: _zip(
        {"card.json": _name("", "你\N{DRAGON}"), "x.bin": b"\1" * (20 * MIB)}, zipfile.ZIP_STORED
    ),
    "scenarios.byaf": lambda: _zip(
        {
            "manifest.json": json.dumps({"characters": ["c"], "scenarios": ["s"] * 100}).encode(),
            "c": json.dumps({"name": "Ada", "persona": "{user}" * 100_000}).encode(),
            "s": json.dumps({"firstMessages": [{"text": "{user}" * 1_000_000}]}).encode(),
            "noise": bytes(range(256)) * 4_000,
        },
        zipfile.ZIP_STORED,
    ),
    "aliases.yaml": lambda: b"name: Ada\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "deep.yaml": lambda: b"name: Ada\nx: " + b"[" * 500_000,
    "wide.yaml": lambda: b"name: Ada\nx: [" + b"a, " * 300_000 + b"]",
    "text.yaml": lambda: b"name: Ada\ncontext: |\n" + b"  some words in a line\n" * 40_000,
    "keys.yaml": lambda: b"name: Ada\n" + b"".join(b"k%d: v\n" % n for n in range(20_000)),
    "comment.webp": _comment_of_numbers,
    "noise.jpg": lambda: b"\xff\xd8" + b"\xff\xe0\0\x02" * (7 * MIB),
}


def measure(path: Path) -> str:
    """Import the file; what came of it, how many MiB more the process held, and the seconds."""
    before = _peak()
    data = path.read_bytes()
    begin = time.perf_counter()
    try:
        card = draft_of_card(data, path.name)
        outcome = "read" if card.avatar or not path.name.startswith("pixels") else "no-avatar"
    except ResourceError as error:
        outcome = error.error_code
    return f"{path.name} {outcome} {_peak() - before:.0f} {time.perf_counter() - begin:.2f}"


def _peak() -> float:
    """The most MiB that this process ever held. `ru_maxrss` would count what its parent held as well."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def main(folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        child = os.fork()  # a process that has imported everything, and nothing else yet
        if child == 0:
            print(measure(path), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
