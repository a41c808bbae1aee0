"""The narrator as a provider: the same stream, limits and stops as a real model's."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from engine.cancel import CancelToken
from engine.codec import dumps
from engine.llm import chunks
from engine.llm.adapter import Chunk, LlmRequest
from engine.llm.failure import Failure
from engine.llm.model import ModelInfo
from engine.llm.narrator.chinese import CHINESE
from engine.llm.narrator.composition import compose
from engine.llm.narrator.english import ENGLISH
from engine.llm.narrator.scene import Scene, estimate_tokens, is_cjk, read_scene
from engine.llm.narrator.summary import summarise

__all__ = ["MODEL", "PROVIDER", "Narrator"]

PROVIDER = "narrator"
MODEL = "offline"
"""The one model. Its name says what it is, wherever a model's name is shown."""

WORDS_PER_SECOND = 25.0
"""About the pace of a hosted model (30 to 40 tokens a second)."""

# It reads any length; the number is one that budgets and compaction can work with.
CONTEXT_WINDOW = 32_768
# A stop takes effect within this time however slow the pace.
NAP_SECONDS = 0.1
CJK_PIECE = 2  # characters of a "word" where words are not written apart

_WORD = re.compile(r"\S+\s*|\s+")
# Bounded by Latin letters and digits: in Chinese a roll stands between other characters without a space.
_DICE = re.compile(
    r"(?<![a-z0-9_.])\d{0,3}d(?:\d{1,4}|%)(?:(?:kh|kl|dh|dl)\d{1,2}|!|adv|dis)?"
    r"(?:\s*[+-]\s*\d{1,3})?(?![a-z0-9_])",
    re.IGNORECASE,
)
_DICE_TOOL = "dice"
_SUMMARY = "compaction"
"""The purpose of a request for notes on the story so far."""


class Narrator:
    """A deterministic model without a model.

    It reads only the request: the character from a line `Character: NAME` of the system text,
    the speakers and words from user messages of the form `Name: text`, and what the prompt
    says of the things that were spoken of. Equal requests get equal answers; another session
    id (a swipe) gets another one. It answers in Chinese to what is mainly CJK, else in
    English. With a tool named `dice` it calls it when somebody asks for a roll such as `2d6`.
    Asked for the notes of a compaction, it quotes the story.

    `words_per_second` 0 streams without delay. It is never allowed to fail or to cost.
    """

    def __init__(self, *, words_per_second: float = WORDS_PER_SECOND) -> None:
        self._pause = 1 / words_per_second if words_per_second > 0 else 0.0

    @property
    def provider(self) -> str:
        return PROVIDER

    def model_info(self, model: str) -> ModelInfo:
        return ModelInfo(
            PROVIDER,
            model,
            context_window=CONTEXT_WINDOW,
            max_output=CONTEXT_WINDOW,
            reasoning_efforts=(),
            system_prompt_update="in-history",
        )

    async def stream(self, request: LlmRequest, token: CancelToken) -> AsyncGenerator[Chunk, None]:
        """See `Adapter.stream`. Raises Cancelled."""
        token.check()
        if request.config.model != MODEL:
            text = f"The offline narrator has one model, “{MODEL}”, and not “{request.config.model}”."
            yield chunks.failed(Failure(text, "INVALID_REQUEST"))
            return
        scene = read_scene(request)
        notes = request.purpose == _SUMMARY
        read = sum(estimate_tokens(_all_text(message)) for message in request.messages)
        if not notes and (arguments := _dice_call(request, scene)) is not None:
            for chunk in _call(scene, arguments):
                yield chunk
            yield chunks.usage({"inputTokens": read, "outputTokens": estimate_tokens(arguments)})
            yield chunks.finished("tool-calls")
            return
        if notes:
            text = summarise(request.messages, scene.character)
        else:
            text = compose(scene, CHINESE if scene.chinese else ENGLISH)
        pieces, ending = _limited(text, request)
        if pieces:
            yield chunks.block_start(0, "text")
            for piece in pieces:
                await self._wait(token)
                yield chunks.text_delta(0, piece)
            yield chunks.block_end(0, {"type": "text", "text": "".join(pieces)})
        written = estimate_tokens("".join(pieces))
        yield chunks.usage({"inputTokens": read, "outputTokens": written})
        if pieces or ending == "max-tokens":
            yield chunks.finished(ending)
        else:
            yield chunks.failed(Failure("The model answered with nothing.", "EMPTY_RESPONSE"))

    async def aclose(self) -> None:
        """Nothing to close."""

    async def _wait(self, token: CancelToken) -> None:
        left = self._pause
        while True:
            # At least one turn of the event loop, so that a stop can come in.
            await asyncio.sleep(min(left, NAP_SECONDS))
            token.check()
            left -= NAP_SECONDS
            if left <= 0:
                return


def _limited(text: str, request: LlmRequest) -> tuple[list[str], str]:
    """The words that may be said, and why they end: before a stop string, at max tokens, or by themselves."""
    stops = [text.find(stop) for stop in request.config.stop or () if stop]
    text = text[: min((place for place in stops if place >= 0), default=len(text))]
    limit = request.config.max_tokens
    said = ""
    pieces: list[str] = []
    for piece in _pieces(text):
        said += piece
        if limit is not None and estimate_tokens(said) > limit:
            return pieces, "max-tokens"
        pieces.append(piece)
    return pieces, "stop"


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    for word in _WORD.findall(text):
        step = CJK_PIECE if is_cjk(word) else len(word)
        pieces += [word[start : start + step] for start in range(0, len(word), step)]
    return pieces


def _dice_call(request: LlmRequest, scene: Scene) -> str | None:
    """JSON arguments for the dice tool, if it is there, a roll was asked for, and none was made yet."""
    tool = next((tool for tool in request.tools if tool.get("name") == _DICE_TOOL), None)
    asked = _DICE.search(scene.last.text)
    if tool is None or asked is None or _was_rolled(request.messages):
        return None
    properties = tool.get("parameters", {}).get("properties", {})
    texts = [name for name, schema in properties.items() if schema.get("type") == "string"]
    name = texts[0] if texts else "expression"
    return dumps({name: "".join(asked.group().split()).lower()}).decode("ascii")


def _was_rolled(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a tool has answered since somebody spoke. Facts that changed since are said by nobody."""
    for message in reversed(messages):
        if message["role"] == "tool":
            return True
        if message["role"] == "user" and message.get("source", {}).get("kind", "user") == "user":
            return False
    return True


def _call(scene: Scene, arguments: str) -> list[Chunk]:
    call_id = f"call_{scene.seed:016x}"
    block = {"type": "tool-call", "id": call_id, "name": _DICE_TOOL, "arguments": arguments}
    return [
        chunks.block_start(0, "tool-call"),
        chunks.tool_call_delta(0, call_id, arguments, _DICE_TOOL),
        chunks.block_end(0, block),
    ]


def _all_text(message: Mapping[str, Any]) -> str:
    return "".join(str(block.get("text") or block.get("arguments") or "") for block in message["content"])
