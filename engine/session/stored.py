"""The read boundary: which stored logs this program may interpret at all.

A log of an older format is migrated on the way; one of a newer format, or with a required event that nobody
here knows, is *unsupported*; a log that contradicts itself is *corrupt*.
Source: session spec 5.2, 6.2, 7.3; seed 002, 5.1.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from engine.codec import Json, loads
from engine.errors import AppendRefused, FormatUnsupported, SessionCorrupt, SessionError
from engine.session.event import Event, Header
from engine.session.formats import is_older, migrate, plain_header
from engine.session.frozen import freeze
from engine.session.log import Session, is_inherited_marker
from engine.session.relations import Relations
from engine.session.repair import closers
from engine.session.store import StoredEvent, StoredSession
from engine.session.surface import Surface
from engine.session.unread import unread
from engine.session.vocabulary import FORMAT_VERSION, KNOWN_TYPES

__all__ = [
    "StoredLog",
    "check_log",
    "corrupt",
    "read_header",
    "read_log",
    "read_stretch",
    "repaired",
    "uncollected",
]


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A stored session, decoded. `events` are frozen; `inherited` of them belong to the parent.

    `stored_format` is the version that the rows have; with an older one than the current the seqs here may
    differ from those that are stored.
    """

    header: Header
    inherited: int
    events: Sequence[Event]
    stored_format: int = FORMAT_VERSION
    proven: bool = False
    """Whether the store has shown that these are the events that were checked and appended."""

    @property
    def migrated(self) -> bool:
        return self.stored_format != FORMAT_VERSION


def read_log(session_id: str, stored: StoredSession) -> StoredLog:
    """Decode what a store handed out. The relations between the events are left to the session's validators,
    except in a log that was migrated: nothing of this program had checked it when it was written.

    Raises FormatUnsupported for a newer format, an unknown required event type and a retired shape;
    SessionCorrupt for everything that is not an event.
    """
    wire = _decoded(stored.header)
    if is_older(wire):
        return _migrated(session_id, wire, stored.rows)
    header = _header(session_id, wire)
    with uncollected():
        events = _events(header.id, stored.rows, proven=stored.proven)
        if not stored.proven or not KNOWN_TYPES.issuperset(row.type for row in stored.rows):
            check_vocabulary(header.id, events)
    try:
        _check_cut(header, stored.inherited, events)
    except SessionError as error:
        raise corrupt(session_id, error) from error
    return StoredLog(header, stored.inherited, events, proven=stored.proven)


def read_stretch(session_id: str, stored: StoredSession) -> Sequence[Event] | None:
    """The events of a part of a log; None where an older format must be read whole to be understood.

    Raises as `read_log` does for what it looks at.
    """
    wire = _decoded(stored.header)
    if is_older(wire):
        return None
    _header(session_id, wire)
    events = _events(session_id, stored.rows, proven=False)
    check_vocabulary(session_id, events)
    return events


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector from walking a log again and again while it is being made.

    What comes into being is a tree without cycles, all of it kept; only for code that does not await.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def read_header(session_id: str, stored: bytes) -> Header:
    """A stored header of any readable format. Raises FormatUnsupported, SessionCorrupt."""
    wire = _decoded(stored)
    if is_older(wire):
        wire = {**plain_header(wire), "version": FORMAT_VERSION}
    return _header(session_id, wire)


def _migrated(session_id: str, header: Mapping[str, Any], rows: Iterable[StoredEvent]) -> StoredLog:
    try:
        log = migrate(header, [loads(row.body) for row in rows])
    except ValueError as error:
        raise corrupt(session_id, error) from error
    current = check_log(session_id, log.header, log.inherited, log.events)
    return replace(current, stored_format=header["version"])


def check_log(
    session_id: str, header: Mapping[str, Any], inherited: int, events: Iterable[Json]
) -> StoredLog:
    """The whole check of a log in wire form, as strict as the storage format is.

    Raises what `read_log` raises, and SessionCorrupt for a log whose events do not fit each other. `data`
    of the error holds the `category` of the rule.
    """
    known = _header(session_id, header)
    try:
        read = [Event.from_wire(freeze(event)) for event in events]
        check_vocabulary(session_id, read)
        Session.restore(known, read, inherited)
        _check_cut(known, inherited, read)
        Session.restore(known, read, inherited, validators=[_as_stored])
    except FormatUnsupported:
        raise
    except SessionError as error:
        raise corrupt(session_id, error) from error
    return StoredLog(known, inherited, read)


def repaired(log: StoredLog) -> list[Event]:
    """The closers that a stored log needs. Raises SessionCorrupt when its boundaries cannot be read."""
    try:
        return closers(log.events)
    except (KeyError, TypeError, AttributeError) as error:
        raise SessionCorrupt(
            f"session {log.header.id}: a boundary is malformed ({error!r})", session=log.header.id
        ) from error


def _as_stored(surface: Surface, history: Sequence[Event]) -> Relations:
    return Relations(surface, history, closing=False)


def check_vocabulary(session_id: str, events: Iterable[Event]) -> None:
    """Raises FormatUnsupported for events that cannot be left out and that this program does not know."""
    for event in events:
        if event.type not in KNOWN_TYPES and not event.ignorable:
            raise FormatUnsupported(
                f"session {session_id}: event {event.seq} has the unknown type {event.type}",
                category="unknown-required-type",
                session=session_id,
                seq=event.seq,
            )
        if event.type == "request/header" and _has_retired_reason(event):
            raise FormatUnsupported(
                f"session {session_id}: the request/header at {event.seq} has a retired reason",
                category="retired-shape",
                session=session_id,
                seq=event.seq,
            )


def _has_retired_reason(event: Event) -> bool:
    return isinstance(event.data, Mapping) and event.data.get("reason") == "fallback"


def corrupt(session_id: str, error: Exception) -> SessionCorrupt:
    """The error of a log that cannot be restored, with the category of what refused it."""
    category = error.data.get("category") if isinstance(error, SessionError) else None
    return SessionCorrupt(f"session {session_id}: {error}", category=category, session=session_id)


def _header(session_id: str, wire: object) -> Header:
    version = wire.get("version") if isinstance(wire, Mapping) else None
    if type(version) is int and version != FORMAT_VERSION:
        age = "newer" if version > FORMAT_VERSION else "older"
        raise FormatUnsupported(
            f"the log has format {version}, {age} than {FORMAT_VERSION}, and there is no way to read it",
            category="format-version",
            version=version,
        )
    try:
        return Header.from_wire(wire, session_id)
    except SessionError as error:
        raise SessionCorrupt(error.message, category="header") from error


def _check_cut(header: Header, inherited: int, events: Sequence[Event]) -> None:
    """A seeded header stands exactly beside an inherited marker at the cut, the last one of the log."""
    markers = [event.seq for event in events if is_inherited_marker(event)]
    if (markers[-1:] == [inherited]) is not header.is_seeded or (markers and not header.is_seeded):
        raise SessionError("header and inherited marker disagree", category="stored-relationship")


def _events(session_id: str, rows: Sequence[StoredEvent], *, proven: bool) -> list[Event]:
    try:
        return unread(rows) if proven else [row.event() for row in rows]
    except (ValueError, AppendRefused) as error:
        raise corrupt(session_id, error) from error


def _decoded(header: bytes) -> object:
    try:
        return loads(header)
    except ValueError as error:
        raise SessionCorrupt("a session header is not JSON", category="header") from error
