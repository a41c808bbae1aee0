"""Summing a story up because somebody asks for it, so that its model can read on.

People still read every word; only what the model reads becomes shorter (spec agent-loop 6).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.agent import Compactor
from engine.agent.standing import CONTRIBUTION_KIND
from engine.errors import AgentError, PlayError
from engine.play.plays import Plays
from engine.session import message_tokens

__all__ = ["SummedUp", "sum_up"]


@dataclass(frozen=True, slots=True)
class SummedUp:
    """How many messages were summed up, without what a strategy said beside them, and about how many tokens
    they took before and take now."""

    messages: int
    before: int
    after: int


async def sum_up(plays: Plays, compactor: Compactor, play_id: str) -> SummedUp | None:
    """Sum up all but the newest messages of the story's head, durably; None when there is too little.

    What is said meanwhile is answered afterwards, and `Plays.stop` stops it. Raises PlayError PLAY_ENDED,
    PLAY_BUSY while an answer is written, COMPACTION_BUSY while another summary is; AgentError
    COMPACTION_STOPPED and AGENT_DISPOSED; SessionError as `Compactor.compact_now` does, after which the
    story is as it was.
    """
    agent = await plays.resting(play_id)
    try:
        done = await compactor.compact_now(agent)
    except AgentError as error:
        if error.error_code != "AGENT_RUNNING":
            raise
        if agent.status == "running":
            raise PlayError("An answer is being written.", code="PLAY_BUSY") from error
        raise PlayError("The story is being summed up already.", code="COMPACTION_BUSY") from error
    if done is None:
        return None
    said = [agent.session.derive_event(seq) for seq in done.span.seqs]
    return SummedUp(
        messages=sum(
            message is not None and message["source"].get("kind") != CONTRIBUTION_KIND for message in said
        ),
        before=done.span.tokens,
        after=message_tokens(done.checkpoint.data),
    )
