"""Stories: what a table does with them.

Every move of the head forks a session, copies its selection, and then swaps the head by
compare-and-swap; no log is ever rewritten (spec tavern 6; seed 000, 1.1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import structlog

from engine.agent import Agent, Agents
from engine.cancel import CancelCause
from engine.errors import Conflict, PlayError
from engine.hooks import Hooks
from engine.ids import new_id
from engine.library import Selection, Selections
from engine.play.attachments import Attachments, refs_of
from engine.play.carry import again, carry_over, lost_words
from engine.play.exchange import (
    SKIPPED,
    belongs_here,
    is_quiet,
    quietly,
    spoken_message,
)
from engine.play.model import (
    Head,
    Playthrough,
    Receipt,
    Rewound,
    Swiped,
    Utterance,
    Variant,
)
from engine.play.selecting import Choices
from engine.play.tables import move_head, note_waiting, remember, stand
from engine.session import Message
from engine.storage import Store, Write
from engine.strategies import Strategies
from engine.tavern import NORMAL

__all__ = ["Plays"]

log = structlog.get_logger(__name__)

MAX_OPEN = 2_048  # stories of one library; the seeds' default for selections, …
MOST_OPEN = 4_096  # … and what no setting goes beyond (spec tavern 2)


class Plays(Choices):
    """What a table does with its stories. `max_waiting` bounds each story's queue, `max_open` how many
    stories of one library are open at a time."""

    def __init__(
        self,
        store: Store,
        agents: Agents,
        selections: Selections,
        hooks: Hooks,
        clock: Callable[[], int],
        max_waiting: int,
        attachments: Attachments,
        strategies: Strategies,
        max_open: int = MAX_OPEN,
    ) -> None:
        super().__init__(store, agents, selections, hooks, clock, strategies)
        self._max_waiting = max_waiting
        self._attachments = attachments
        self._max_open = min(max_open, MOST_OPEN)

    # -- the story's life ----------------------------------------------------------------------

    async def create(self, *, owner: str, created_by: str, selection: Selection, title: str) -> Playthrough:
        """A new story with an empty session; the card's greeting is its draft.

        Raises PlayError PLAY_CARD_REQUIRED, SESSION_SELECTION_LIMIT_REACHED when as many are open as may
        be: nothing is evicted for it, and those that are open go on.
        """
        if selection.card_id is None:
            raise PlayError("A story needs a card.", code="PLAY_CARD_REQUIRED")
        if await self.table.open_count(owner) >= self._max_open:
            raise self._full()
        play_id, session_id = new_id("p"), new_id("s")
        chosen = replace(selection, seed=selection.seed or play_id)
        params = {
            "id": play_id,
            "owner": owner,
            "title": title,
            "card_id": selection.card_id,
            "created_by": created_by,
            "head_session": session_id,
            "created_at": self.clock(),
            "max_open": self._max_open,
        }
        writes = [
            Write("insert_playthrough", params, expect=1),
            _owned(play_id, session_id, "path"),
            self._selections.set_write(session_id, chosen),
        ]
        await self.agents.create(session_id)
        try:
            await self.table.commit(*writes)
        except Conflict:
            raise self._full() from None  # another one was opened meanwhile
        return await self.table.get(play_id)

    async def end(self, play_id: str) -> None:
        """Close the story: a running turn is stopped, the log stays."""
        async with self.lock(play_id):
            play = await self._open(play_id)
            agent = self.agents.get(await self.current_session(play))
            if agent is not None:
                agent.cancel(CancelCause("user"))
            await self.table.commit(Write("end_playthrough", {"id": play_id, "at": self.clock()}, expect=1))

    async def rest(self, after_ms: int) -> int:
        """Let go of the sessions of stories that nobody has played for so long; how many that were.

        The next words open them again. Under each story's lock, because whoever holds it may be about
        to use its agent.
        """
        rested = 0
        for session_id in self.agents.idle(after_ms):
            owner = await self.table.owner_of_session(session_id)
            if owner is None:
                continue
            async with self.lock(owner[0]):
                if session_id in self.agents.idle(after_ms):
                    await self.agents.close(session_id)
                    rested += 1
        return rested

    async def resting(self, play_id: str) -> Agent:
        """The agent of the story's head, while it writes nothing. Raises PlayError PLAY_ENDED, PLAY_BUSY."""
        async with self.lock(play_id):
            play = await self._open(play_id)
            await self._refuse_busy(play)
            return await self.agents.open(play.head.session_id)

    # -- saying ----------------------------------------------------------------------------------

    async def say(self, play_id: str, utterance: Utterance, *, answer: bool = True) -> Receipt:
        """Take a person's words. When this returns `accepted` they are on disk and will be answered.

        Words whose key the story has taken before are a `duplicate`, and nothing happens.
        Without `answer` they only wait: the next answer takes them in.
        Raises PlayError PLAY_ENDED, PLAY_QUEUE_FULL when too many wait already, PLAY_PICTURES_FULL when
        there is no room for what they show; StorageError when they could not be saved (they are then
        kept in memory and tried again).
        """
        async with self.lock(play_id):
            play = await self._open(play_id)
            session_id = await self.current_session(play)
            agent = await self.agents.open(session_id)
            if agent.inbox.knows(utterance.key) or await self.table.spoken(play_id, utterance.key):
                return Receipt("duplicate", session_id)
            # Each of these wants an answer of its own; words that only wait are taken in together.
            if answer and len(agent.inbox.next_turn) >= self._max_waiting:
                raise PlayError("Too many messages wait here already.", code="PLAY_QUEUE_FULL")
            # Before the words that show them: a log never refers to what is not there.
            await self._attachments.keep(play_id, play.owner, utterance.attachments, self.clock())
            waiting = len(agent.inbox.next_turn) + (1 if agent.status == "running" else 0)
            if answer:
                agent.followup(spoken_message(utterance, utterance.key))
            else:
                agent.inject(spoken_message(utterance, utterance.key, quiet=True))
            await self.agents.services.journal.secure(session_id)
            await self.table.commit(
                Write("insert_spoken", {"play_id": play_id, "key": utterance.key, "at": self.clock()})
            )
            return Receipt("accepted", session_id, waiting)

    async def amend(self, play_id: str, key: str, utterance: Utterance | None) -> bool:
        """Change words that still wait, or take them back with None. False once they were claimed.

        (Decision 26: what was admitted stays; the caller tells the author.) Raises PlayError as `say` does.
        """
        async with self.lock(play_id):
            play = await self._open(play_id)
            agent = await self.agents.open(await self.current_session(play))
            if utterance is None:
                changed = agent.inbox.remove(key)
            else:
                await self._attachments.keep(play_id, play.owner, utterance.attachments, self.clock())
                before = _waiting_words(agent, key)
                changed = before is not None and agent.inbox.replace(
                    key, spoken_message(utterance, key, quiet=is_quiet(before), before=before)
                )
            if changed:
                await self.agents.services.journal.secure(agent.id)
            return changed

    async def attached(self, play_id: str, key: str) -> frozenset[str] | None:
        """The refs of what words have attached that still wait; None when they do not wait any more."""
        async with self.lock(play_id):
            agent = await self.agents.open(await self.current_session(await self.table.get(play_id)))
            before = _waiting_words(agent, key)
            return None if before is None else refs_of(before)

    async def stop(self, play_id: str) -> int:
        """Stop the answer that is being written. Returns how many messages wait behind it.

        The queue is kept (decision 6); `resume_queue` goes on with it.
        """
        # Under the lock, so that an answer that is just being set up is stopped too.
        async with self.lock(play_id):
            play = await self.table.get(play_id)
            agent = self.agents.get(await self.current_session(play))
            return agent.cancel(CancelCause("user"), keep_inbox=True) if agent is not None else 0

    async def resume_queue(self, play_id: str) -> int:
        """Answer what waits. Returns how many messages that are."""
        async with self.lock(play_id):
            play = await self._open(play_id)
            agent = await self.agents.open(await self.current_session(play))
            aside = [message for message in agent.inbox.next_step if not belongs_here(message)]
            waiting = len(agent.inbox.next_turn) + len(aside)
            if waiting:
                agent.wake()
            return waiting

    async def skip(self, play_id: str) -> int:
        """Leave unanswered what waits and what was cut off: the next answer takes it in.

        Returns how many messages waited. Raises PlayError PLAY_BUSY while a turn runs.
        """
        async with self.lock(play_id):
            play = await self._open(play_id)
            await self._refuse_busy(play)
            agent = await self.agents.open(play.head.session_id)
            waiting = agent.inbox.next_turn
            for message in waiting:
                agent.inbox.remove(message["id"])
                agent.inject(quietly(message))
            skipped = [message["id"] for message in waiting]
            agent.session.append(SKIPPED, {"messageIds": skipped}, ignorable=True)
            await self.agents.services.journal.secure(agent.id)
            return len(waiting)

    # -- moving ------------------------------------------------------------------------------------

    async def adopt(self, play_id: str, node_id: str, index: int, expected: Head) -> Swiped:
        """Let another existing answer stand; what had followed it comes back with it.

        Raises PlayError PLAY_HEAD_MOVED when the head is not `expected`, PLAY_BUSY while a
        turn runs, PLAY_VARIANT_UNKNOWN.
        """
        async with self.lock(play_id):
            play, timeline = await self._movable(play_id, expected)
            node = self._node(timeline, node_id)
            if not 0 <= index < len(node.variants):
                raise PlayError("There is no such answer.", code="PLAY_VARIANT_UNKNOWN")
            variant = node.variants[index]
            if node in timeline.path() and variant.id == node.adopted_variant_id:
                return Swiped("adopted", play.head.session_id, variant.id)
            head = await self._head_at(play, timeline, node, variant)
            target = await self.agents.open(head.session_id)
            left = await carry_over(self.agents, play, timeline, target)
            await self.table.commit(
                *remember(play_id, timeline),
                *stand(timeline, head.variant_id),
                move_head(play, head),
                note_waiting(target.id, target.inbox.has_pending),
            )
            await self.leave(left)
            return Swiped("adopted", head.session_id, variant.id)

    async def swipe(self, play_id: str, node_id: str, expected: Head) -> Swiped:
        """Have another answer written to the words of an exchange.

        A session is forked before the exchange, the same words are put in, and the answer
        becomes a variant, and the head, when it is complete. Until then, and if it fails,
        the tree is as it was (spec tavern 6.4).
        """
        async with self.lock(play_id):
            play, timeline = await self._movable(play_id, expected)
            node = self._node(timeline, node_id)
            inputs = await self._inputs(node.adopted)
            if not inputs:
                raise PlayError("There are no words to answer again.", code="PLAY_NO_INPUT")
            agent = await self._branch(play, self._parent(timeline, node))
            self._queue_again(agent, inputs, "swipe")
            await self.agents.services.journal.secure(agent.id)
            await self.table.commit(_owned(play_id, agent.id, "swipe", node_id))
            agent.wake()
            return Swiped("writing", agent.id)

    async def rewind(self, play_id: str, node_id: str | None, expected: Head) -> Rewound:
        """Go on from the end of an earlier exchange, or from before the first with None.

        What came after is set aside, not deleted; `restore_head` brings it back.
        """
        async with self.lock(play_id):
            play, timeline = await self._movable(play_id, expected)
            node = self._on_path(timeline, node_id)
            set_aside, words = await self._after(play, timeline, node)
            agent = await self._branch(play, node.adopted if node else None)
            head = Head(agent.id, node.id if node else None, node.adopted_variant_id if node else None)
            await self.table.commit(
                *remember(play_id, timeline), _owned(play_id, agent.id, "path"), move_head(play, head)
            )
            return Rewound(play.head, head, tuple(set_aside), tuple(words))

    async def restore_head(self, play_id: str, head: Head, expected: Head) -> Head:
        """Undo a move: put the head back where it was.

        Raises PlayError PLAY_HEAD_MOVED, PLAY_VARIANT_UNKNOWN for a place that this story never had,
        PLAY_CANNOT_UNDO for one from which it has gone on since in the same session.
        """
        async with self.lock(play_id):
            play, timeline = await self._movable(play_id, expected)
            owner = await self.table.owner_of_session(head.session_id)
            node = timeline.owner_of(head.variant_id) if head.variant_id is not None else None
            if owner is None or owner[0] != play_id or head.node_id != (node.id if node else None):
                raise PlayError("There is no such answer.", code="PLAY_VARIANT_UNKNOWN")
            if not timeline.is_tip(head):
                raise PlayError("The story has gone on from there.", code="PLAY_CANNOT_UNDO")
            await self.table.commit(
                *remember(play_id, timeline), *stand(timeline, head.variant_id), move_head(play, head)
            )
            return head

    async def retry(self, play_id: str, expected: Head) -> Swiped:
        """Say the unanswered words after the head again, in a fresh continuation.

        For a turn that failed, was stopped before any text, or was cut off by a crash.
        Raises PlayError PLAY_NO_INPUT when everything was answered.
        """
        async with self.lock(play_id):
            play, timeline = await self._movable(play_id, expected)
            agent = await self.agents.open(play.head.session_id)
            node = timeline.node(play.head.node_id) if play.head.node_id else None
            aside = [message for message in agent.inbox.next_step if not belongs_here(message)]
            prompts = agent.inbox.next_turn
            lost = lost_words(agent, node)
            if not lost and not aside and not prompts:
                raise PlayError("There are no words to answer again.", code="PLAY_NO_INPUT")
            fresh = await self._branch(play, node.adopted if node else None)
            self._queue_again(fresh, lost)
            for message in aside:
                fresh.send(message, "next-step", wake=False)
            for message in prompts:
                fresh.send(message, "next-turn", wake=False)
            await self.agents.services.journal.secure(fresh.id)
            head = Head(fresh.id, play.head.node_id, play.head.variant_id)
            await self.table.commit(_owned(play_id, fresh.id, "path"), move_head(play, head))
            agent.inbox.clear()
            fresh.wake()
            return Swiped("writing", fresh.id)

    # -- inside ------------------------------------------------------------------------------------

    def _full(self) -> PlayError:
        return PlayError(
            f"{self._max_open:,} stories are open here, and there may be no more. End one first.",
            code="SESSION_SELECTION_LIMIT_REACHED",
            limit=self._max_open,
        )

    async def leave(self, agent: Agent | None) -> None:
        """What waited there has been carried over."""
        if agent is not None:
            agent.inbox.clear()
            await self.agents.services.journal.secure(agent.id)

    async def _branch(self, play: Playthrough, after: Variant | None) -> Agent:
        """A continuation session after `after`, or a fresh one, with the head's selection and no queue."""
        session_id = new_id("s")
        # Before its agent comes up: that settles what has no selection yet.
        await self._selections.copy(play.head.session_id, session_id)
        await self.strategies.inherit(play.head.session_id, session_id)
        if after is None:
            return await self.agents.create(session_id)
        return await self.agents.fork(after.session_id, after.end_seq, session_id)

    @staticmethod
    def _queue_again(agent: Agent, inputs: list[Message], generation: str = NORMAL) -> None:
        """The same words under new ids, all in one turn: the last is the prompt, the others go before."""
        for position, message in enumerate(inputs):
            last = position == len(inputs) - 1
            agent.send(again(message, generation), "next-turn" if last else "next-step", wake=False)


def _waiting_words(agent: Agent, key: str) -> Message | None:
    waiting = (*agent.inbox.next_step, *agent.inbox.next_turn)
    return next((message for message in waiting if message["id"] == key), None)


def _owned(play_id: str, session_id: str, role: str, node_id: str | None = None) -> Write:
    return Write(
        "insert_play_session",
        {"session_id": session_id, "play_id": play_id, "role": role, "swipe_node": node_id},
        expect=1,
    )
