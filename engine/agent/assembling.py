"""A request that somebody puts together anew: only this one request sees it, and the log holds it whole.

After a step is admitted and before its request is frozen, `agent/assemble-request` may answer with other
messages than the history's. What it answers is logged as `request/assembly`, log-only and ignorable, and is
on disk before it is sent: nothing reaches a model that a crash could make us forget. Where nobody answers the
history is sent as it is. It runs for every attempt of every step; requests that the loop does not make
(summaries) never come here. Source: assembler spec 4.6; agent-loop spec 3.4; seeds 001, 002.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engine.agent.prompt import AssembleContext
from engine.cancel import CancelToken
from engine.errors import AgentError, AssemblyError
from engine.hooks import Hooks, Scope
from engine.llm import CallConfig, PreparedCall
from engine.session import Event, Message, Session

__all__ = ["ASSEMBLY", "SETTLED", "Assembled", "RequestAssembly", "assemble_request", "last_assembly"]

ASSEMBLE: Final = "agent/assemble-request"

ASSEMBLY: Final = "request/assembly"
"""`{messages, metadata}`: what was sent, and what whoever made it says of it. The messages are those of the
request that follows; readers that do not know it pass it over."""

SETTLED: Final = ("assistant/message", "assistant/attempt")
"""The events with which a request comes to an end."""


@dataclass(frozen=True, slots=True)
class RequestAssembly:
    """The payload of `agent/assemble-request`. `messages` are the history as it would be sent, this step's
    input included; `context` is that of the step's prompt; `call` says what the model can do.

    A listener answers with an `Assembled`, or with `await next()`, which is None when nobody else does.
    """

    session: Session
    turn: int
    step: int
    context: AssembleContext
    call: PreparedCall
    messages: Sequence[Message]
    tools: Sequence[Any]
    config: CallConfig
    token: CancelToken


@dataclass(frozen=True, slots=True)
class Assembled:
    """What is sent instead of the history; `metadata` is JSON and goes into the log beside it."""

    messages: Sequence[Message]
    metadata: Mapping[str, Any]


async def assemble_request(hooks: Hooks, payload: RequestAssembly, scope: Scope | None) -> Event | None:
    """The logged assembly of this attempt, or None when the history is sent as it is.

    Raises Cancelled, what a listener raised, AssemblyError ASSEMBLY_EMPTY, and AgentError REQUEST_STALE when
    the history changed while somebody worked on it.
    """
    made: Assembled | None = await hooks.waterfall(ASSEMBLE, payload, lambda: None, scope=scope)
    payload.token.check()
    if made is None:
        return None
    if not made.messages:
        raise AssemblyError("Nothing would be sent.", code="ASSEMBLY_EMPTY")
    if tuple(payload.session.derive()) != tuple(payload.messages):
        raise AgentError("The story changed while its request was put together.", code="REQUEST_STALE")
    data = {"messages": made.messages, "metadata": made.metadata}
    event = payload.session.append(ASSEMBLY, data, ignorable=True)
    # (session, turn, step, context): what making these messages has to remember is written beside them.
    hooks.emit("agent/assembled", payload.session, payload.turn, payload.step, payload.context, scope=scope)
    return event


def last_assembly(session: Session, *, settled: bool = False) -> Event | None:
    """What the newest request of a session was assembled as; None when it sent the history.

    Of the attempt that is about to be sent, or with `settled` of the last one that came to an end.
    """
    ended = not settled
    for event in reversed(session.events()):
        if event.type == ASSEMBLY and ended:
            return event
        if event.type in SETTLED:
            if ended:
                return None
            ended = True
        elif event.type == "step/start" and ended:
            return None
    return None
