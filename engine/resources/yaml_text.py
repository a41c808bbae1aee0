"""YAML as text, lists and maps: what oobabooga's characters are written in. Bounded.

Every scalar is text, but for an empty one and `null`, so that a character called No stays No.
There are no tags, no merging, no aliases: those are what makes a small YAML file a large value.
Source: spec sillytavern 1.3.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from engine.errors import ResourceError
from engine.resources.document import DocumentKind

__all__ = ["looks_like_yaml", "read_yaml"]

MAX_BYTES = 1024 * 1024  # such files have a few KiB; without libyaml a MiB takes four seconds
MAX_EVENTS = 50_000

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_NULLS = {"", "~", "null", "Null", "NULL"}
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAME_LINE = re.compile(rb"^(?:char_)?name[ \t]*:", re.MULTILINE)


def looks_like_yaml(data: bytes, filename: str) -> bool:
    """Whether a file that is no JSON should be read as YAML."""
    return filename.lower().endswith((".yaml", ".yml")) or (
        b"\0" not in data[:4096] and _NAME_LINE.search(data[:4096]) is not None
    )


def read_yaml(data: bytes, kind: DocumentKind) -> Any:
    """The first document of a YAML file. Raises ResourceError with the kind's codes."""
    if len(data) > MAX_BYTES:
        raise ResourceError(
            f"A YAML file may have {MAX_BYTES // 1048576} MiB.", code=kind.too_large, max_bytes=MAX_BYTES
        )
    text = _UNPRINTABLE.sub("", data.decode("utf-8-sig", "replace"))
    builder = _Builder(kind)
    try:
        for count, event in enumerate(yaml.parse(text, Loader=_LOADER)):
            if count > MAX_EVENTS:
                raise ResourceError("This YAML file has far too many values.", code=kind.too_large)
            if isinstance(event, yaml.DocumentEndEvent):
                break
            builder.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ResourceError(
            f"This is not {kind.noun}: its YAML breaks off{place}.",
            code=kind.invalid,
            **({"line": mark.line + 1, "column": mark.column + 1} if mark else {}),
        ) from None
    return builder.value


class _Builder:
    """Grows the value event by event, with a stack of its own."""

    def __init__(self, kind: DocumentKind) -> None:
        self.value: Any = None
        self._kind = kind
        self._open: list[tuple[dict[str, Any] | list[Any], list[str]]] = []  # containers, and a map's key

    def take(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise ResourceError("A YAML character may not refer to itself (&, *).", code=self._kind.invalid)
        if isinstance(event, yaml.ScalarEvent):
            bare = event.style is None or event.style == ""
            self._add(None if bare and event.value in _NULLS else event.value)
        elif isinstance(event, yaml.CollectionStartEvent):
            container: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
            if len(self._open) >= self._kind.max_depth:
                raise ResourceError(
                    f"This file is nested more than {self._kind.max_depth} levels deep.",
                    code=self._kind.invalid,
                )
            self._add(container)
            self._open.append((container, []))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()

    def _add(self, value: Any) -> None:
        if not self._open:
            self.value = value
            return
        container, key = self._open[-1]
        if isinstance(container, list):
            container.append(value)
        elif key:
            container[key.pop()] = value
        elif value is None or isinstance(value, str):
            key.append(value or "")
        else:
            raise ResourceError("A YAML character's field names must be text.", code=self._kind.invalid)
