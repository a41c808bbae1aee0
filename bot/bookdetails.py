"""All of a world book as a text file: every entry with its keys, its place and its words. Pure."""

from __future__ import annotations

from bot.bookpanel import book_facts, entry_facts, sign_of
from bot.excerpts import clip, one_line, size
from bot.i18n import t
from bot.remarks import remark_text
from engine.library import ResourceRow
from engine.resources import WorldBook

__all__ = ["book_details"]

_WHOLE = 1_000_000  # code points of a file: what a text editor on a phone still opens


def book_details(row: ResourceRow, book: WorldBook, locale: str) -> bytes:
    """A Markdown file about a book."""
    facts = " · ".join(filter(None, (row.filename, size(row.size), book.format, row.id)))
    parts = [f"# {one_line(row.name, 200)}\n\n{facts}", *book_facts(book, locale), book.description]
    if row.kind == "world_book" and row.warnings:
        lines = (
            f"- {remark_text(locale, remark)} ({remark.code}{' @ ' + remark.where if remark.where else ''})"
            for remark in row.warnings
        )
        title = t(locale, "card.warnings", n=len(row.warnings))
        parts.append("\n".join([f"## {title}", "", *lines]))
    for entry in book.entries:
        head = f"## {sign_of(entry)} #{entry.uid} {one_line(entry.label, 150)}"
        parts.append("\n\n".join([head, "\n".join(entry_facts(entry, locale)), entry.content]))
    return clip("\n\n".join(filter(None, parts)) + "\n", _WHOLE).encode()
