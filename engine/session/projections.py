"""Message projections: logged decisions that change what a message says, without moving it.

An interpreter is a pure function of one such event and the current history. Using one pins it: a
session that used it cannot be read without it. Source: session spec 4; seed 002, 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from engine.errors import SessionError
from engine.hooks import Disposer
from engine.session.event import Event
from engine.session.frozen import FrozenDict, freeze
from engine.session.messages import Message

__all__ = ["History", "Interpreter", "Projection", "Projections", "offload_images"]


@dataclass(frozen=True, slots=True)
class History:
    """What an interpreter may look at: the state just before its event."""

    nodes: Sequence[int]
    events: Sequence[Event]
    messages: Mapping[int, Message | None]
    """The current nodes' messages by seq, as earlier projections left them; None derives to nothing."""


Interpreter: TypeAlias = Callable[[Event, History], Mapping[int, Message]]
"""Gives new messages by the seq of their current node. Keeps ids and roles; raises to reject the event."""


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """One registration. Compared by identity: registering again makes another one."""

    type: str
    interpret: Interpreter


class Projections:
    """The interpreters in force, one for an event type."""

    def __init__(self) -> None:
        self._by_type: dict[str, Projection] = {}

    def register(self, event_type: str, interpret: Interpreter) -> Disposer:
        """Put an interpreter in force; the disposer takes it out.

        Raises SessionError(category='projection-duplicate') when the type has one.
        """
        if event_type in self._by_type:
            raise SessionError(
                f"the projection {event_type} is registered already",
                code="PROJECTION_DUPLICATE",
                category="projection-duplicate",
            )
        projection = Projection(event_type, interpret)
        self._by_type[event_type] = projection

        def dispose() -> None:
            if self._by_type.get(event_type) is projection:
                del self._by_type[event_type]

        return dispose

    def get(self, event_type: str) -> Projection | None:
        return self._by_type.get(event_type)

    def types(self) -> Collection[str]:
        """The event types that have an interpreter now."""
        return self._by_type.keys()


_OFFLOADED: Final = "offloaded"


def offload_images(event: Event, history: History) -> Mapping[int, Message]:
    """The interpreter of `image/offload`: the named images of each target are marked `offloaded`.

    `imageIndexes` count the image blocks of the message from 0. Raises ValueError for a target that is no
    current node, has no such image, or has it offloaded already.
    """
    changed: dict[int, Message] = {}
    for target in event.data["targets"]:
        message = changed.get(target["seq"]) or history.messages.get(target["seq"])
        if message is None:
            raise ValueError(f"seq {target['seq']} is not a current message")
        changed[target["seq"]] = _offload(message, target["imageIndexes"])
    return changed


def _offload(message: Message, indexes: Sequence[int]) -> Message:
    content: list[Any] = list(message["content"])
    images = [position for position, block in enumerate(content) if block["type"] == "image"]
    for index in indexes:
        if not 0 <= index < len(images) or _OFFLOADED in content[images[index]]:
            raise ValueError(f"image {index} of {message['id']} cannot be offloaded")
        content[images[index]] = {**content[images[index]], _OFFLOADED: True}
    copy = freeze({**message, "content": content})
    assert isinstance(copy, FrozenDict)  # freeze makes a FrozenDict of every dict
    return copy
