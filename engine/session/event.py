"""The event and the header: the two records that a stored session consists of.

Source: session spec 1.1 (envelope) and 5 (header); seed 002, 1.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from engine.codec import Json, loads
from engine.errors import AppendRefused, SessionCorrupt, SessionError
from engine.session.frozen import MAX_SAFE_INTEGER, NULL, FrozenDict, Null, adopt, is_seq
from engine.session.vocabulary import FORMAT_VERSION

__all__ = ["Event", "Header", "SurfaceOp"]

SurfaceOp: TypeAlias = Literal["append"] | FrozenDict
"""'append', or {'op': 'replace', 'startSeq': …, 'endSeq': …} with both ends inclusive."""

_REQUIRED: Final = frozenset({"type", "seq", "time", "data"})
_ENVELOPE: Final = _REQUIRED | {"ignorable", "surfaceOp", "sourceEventSeqs"}


@dataclass(frozen=True, slots=True)
class Event:
    """One fact of a session. Immutable, with deep-frozen data; it *is* the logged object.

    `seq` is its position in the log; `time` is in milliseconds since the epoch and need not grow.
    `surface_op` and `source_event_seqs` are None when absent. On an ignorable event of an unknown type
    they may be any JSON, since nobody interprets them (`NULL` then stands for a JSON null).

    An event that came from a proven store decodes its data when it is first looked at (see `unread`), and
    raises SessionCorrupt there when its body is none.
    """

    type: str
    seq: int
    time: int
    data: Any
    surface_op: Any = None
    source_event_seqs: Any = None
    ignorable: bool = False
    _body: bytes = field(init=False, repr=False, compare=False)

    if not TYPE_CHECKING:  # a checker would take any misspelt name for a field of it

        def __getattr__(self, name: str) -> Any:
            # Only for fields that are not set, so the others cost nothing.
            if name == "data":
                return self._read()
            if name == "_body":
                return b""
            raise AttributeError(f"an event has no field {name!r}", name=name, obj=self)

    def _read(self) -> Any:
        """Decode the body once; it is let go then."""
        body = self._body
        try:
            read = Event.from_wire(adopt(loads(body)))
        except (ValueError, AppendRefused) as error:
            raise SessionCorrupt(f"event {self.seq} is no event: {error}", seq=self.seq) from error
        object.__setattr__(self, "data", read.data)
        if read != self:
            object.__delattr__(self, "data")
            raise SessionCorrupt(f"event {self.seq} is another than its row says", seq=self.seq)
        object.__setattr__(self, "_body", b"")
        return read.data

    def to_wire(self) -> dict[str, Json]:
        """The envelope with its wire names; absent fields are left out. The values stay frozen."""
        wire: dict[str, Any] = {"type": self.type, "seq": self.seq, "time": self.time, "data": self.data}
        if self.ignorable:
            wire["ignorable"] = True
        if self.surface_op is not None:
            wire["surfaceOp"] = None if self.surface_op is NULL else self.surface_op
        if self.source_event_seqs is not None:
            wire["sourceEventSeqs"] = None if self.source_event_seqs is NULL else self.source_event_seqs
        return wire

    @classmethod
    def from_wire(cls, wire: object) -> Event:
        """The event of an envelope whose values are frozen already. Checks the envelope and nothing in it.

        Raises AppendRefused(category='envelope') for a missing or extra key and a wrong scalar.
        """
        if not isinstance(wire, Mapping):
            raise _envelope("an event must be an object")
        keys = wire.keys()
        if not keys <= _ENVELOPE or not keys >= _REQUIRED:
            raise _envelope(f"an event has the keys {sorted(map(str, keys))}")
        if type(wire["type"]) is not str or not is_seq(wire["seq"]):
            raise _envelope("an event needs a type and a non-negative integer seq")
        time = wire["time"]
        if type(time) is not int or not -MAX_SAFE_INTEGER <= time <= MAX_SAFE_INTEGER:
            raise _envelope(f"event {wire['seq']} has no integer time")
        if "ignorable" in keys and wire["ignorable"] is not True:
            raise _envelope(f"event {wire['seq']}: ignorable is absent or exactly true")
        return cls(
            wire["type"],
            wire["seq"],
            time,
            wire["data"],
            _present(wire, "surfaceOp"),
            _present(wire, "sourceEventSeqs"),
            "ignorable" in keys,
        )


def _present(wire: Mapping[str, Any], key: str) -> Any | Null:
    """None when the key is absent, `NULL` when it holds a JSON null."""
    value = wire.get(key)
    return NULL if value is None and key in wire else value


def _envelope(message: str) -> AppendRefused:
    return AppendRefused(message, category="envelope")


@dataclass(frozen=True, slots=True)
class Header:
    """What is known of a session outside its log. Immutable.

    Raises SessionError(category='header') when a field has a wrong value. `version` must be the current
    format; `created_at` is in milliseconds; `cwd` must be an absolute path; `origin` is 'subagent' or None.
    """

    id: str
    created_at: int
    is_seeded: bool = False
    parent_session: str | None = None
    cwd: str | None = None
    origin: str | None = None
    delegation_depth: int | None = None
    agent_preset: str | None = None
    version: int = FORMAT_VERSION

    def __post_init__(self) -> None:
        if type(self.version) is not int or self.version != FORMAT_VERSION:
            raise _header(f"version must be {FORMAT_VERSION}, got {self.version!r}")
        if not _is_text(self.id):
            raise _header("id must be a non-empty string")
        if not is_seq(self.created_at):
            raise _header("createdAt must be a non-negative integer")
        if type(self.is_seeded) is not bool:
            raise _header("isSeeded must be true or false")
        if self.parent_session is not None and not _is_text(self.parent_session):
            raise _header("parentSession must be a non-empty string")
        if self.cwd is not None and not _is_absolute(self.cwd):
            raise _header(f"cwd must be an absolute path, got {self.cwd!r}")
        if self.origin is not None and self.origin != "subagent":
            raise _header("origin must be 'subagent'")
        if self.delegation_depth is not None and not is_seq(self.delegation_depth):
            raise _header("delegationDepth must be a non-negative integer")
        if self.agent_preset is not None and not _is_text(self.agent_preset):
            raise _header("agentPreset must be a non-empty string")

    def to_wire(self) -> dict[str, Json]:
        """The header with its wire names; absent fields are left out."""
        values = {name: getattr(self, field) for name, field in _HEADER_FIELDS.items()}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_wire(cls, wire: object, session_id: str) -> Header:
        """The header of that session.

        Raises SessionError(category='header') for unknown fields, nulls, wrong values and another's id.
        """
        if not isinstance(wire, Mapping):
            raise _header("must be an object")
        for name, value in wire.items():
            if name not in _HEADER_FIELDS or value is None:
                raise _header(f"has an invalid field {name!r}")
        for name in ("version", "id", "createdAt", "isSeeded"):
            if name not in wire:
                raise _header(f"lacks {name}")
        header = cls(**{_HEADER_FIELDS[name]: value for name, value in wire.items()})
        if header.id != session_id:
            raise _header(f"id {header.id!r} is not that of session {session_id!r}")
        return header


def _wire_name(field: str) -> str:
    first, *rest = field.split("_")
    return first + "".join(part.capitalize() for part in rest)


_HEADER_FIELDS: Final = {_wire_name(field.name): field.name for field in fields(Header)}


def _is_text(value: object) -> bool:
    return type(value) is str and value != ""


def _is_absolute(path: object) -> bool:
    return type(path) is str and (PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute())


def _header(message: str) -> SessionError:
    return SessionError(f"session header: {message}", code="SESSION_HEADER_INVALID", category="header")
