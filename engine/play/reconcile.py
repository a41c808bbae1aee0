"""After each turn the tree learns what happened: one node an exchange, one variant an answer.

Runs inside the awaited `agent/turn-ended`, so the next queued turn starts only when the
tree is right. Doing it twice changes nothing (spec tavern 6.5).
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from engine.agent import Agent, TurnResult
from engine.errors import NotFound
from engine.hooks import Scope
from engine.ids import new_id
from engine.play.exchange import TurnRange, is_human, last_turn_range
from engine.play.model import ExchangeEnded, ExchangeStarted, Head, Playthrough, Recovered, Timeline
from engine.play.plays import Plays
from engine.play.tables import move_head, remember
from engine.session import Message
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
        async with self._plays.lock(play_id):
            node_id, variant_id = await self._learn(play_id, swipe_of, agent)
        self._plays.hooks.emit(
            "play/exchange-ended",
            ExchangeEnded(
                play_id=play_id,
                session_id=session_id,
                turn=result.turn,
                reason=result.reason,
                node_id=node_id,
                variant_id=variant_id,
                swipe_of=swipe_of,
                inputs=self._inputs.pop(session_id, ()),
                waiting=len(agent.inbox.next_turn),
            ),
        )

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
        owner = await self._plays.table.owner_of_session(session_id)
        swipe_of = owner[1] if owner else None
        events = agent.session.events()
        newest = max((event.time for event in events), default=0)
        age = self._plays.clock() - newest
        async with self._plays.lock(play_id):
            _, variant_id = await self._learn(play_id, swipe_of, agent)
            play = await self._plays.table.get(play_id)
            current = await self._plays.agents.open(play.head.session_id)
        last = next((event for event in reversed(events) if event.type == "turn/end"), None)
        interrupted = last is not None and last.data["reason"]["kind"] == "interrupted" and variant_id is None
        waiting = len(current.inbox.next_turn) + len(current.inbox.next_step)
        resumed = waiting > 0 and age <= max_age_ms
        if resumed:
            current.wake()
        if not (interrupted or waiting):
            return None
        return Recovered(play_id, current.id, interrupted, swipe_of, waiting, resumed, age)

    # -- the tree -----------------------------------------------------------------------------------

    async def _learn(self, play_id: str, swipe_of: str | None, agent: Agent) -> tuple[str | None, str | None]:
        """Bring the tree up to date with the newest turn. Returns (node, variant) of its answer."""
        play = await self._plays.table.get(play_id)
        timeline = await self._plays.table.timeline(play)
        if swipe_of is not None:
            return await self._learn_swipe(play, timeline, swipe_of, agent)
        if play.head.session_id != agent.id:
            return None, None  # a branch that the story has left: it is no longer told there
        return await self._learn_path(play, timeline, agent)

    async def _learn_path(
        self, play: Playthrough, timeline: Timeline, agent: Agent
    ) -> tuple[str | None, str | None]:
        head_node = timeline.node(play.head.node_id) if play.head.node_id else None
        after = head_node.adopted.end_seq if head_node is not None else -1
        turn = last_turn_range(agent.session.events(), after)
        if turn is None or not turn.answered:
            return None, None
        node_id, variant_id = new_id("n"), new_id("v")
        head = Head(agent.id, node_id, variant_id)
        await self._plays.table.commit(
            Write(
                "insert_node",
                {
                    "id": node_id,
                    "play_id": play.id,
                    "parent_variant": play.head.variant_id,
                    "adopted_variant": variant_id,
                },
                expect=1,
            ),
            self._variant(play.id, node_id, variant_id, agent.id, turn),
            move_head(play, head),
        )
        return node_id, variant_id

    async def _learn_swipe(
        self, play: Playthrough, timeline: Timeline, node_id: str, agent: Agent
    ) -> tuple[str | None, str | None]:
        turn = last_turn_range(agent.session.events(), agent.session.inherited_event_count - 1)
        settle = Write("settle_swipe", {"session_id": agent.id})
        # A stopped or failed answer is never adopted; the old one stands.
        if turn is None or not turn.answered or turn.reason["kind"] not in ("completed", "max-tokens"):
            await self._give_back(play, agent)
            await self._plays.table.commit(settle)
            return node_id, None
        variant_id = new_id("v")
        await self._plays.table.commit(
            self._variant(play.id, node_id, variant_id, agent.id, turn),
            *remember(play.id, timeline),
            Write("adopt_variant", {"node_id": node_id, "variant_id": variant_id}),
            move_head(play, Head(agent.id, node_id, variant_id)),
            settle,
        )
        return node_id, variant_id

    async def _give_back(self, play: Playthrough, agent: Agent) -> None:
        """Words that came while the failed swipe wrote belong to the standing answer's session."""
        # The words that were being answered again carry new ids; only original ones go back.
        waiting = [m for m in agent.inbox.next_turn if m["source"].get("key") == m["id"]]
        if waiting:
            try:
                standing = await self._plays.agents.open(play.head.session_id)
            except NotFound:
                log.error("play.head_missing", play=play.id, session=play.head.session_id)
                return
            for message in waiting:
                if not standing.inbox.knows(message["id"]):
                    standing.send(message, "next-turn", wake=False)
            await self._plays.agents.services.journal.flush(standing.id)
            standing.wake()
        agent.inbox.clear()

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
