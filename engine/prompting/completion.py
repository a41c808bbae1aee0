"""The request while it is being filled: bundles in their places, and the tokens that are left.

Source: sillytavern spec 3.3.4, 3.3.8, 3.3.9, 3.3.12.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.prompting.message import CountTokens, PromptMessage

__all__ = ["Bundle", "Completion", "Exceeded"]


class Exceeded(Exception):
    """Something that must be there does not fit. Never leaves the package."""


@dataclass(slots=True)
class Bundle:
    """Messages that stand together."""

    identifier: str
    messages: list[PromptMessage] = field(default_factory=list)


class Completion:
    """A request of at most `budget` tokens.

    What must be there is added and inserted, what may be there only after `affords`. With `stops`, adding
    what does not fit raises Exceeded; without it `left` goes below zero, and says in the end what is missing.
    """

    def __init__(self, budget: int, count: CountTokens, *, stops: bool) -> None:
        self.left = budget
        self.count = count
        self._stops = stops
        self._costs: dict[PromptMessage, int] = {}
        self._places: list[Bundle | None] = []

    def cost(self, *messages: PromptMessage) -> int:
        """What messages cost. An empty one without a name is not sent, and costs nothing."""
        return sum(self._cost(message) for message in messages if message.content or message.name)

    def _cost(self, message: PromptMessage) -> int:
        """Counted once: a message is asked about when it is weighed, paid and summed up."""
        cost = self._costs.get(message)
        if cost is None:
            cost = self._costs[message] = self.count(message)
        return cost

    def affords(self, *messages: PromptMessage) -> bool:
        """Whether there is room for all of them."""
        return self.cost(*messages) <= self.left

    def reserve(self, tokens: int) -> None:
        """Keep room, whether there is any or not."""
        self.left -= tokens

    def free(self, tokens: int) -> None:
        """Give back what was kept."""
        self.left += tokens

    def add(self, bundle: Bundle, at: int | None = None) -> None:
        """Put a bundle into a place, over what may stand there (which stays paid for), or behind all."""
        tokens = self.cost(*bundle.messages)
        self._check(tokens)
        if at is None:
            self._places.append(bundle)
        else:
            self._places += [None] * (at + 1 - len(self._places))
            self._places[at] = bundle
        self.left -= tokens

    def insert(self, message: PromptMessage, identifier: str, *, start: bool = False) -> None:
        """Put a message into a bundle that there is, at its end or its start. Empty ones are left out."""
        tokens = self.cost(message)
        self._check(tokens)
        if not message.content:
            return
        messages = self.bundle(identifier).messages
        messages.insert(0 if start else len(messages), message)
        self.left -= tokens

    def has(self, identifier: str) -> bool:
        """Whether there is such a bundle."""
        return any(bundle is not None and bundle.identifier == identifier for bundle in self._places)

    def bundle(self, identifier: str) -> Bundle:
        """The first bundle of a name that there is."""
        return next(bundle for bundle in self._places if bundle and bundle.identifier == identifier)

    @property
    def messages(self) -> list[PromptMessage]:
        """All of them in order, the empty ones too."""
        return [message for bundle in self._places if bundle is not None for message in bundle.messages]

    def _check(self, tokens: int) -> None:
        if self._stops and tokens > self.left:
            raise Exceeded
