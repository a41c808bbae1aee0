"""Chat-completion payloads into chunks: a pure reader of what OpenAI-compatible servers stream.

It takes the `data:` texts one by one, knows nothing of HTTP, and forgives what servers get
wrong (spec agent-loop 5.8, 5.9). Usage and finish are held back to the end, because usage may
come before, with or after the finish reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.ids import new_id
from engine.llm import chunks
from engine.llm.adapter import Chunk
from engine.llm.details import Details
from engine.llm.failure import Failure, LlmFailure, garbled, in_band_failure
from engine.llm.halves import PayloadReader
from engine.llm.toolcalls import ToolCalls

__all__ = ["BLOCK_LIMIT", "REPLY_LIMIT", "CompletionReader", "read_usage"]

REPLY_LIMIT = 1024 * 1024
"""Characters of one answer, reasoning and tool arguments included: twice what the longest output
windows (128k tokens) hold. A model that has run away is cut there as if it had hit `max_tokens`."""

BLOCK_LIMIT = 256
"""Blocks of one answer: no table needs a hundred calls at once, and each would be carried out and logged.
One more is cut as a text that has run away is, and no call of that answer is carried out."""

# A finish reason is a word; what is longer is a server's mistake.
REASON_LIMIT = 80

_STOP = frozenset({"stop", "eos", "eos_token", "end_turn", "stop_sequence", "completed"})
_LENGTH = frozenset({"length", "max_tokens", "model_length"})
_CALLS = frozenset({"tool_calls", "function_call", "tool_use"})


class CompletionReader:
    """Reads one answer.

    `feed` returns the chunks of one payload; it raises LlmFailure for one that cannot be used, and
    what streamed before stands. When `done`, or when the stream ends, `close` returns the rest:
    open blocks are ended, then usage, then the finish, which may be an error.
    """

    def __init__(self, *, limit: int = REPLY_LIMIT, new_call_id: Callable[[], str] | None = None) -> None:
        self._left = limit
        self._payloads = PayloadReader()
        self._next = 0  # the next block index
        self._kind = ""  # the open text or reasoning block: its type, index and text so far
        self._index = -1
        self._pieces: list[str] = []
        self._blank: list[str] = []  # white space that may open a text block, if text follows
        self._calls = ToolCalls(self._take_index, new_call_id or (lambda: new_id("call")))
        self._details = Details()
        self._reason: str | None = None
        self._usage: dict[str, int] | None = None
        self._marker = False  # [DONE] was seen
        self._overlong = False
        self._crowded = False

    @property
    def done(self) -> bool:
        """Nothing that follows can change the answer."""
        return self._marker or self._overlong or self._crowded

    @property
    def finish_seen(self) -> bool:
        """The model has ended its answer; only usage and the end marker may follow."""
        return self._reason is not None

    def feed(self, data: str, event: str = "") -> list[Chunk]:
        """One payload. Raises LlmFailure: TRANSPORT for what is not JSON, else the server's own error."""
        if self.done or not (text := data.strip()):
            return []
        if text == "[DONE]":
            self._marker = True
            return []
        try:
            payload = self._payloads.read(text)
        except ValueError:
            raise garbled("is not JSON") from None
        if not isinstance(payload, Mapping):
            raise garbled("is not an object")
        return self.feed_payload(payload, event)

    def feed_whole(self, payload: Mapping[str, Any]) -> list[Chunk] | None:
        """A whole completion from a server that does not stream; None when it is none."""
        out = self.feed_payload(payload)
        self._marker = True
        return out if isinstance(payload.get("choices"), list) else None

    def feed_payload(self, payload: Mapping[str, Any], event: str = "") -> list[Chunk]:
        """One decoded payload: a stream part, or a whole completion."""
        if payload.get("error") or event == "error" or payload.get("object") == "error":
            raise LlmFailure(in_band_failure(payload))
        if isinstance(usage := payload.get("usage"), Mapping):
            # The last report is the complete one: some servers count up with every part.
            self._usage = read_usage(usage)
        choices = payload.get("choices")
        if not isinstance(choices, list):
            return []
        out: list[Chunk] = []
        for choice in choices:
            if isinstance(choice, Mapping) and choice.get("index") in (0, None):
                self._choice(choice, out)
        return out

    def close(self) -> list[Chunk]:
        """The end of the stream; its finish is an error if the answer is cut off, empty or refused."""
        out: list[Chunk] = []
        ending = self._ending()
        if isinstance(ending, str):
            self._end_block(out)
            out += self._calls.end()
        if self._usage is not None:
            out.append(chunks.usage(self._usage))
        if isinstance(ending, str):
            out.append(chunks.finished(ending, self._details.replay_state))
        else:
            out.append(chunks.failed(ending))
        return out

    # -- parts ---------------------------------------------------------------------------------

    def _choice(self, choice: Mapping[str, Any], out: list[Chunk]) -> None:
        if isinstance(error := choice.get("error"), Mapping):
            raise LlmFailure(in_band_failure(error))
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, Mapping):
            self._delta(delta, out)
        elif isinstance(text := choice.get("text"), str):
            self._text(text, out)
        if reason := choice.get("finish_reason"):
            self._reason = str(reason)

    def _delta(self, delta: Mapping[str, Any], out: list[Chunk]) -> None:
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(reasoning, str):
            self._reasoning(reasoning, out)
        self._count(self._details.feed(delta.get("reasoning_details")))
        content = delta.get("content")
        if isinstance(content, str):
            self._text(content, out)
        elif isinstance(content, list):
            self._parts(content, out)
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            for fragment in calls:
                if isinstance(fragment, Mapping) and not self._crowded:
                    self._end_block(out)
                    delta_chunks, size = self._calls.feed(fragment)
                    out += delta_chunks
                    self._count(size)

    def _parts(self, content: list[Any], out: list[Chunk]) -> None:
        """Content as a list of typed parts, as some servers send it; `thinking` holds parts itself."""
        for part in content:
            if not isinstance(part, Mapping):
                continue
            if isinstance(text := part.get("text"), str):
                self._text(text, out)
            elif isinstance(thinking := part.get("thinking"), str):
                self._reasoning(thinking, out)
            elif isinstance(thinking, list):
                inner = [piece.get("text") for piece in thinking if isinstance(piece, Mapping)]
                self._reasoning("".join(text for text in inner if isinstance(text, str)), out)

    def _reasoning(self, text: str, out: list[Chunk]) -> None:
        # The first reasoning delta is often empty and must not open a block.
        if text := self._fitting(text):
            self._open("reasoning", out)
            self._pieces.append(text)
            out.append(chunks.reasoning_delta(self._index, text))

    def _text(self, text: str, out: list[Chunk]) -> None:
        if not (text := self._fitting(text)):
            return
        if self._kind != "text":
            # White space alone opens nothing: an answer of blanks is an empty answer.
            self._blank.append(text)
            if not text.strip():
                return
            text = "".join(self._blank)
            self._open("text", out)
        self._pieces.append(text)
        out.append(chunks.text_delta(self._index, text))

    # -- blocks --------------------------------------------------------------------------------

    def _take_index(self) -> int:
        self._next += 1
        self._crowded = self._next > BLOCK_LIMIT
        return self._next - 1

    def _open(self, kind: str, out: list[Chunk]) -> None:
        if self._kind == kind:
            return
        self._end_block(out)
        self._kind, self._index = kind, self._take_index()
        out.append(chunks.block_start(self._index, kind))

    def _end_block(self, out: list[Chunk]) -> None:
        self._blank = []
        if self._kind:
            block = {"type": self._kind, "text": "".join(self._pieces)}
            out.append(chunks.block_end(self._index, block))
            self._kind, self._pieces = "", []

    def _fitting(self, text: str) -> str:
        text = text[: self._left]
        self._count(len(text))
        return text

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left <= 0:
            self._overlong = True

    def _ending(self) -> str | Failure:
        """`stop`, `tool-calls` or `max-tokens`, or why it is none of them.

        The blocks decide between the first two: servers say `stop` after tool calls.
        """
        if self._crowded or (self._reason is None and self._overlong):
            return "max-tokens"
        if self._reason is None and not self._marker:
            return Failure("The model's answer broke off.", "TRANSPORT")
        reason = (self._reason or "stop").lower()
        if reason in _LENGTH:
            return "max-tokens"
        if reason in _STOP or reason in _CALLS:
            if self._next == 0:
                return Failure("The model answered with nothing.", "EMPTY_RESPONSE")
            return "tool-calls" if self._calls else "stop"
        if reason in ("insufficient_system_resource", "error"):
            return Failure("The model server gave up in mid-answer.", "SERVER")
        words = reason.replace("_", " ")[:REASON_LIMIT]
        return Failure(f"The model ended its answer with “{words}”.", reason.upper()[:REASON_LIMIT])


def read_usage(usage: Mapping[str, Any]) -> dict[str, int]:
    """Token counts in our shape. `inputTokens` leaves out what was cached, as the wire's does not."""
    prompt, output = _count_of(usage, "prompt_tokens"), _count_of(usage, "completion_tokens")
    details = usage.get("prompt_tokens_details")
    cached = _count_of(details, "cached_tokens") if isinstance(details, Mapping) else 0
    cached = min(cached or _count_of(usage, "prompt_cache_hit_tokens"), prompt)
    counts = {"inputTokens": prompt - cached, "outputTokens": output}
    if cached:
        counts["cachedInputTokens"] = cached
    details = usage.get("completion_tokens_details")
    reasoning = _count_of(details, "reasoning_tokens") if isinstance(details, Mapping) else 0
    if reasoning:
        counts["reasoningTokens"] = reasoning
    return counts


def _count_of(source: Mapping[str, Any], name: str) -> int:
    value = source.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return max(0, int(value))
