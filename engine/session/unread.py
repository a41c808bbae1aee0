"""Events of a proven log, made without reading their bodies.

A long story has ten thousand events, and most of them are never looked at again: a session that is opened
needs to know which of them make messages, and decodes what it then shows. Source: storage spec B5, D.
"""

from __future__ import annotations

from collections.abc import Iterable
from sys import intern
from typing import Any, Final

from engine.codec import loads
from engine.session.event import Event
from engine.session.frozen import adopt
from engine.session.vocabulary import KNOWN_TYPES

__all__ = ["unread"]

_new: Final = object.__new__
# The slots themselves are the way past a frozen class, and the fast one.
_type, _seq, _time, _op, _sources, _flag, _body = (
    Event.__dict__[name].__set__
    for name in ("type", "seq", "time", "surface_op", "source_event_seqs", "ignorable", "_body")
)


def unread(rows: Iterable[tuple[int, str, int, bytes]]) -> list[Event]:
    """The events of `(seq, type, time, body)` rows whose bodies are proven to be what was once appended.

    A canonical body ends in its envelope. Where that is exactly what the columns make, in one of the two
    common forms (a plain record, an appended message), nothing is decoded before the data is asked for; nor
    is a record of a type that is not known here and may be passed over, as a request that was put together.
    Every other body is decoded at once. Raises ValueError, AppendRefused for one that is no event.
    """
    forms: dict[str, tuple[str, bytes, bytes, bytes]] = {}
    events: list[Event] = []
    for seq, name, time, body in rows:
        kind, plain, appended, passable = forms.get(name) or forms.setdefault(name, _form(name))
        op: Any = None
        tail = (passable or plain) % (seq, time)
        if not passable and not body.endswith(tail):
            op, tail = "append", appended % (seq, time)
        if not body.endswith(tail):
            events.append(Event.from_wire(adopt(loads(body))))
            continue
        event = _new(Event)
        _type(event, kind)
        _seq(event, seq)
        _time(event, time)
        _op(event, op)
        _sources(event, None)
        _flag(event, bool(passable))
        _body(event, body)
        events.append(event)
    return events


def _form(kind: str) -> tuple[str, bytes, bytes, bytes]:
    """A type's name, as one object for all its events, and what the bodies of its common forms end in: two of
    a type that is known, one of a type that is not.

    The tails begin with the end of the data, an object: so nothing stands between but what they say. A type
    that nobody knows may be anything unless it says that it may be passed over. In a body its name is
    escaped; one that would need it fits no body, and is decoded.
    """
    name = kind.encode().replace(b"%", b"%%")
    if kind not in KNOWN_TYPES:
        return kind, b"", b"", b'},"ignorable":true,"seq":%%d,"time":%%d,"type":"%b"}' % name
    return (
        intern(kind),
        b'},"seq":%%d,"time":%%d,"type":"%b"}' % name,
        b'},"seq":%%d,"surfaceOp":"append","time":%%d,"type":"%b"}' % name,
        b"",
    )
