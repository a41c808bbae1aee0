"""The strategies that come with the program: read-only, their ids reserved. Assembler spec 1.4."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

from engine.assembler.strategy import Strategy, strategy_from_bytes

__all__ = [
    "DEFAULT_STRATEGY",
    "RESERVED",
    "STANDALONE_STRATEGY",
    "built_in_strategies",
    "standalone_strategies",
]

RESERVED: Final = "builtin-"
"""What ids of built-in strategies begin with, and no other id may."""

DEFAULT_STRATEGY: Final = "builtin-native-slots"
"""What new playthroughs start on."""

STANDALONE_STRATEGY: Final = "builtin-native"
"""Of a session without a story; never chosen by itself."""

_ORDER = (DEFAULT_STRATEGY, "builtin-native-roles", "builtin-st")


@cache
def built_in_strategies() -> Mapping[str, Strategy]:
    """The three of a story, by id, in the order in which lists show them."""
    return {strategy_id: _read(strategy_id) for strategy_id in _ORDER}


@cache
def standalone_strategies() -> Mapping[str, Strategy]:
    """Those of a session without a story."""
    return {STANDALONE_STRATEGY: _read(STANDALONE_STRATEGY)}


def _read(strategy_id: str) -> Strategy:
    return strategy_from_bytes(
        (resources.files("config") / "strategies" / f"{strategy_id}.json").read_bytes()
    )
