"""What went wrong with a model call: one record, one set of codes, and how an answer maps to them.

The codes are those of spec agent-loop 5.7. Whoever acts on a failure looks at `code`,
never at the text; the text is for the person who reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from engine.errors import LlmError

__all__ = [
    "Failure",
    "LlmFailure",
    "classify",
    "clip",
    "error_details",
    "garbled",
    "in_band_failure",
    "retry_after_ms",
]

# Longer server texts are HTML pages or echoed prompts; nobody reads more in a chat line.
MESSAGE_LIMIT = 500

_QUOTA = re.compile(
    r"insufficient[ _](?:account )?(?:balance|quota|credits?|funds)|exceeded your current quota"
    r"|(?:quota|credits?|balance)[\w ]{0,30}(?:exhausted|used up|depleted)"
    r"|exhausted[\w ]{0,30}(?:quota|credits?)"
    r"|balance is too low|billing_error"
    r"|out of credits|more credits|payment required|余额不足|欠费",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"context[ _-]?(?:length|window|size|limit)|maximum (?:prompt|input|sequence) length"
    r"|too many (?:input )?tokens"
    r"|(?:prompt|input|request)[\w ]{0,20} (?:is )?too long|exceed_context|reduce the length|max_model_len",
    re.IGNORECASE,
)
# llama.cpp says it with status 500, OpenRouter with 404: neither heals by trying again.
_CONTENT = re.compile(
    r"(?:image|vision)[\w ]{0,20} (?:is |are )?not supported|(?:does not|doesn't) support (?:image|vision)"
    r"|support image input",
    re.IGNORECASE,
)
_IN_BAND = (
    (re.compile(r"rate.?limit|too.?many.?requests|throttl", re.IGNORECASE), "RATE_LIMIT"),
    (re.compile(r"api.?key|authenticat|unauthori[sz]ed|permission|forbidden", re.IGNORECASE), "AUTH"),
    (re.compile(r"overloaded|unavailable|internal|server.?error|upstream|timeout", re.IGNORECASE), "SERVER"),
    (re.compile(r"invalid.?request|bad.?request|invalid.?argument", re.IGNORECASE), "INVALID_REQUEST"),
)


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed call. `status` is the HTTP status, if an answer came at all."""

    message: str
    code: str
    status: int | None = None
    provider_retry_after_ms: int | None = None
    request_id: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """The recorded form: absent fields are left out, never null."""
        wire: dict[str, Any] = {"message": self.message, "code": self.code}
        if self.status is not None:
            wire["status"] = self.status
        if self.provider_retry_after_ms is not None:
            wire["providerRetryAfterMs"] = self.provider_retry_after_ms
        if self.request_id is not None:
            wire["requestId"] = self.request_id
        return wire

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Failure:
        """Read the recorded form; a record without a text or a code still reads."""
        return cls(
            message=str(wire.get("message") or "The model call failed."),
            code=str(wire.get("code") or "UNKNOWN"),
            status=wire.get("status"),
            provider_retry_after_ms=wire.get("providerRetryAfterMs"),
            request_id=wire.get("requestId"),
        )


class LlmFailure(LlmError):
    """The model call failed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message, code=failure.code, failure=failure)
        self.failure = failure


def classify(status: int, text: str) -> str:
    """The code for an HTTP answer that is not a success; `text` is whatever the body says.

    Quota wording goes before the status, because providers put it under 402, 403 and 429.
    """
    if status == 402 or _QUOTA.search(text):
        return "QUOTA"
    if status in (401, 403):
        return "AUTH"
    if _CONTENT.search(text):
        return "UNSUPPORTED_CONTENT"
    if status == 429:
        return "RATE_LIMIT"
    if status in (400, 413):
        return "CONTEXT_WINDOW_EXCEEDED" if _CONTEXT.search(text) else "INVALID_REQUEST"
    if status >= 500:
        return "SERVER"
    return f"HTTP_{status}"


def error_details(payload: Any) -> tuple[str, str, int | None]:
    """(text, code word, status) of an error body in any of the shapes that servers use.

    OpenAI and llama.cpp wrap it in `error`; vLLM puts `message` and a numeric `code` at the
    top; FastAPI servers say `detail`, with one entry for each field at fault. OpenAI names the
    field in `param` too, if the text does not. What cannot be read gives an empty text.
    """
    if not isinstance(payload, Mapping):
        return (payload if isinstance(payload, str) else "", "", None)
    error = payload.get("error", payload)
    if isinstance(error, str):
        return error, "", None
    if not isinstance(error, Mapping):
        return "", "", None
    text = _error_text(error.get("message") or error.get("detail") or error.get("msg") or "")
    param = error.get("param")
    if text and isinstance(param, str) and param and param not in text:
        text = f"{text} (parameter '{param}')"
    raw = error.get("code", error.get("status"))
    words = [str(word) for word in (raw, error.get("type")) if word is not None]
    status = int(raw) if isinstance(raw, int | str) and re.fullmatch(r"[45]\d\d", str(raw)) else None
    return text, " ".join(words), status


def _error_text(said: Any) -> str:
    if not isinstance(said, list):
        return said if isinstance(said, str) else str(said)
    lines = []
    for entry in said:
        if isinstance(entry, Mapping) and isinstance(entry.get("msg"), str):
            where = entry.get("loc")
            path = [str(part) for part in where] if isinstance(where, list | tuple) else []
            name = ".".join(path[1:] if path[:1] == ["body"] else path)
            lines.append(f"{name}: {entry['msg']}" if name else entry["msg"])
        else:
            lines.append(str(entry))
    return "; ".join(lines)


def in_band_failure(payload: Any) -> Failure:
    """The failure of an error payload inside a stream that had begun with status 200."""
    text, words, status = error_details(payload)
    message = f"The model server reported an error: {clip(text)}" if text else "The model server failed."
    if status is not None:
        return Failure(message, classify(status, f"{words} {text}"), status)
    if _QUOTA.search(f"{words} {text}"):
        return Failure(message, "QUOTA")
    if _CONTEXT.search(f"{words} {text}"):
        return Failure(message, "CONTEXT_WINDOW_EXCEEDED")
    if _CONTENT.search(text):
        return Failure(message, "UNSUPPORTED_CONTENT")
    # The code word first: a text may mention anything.
    for source in (words, text):
        for pattern, code in _IN_BAND:
            if pattern.search(source):
                return Failure(message, code)
    # A server that fails in mid-answer without a reason has mostly lost its own upstream.
    return Failure(message, "SERVER")


def garbled(what: str) -> LlmFailure:
    """The failure of a payload that cannot be read; decision 7: it is worth another try."""
    return LlmFailure(Failure(f"The model server sent a part that {what}.", "TRANSPORT"))


def retry_after_ms(headers: Mapping[str, str], now: datetime | None = None) -> int | None:
    """How long the server asks us to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.

    `headers` has lower-case names (an httpx.Headers will do). None when absent or unreadable.
    """
    if (exact := _number(headers.get("retry-after-ms"))) is not None:
        return round(exact)
    value = headers.get("retry-after")
    if (seconds := _number(value)) is not None:
        return round(seconds * 1000)
    if value is None:
        return None
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    wait = (moment - (now or datetime.now(UTC))).total_seconds()
    return max(0, round(wait * 1000))


def _number(value: str | None) -> float | None:
    if value is None or not re.fullmatch(r"\s*\d{1,9}(?:\.\d{1,9})?\s*", value):
        return None
    return float(value)


def clip(text: str) -> str:
    """A server's text on one line of at most 500 characters."""
    text = " ".join(text.split())
    return text if len(text) <= MESSAGE_LIMIT else text[: MESSAGE_LIMIT - 1] + "…"
