"""How long something takes the processor."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["Spent", "processor_time"]


@dataclass(slots=True)
class Spent:
    """Known when the block has ended."""

    seconds: float = 0.0


@contextmanager
def processor_time() -> Iterator[Spent]:
    """Measure a block: no waiting, since the machine may be busy, and no collection of what the whole suite
    has left behind, which may fall into the block and take longer than it."""
    spent = Spent()
    gc.disable()
    begin = time.process_time()
    try:
        yield spent
    finally:
        spent.seconds = time.process_time() - begin
        gc.enable()
