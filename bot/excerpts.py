"""Pieces of foreign texts, made fit to be shown in ours: short, on one line, without markup. Pure."""

from __future__ import annotations

import re

import discord

from bot.markdown import is_grapheme_border

__all__ = ["bare", "clip", "one_line", "plain", "prose", "size"]

_ELLIPSIS = "…"
_LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]*)\)")  # a masked link
_EMPHASIS = re.compile(r"[*`]+|__|~~|\|\|")
_MENTION = re.compile(r"<(?=@|#|/|t:|a?:|id:)|@(?=everyone|here)")  # also an emoji, a time, a command
_ESCAPE = re.compile(r"\\([\W_])")
_WORD = 20  # code points; what is longer without a space is no word of a Western language
_GRAPHEME = 32  # code points; the longest emoji in use have 10, and text made to hurt is cut anyway


def clip(text: str, chars: int, most_bytes: int | None = None) -> str:
    """The text, or its beginning with `…`: at most `chars` code points and `most_bytes` of UTF-8.

    Never cuts through a visible character, nor through a word when a space is near.
    """
    if len(text) <= chars and (most_bytes is None or len(text.encode()) <= most_bytes):
        return text
    end = max(0, chars - len(_ELLIPSIS))
    if most_bytes is not None:
        room = max(0, most_bytes - len(_ELLIPSIS.encode()))
        end = len(text[:end].encode()[:room].decode(errors="ignore"))
    for back in range(min(_GRAPHEME, end)):
        if is_grapheme_border(text, end - back):
            end -= back
            break
    space = text.rfind(" ", max(0, end - _WORD), end)
    if space > 0 and text[end - 1 : end + 1].isalnum():
        end = space
    # Half an escape would escape the ellipsis, or what comes after.
    kept = text[:end].rstrip()
    if (len(kept) - len(kept.rstrip("\\"))) % 2:
        kept = kept[:-1]
    return kept + _ELLIPSIS


def one_line(text: str, chars: int) -> str:
    """All white space as single spaces, then `clip`."""
    # Slice first: a greeting may have megabytes, of which a line is wanted.
    return clip(" ".join(text[: chars * 8].split()), chars)


def plain(text: str, chars: int) -> str:
    """One line of somebody else's text that shows as it is: its markup is escaped."""
    line = one_line(text, chars)
    parts, end = [], 0
    for link in _LINK.finditer(line):
        parts += [_escaped(line[end : link.start()]), r"\[", _escaped(link[1]), f"]({link[2]})"]
        end = link.end()
    return "".join([*parts, _escaped(line[end:])])


def _escaped(text: str) -> str:
    # Of several links discord.py escapes the first alone, so none are left to it; nobody's name may put a
    # link under our own words. The sign that stands in for them shows nothing: one of the text's own goes.
    text = text.replace("\0", "").replace("](", "]\0")
    escaped = discord.utils.escape_markdown(text).replace("\0", r"\(")
    return _MENTION.sub(r"\\\g<0>", escaped)


def bare(text: str) -> str:
    """What `plain` has made, for a place that shows no markup: without the escapes."""
    return _ESCAPE.sub(r"\1", text)


def prose(text: str, chars: int) -> str:
    """One line of a story as `plain`, without emphasis: cut in the middle, its signs are only noise."""
    return plain(_EMPHASIS.sub("", text[: chars * 8]), chars)


def size(count: int) -> str:
    """A number of bytes for people: `31.5 MiB`, `12 KiB`, `640 B`."""
    if count >= 1024 * 1024:
        return f"{count / 1024 / 1024:.1f} MiB"
    return f"{count // 1024} KiB" if count >= 1024 else f"{count} B"
