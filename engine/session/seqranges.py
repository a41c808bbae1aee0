"""The compact stored form of source lists: runs of consecutive seqs as [first, last].

Source: session spec 7.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from engine.codec import Json
from engine.errors import SessionCorrupt
from engine.session.frozen import is_seq

__all__ = ["decode", "encode"]

_SHORTEST_RUN: Final = 3
"""Two seqs written out are as short as their range."""

_MOST_SEQS: Final = 1_000_000
"""More events than any one message can stand for: a range beyond it is damage, not data."""


def encode(seqs: Sequence[int]) -> list[int | list[int]]:
    """Runs of three or more become ranges, if the list is strictly increasing; otherwise it stays."""
    if any(later <= earlier for earlier, later in pairwise(seqs)):
        return list(seqs)
    encoded: list[int | list[int]] = []
    start = 0
    for position in range(1, len(seqs) + 1):
        if position < len(seqs) and seqs[position] == seqs[position - 1] + 1:
            continue
        run = seqs[start:position]
        if len(run) >= _SHORTEST_RUN:
            encoded.append([run[0], run[-1]])
        else:
            encoded.extend(run)
        start = position
    return encoded


def decode(stored: Json) -> list[int]:
    """The seqs of a stored list. Raises SessionCorrupt for anything but seqs and ordered ranges."""
    if not isinstance(stored, (list, tuple)):
        raise SessionCorrupt("sourceEventSeqs must be an array", category="sources-shape")
    seqs: list[int] = []
    for entry in stored:
        if is_seq(entry):
            seqs.append(entry)
        elif (
            isinstance(entry, (list, tuple))
            and len(entry) == 2  # first and last
            and all(map(is_seq, entry))
            and 0 <= entry[1] - entry[0] < _MOST_SEQS
        ):
            seqs.extend(range(entry[0], entry[1] + 1))
        else:
            raise SessionCorrupt("a range of sourceEventSeqs is malformed", category="seq-range-shape")
    return seqs
