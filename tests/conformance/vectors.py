"""Finding vector files, and turning what plain JSON cannot say into Python values."""

import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CASES_BY_FILE = ("cards/expected", "cards/recommended")
"""Documents that say of each file beside them what becomes of it."""

CASES_BY_NAME = ("chats/import_dialects",)
"""Documents whose members are the cases."""

TABLES = ("macros/prng_hash_dice",)
"""Documents of tables, each row of which is a case."""


class UnknownFamily(Exception):
    """There are no vectors of that name."""


class CannotExist(Exception):
    """A value of the recording that Python has no counterpart for."""


@dataclass(frozen=True)
class Vector:
    """One recorded case, with the file it stands in for what the cases share."""

    family: str
    document: dict[str, Any]
    body: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.body["name"] if "name" in self.body else self.body["id"])


def families(root: Path) -> list[str]:
    """The folders that hold vector files."""
    return sorted(folder.name for folder in root.iterdir() if list(folder.glob("*.json")))


def files(root: Path, family: str) -> list[tuple[str, Path]]:
    """The files of a family with their own names `folder/file`."""
    path = root / family
    found = sorted(path.glob("*.json")) if path.is_dir() else [path.with_suffix(".json")]
    if not found or not all(file.is_file() for file in found):
        raise UnknownFamily(f"no vectors for {family!r} in {root}")
    return [(f"{file.parent.name}/{file.stem}", file) for file in found]


def vectors(name: str, path: Path) -> Iterator[Vector]:
    document = json.loads(path.read_text(encoding="utf-8"))
    if name in CASES_BY_FILE:
        for file, recorded in document.items():
            yield Vector(name, document, {"name": file, "path": path.parent / file, "recorded": recorded})
        return
    if name in CASES_BY_NAME:
        for case, recorded in document.items():
            yield Vector(name, document, {"name": case, "recorded": recorded})
        return
    if name in TABLES:
        for table, rows in document.items():
            for number, row in enumerate(rows):
                yield Vector(name, document, {"name": f"{table} {number}", **row})
        return
    if isinstance(document, list):
        for number, body in enumerate(document):
            yield Vector(name, {}, {"name": f"#{number}", **body})
        return
    for body in document.get("vectors", ()):
        yield Vector(name, document, body)


class Undefined:
    """JavaScript's undefined: no JSON value, and nothing that our log may take."""


_UNDEFINED = Undefined()


def decoded(value: Any) -> Any:
    """The value with every `{"$js": tag}` replaced by its nearest Python counterpart."""
    if isinstance(value, dict):
        if value.keys() == {"$js"}:
            return _js(value["$js"])
        return {key: decoded(member) for key, member in value.items()}
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return value


def _js(tag: str) -> Any:
    simple: dict[str, Any] = {
        "undefined": _UNDEFINED,
        "NaN": float("nan"),
        "Infinity": float("inf"),
        "-Infinity": float("-inf"),
        "-0": -0.0,
        "bigint": 2**63,
        "function": decoded,
        "date": datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
        "map": Undefined(),
        "symbol-key": {Undefined(): 1},
        "sparse": [1, _UNDEFINED, 3],
        "null-proto": {"a": 1},
    }
    if tag == "cycle":
        cycle: dict[str, Any] = {}
        cycle["self"] = cycle
        return cycle
    if tag == "shared-alias":
        shared = {"x": 1}
        return {"a": shared, "b": shared}
    if tag not in simple:
        raise CannotExist(f"the JavaScript value {tag!r}")
    return simple[tag]
