"""What every agent of one engine shares."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.agent.prompt import SystemPrompt
from engine.agent.tools import ToolRegistry
from engine.hooks import Hooks
from engine.llm import CallConfig, Llm
from engine.session import Journal

__all__ = ["Services", "now_ms"]


def now_ms() -> int:
    """Wall clock, epoch milliseconds."""
    return time.time_ns() // 1_000_000


@dataclass(slots=True)
class Services:
    """The parts that the loop calls. `defaults` is the call configuration of a session's first request."""

    hooks: Hooks
    journal: Journal
    llm: Llm
    prompt: SystemPrompt
    defaults: CallConfig
    tools: ToolRegistry = field(default_factory=ToolRegistry)
    clock: Callable[[], int] = now_ms
    rng: random.Random = field(default_factory=random.Random)
    # A model that calls tools for ever costs money for ever; sixteen is more than any
    # table needs (decision 8).
    max_steps_per_turn: int = 16
