"""When a failed call is worth another try, and how long to wait (spec agent-loop 5.6)."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from engine.llm.failure import Failure

__all__ = ["TRANSIENT", "RetryPolicy"]

TRANSIENT = frozenset({"EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT"})
"""Codes of what may heal by itself. Truncated and garbled streams arrive as TRANSPORT (decision 7)."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounded exponential backoff. Times are milliseconds."""

    max_retries: int = 5
    codes: frozenset[str] = field(default=TRANSIENT)
    base_ms: int = 500
    cap_ms: int = 10_000
    jitter: float = 0.1

    def delay_ms(self, n: int, failure: Failure, rng: random.Random) -> int | None:
        """The wait before retry number `n` (from 1), or None to give up.

        A wait that the provider names is kept exactly if it is within the cap. Beyond the
        cap we give up: nobody at the table waits that long for a typing indicator.
        """
        if n > self.max_retries or failure.code not in self.codes:
            return None
        asked = failure.provider_retry_after_ms
        if asked is not None:
            return asked if asked <= self.cap_ms else None
        backoff = min(self.base_ms << (n - 1), self.cap_ms)
        return min(round(backoff * (1 + self.jitter * rng.uniform(-1, 1))), self.cap_ms)
