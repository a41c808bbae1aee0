"""How an answer reads: prose as it is, and what tools showed as small lines at the place where it happened.

The small lines are for people's eyes only: the model reads the logged result. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.excerpts import plain
from bot.writing import LabelFilter
from engine.play import Piece

__all__ = ["answer_text", "between", "joined", "spoken", "tool_line"]

_LINE = 300  # characters of one line of a result; it is a remark at the edge of a story
_LINES = 12  # the longest result of a roll has ten


def tool_line(result: str) -> str:
    """The result of a tool in Discord's small print."""
    lines = [line for line in result.splitlines() if line.strip()]
    return "\n".join(f"-# 🎲 {plain(line, _LINE)}" for line in lines[:_LINES])


def between(before: Piece, after: Piece) -> str:
    """What stands between two pieces: results that follow each other stand together."""
    return "\n" if before.tool is not None and after.tool is not None else "\n\n"


def answer_text(name: str, pieces: Sequence[Piece]) -> str:
    """The whole answer of the character `name`, without its own speaker labels (decision 35)."""
    return joined(spoken(name, pieces))


def spoken(name: str, pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces as people read them: prose without the speaker's labels, results in small print."""
    return [
        replace(
            piece, text=LabelFilter.strip(name, piece.text) if piece.tool is None else tool_line(piece.text)
        )
        for piece in pieces
    ]


def joined(pieces: Sequence[Piece]) -> str:
    """Pieces that are made ready, as one text."""
    text = ""
    for position, piece in enumerate(pieces):
        text += (between(pieces[position - 1], piece) if position else "") + piece.text
    return text
