"""After each turn the tree learns what happened: one node an exchange, one variant an answer.

Runs inside the awaited `agent/turn-ended`, so the next queued turn starts only when the
tree is right. Doing it twice changes nothing (spec tavern 6.5).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import structlog

from engine.agent import Agent, TurnResult
from engine.agent.inbox import SPLICED, Target
from engine.agent.recovery import was_cut_off
from engine.errors import EngineError
from engine.hooks import Scope
from engine.ids import new_id
from engine.play.carry import carry_over, key_of
from engine.play.exchange import TurnRange, belongs_here, exchanges, is_human, is_skipped, words_since
from engine.play.model import ExchangeEnded, ExchangeStarted, Head, Playthrough, Recovered, Timeline
from engine.play.plays import Plays
from engine.play.tables import move_head, note_waiting, remember, stand
from engine.session import Event, Message
from engine.storage import Write

__all__ = ["Reconciler"]

log = structlog.get_logger(__name__)


class Reconciler:
    """Follows the agents of stories and keeps their trees."""

    def __init__(self, plays: Plays, owner: Scope) -> None:
        self._plays = plays
        self._inputs: dict[str, tuple[Message, ...]] = {}
        plays.hooks.on("agent/turn-started", self._turn_started, owner=owner)
        plays.hooks.on("agent/turn-ended", self._turn_ended, owner=owner)

    async def _turn_started(self, session_id: str, turn: int, batch: Sequence[Message]) -> None:
        inputs = tuple(message for message in batch if is_human(message))
        self._inputs[session_id] = inputs
        owner = await self._plays.table.owner_of_session(session_id)
        if owner is not None:
            self._plays.hooks.emit(
                "play/exchange-started", ExchangeStarted(owner[0], session_id, turn, owner[1], inputs)
            )

    async def _turn_ended(self, session_id: str, result: TurnResult) -> None:
        owner = await self._plays.table.owner_of_session(session_id)
        agent = self._plays.agents.get(session_id)
        if owner is None or agent is None:
            return
        play_id, swipe_of = owner
        learned, reason = _Learned(swipe_of), result.reason
        # A swipe that a shutdown cuts off is left as it is: the next start gives its words back.
        if swipe_of is None or not was_cut_off(reason):
            try:
                async with self._plays.lock(play_id):
                    learned = await self._learn(play_id, swipe_of, agent)
            except EngineError as error:
                # Learned with the next turn or at the next start; until then the answer is not in the tree.
                log.exception("play.learning_failed", play=play_id, session=session_id)
                reason = {"kind": "error", "error": {"message": error.message, "code": error.error_code}}
        self._plays.hooks.emit(
            "play/exchange-ended",
            ExchangeEnded(
                play_id=play_id,
                session_id=session_id,
                turn=result.turn,
                reason=reason,
                node_id=learned.node_id,
                variant_id=learned.variant_id,
                swipe_of=swipe_of,
                inputs=self._inputs.pop(session_id, ()),
                waiting=len((learned.standing or agent).inbox.next_turn),
            ),
        )
        if learned.standing is not None and learned.standing.inbox.wants_turn:
            learned.standing.wake()

    # -- a restart -------------------------------------------------------------------------------

    async def recover(self, max_age_ms: int) -> list[Recovered]:
        """Look at every story that a restart cut off: open its session, learn what was finished.

        Waiting words that are younger than `max_age_ms` are answered at once; older ones
        wait for a person (decision 5). One broken session does not keep the others.
        """
        found: list[Recovered] = []
        for play_id, session_id in await self._plays.table.unfinished():
            try:
                recovered = await self._recover_one(play_id, session_id, max_age_ms)
            except Exception:
                log.exception("play.recovery_failed", play=play_id, session=session_id)
                continue
            if recovered is not None:
                found.append(recovered)
        return found

    async def _recover_one(self, play_id: str, session_id: str, max_age_ms: int) -> Recovered | None:
        agent = await self._plays.agents.open(session_id)
        async with self._plays.lock(play_id):
            if agent.status == "running":
                return None  # it was woken since the restart, and its turn will be followed
            owner = await self._plays.table.owner_of_session(session_id)
            swipe_of = owner[1] if owner else None
            learned = await self._learn(play_id, swipe_of, agent)
            play = await self._plays.table.get(play_id)
            head = await self._plays.agents.open(play.head.session_id)
            timeline = await self._plays.table.timeline(play)
        node = timeline.node(play.head.node_id) if play.head.node_id else None
        after = node.adopted.end_seq if node is not None else -1
        events = head.session.events()
        if swipe_of is None and is_skipped(events):
            return None
        interrupted = _cut_off(events[after + 1 :]) or (swipe_of is not None and learned.variant_id is None)
        waiting = [m for m in (*head.inbox.next_step, *head.inbox.next_turn) if not belongs_here(m)]
        unanswered = [*words_since(events, head.session.inherited_event_count, after), *waiting]
        # Words that came while a swipe wrote were said in its session.
        said = _said_at([*agent.session.own_events(), *head.session.own_events()])
        now = self._plays.clock()
        age = now - max((said.get(key_of(message), 0) for message in unanswered), default=now)
        resumed = head.inbox.wants_turn and age <= max_age_ms
        if resumed:
            head.wake()
        if not (interrupted or waiting):
            return None
        return Recovered(play_id, head.id, interrupted, swipe_of, len(waiting), resumed, age)

    # -- the tree -----------------------------------------------------------------------------------

    async def _learn(self, play_id: str, swipe_of: str | None, agent: Agent) -> _Learned:
        """Bring the tree up to date with the log of `agent`."""
        # The tree never points at what a crash could take away.
        await self._plays.agents.services.journal.secure(agent.id)
        play = await self._plays.table.get(play_id)
        timeline = await self._plays.table.timeline(play)
        if swipe_of is not None:
            return await self._learn_swipe(play, timeline, swipe_of, agent)
        if play.head.session_id != agent.id:
            return _Learned()  # a branch that the story has left: it is no longer told there
        head_node = timeline.node(play.head.node_id) if play.head.node_id else None
        after = head_node.adopted.end_seq if head_node is not None else -1
        turns = exchanges(agent.session.events(), after)
        writes, head = self._continuation(play, play.head, agent.id, turns)
        if not turns:
            return _Learned()
        await self._plays.table.commit(
            *writes, move_head(play, head), note_waiting(agent.id, agent.inbox.has_pending)
        )
        return _Learned(head.node_id, head.variant_id)

    async def _learn_swipe(
        self, play: Playthrough, timeline: Timeline, node_id: str, agent: Agent
    ) -> _Learned:
        turns = exchanges(agent.session.events(), agent.session.inherited_event_count - 1)
        settle = Write("settle_swipe", {"session_id": agent.id}, expect=1)
        # A stopped or failed answer is never adopted; the old one stands.
        if not turns or turns[0].reason["kind"] not in ("completed", "max-tokens"):
            standing = await self._give_back(play, agent)
            await self._plays.table.commit(settle)
            return _Learned(node_id, standing=standing)
        answer, *later = turns
        variant_id = new_id("v")
        node = timeline.node(node_id)
        assert node is not None  # nodes are never deleted
        left = await carry_over(self._plays.agents, play, timeline, agent)
        swiped = Head(agent.id, node_id, variant_id)
        writes, head = self._continuation(play, swiped, agent.id, later)
        await self._plays.table.commit(
            *remember(play.id, timeline),
            self._variant(play.id, node_id, variant_id, agent.id, answer),
            *stand(timeline, node.parent_variant_id),
            Write("adopt_variant", {"node_id": node_id, "variant_id": variant_id}),
            *writes,
            move_head(play, head),
            settle,
            note_waiting(agent.id, agent.inbox.has_pending),
        )
        await self._plays.leave(left)
        return _Learned(node_id, variant_id)

    def _continuation(
        self, play: Playthrough, head: Head, session_id: str, turns: Sequence[TurnRange]
    ) -> tuple[list[Write], Head]:
        """One new node for each turn, one after the other from `head` on; and where that leads."""
        writes: list[Write] = []
        for turn in turns:
            node_id, variant_id = new_id("n"), new_id("v")
            writes += [
                Write(
                    "insert_node",
                    {
                        "id": node_id,
                        "play_id": play.id,
                        "parent_variant": head.variant_id,
                        "adopted_variant": variant_id,
                    },
                    expect=1,
                ),
                self._variant(play.id, node_id, variant_id, session_id, turn),
            ]
            head = Head(session_id, node_id, variant_id)
        return writes, head

    async def _give_back(self, play: Playthrough, agent: Agent) -> Agent | None:
        """Words that came while the failed swipe wrote go to the session where the story stands.

        Returns its agent, for the caller to wake, or None when there were none.
        """
        moved: list[tuple[Target, Message]] = []
        targets: tuple[Target, ...] = ("next-step", "next-turn")
        for target in targets:
            queue = agent.inbox.next_step if target == "next-step" else agent.inbox.next_turn
            # The words that were being answered again carry new ids; only original ones go back.
            moved += [
                (target, message)
                for message in queue
                if key_of(message) == message["id"] and not belongs_here(message)
            ]
        standing = None
        if moved:
            standing = await self._plays.agents.open(play.head.session_id)
            for target, message in moved:
                if not standing.inbox.knows(message["id"]):
                    standing.send(message, target, wake=False)
            await self._plays.agents.services.journal.secure(standing.id)
        agent.inbox.clear()
        return standing

    def _variant(
        self, play_id: str, node_id: str, variant_id: str, session_id: str, turn: TurnRange
    ) -> Write:
        return Write(
            "insert_variant",
            {
                "id": variant_id,
                "node_id": node_id,
                "play_id": play_id,
                "session_id": session_id,
                "start_seq": turn.start_seq,
                "end_seq": turn.end_seq,
                "interrupted": turn.interrupted,
                "created_at": self._plays.clock(),
            },
            expect=1,
        )


@dataclass(frozen=True, slots=True)
class _Learned:
    """What became of a turn: its answer in the tree, or the session that got the words of a failed swipe."""

    node_id: str | None = None
    variant_id: str | None = None
    standing: Agent | None = None


def _cut_off(events: Sequence[Event]) -> bool:
    """Whether the newest turn among these ended because the process did."""
    last = next((event for event in reversed(events) if event.type == "turn/end"), None)
    return last is not None and was_cut_off(last.data["reason"])


def _said_at(events: Iterable[Event]) -> dict[str, int]:
    """When each message was first put into a queue, by its key; epoch ms."""
    times: dict[str, int] = {}
    for event in events:
        if event.type == SPLICED:
            for message in event.data["inserted"]:
                times.setdefault(key_of(message), event.time)
    return times
