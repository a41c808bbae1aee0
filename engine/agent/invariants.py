"""What must hold of every request of the loop, checked where a switch says so: in tests.

The model reads what the log says and nothing else (spec agent-loop 5.5): the history, or what this very
attempt logged as its `request/assembly`. The check folds the whole log again, which is too dear for every
request of a long story.
"""

from __future__ import annotations

from typing import Any

from engine.agent.assembling import last_assembly
from engine.errors import AgentError
from engine.llm import LlmRequest
from engine.session import Event, Message, Projections, Session, Surface, freeze

__all__ = ["check_request"]

CHECKED = False
"""The one switch. Set it on this module (`engine.agent.invariants.CHECKED = True`); read at each request."""


def check_request(session: Session, request: LlmRequest, projections: Projections) -> None:
    """Raises AgentError REQUEST_INVARIANT unless the request is exactly what the log says.

    Its messages are those of a fresh fold, or of the assembly that was logged for it; its configuration and
    tools are those of the last header.
    """
    if not CHECKED:
        return
    messages, header = _folded(session, projections)
    assembled = last_assembly(session)
    if assembled is not None:
        messages = list(assembled.data["messages"])
    faults = {
        "messages": list(request.messages) != messages,
        "config": freeze(request.config.to_wire()) != header.get("config"),
        "tools": tuple(request.tools) != header.get("tools", ()),
        "frozen": any(freeze(message) is not message for message in request.messages),
    }
    broken = sorted(name for name, is_broken in faults.items() if is_broken)
    if broken:
        raise AgentError(
            f"The request of session {session.id} is not what its log says: {', '.join(broken)}.",
            code="REQUEST_INVARIANT",
        )


def _folded(session: Session, projections: Projections) -> tuple[list[Message], Any]:
    """The history and the last header of the log, from its first event on."""
    log: list[Event] = []
    surface = Surface(log, projections)
    header: Any = {}
    for event in session.events():
        apply = surface.plan(event)
        log.append(event)
        if apply is not None:
            apply()
        if event.type == "request/header":
            header = event.data["header"]
    return [message for message in surface.node_messages() if message is not None], header
