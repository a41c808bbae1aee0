"""What the history policy of a strategy does to a conversation: old injections leave it, and come back.

The standard back end says things beside people's words, and all of it stays in the session's history. Where
the strategy that places a step has a policy, the old messages of the kinds that it leaves out are replaced,
each at its own place, by an empty developer message that derives to nothing and holds what stood there. Once
they may stay again they are put back as they were. Source: assembler spec 7; session spec 3; seed 001.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from engine.agent import Decision, PreStep
from engine.agent.step import RequestProposal
from engine.assembler import (
    ASSEMBLER_KIND,
    Applied,
    HistoryPolicy,
    StandardChange,
    is_tombstone,
    standard_changes,
    tombstone_source,
)
from engine.assembler.faults import note
from engine.codec import JsonObject, json_hash
from engine.hooks import Hooks, Next, Scope
from engine.ids import new_id
from engine.llm import CallConfig
from engine.session import Event, Message, Session, developer_message
from engine.strategies.service import Strategies

__all__ = ["REPEATED", "HistoryPolicies", "foreseen", "repeated"]

log = structlog.get_logger(__name__)

REPEATED: Final = "PRE_STEP_REPEATED"
"""The remark that what a strategy says piles up in the conversation; `count` says how often it stands."""

_SUMMARY: Final = "compact-checkpoint"


@dataclass(slots=True)
class _Rules:
    """What holds for one step: the strategy that places it, and where in the log what is old ends.

    `done` says that it was carried out: an attempt after the first finds the history as the first left it.
    """

    turn: int
    step: int
    applied: Applied | None
    old: int
    done: bool = False


class HistoryPolicies:
    """Carries out the policies of one engine's strategies, each step by that of the strategy that places it.

    The rules are taken before anybody else looks at a step, and carried out when its request is proposed: a
    stop before that leaves the history as it was.
    """

    def __init__(self, hooks: Hooks, strategies: Strategies, owner: Scope) -> None:
        self._strategies = strategies
        self._rules: dict[str, _Rules] = {}
        hooks.on("agent/pre-step", self._before_step, owner=owner, prepend=True)
        hooks.on("agent/request", self._proposed, owner=owner, prepend=True)
        hooks.on("agent/disposed", self._disposed, owner=owner)

    async def _before_step(self, step: PreStep, proceed: Next) -> Decision:
        session = step.session
        self._rules.pop(session.id, None)
        told = self._strategies.told(session.id)
        rules = None
        if told is not None:  # else nobody places anything here, and what stands in the history is not ours
            rules = _Rules(step.turn, step.step, told.applied, _end_of_last_step(session))
        decision: Decision = await proceed()
        step.token.check()
        if rules is None or decision.kind != "enter":
            return decision
        self._rules[session.id] = rules
        # Only the rules are settled by now: a summary may have changed the history meanwhile.
        changed = bool(_changes(session, rules.applied, rules.old))
        return replace(decision, starts_series=decision.starts_series or changed)

    async def _proposed(self, proposal: RequestProposal, proceed: Next) -> CallConfig:
        config: CallConfig = await proceed()
        proposal.token.check()
        session, rules = proposal.session, self._rules.get(proposal.session.id)
        if rules is None or rules.done or (rules.turn, rules.step) != (proposal.turn, proposal.step):
            return config
        changes = _changes(session, rules.applied, rules.old)
        for change in changes:
            _carry_out(session, change, rules)
        rules.done = True
        if changes:
            log.debug("history.changed", session=session.id, messages=len(changes))
        return config

    def _disposed(self, session_id: str) -> None:
        self._rules.pop(session_id, None)


def foreseen(session: Session, applied: Applied | None) -> Sequence[Message]:
    """The history as the session's next step will find it if that strategy, or none, places it. Pure.

    Raises AssemblyError HISTORY_ADVANCED_REQUIRED.
    """
    changes = {change.seq: change for change in _changes(session, applied, _end_of_open_step(session))}
    if not changes:
        return session.derive()
    messages: list[Message] = []
    for seq, message in zip(session.surface.nodes, session.surface.node_messages(), strict=True):
        change = changes.get(seq)
        if change is not None and change.action == "restore":
            messages.append(change.message)
        elif change is None and message is not None:
            messages.append(message)
    return messages


def repeated(history: Sequence[Message], applied: Applied | None, *, says: bool) -> Sequence[JsonObject]:
    """A remark where a strategy says something with every answer (`says`) and all it said before stays."""
    if applied is None or not says or not applied.strategy.standard:
        return ()
    policy = applied.strategy.history_policy
    if policy is not None and policy.excludes(ASSEMBLER_KIND):
        return ()
    count = sum(message["source"].get("kind") == ASSEMBLER_KIND for message in history)
    return (note(REPEATED, count=count),) if count else ()


# -- what changes ------------------------------------------------------------------------------------


def _changes(session: Session, applied: Applied | None, old: int) -> Sequence[StandardChange]:
    """What the policy makes of the surface as it is; messages from `old` on belong to the step that comes."""
    policy = applied.strategy.history_policy if applied is not None else None
    removes = applied is not None and applied.strategy.standard
    if policy is not None and not removes:
        # The advanced back end leaves out of a copy what it leaves out. What is away already stays away
        # unless its strategy wants it; the rest of what that says is not about the history.
        policy = replace(policy, text=True, image=True, fragments=())
    # A long story is not looked through for what nobody wants away.
    everything = removes and policy is not None and policy.enabled
    found = standard_changes(tuple(_nodes(session, everything)), policy, old)
    return [
        change
        for change in found
        if (change.action == "restore" and _is_restorable(session, change))
        or (change.action == "remove" and removes and _is_ours(session, change))
    ]


def _nodes(session: Session, everything: bool) -> Iterator[tuple[int, Message]]:
    """The tombstones among the nodes, or `everything` that says something too."""
    surface = session.surface
    for seq, message in zip(surface.nodes, surface.node_messages(), strict=True):
        if message is not None:
            if everything:
                yield seq, message
        elif (event := session.event(seq)).type == "developer/message":
            yield seq, event.data["message"]


def _is_ours(session: Session, change: StandardChange) -> bool:
    """Whether the message came as itself or was put back by us. A summary stands for what people said, and
    could not be put back: it belongs to the compaction that wrote it."""
    event = session.event(change.seq)
    if change.message["source"]["kind"] == _SUMMARY:
        return False
    if event.surface_op == "append":
        return True
    before = _replaced(session, event)
    return before is not None and before.type == "developer/message" and is_tombstone(before.data["message"])


def _is_restorable(session: Session, change: StandardChange) -> bool:
    """Whether the tombstone holds what it took the place of, as the log has it: nothing else is put back."""
    event = session.event(change.seq)
    before, source = _replaced(session, event), event.data["message"]["source"]
    if (
        before is not None
        and before.type == "user/message"
        and session.derive_event(before.seq) == change.message
        and json_hash(change.message) == source.get("originalHash")
    ):
        return True
    log.warning("history.tombstone_unproven", session=session.id, seq=change.seq)
    return False


def _replaced(session: Session, event: Event) -> Event | None:
    """The one node that the event took the place of."""
    op = event.surface_op
    if not isinstance(op, dict) or op["startSeq"] != op["endSeq"]:
        return None
    return session.event(op["startSeq"])


def _carry_out(session: Session, change: StandardChange, rules: _Rules) -> None:
    place = {"op": "replace", "startSeq": change.seq, "endSeq": change.seq}
    if change.action == "restore":
        session.append("user/message", change.message, surface_op=place, source_event_seqs=[change.seq])
        return
    source = tombstone_source(change.message, _policy(rules.applied))
    data = {"turn": rules.turn, "step": rules.step, "message": developer_message(new_id("gone"), (), source)}
    session.append("developer/message", data, surface_op=place, source_event_seqs=[change.seq])


def _policy(applied: Applied | None) -> HistoryPolicy:
    policy = applied.strategy.history_policy if applied is not None else None
    assert policy is not None  # nothing is taken away without one
    return policy


# -- what is old -------------------------------------------------------------------------------------


def _end_of_last_step(session: Session) -> int:
    """The seq of the last end of a step: what stands before it is old. 0 before the first."""
    return next((event.seq for event in reversed(session.events()) if event.type == "step/end"), 0)


def _end_of_open_step(session: Session) -> int:
    """The same for a step that comes when the open one, if any, has ended."""
    last = next((e for e in reversed(session.events()) if e.type in ("step/start", "step/end")), None)
    if last is None:
        return 0
    return last.seq if last.type == "step/end" else session.seq
