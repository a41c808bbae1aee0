"""Runners for the card families."""

from collections.abc import Callable

from tests.conformance.cards import expected, recommended
from tests.conformance.vectors import Vector

RUNNERS: dict[str, Callable[[Vector], None]] = {
    "cards/expected": expected.run,
    "cards/recommended": recommended.run,
}
