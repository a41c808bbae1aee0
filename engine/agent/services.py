"""What every agent of one engine shares."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from engine.agent.system_prompt import SystemPrompt
from engine.agent.tools import Approval, ToolRegistry
from engine.hooks import Hooks
from engine.llm import CallConfig, Llm
from engine.session import Journal

__all__ = ["PictureSource", "Services", "now_ms"]

PictureSource: TypeAlias = Callable[[Sequence[str]], Awaitable[Mapping[str, bytes]]]
"""The bytes of pictures by attachment id; one that is not there is left out, and named to the model."""


def now_ms() -> int:
    """Wall clock, epoch milliseconds."""
    return time.time_ns() // 1_000_000


async def _no_pictures(attachment_ids: Sequence[str]) -> Mapping[str, bytes]:
    return {}


@dataclass(slots=True)
class Services:
    """The parts that the loop calls. `defaults` is the call configuration of a session's first request."""

    hooks: Hooks
    journal: Journal
    llm: Llm
    prompt: SystemPrompt
    defaults: CallConfig
    tools: ToolRegistry = field(default_factory=ToolRegistry)
    approve: Approval | None = None  # whom a tool's policy may ask; without one its question is a no
    pictures: PictureSource = _no_pictures
    clock: Callable[[], int] = now_ms
    rng: random.Random = field(default_factory=random.Random)
    # A model that calls tools for ever costs money for ever; sixteen is more than any
    # table needs (decision 8).
    max_steps_per_turn: int = 16
    parallel_calls: int = 10  # of one step, at the same time (spec agent-loop 3.7)
