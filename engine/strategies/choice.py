"""The strategy of one assembly, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from engine.agent import Assembly
from engine.assembler import AdvancedOutcome, Applied, Logical, StandardOutcome
from engine.codec import JsonObject
from engine.tavern import Compilation

__all__ = ["APPLIED", "Choice", "LastAssembly", "Told", "Wanted"]


class Wanted(Enum):
    """What a preview takes when it is given no strategy of its own."""

    APPLIED = "applied"


APPLIED: Final = Wanted.APPLIED
"""The strategy that the session has applied."""


@dataclass(frozen=True, slots=True)
class LastAssembly:
    """One assembly of a session by a strategy, and what it was made of."""

    strategy: Applied
    outcome: StandardOutcome | AdvancedOutcome
    compilation: Compilation
    diagnostics: tuple[JsonObject, ...]
    turn: int | None = None

    @property
    def logical(self) -> Logical:
        """The parts in their order, whichever back end delivers them."""
        return self.outcome.logical

    @property
    def standard(self) -> StandardOutcome | None:
        """What the loop delivers by its own means; None when the whole request is put together anew."""
        return self.outcome if isinstance(self.outcome, StandardOutcome) else None

    @property
    def advanced(self) -> AdvancedOutcome | None:
        """The request that was put together anew."""
        return self.outcome if isinstance(self.outcome, AdvancedOutcome) else None


@dataclass(frozen=True, slots=True)
class Told:
    """What the newest step of a session was told: the prompt as it was accepted, the strategy that places it
    (None where it is off), what a standard one made of the prompt, and the compilation that all are of."""

    assembly: Assembly
    applied: Applied | None
    made: LastAssembly | None
    compilation: Compilation | None


@dataclass(slots=True)
class Choice:
    """The strategy of one assembly. `accepted` and `compilation` are what an advanced one goes on from when
    the request is put together, which may be more than once; `made` is what came of it."""

    applied: Applied | None
    accepted: Assembly | None = None
    compilation: Compilation | None = None
    made: LastAssembly | None = None

    @property
    def advanced(self) -> bool:
        """Whether the request itself is put together anew."""
        return self.applied is not None and not self.applied.strategy.standard
