"""Anthropic's stream events into chunks: a pure reader, as `CompletionReader` is for completions.

Anthropic sends block after block; others under the same protocol (llama.cpp) let blocks overlap
and sign the first when the second has begun. So every block is read by its own index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.codec import dumps
from engine.ids import new_id
from engine.llm import chunks
from engine.llm.adapter import Chunk
from engine.llm.anthropic.state import replay_state
from engine.llm.completion import BLOCK_LIMIT, REASON_LIMIT, REPLY_LIMIT
from engine.llm.failure import Failure, LlmFailure, garbled, in_band_failure
from engine.llm.halves import PayloadReader

__all__ = ["MessageReader", "read_usage"]

_KINDS = {"text": "text", "thinking": "reasoning", "tool_use": "tool-call"}
_STOP = frozenset({"end_turn", "stop_sequence", "tool_use", "pause_turn"})
_LENGTH = frozenset({"max_tokens", "model_context_window_exceeded"})


class _Block:
    """One block of the wire. It is open in our stream once `index` is set."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.index: int | None = None
        self.pieces: list[str] = []
        self.blank: list[str] = []  # white space that may begin a text, if text follows
        self.entry: dict[str, Any] = {}  # its part of the replay state
        self.call_id = ""
        self.name = ""
        self.given = ""  # arguments that came with the start of a call

    @property
    def content(self) -> str:
        return "".join(self.pieces)


class MessageReader:
    """Reads one answer; see `AnswerReader`. Usage and finish are held back to the end."""

    def __init__(self, *, limit: int = REPLY_LIMIT, new_call_id: Callable[[], str] | None = None) -> None:
        self._left = limit
        self._payloads = PayloadReader()
        self._new_call_id = new_call_id or (lambda: new_id("call"))
        self._next = 0  # the next block index of our stream
        self._blocks: dict[int, _Block] = {}  # open ones, by the wire's index
        self._entries: list[dict[str, Any]] = []
        self._call_ids: set[str] = set()
        self._counts: dict[str, int] = {}
        self._reason: str | None = None
        self._marker = False  # message_stop was seen
        self._overlong = False
        self._crowded = False

    @property
    def done(self) -> bool:
        return self._marker or self._overlong or self._crowded

    @property
    def finish_seen(self) -> bool:
        return self._reason is not None

    def feed(self, data: str, event: str = "") -> list[Chunk]:
        """One event. Raises LlmFailure: TRANSPORT for what is not JSON, else the server's own error."""
        if self.done or not (text := data.strip()):
            return []
        if text == "[DONE]":  # proxies that come from the other protocol
            self._marker = True
            return []
        try:
            payload = self._payloads.read(text)
        except ValueError:
            raise garbled("is not JSON") from None
        if not isinstance(payload, Mapping):
            raise garbled("is not an object")
        out: list[Chunk] = []
        self._take(payload, event, out)
        return out

    def feed_whole(self, payload: Mapping[str, Any]) -> list[Chunk] | None:
        """A whole message from a server that does not stream; None when it is none."""
        if payload.get("error") or payload.get("type") == "error":
            raise LlmFailure(in_band_failure(payload))
        content = payload.get("content")
        if not isinstance(content, list):
            return None
        out: list[Chunk] = []
        for index, block in enumerate(content):
            if self._crowded:
                break
            self._start({"index": index, "content_block": block}, out)
            self._stop({"index": index}, out)
        self._message(payload)
        self._marker = True
        return out

    def close(self) -> list[Chunk]:
        """The end of the stream; its finish is an error if the answer is cut off, empty or refused."""
        out: list[Chunk] = []
        ending = self._ending()
        if isinstance(ending, str):
            for index in list(self._blocks):
                self._stop({"index": index}, out)
        if self._counts:
            out.append(chunks.usage(read_usage(self._counts)))
        if isinstance(ending, str):
            out.append(chunks.finished(ending, replay_state(self._entries)))
        else:
            out.append(chunks.failed(ending))
        return out

    # -- events --------------------------------------------------------------------------------

    def _take(self, payload: Mapping[str, Any], event: str, out: list[Chunk]) -> None:
        kind = payload.get("type") or event
        if kind == "error" or payload.get("error"):
            raise LlmFailure(in_band_failure(payload))
        if kind == "message_start":
            message = payload.get("message")
            self._message(message if isinstance(message, Mapping) else {})
        elif kind == "content_block_start":
            self._start(payload, out)
        elif kind == "content_block_delta":
            self._delta(payload, out)
        elif kind == "content_block_stop":
            self._stop(payload, out)
        elif kind == "message_delta":
            delta = payload.get("delta")
            self._message({**(delta if isinstance(delta, Mapping) else {}), "usage": payload.get("usage")})
        elif kind == "message_stop":
            self._marker = True
        # `ping`, and whatever is invented next, says nothing of the answer.

    def _message(self, facts: Mapping[str, Any]) -> None:
        """Stop reason and counts. The later counts leave out or zero what the earlier ones said, and
        those that are in both only grow: the larger one is the true one."""
        if reason := facts.get("stop_reason"):
            self._reason = str(reason)
        usage = facts.get("usage")
        for name, value in usage.items() if isinstance(usage, Mapping) else ():
            if isinstance(value, int | float) and not isinstance(value, bool):
                self._counts[name] = max(self._counts.get(name, 0), int(value))

    def _start(self, payload: Mapping[str, Any], out: list[Chunk]) -> None:
        index, wire = payload.get("index"), payload.get("content_block")
        if not isinstance(index, int) or not isinstance(wire, Mapping):
            return
        if index in self._blocks:
            self._stop(payload, out)
        if wire.get("type") == "redacted_thinking":
            self._entries.append({"opaque": dict(wire)})
            return
        kind = _KINDS.get(str(wire.get("type")))
        if kind is None:
            return
        block = self._blocks[index] = _Block(kind)
        if kind == "tool-call":
            self._call(block, wire, out)
            return
        self._write(block, wire.get("text" if kind == "text" else "thinking"), out)
        self._sign(block, wire.get("signature"))

    def _delta(self, payload: Mapping[str, Any], out: list[Chunk]) -> None:
        block, delta = self._block_of(payload), payload.get("delta")
        if block is None or not isinstance(delta, Mapping):
            return
        kind = delta.get("type")
        if kind == "text_delta" and block.kind == "text":
            self._write(block, delta.get("text"), out)
        elif kind == "thinking_delta" and block.kind == "reasoning":
            self._write(block, delta.get("thinking"), out)
        elif kind == "signature_delta" and block.kind == "reasoning":
            self._sign(block, delta.get("signature"))
        elif kind == "input_json_delta" and block.kind == "tool-call":
            self._write(block, delta.get("partial_json"), out)

    def _stop(self, payload: Mapping[str, Any], out: list[Chunk]) -> None:
        block = self._block_of(payload)
        if block is None:
            return
        del self._blocks[payload["index"]]
        if block.index is None:
            if block.entry:
                # Thinking whose words are withheld: nothing to show, but it must go back.
                self._entries.append({"opaque": {"type": "thinking", "thinking": "", **block.entry}})
            return
        if block.kind == "tool-call":
            arguments = block.content.strip() or block.given or "{}"
            value = {"type": "tool-call", "id": block.call_id, "name": block.name, "arguments": arguments}
        else:
            value = {"type": block.kind, "text": block.content}
        out.append(chunks.block_end(block.index, value))

    # -- parts ---------------------------------------------------------------------------------

    def _block_of(self, payload: Mapping[str, Any]) -> _Block | None:
        index = payload.get("index")
        return self._blocks.get(index) if isinstance(index, int) else None

    def _call(self, block: _Block, wire: Mapping[str, Any], out: list[Chunk]) -> None:
        wire_id, name, given = wire.get("id"), wire.get("name"), wire.get("input")
        known = isinstance(wire_id, str) and wire_id and wire_id not in self._call_ids
        # Two calls of one id could not be answered.
        block.call_id = str(wire_id) if known else self._new_call_id()
        self._call_ids.add(block.call_id)
        block.name = name if isinstance(name, str) else ""
        block.given = dumps(given).decode() if isinstance(given, Mapping) and given else ""
        out.append(self._opened(block))
        out.append(chunks.tool_call_delta(self._next - 1, block.call_id, "", block.name))

    def _write(self, block: _Block, text: Any, out: list[Chunk]) -> None:
        if not isinstance(text, str) or not (text := self._fitting(text)):
            return
        if block.index is None:
            # A text of white space alone would be refused when it goes back.
            block.blank.append(text)
            if block.kind == "text" and not text.strip():
                return
            text = "".join(block.blank)
            out.append(self._opened(block))
        assert block.index is not None  # opened above, or before
        block.pieces.append(text)
        if block.kind == "text":
            out.append(chunks.text_delta(block.index, text))
        elif block.kind == "reasoning":
            out.append(chunks.reasoning_delta(block.index, text))
        else:
            out.append(chunks.tool_call_delta(block.index, block.call_id, text))

    def _opened(self, block: _Block) -> Chunk:
        block.index = self._next
        self._next += 1
        self._crowded = self._next > BLOCK_LIMIT
        self._entries.append(block.entry)
        return chunks.block_start(block.index, block.kind)

    def _sign(self, block: _Block, signature: Any) -> None:
        # The empty one is llama.cpp's, which signs nothing.
        if isinstance(signature, str) and signature:
            block.entry["signature"] = block.entry.get("signature", "") + signature

    def _fitting(self, text: str) -> str:
        text = text[: self._left]
        self._left -= len(text)
        if self._left <= 0:
            self._overlong = True
        return text

    def _ending(self) -> str | Failure:
        """`stop`, `tool-calls` or `max-tokens`, or why it is none of them. The blocks decide between
        the first two."""
        if self._crowded or (self._reason is None and self._overlong):
            return "max-tokens"
        if self._reason is None and not self._marker:
            return Failure("The model's answer broke off.", "TRANSPORT")
        reason = (self._reason or "end_turn").lower()
        if reason in _LENGTH:
            return "max-tokens"
        if reason in _STOP:
            if self._next == 0:
                return Failure("The model answered with nothing.", "EMPTY_RESPONSE")
            return "tool-calls" if self._call_ids else "stop"
        if reason == "refusal":
            return Failure("The model refused to go on with this.", "REFUSAL")
        words = reason.replace("_", " ")[:REASON_LIMIT]
        return Failure(f"The model ended its answer with “{words}”.", reason.upper()[:REASON_LIMIT])


def read_usage(counts: Mapping[str, int]) -> dict[str, int]:
    """Token counts in our shape. The wire's are disjoint already; what was written to the cache was
    read as input all the same, and is counted there."""
    usage = {
        "inputTokens": counts.get("input_tokens", 0) + counts.get("cache_creation_input_tokens", 0),
        "outputTokens": counts.get("output_tokens", 0),
    }
    if cached := counts.get("cache_read_input_tokens", 0):
        usage["cachedInputTokens"] = cached
    return usage
