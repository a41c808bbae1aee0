"""How much of a model's window a text takes: an estimate, corrected by what providers report.

Source: decision 11; session spec 7.5; agent-loop spec 6.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from engine.session.messages import Message

__all__ = ["Calibration", "estimate_tokens", "history_tokens", "message_tokens"]

_CHARS_PER_TOKEN: Final = 4
"""Of alphabetic scripts; common tokenisers give 3.5 to 4.5 for prose."""

_WIDE: Final = re.compile(
    "[\u1100-\u11ff\u2e80-\u30ff\u3100-\u31ff\u3200-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U0001f000-\U0001faff\U00020000-\U0003ffff]"
)
"""Characters that cost about a token each: Chinese, Japanese and Korean script, full-width forms, emoji."""

_MESSAGE_OVERHEAD: Final = 4
"""Role and separators around one message."""

_IMAGE: Final = 1_000
"""An image of common size, as the large providers price it."""

_FILE: Final = 50
"""A file's name and what is said of it; its content is not in the message."""


def estimate_tokens(text: str) -> int:
    """About how many tokens a text is: one for each wide character, one for every four others."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide + math.ceil((len(text) - wide) / _CHARS_PER_TOKEN)


def message_tokens(message: Message) -> int:
    """The estimate of one message, its blocks and what stands around it."""
    return _MESSAGE_OVERHEAD + sum(_block_tokens(block) for block in message["content"])


def history_tokens(messages: Iterable[Message]) -> int:
    """The estimate of a whole history."""
    return sum(map(message_tokens, messages))


def _block_tokens(block: Any) -> int:
    if not isinstance(block, Mapping):
        return 0
    match block.get("type"):
        case "text" | "reasoning":
            return estimate_tokens(block["text"])
        case "tool-call":
            return _MESSAGE_OVERHEAD + estimate_tokens(block["name"]) + estimate_tokens(block["arguments"])
        case "image":
            return 0 if block.get("offloaded") else _IMAGE
        case "file":
            return _FILE
    return 0


class Calibration:
    """What the estimates of each model have to be multiplied with, learned from reported usage.

    A factor moves towards each report by a share and stays within sane bounds, so that one odd report (a
    cached prompt, a provider that counts something else) does not decide what is cut from a story.
    """

    SHARE: Final = 0.25
    """Of the newest report: four requests reach two thirds of a change."""

    BOUNDS: Final = (0.5, 3.0)
    """Beyond these it is not the tokeniser that differs but what is counted."""

    def __init__(self) -> None:
        self._factors: dict[tuple[str, str], float] = {}

    def observe(self, provider: str, model: str, *, estimated: int, reported: int) -> None:
        """A request that was estimated at so many tokens was reported with so many. Ignores an empty one."""
        if estimated <= 0 or reported <= 0:
            return
        low, high = self.BOUNDS
        seen = min(max(reported / estimated, low), high)
        known = self._factors.get((provider, model))
        self._factors[provider, model] = seen if known is None else known + self.SHARE * (seen - known)

    def factor(self, provider: str, model: str) -> float:
        """1.0 for a model that was never heard of."""
        return self._factors.get((provider, model), 1.0)

    def tokens(self, provider: str, model: str, estimated: int) -> int:
        """An estimate in the tokens of this model."""
        return round(estimated * self.factor(provider, model))
