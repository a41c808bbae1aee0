"""People's words told again: after a rewind was taken back their own messages are gone.

They stand under their names and faces, through the webhook, in messages that the ledger knows.
A message that still stands in the channel is never told a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bot.excerpts import plain
from bot.faces import Faces
from bot.outbox import Outbox, Place
from bot.showing import Showing
from engine.play import Node, UserText

__all__ = ["Echoes", "message_id_of"]

_IN_EXCHANGE = "echo"
_UNANSWERED = "words"
_NAME = 100  # characters of a file's name


def message_id_of(key: str) -> int | None:
    """The Discord message behind the key of somebody's words (`discord:<channel>:<message>`)."""
    parts = key.split(":")
    return int(parts[2]) if len(parts) == 3 and parts[0] == "discord" and parts[2].isdigit() else None


class Echoes:
    """Tells words again and takes them away."""

    def __init__(self, outbox: Outbox, faces: Faces, showing: Showing) -> None:
        self._outbox = outbox
        self._faces = faces
        self._showing = showing

    @staticmethod
    def of_exchange(kind: str) -> bool:
        """Whether messages of this kind tell again what somebody said in an exchange."""
        return kind.startswith(_IN_EXCHANGE)

    async def tell(self, channel_id: int, play_id: str, node: Node, inputs: Sequence[UserText]) -> None:
        """What was said in an exchange."""
        texts = await self._showing.words(play_id, inputs, node)
        for position, (words, text) in enumerate(zip(inputs, texts, strict=True)):
            await self._tell(self._in_exchange(channel_id, play_id, node, position), words, text)

    async def tell_unanswered(self, channel_id: int, play_id: str, words: Sequence[UserText]) -> None:
        """What was said after the last exchange."""
        texts = await self._showing.words(play_id, words, None)
        for said, text in zip(words, texts, strict=True):
            await self._tell(self._unanswered(channel_id, play_id, said), said, text)

    def places(self, channel_id: int, play_id: str, node: Node, count: int) -> list[Place]:
        """Where an exchange in which so many spoke is told again, if it is."""
        return [self._in_exchange(channel_id, play_id, node, position) for position in range(count)]

    def places_of_unanswered(self, channel_id: int, play_id: str, words: Iterable[UserText]) -> list[Place]:
        """Where words without an answer are told again, if they are."""
        return [self._unanswered(channel_id, play_id, said) for said in words]

    async def _tell(self, place: Place, words: UserText, shown: str) -> None:
        message_id = message_id_of(words.key)
        if message_id is None or not await self._outbox.stands(place.channel_id, message_id):
            lines = [shown, *(f"📎 {plain(name, _NAME)}" for name in words.attachments)]
            text = "\n".join(line for line in lines if line)
            await self._outbox.render(place, await self._faces.of_person(words, place.channel_id), text)

    @staticmethod
    def _in_exchange(channel_id: int, play_id: str, node: Node, position: int) -> Place:
        kind = f"{_IN_EXCHANGE}{position}"
        return Place(channel_id, play_id, node.adopted.session_id, position, kind=kind, node_id=node.id)

    @staticmethod
    def _unanswered(channel_id: int, play_id: str, words: UserText) -> Place:
        return Place(channel_id, play_id, "", 0, kind=_UNANSWERED, node_id=words.key)
