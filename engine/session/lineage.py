"""Families of sessions: who was forked from whom.

Source: session spec 5, 7.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.errors import SessionError
from engine.session.event import Header

__all__ = ["SessionTrace", "trace_lineage"]


@dataclass(frozen=True, slots=True)
class SessionTrace:
    """The family of one session.

    `ancestors` begin with its parent. `unresolved_parent` is the id of a parent that is not there, where the
    ancestors end. `descendants` are all below it, each parent before its children.
    """

    session_id: str
    ancestors: Sequence[str]
    unresolved_parent: str | None
    descendants: Sequence[str]


def trace_lineage(session_id: str, headers: Mapping[str, Header]) -> SessionTrace:
    """Trace one session through the headers of all.

    Raises SessionError (code SESSION_QUERY_INVALID_LINEAGE) when the parents lead back to where they began.
    """
    ancestors: list[str] = []
    parent = headers[session_id].parent_session if session_id in headers else None
    while parent is not None and parent in headers:
        if parent == session_id or parent in ancestors:
            raise SessionError(
                f"session {session_id} is its own ancestor",
                code="SESSION_QUERY_INVALID_LINEAGE",
                session=session_id,
            )
        ancestors.append(parent)
        parent = headers[parent].parent_session
    return SessionTrace(session_id, ancestors, parent, _descendants(session_id, headers))


def _descendants(session_id: str, headers: Mapping[str, Header]) -> Sequence[str]:
    children: dict[str, list[str]] = {}
    for name, header in headers.items():
        if header.parent_session is not None:
            children.setdefault(header.parent_session, []).append(name)
    found: list[str] = []
    waiting = list(children.get(session_id, ()))
    while waiting:
        name = waiting.pop(0)
        found.append(name)
        waiting.extend(children.get(name, ()))
    return found
