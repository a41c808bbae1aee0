"""Where active entries go: the eight positions as containers. Source: spec sillytavern 2.5.

Texts stand in reading order: ascending insertion order, equal ones backwards; outlets
alone read in descending order, as SillyTavern joins them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from engine.lore.outcome import ActiveEntry
from engine.lore.reasons import Reason

__all__ = ["DepthBlock", "Example", "Piece", "Places", "place"]


@dataclass(frozen=True, slots=True)
class Piece:
    """An entry's text on its way to a place. `id` is the entry's qualified id."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class DepthBlock:
    """Entries that one message at a depth is made of; depth 0 is after the last message."""

    depth: int
    role: str
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The message's text."""
        return _joined(self.pieces)


@dataclass(frozen=True, slots=True)
class Example:
    """A block of example dialogue, before (`top`) or after the character's own."""

    side: Literal["top", "bottom"]
    piece: Piece


@dataclass(frozen=True, slots=True)
class Places:
    """All containers. `unplaced` are active entries that go nowhere, and why."""

    before: tuple[Piece, ...] = ()
    after: tuple[Piece, ...] = ()
    note_top: tuple[Piece, ...] = ()
    note_bottom: tuple[Piece, ...] = ()
    depths: tuple[DepthBlock, ...] = ()
    examples: tuple[Example, ...] = ()
    outlets: Mapping[str, tuple[Piece, ...]] = field(default_factory=dict)
    unplaced: tuple[tuple[str, Reason], ...] = ()

    @property
    def before_text(self) -> str:
        """The text before the character."""
        return _joined(self.before)

    @property
    def after_text(self) -> str:
        """The text after the character."""
        return _joined(self.after)

    def outlet(self, name: str) -> str:
        """What `{{outlet::name}}` stands for."""
        return _joined(self.outlets.get(name, ()))

    def note(self, text: str) -> str:
        """The author's note with what stands above and below it, for a turn in which it is due."""
        whole = f"{_joined(self.note_top)}\n{text}\n{_joined(self.note_bottom)}"
        return whole.removeprefix("\n").removesuffix("\n")

    def unsaid(self, *, note_due: bool, used_outlets: Collection[str]) -> tuple[tuple[str, Reason], ...]:
        """Active entries that are not in the prompt, and why: for the trace."""
        missing = list(self.unplaced)
        if not note_due:
            missing += [(piece.id, Reason.NOTE_NOT_DUE) for piece in (*self.note_top, *self.note_bottom)]
        for name, pieces in self.outlets.items():
            if name not in used_outlets:
                missing += [(piece.id, Reason.OUTLET_UNUSED) for piece in pieces]
        return tuple(missing)


def place(
    entries: Sequence[ActiveEntry], finish: Callable[[str, int | None], str] = lambda text, depth: text
) -> Places:
    """Put active entries (in reading order) into their containers.

    `finish` may change each text at the last moment (regex scripts for world info do); it is told the depth
    of an entry that has one. A text that is empty then is not placed.
    """
    lists: dict[str, list[Piece]] = {}
    depths: dict[tuple[int, str], list[Piece]] = {}
    examples: list[Example] = []
    outlets: dict[str, list[Piece]] = {}
    unplaced: list[tuple[str, Reason]] = []
    # Descending, so that groups by depth stand as SillyTavern finds them.
    for active in reversed(entries):
        entry = active.entry
        at_depth = entry.position == "at_depth"
        piece = Piece(active.id, finish(active.text, entry.depth if at_depth else None))
        if not piece.text:
            unplaced.append((active.id, Reason.EMPTY))
        elif at_depth:
            depths.setdefault((entry.depth, entry.role), []).insert(0, piece)
        elif entry.position == "outlet":
            if entry.outlet:
                outlets.setdefault(entry.outlet, []).append(piece)
            else:
                unplaced.append((active.id, Reason.OUTLET_UNNAMED))
        elif entry.position in ("examples_top", "examples_bottom"):
            examples.insert(0, Example("top" if entry.position == "examples_top" else "bottom", piece))
        else:
            lists.setdefault(entry.position, []).insert(0, piece)
    return Places(
        before=tuple(lists.get("before", ())),
        after=tuple(lists.get("after", ())),
        note_top=tuple(lists.get("note_top", ())),
        note_bottom=tuple(lists.get("note_bottom", ())),
        depths=tuple(DepthBlock(depth, role, tuple(found)) for (depth, role), found in depths.items()),
        examples=tuple(examples),
        outlets={name: tuple(found) for name, found in outlets.items()},
        unplaced=tuple(unplaced),
    )


def _joined(pieces: Sequence[Piece]) -> str:
    return "\n".join(piece.text for piece in pieces)
