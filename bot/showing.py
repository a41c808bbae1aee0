"""What people are shown of a story's texts: what the log has, as the story's regex scripts make it.

A function of the log and the scripts of now: a swipe, a branch, an undo and a restart show the same.
A changed script changes what is shown from then on; what stands in the channel is not written again.
What scripts leave nothing of is not shown, an answer as a whole by a small line, since its buttons stay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from bot.answers import joined, spoken
from bot.i18n import t
from bot.markdown import is_blank
from bot.webtext import readable
from engine.host import Engine
from engine.play import ExchangeText, Node, Piece, Playthrough, UserText
from engine.tavern import AI_OUTPUT, USER_INPUT, StoryRunner

__all__ = ["Showing"]


class Showing:
    """Makes texts ready to be shown."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def veils(self, play_id: str) -> bool:
        """Whether scripts will have a say in how an answer is shown."""
        return (await self._runner(await self._engine.plays.get(play_id))).shows(AI_OUTPUT)

    async def answer(self, play: Playthrough, node: Node, text: ExchangeText, name: str, locale: str) -> str:
        """The standing answer of an exchange, told by the character `name`."""
        pieces = spoken(name, text.pieces)
        runner = await self._runner(play)
        if not runner.shows(AI_OUTPUT):
            return joined(pieces)
        depth = await self._after(play, node) if runner.minds_depth(AI_OUTPUT) else 0
        user = text.inputs[0].persona_name if text.inputs else ""
        shown: list[Piece] = []
        for position, piece in enumerate(pieces):
            if piece.tool is None:
                key = f"{node.adopted.id}.{position}"
                made = await self._made(runner, piece.text, AI_OUTPUT, key, depth, user, text.ended_at)
                piece = replace(piece, text=made)
            if not is_blank(piece.text):
                shown.append(piece)
        return joined(shown) or t(locale, "answer.hidden")

    async def greeting(self, play: Playthrough, text: str, index: int, locale: str) -> str:
        """A greeting. Macros are expanded in it already."""
        runner = await self._runner(play)
        if not runner.shows(AI_OUTPUT):
            return text
        depth = await self._after(play, None) if runner.minds_depth(AI_OUTPUT) else 0
        made = await self._made(runner, text, AI_OUTPUT, f"greeting.{index}", depth, "", play.created_at)
        return t(locale, "answer.hidden") if is_blank(made) else made

    async def words(self, play_id: str, said: Sequence[UserText], node: Node | None) -> list[str]:
        """What people said, told again: in an exchange, or after the last one with None.

        Words of which scripts leave nothing are told as they were said.
        """
        play = await self._engine.plays.get(play_id)
        runner = await self._runner(play)
        if not runner.shows(USER_INPUT):
            return [words.text for words in said]
        after = 0
        if node is not None and runner.minds_depth(USER_INPUT):
            after = await self._after(play, node) + 1  # the answer stands between
        shown: list[str] = []
        for position, words in enumerate(said):
            depth = after + len(said) - 1 - position
            made = await self._made(
                runner, words.text, USER_INPUT, words.key, depth, words.persona_name, play.created_at
            )
            shown.append(words.text if is_blank(made) else made)
        return shown

    # -- inside ----------------------------------------------------------------------------------

    async def _runner(self, play: Playthrough) -> StoryRunner:
        selection = await self._engine.plays.selection(play.id)
        return await self._engine.scripts.of(selection, play.head.session_id)

    @staticmethod
    async def _made(
        runner: StoryRunner, text: str, placement: int, key: str, depth: int, user: str, at: int
    ) -> str:
        made = await runner.show(text, placement, key=key, depth=depth, user=user, at=at)
        return await asyncio.to_thread(readable, made.text) if made.changed else text

    async def _after(self, play: Playthrough, node: Node | None) -> int:
        """How many messages stand after an exchange's answer, or after the greeting with None."""
        path = (await self._engine.plays.timeline(play.id)).path()
        ids = [each.id for each in path]
        if node is not None and node.id not in ids:
            return 0  # set aside: it is not shown among others
        later = path if node is None else path[ids.index(node.id) + 1 :]
        texts = [await self._engine.plays.text(each.adopted) for each in later]
        return sum(len(text.inputs) + 1 for text in texts)
