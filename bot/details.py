"""What does not fit on a panel, as a text file: sizes by field, greetings, entries, every remark.

Pure, and slow for a card of megabytes: run it off the event loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from bot.excerpts import clip, one_line, size
from bot.i18n import t
from bot.remarks import remark_text
from engine.library import ResourceRow
from engine.llm.narrator.scene import estimate_tokens
from engine.resources import Card, Compatibility, Diagnostic, Preset, card_facts, compatibility

__all__ = ["card_details", "preset_details"]

_WHOLE = 1_000_000  # code points of a file: what a text editor on a phone still opens


def card_details(row: ResourceRow, card: Card, locale: str) -> bytes:
    """A Markdown file about a card."""
    facts = card_facts(card, estimate_tokens)
    compatible = compatibility(card)
    parts = [
        _head(row, f"spec {card.spec} {card.spec_version}".rstrip(), locale),
        _list(
            t(locale, "card.tokens_title"),
            (f"{t(locale, f'card.field.{field}')}: {count}" for field, count in facts.tokens),
        ),
        _remarks(row.warnings, locale),
        _notes(compatible, {remark.code for remark in row.warnings}, locale),
    ]
    if notes := card.notes_for(locale):
        parts.append(f"## {t(locale, 'card.notes')}\n\n{notes}")
    parts += [
        f"## {t(locale, 'card.greeting_title', index=index, count=len(card.greetings))}\n\n{text}"
        for index, text in enumerate(card.greetings, start=1)
    ]
    if group := [text for text in card.group_only_greetings if text.strip()]:
        parts.append(f"## {t(locale, 'card.group_greetings_title')}\n\n" + "\n\n---\n\n".join(group))
    if card.book is not None and card.book.entries:
        parts.append(_list(t(locale, "card.entries", n=len(card.book.entries)), _entries(card)))
    return _file(parts)


def preset_details(row: ResourceRow, preset: Preset, locale: str) -> bytes:
    """A Markdown file about a preset."""
    prompts = (
        f"[{'x' if prompt.enabled else ' '}] {one_line(prompt.name or prompt.identifier, 100)}"
        f" · {'—' if prompt.marker else prompt.role} · {estimate_tokens(prompt.content)}"
        for prompt in preset.prompts
    )
    return _file(
        [
            _head(row, "", locale),
            _remarks(row.warnings, locale),
            _list(t(locale, "preset.prompts", n=len(preset.prompts)), prompts),
        ]
    )


def _head(row: ResourceRow, form: str, locale: str) -> str:
    when = datetime.fromtimestamp(row.created_at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    facts = (row.filename, size(row.size), form, when, row.id)
    return f"# {one_line(row.name, 200)}\n\n{' · '.join(filter(None, facts))}"


def _remarks(remarks: tuple[Diagnostic, ...], locale: str) -> str:
    if not remarks:
        return ""
    lines = (
        f"{remark_text(locale, remark)} ({remark.code}{' @ ' + remark.where if remark.where else ''})"
        for remark in remarks
    )
    return _list(t(locale, "card.warnings", n=len(remarks)), lines)


def _notes(found: Compatibility, told: set[str], locale: str) -> str:
    """What passes through or does not act here, beside what was put right."""
    lines = [remark_text(locale, remark) for remark in found.warnings if remark.code not in told]
    lines += [t(locale, f"card.unsupported.{name}") for name in found.unsupported]
    return _list(t(locale, "card.compatibility"), lines) if lines else ""


def _entries(card: Card) -> Iterator[str]:
    assert card.book is not None  # the caller looked
    for entry in card.book.entries:
        mark = "●" if entry.constant else "○"  # always there, or when a key is said
        state = mark if entry.enabled else "–"
        keys = one_line(", ".join(entry.keys), 200)
        tokens = estimate_tokens(entry.content)
        yield " · ".join(filter(None, (f"{state} {one_line(entry.label, 100)}", keys, str(tokens))))


def _list(title: str, lines: Iterable[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines)


def _file(parts: Iterable[str]) -> bytes:
    return clip("\n\n".join(filter(None, parts)) + "\n", _WHOLE).encode()
