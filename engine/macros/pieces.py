"""The pieces of a result until it is one text.

Literal text is trimmed and dedented at the edges of arguments and scopes; what a macro made is not.
Source: spec sillytavern 4.2, "Post passes"; decision 18.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from engine.macros.numerals import BLANK

__all__ = ["NOOP", "TRIM", "Data", "Lines", "Made", "Profile", "finished", "joined", "trim_edges"]

Profile: TypeAlias = Literal["keep", "assembly", "pattern"]
"""How a text is finished.

`keep`: what could not be expanded stays, `\\{` and `\\}` become braces. `assembly`: what could not be
expanded is removed, braces that are left in pairs are put apart, and the text is trimmed. `pattern`: as
`keep`, but escapes stay, because they belong to a regular expression.
"""

_ESCAPED = re.compile(r"\\([{}])")
_PAIRED = re.compile(r"\{(?=\{)|\}(?=\})")
_MAX_INDENT = 1000  # characters before a data value on its line; longer lines are no lists or keys


class Made(str):
    """What a macro made."""

    __slots__ = ()


class Data(Made):
    """What stays exactly as it is."""

    __slots__ = ()


class Lines(Data):
    """Data whose later lines are indented to where its first one begins."""

    __slots__ = ()


NOOP = Made()
"""Stops a trim."""
TRIM = Made()
"""Takes the line breaks around it away."""


def trim_edges(pieces: list[str]) -> None:
    """Take the blanks off both ends, as far as they are literal."""
    for index, piece in enumerate(pieces):
        if type(piece) is str:
            pieces[index] = piece = piece.lstrip(BLANK)
        if piece or piece is NOOP:
            break
    for index in range(len(pieces) - 1, -1, -1):
        piece = pieces[index]
        if type(piece) is str:
            pieces[index] = piece = piece.rstrip(BLANK)
        if piece or piece is NOOP:
            break


def joined(pieces: list[str]) -> str:
    """The text, with its `{{trim}}`s carried out."""
    return "".join(_trimmed(pieces))


def finished(pieces: list[str], profile: Profile, escape: Callable[[str], str] | None = None) -> str:
    """The whole text. `escape` is applied to what each macro made."""
    pieces = _trimmed(pieces)
    if escape is not None:
        pieces = [escape(piece) if isinstance(piece, Made) else piece for piece in pieces]
    if any(isinstance(piece, Data) for piece in pieces):
        text = _with_data(pieces, profile)
    else:
        text = _polished("".join(pieces), profile)
    return text.strip(BLANK) if profile == "assembly" else text


def _polished(text: str, profile: Profile) -> str:
    if profile == "pattern":
        return text
    if profile == "assembly" and ("{{" in text or "}}" in text):
        text = _PAIRED.sub(r"\g<0> ", text)
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text


def _with_data(pieces: Sequence[str], profile: Profile) -> str:
    """The text around the data polished, and the data's lines indented by what stands before it."""
    out: list[str] = []
    around: list[str] = []
    column = 0

    def put(text: str) -> None:
        nonlocal column
        out.append(text)
        newline = text.rfind("\n")
        column = len(text) - newline - 1 if newline >= 0 else column + len(text)

    for piece in pieces:
        if not isinstance(piece, Data):
            around.append(piece)
            continue
        put(_polished("".join(around), profile))
        around.clear()
        indent = " " * min(column, _MAX_INDENT) if isinstance(piece, Lines) else ""
        put(piece.replace("\n", f"\n{indent}"))
    put(_polished("".join(around), profile))
    return "".join(out)


def _trimmed(pieces: list[str]) -> list[str]:
    if not any(piece is TRIM for piece in pieces):
        return pieces
    out: list[str] = []
    eating = False
    for piece in pieces:
        if piece is TRIM:
            _strip_breaks(out)
            eating = True
        elif eating and type(piece) is str:
            piece = _without_leading_breaks(piece)
            eating = not piece
            out.append(piece)
        else:
            eating = eating and not piece and piece is not NOOP
            out.append(piece)
    return out


def _strip_breaks(out: list[str]) -> None:
    """Take the line breaks off the end; what is empty goes with them."""
    while out and out[-1] is not NOOP:
        piece = out[-1]
        if type(piece) is str:
            piece = out[-1] = _without_trailing_breaks(piece)
        if piece:
            return
        out.pop()


def _without_leading_breaks(text: str) -> str:
    at = 0
    while at < len(text) and (text[at] == "\n" or text.startswith("\r\n", at)):
        at += 1 if text[at] == "\n" else 2
    return text[at:]


def _without_trailing_breaks(text: str) -> str:
    at = len(text)
    while at and text[at - 1] == "\n":
        at -= 2 if at > 1 and text[at - 2] == "\r" else 1
    return text[:at]
