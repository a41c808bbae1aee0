"""What people may do with words that wait: look at them, change them, take them back, hurry them.

By the time somebody presses a button the words may have been taken up; that is an ordinary outcome,
not an error. Source: spec agent-loop 1.1 and 1.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from engine.agent.agent import Agent
from engine.errors import AgentError
from engine.session import HUMAN, Message, text_block

__all__ = ["Queue", "QueueOutcome", "Waiting"]

QueueOutcome: TypeAlias = Literal["done", "queue-item-not-found", "steer-unavailable"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that waits: `queued` for a turn of its own, `steering` the running one, or `context` of
    whatever comes next."""

    kind: Literal["queued", "steering", "context"]
    message: Message


@dataclass(frozen=True, slots=True)
class Queue:
    """The queue of one agent, for people.

    Every change raises AgentError QUEUE_DELEGATED for a session that works for another agent: what it is
    told is that agent's business. In memory only: `Journal.flush` makes a change durable.
    """

    agent: Agent

    def waiting(self) -> Sequence[Waiting]:
        """Everything that waits, in the order in which it will be taken up."""
        inbox = self.agent.inbox
        human = HUMAN["kind"]
        return (
            *(
                Waiting("steering" if message["source"].get("kind") == human else "context", message)
                for message in inbox.next_step
            ),
            *(Waiting("queued", message) for message in inbox.next_turn),
        )

    def edit(self, message_id: str, text: str) -> QueueOutcome:
        """Put another text in the place of the message's own; pictures and files of it stay.

        Raises AgentError QUEUE_TEXT_EMPTY for a text of nothing but white space.
        """
        self._check()
        if not text.strip():
            raise AgentError("Words cannot be changed to nothing; take them back.", code="QUEUE_TEXT_EMPTY")
        message = self._find(message_id)
        if message is None:
            return "queue-item-not-found"
        rest = [block for block in message["content"] if block["type"] != "text"]
        self.agent.inbox.replace(message_id, dict(message) | {"content": [text_block(text), *rest]})
        return "done"

    def remove(self, message_id: str) -> QueueOutcome:
        """Take the message back."""
        self._check()
        return "done" if self.agent.inbox.remove(message_id) else "queue-item-not-found"

    def steer(self, message_id: str) -> QueueOutcome:
        """Let the message into the next step of the running turn, instead of a turn of its own.

        `steer-unavailable` while no turn runs or it is being stopped, and for what is no prompt.
        """
        self._check()
        message = self._find(message_id)
        if message is None:
            return "queue-item-not-found"
        agent = self.agent
        prompt = message in agent.inbox.next_turn
        if not prompt or agent.status != "running" or agent.is_stopping or agent.is_ending:
            return "steer-unavailable"
        agent.inbox.remove(message_id)
        agent.steer(message)
        return "done"

    def _find(self, message_id: str) -> Message | None:
        inbox = self.agent.inbox
        pending = (*inbox.next_turn, *inbox.next_step)
        return next((message for message in pending if message["id"] == message_id), None)

    def _check(self) -> None:
        if self.agent.is_delegated:
            raise AgentError("This session works for another one.", code="QUEUE_DELEGATED")
