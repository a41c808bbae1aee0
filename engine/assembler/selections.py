"""Which strategy a session uses: a snapshot of its own, an explicit none, or nothing said yet.

Pure: each operation gives a new shelf. Editing the library never changes what was applied. Source: assembler
spec 5; seed 001.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from engine.assembler.builtins import DEFAULT_STRATEGY, RESERVED, built_in_strategies
from engine.assembler.faults import refuse
from engine.assembler.strategy import Strategy

__all__ = [
    "Applied",
    "Mode",
    "Shelf",
    "apply_strategy",
    "inherit",
    "remove_strategy",
    "save_strategy",
    "selection",
    "strategy_of",
]

Mode: TypeAlias = Literal["play", "native"]
"""Whether a session is a story's, which starts with a strategy, or a plain one, which has none."""

_STRATEGY_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,200}", re.ASCII)
_SESSION_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}", re.ASCII)
_UNSAFE: Final = frozenset({"__proto__", "constructor", "prototype"})
"""Names that other programs cannot use as keys; a shared library keeps clear of them."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A strategy as it was when it was applied, under the id that it had in the library."""

    id: str
    strategy: Strategy


@dataclass(frozen=True, slots=True)
class Shelf:
    """The library of one owner and what its sessions use. A selection of None is an explicit none.

    With `unified` a session has one selection, whatever its mode; without, as earlier versions had it, one
    for each mode.
    """

    built_in: Mapping[str, Strategy] = field(default_factory=built_in_strategies)
    saved: Mapping[str, Strategy] = field(default_factory=dict)
    selections: Mapping[str, Applied | None] = field(default_factory=dict)
    unified: bool = True

    @property
    def ids(self) -> tuple[str, ...]:
        """All strategies, built-in ones first."""
        return (*self.built_in, *self.saved)


def strategy_of(shelf: Shelf, strategy_id: str) -> Strategy:
    """A strategy of the library. Raises AssemblyError STRATEGY_NOT_FOUND."""
    strategy = shelf.built_in.get(strategy_id) or shelf.saved.get(strategy_id)
    if strategy is None:
        raise refuse("STRATEGY_NOT_FOUND", "There is no such strategy.", status=404, strategy_id=strategy_id)
    return strategy


def save_strategy(shelf: Shelf, strategy_id: str, strategy: Strategy) -> Shelf:
    """Add or replace one; sessions that use it keep what they applied.

    Raises AssemblyError STRATEGY_READ_ONLY for a reserved id, STRATEGY_ID for one that is none.
    """
    if strategy_id.startswith(RESERVED):
        raise refuse("STRATEGY_READ_ONLY", "Copy a built-in strategy to change it.", status=400)
    if not _STRATEGY_ID.fullmatch(strategy_id) or strategy_id in _UNSAFE:
        raise refuse("STRATEGY_ID", "This cannot be the id of a strategy.", status=400)
    return replace(shelf, saved={**shelf.saved, strategy_id: strategy})


def remove_strategy(shelf: Shelf, strategy_id: str) -> Shelf:
    """Delete one. Raises AssemblyError STRATEGY_READ_ONLY, _NOT_FOUND, or _IN_USE while a session uses it."""
    if strategy_id.startswith(RESERVED):
        raise refuse("STRATEGY_READ_ONLY", "Built-in strategies cannot be deleted.", status=400)
    strategy_of(shelf, strategy_id)
    if any(applied is not None and applied.id == strategy_id for applied in shelf.selections.values()):
        raise refuse("STRATEGY_IN_USE", "A session uses this strategy.")
    return replace(shelf, saved={key: it for key, it in shelf.saved.items() if key != strategy_id})


def apply_strategy(
    shelf: Shelf, session_id: str, strategy_id: str | None, *, mode: Mode = "native", running: bool = False
) -> Shelf:
    """Let a session use a strategy as it is now, or explicitly none.

    Raises AssemblyError STRATEGY_RUNNING while its agent runs, STRATEGY_NOT_FOUND, STRATEGY_SESSION_ID.
    """
    if running:
        raise refuse("STRATEGY_RUNNING", "The story is being written to; try again when it rests.")
    key = _key(shelf, session_id, mode)
    applied = None if strategy_id is None else Applied(strategy_id, strategy_of(shelf, strategy_id))
    return replace(shelf, selections={**shelf.selections, key: applied})


def selection(shelf: Shelf, session_id: str, *, mode: Mode = "native") -> Applied | None:
    """What a session uses. One that was never told anything uses the default of its mode."""
    for key in (_key(shelf, session_id, mode), f"{mode}:{session_id}"):
        if key in shelf.selections:
            return shelf.selections[key]
    if mode != "play" or DEFAULT_STRATEGY not in shelf.built_in:
        return None
    return Applied(DEFAULT_STRATEGY, shelf.built_in[DEFAULT_STRATEGY])


def inherit(shelf: Shelf, parent_id: str, child_id: str, *, mode: Mode = "native") -> Shelf:
    """Give a child session what its parent uses, once; from then on they are independent."""
    key = _key(shelf, child_id, mode)
    if key in shelf.selections:
        return shelf
    return replace(shelf, selections={**shelf.selections, key: selection(shelf, parent_id, mode=mode)})


def _key(shelf: Shelf, session_id: str, mode: Mode) -> str:
    if not _SESSION_ID.fullmatch(session_id):
        raise refuse("STRATEGY_SESSION_ID", "This cannot be the id of a session.", status=400)
    return session_id if shelf.unified else f"{mode}:{session_id}"
