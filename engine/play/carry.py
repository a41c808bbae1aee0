"""Words that were never answered follow the story when its head moves into another session.

They wait in the queue of the session that the head leaves, or a turn took them up there and
brought no answer. Nobody has set them aside, so they must not be lost with it.
"""

from __future__ import annotations

from engine.agent import Agent, Agents
from engine.ids import new_id
from engine.play.exchange import belongs_here, is_quiet, is_skipped, quietly, words_since
from engine.play.model import Node, Playthrough, Timeline
from engine.session import Message
from engine.tavern import GENERATION, NORMAL

__all__ = ["again", "carry_over", "end_of", "key_of", "lost_words"]


def key_of(message: Message) -> str:
    """What names the delivery of these words, also when they were queued again under a new id."""
    return str(message["source"].get("key", message["id"]))


def again(message: Message, generation: str = NORMAL) -> Message:
    """The same words under a new id, because a log knows the old one, and for this kind of answer."""
    source = {key: value for key, value in message["source"].items() if key != GENERATION}
    if generation != NORMAL:
        source[GENERATION] = generation
    return dict(message) | {"id": f"{key_of(message)}~{new_id('r')}", "source": source}


def end_of(node: Node | None) -> int:
    """The last seq that an exchange covers, -1 before the first.

    A fork keeps its parent's seqs, so it holds in every session that goes on from there.
    """
    return node.adopted.end_seq if node is not None else -1


def lost_words(agent: Agent, node: Node | None) -> list[Message]:
    """What a turn of this session took up after `node` and brought no answer to; what waits is not lost."""
    waiting = {message["id"] for message in (*agent.inbox.next_step, *agent.inbox.next_turn)}
    said = words_since(agent.session.events(), agent.session.inherited_event_count, end_of(node))
    return [message for message in said if message["id"] not in waiting]


async def carry_over(agents: Agents, play: Playthrough, timeline: Timeline, target: Agent) -> Agent | None:
    """Queue in `target`, before what waits there, what was said after the head and never answered.

    Words that `target` has heard already stay away; what a person has skipped stays quiet. They are
    on disk there when this returns. Once the head has moved, the caller clears the queue of the agent
    that is returned, None for nothing to do; a crash before that leaves copies, which are told by
    their keys.
    """
    if play.head.session_id == target.id:
        return None
    source = await agents.open(play.head.session_id)
    node = timeline.node(play.head.node_id) if play.head.node_id else None
    waiting = [m for m in (*source.inbox.next_step, *source.inbox.next_turn) if not belongs_here(m)]
    lost = [again(message) for message in lost_words(source, node)]
    if is_skipped(source.session.events()):
        lost = [quietly(message) for message in lost]
    if not lost and not waiting:
        return None
    heard = [event.data for event in target.session.events() if event.type == "user/message"]
    known = {key_of(each) for each in (*heard, *target.inbox.next_step, *target.inbox.next_turn)}
    moved = [message for message in (*lost, *waiting) if key_of(message) not in known]
    target.inbox.prepend("next-step", [message for message in moved if is_quiet(message)])
    target.inbox.prepend("next-turn", [message for message in moved if not is_quiet(message)])
    await agents.services.journal.secure(target.id)
    return source
