"""Words that were never answered follow the story when its head moves into another session.

They wait in the queue of the session that the head leaves, or a turn took them up there and
brought no answer. Nobody has set them aside, so they must not be lost with it.
"""

from __future__ import annotations

from engine.agent import Agent, Agents
from engine.ids import new_id
from engine.play.exchange import is_skipped, quietly, words_since
from engine.play.model import Node, Playthrough, Timeline
from engine.session import Message

__all__ = ["again", "carry_over", "end_of", "key_of"]


def key_of(message: Message) -> str:
    """What names the delivery of these words, also when they were queued again under a new id."""
    return str(message["source"].get("key", message["id"]))


def again(message: Message) -> Message:
    """The same words under a new id: a log knows the old one."""
    return dict(message) | {"id": f"{key_of(message)}~{new_id('r')}"}


def end_of(node: Node | None) -> int:
    """The last seq that an exchange covers, -1 before the first.

    A fork keeps its parent's seqs, so it holds in every session that goes on from there.
    """
    return node.adopted.end_seq if node is not None else -1


async def carry_over(agents: Agents, play: Playthrough, timeline: Timeline, target: Agent) -> Agent | None:
    """Queue in `target`, before what waits there, what was said after the head and never answered.

    They are on disk there when this returns. Once the head has moved, the caller clears the queue of
    the agent that is returned; a crash before that leaves copies, which are told by their keys.
    What a person has skipped stays quiet. None when there is nothing to do.
    """
    if play.head.session_id == target.id:
        return None
    source = await agents.open(play.head.session_id)
    node = timeline.node(play.head.node_id) if play.head.node_id else None
    aside, prompts = list(source.inbox.next_step), list(source.inbox.next_turn)
    waiting = {message["id"] for message in (*aside, *prompts)}
    events = source.session.events()
    said = words_since(events, source.session.inherited_event_count, end_of(node))
    lost = [again(message) for message in said if message["id"] not in waiting]
    if not lost and not waiting:
        return None
    if is_skipped(events):
        lost, aside = [], [*map(quietly, lost), *aside]
    there = {key_of(message) for message in (*target.inbox.next_step, *target.inbox.next_turn)}
    # As when they are said again: all in one turn, the last is the prompt.
    for queue, messages in (
        ("next-step", [*lost[:-1], *aside]),
        ("next-turn", [*lost[-1:], *prompts]),
    ):
        target.inbox.prepend(queue, [message for message in messages if key_of(message) not in there])
    await agents.services.journal.flush(target.id)
    return source
