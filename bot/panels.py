"""The library's panels in Components V2: facts in, a layout out. Pure, but for needing a running loop.

Each has a title, at most one picture, facts in short lines, and one row of buttons with the
most wanted first (`ux` 6). The limits are Discord's (spec discord B1): 40 components, 4000
characters, and some 10 000 bytes, which Chinese reaches first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import discord

from bot.excerpts import clip, plain, prose
from bot.i18n import t
from bot.press import button
from engine.library import Kind, ResourceRow
from engine.macros import MacroContext, expand
from engine.resources import Card, Diagnostic

__all__ = [
    "MOST_BYTES",
    "MOST_CHARS",
    "PAGE",
    "PORTRAIT",
    "Reader",
    "card_panel",
    "delete_row",
    "list_panel",
    "preset_panel",
]

Layout: TypeAlias = discord.ui.LayoutView
Items: TypeAlias = "list[discord.ui.Item[Any]]"

MOST_CHARS = 3_900  # of 4000
MOST_BYTES = 9_000  # of about 10 170, with 12 for each text
_TEXT_OVERHEAD = 12
PAGE = 10  # things on a page of a list: what a phone shows at once
PORTRAIT = "portrait"
"""The name, without its ending, of the attachment that a panel shows."""

_REMARKS = 5
_GREETINGS = 5
_ACCENT = 0xE8A355  # lamplight
_PRIMARY = discord.ButtonStyle.primary
_DANGER = discord.ButtonStyle.danger


@dataclass(frozen=True, slots=True)
class Reader:
    """Who looks at a panel: their language, the name they play under, and whether stories can be
    opened from where they are (not in a direct message)."""

    locale: str
    name: str
    can_play: bool


def card_panel(
    row: ResourceRow,
    card: Card,
    reader: Reader,
    *,
    picture: str | None,
    tokens: Sequence[tuple[str, int]] | None = None,
) -> Layout:
    """A card: as it came in, with what was put right; or with `tokens` as `/card show` shows it.

    `picture` is the file name of the attachment that goes along.
    """
    sheet = _Sheet()
    locale = reader.locale
    title = f"## {_named(row)}" if tokens is not None else f"### {_arrived(row, locale)}"
    head = "\n".join([title, *_card_facts(row, card, locale)])
    if picture is None:
        sheet.text(head, 1_600)
    else:
        # A picture for adults stays covered until somebody wants to see it.
        face = discord.ui.Thumbnail[Any](f"attachment://{picture}", spoiler=row.nsfw)
        sheet.section(head, 1_600, face)
    if tokens is not None:
        sheet.text(_description(card, reader), 1_500)
    sheet.text(_greetings(card, reader), 1_800)
    if tokens is not None:
        sheet.text(_tokens(tokens, locale), 800)
    else:
        sheet.text(_remarks(row.warnings, locale), 2_400)
    sheet.row(*_card_buttons(row, reader))
    return sheet.layout()


def preset_panel(row: ResourceRow, reader: Reader) -> Layout:
    """A preset as it came in."""
    sheet = _Sheet()
    locale = reader.locale
    summary = row.summary
    facts = [
        t(locale, "preset.prompts", n=summary.get("prompts", 0)),
        t(locale, "preset.enabled", count=summary.get("enabled", 0)),
    ]
    if summary.get("temperature") is not None:
        facts.append(t(locale, "preset.temperature", value=summary["temperature"]))
    if summary.get("max_tokens") is not None:
        facts.append(t(locale, "preset.max_tokens", count=summary["max_tokens"]))
    arrived = t(
        locale, "preset.imported_again" if row.known else "preset.imported", name=plain(row.name, 200)
    )
    sheet.text(f"### {arrived}\n{' · '.join(facts)}", 1_200)
    sheet.text(_remarks(row.warnings, locale), 2_400)
    buttons = [button("preset-details", row.id, label=t(locale, "button.details"))]
    if reader.can_play:
        buttons.insert(0, button("bind-preset", row.id, label=t(locale, "button.bind"), style=_PRIMARY))
    sheet.row(*buttons)
    return sheet.layout()


def list_panel(kind: Kind, rows: Sequence[ResourceRow], page: int, locale: str) -> Layout:
    """A page of a library's cards or presets; `page` counts from 0 and is moved into what there is."""
    sheet = _Sheet()
    pages = max(1, -(-len(rows) // PAGE))
    page = min(max(page, 0), pages - 1)
    shown = rows[page * PAGE : (page + 1) * PAGE]
    title = f"## {t(locale, f'{kind}.list_title')}"
    if not shown:
        sheet.text(f"{title}\n{t(locale, f'{kind}.list_empty')}", 1_200)
        return sheet.layout()
    lines = "\n".join(clip(_list_line(row, locale), 220) for row in shown)
    sheet.text(f"{title} · {len(rows)}\n{lines}", 6_000)
    if pages > 1:
        sheet.row(
            button(f"{kind}-page", page - 1, label="◀", disabled=page == 0),
            button(f"{kind}-pages", label=f"{page + 1}/{pages}", disabled=True),
            button(f"{kind}-page", page + 1, label="▶", disabled=page == pages - 1),
        )
    return sheet.layout()


def delete_row(row: ResourceRow, locale: str) -> discord.ui.View:
    """Under the question whether a card is to go."""
    view = discord.ui.View(timeout=None)
    view.add_item(button("delete-yes", row.id, label=t(locale, "button.delete"), style=_DANGER))
    view.add_item(button("delete-no", row.id, label=t(locale, "button.keep")))
    return view


# -- parts ---------------------------------------------------------------------------------------


def _named(row: ResourceRow) -> str:
    return plain(row.name, 200) + (" 🔞" if row.nsfw else "")


def _arrived(row: ResourceRow, locale: str) -> str:
    return t(locale, "card.imported_again" if row.known else "card.imported", name=plain(row.name, 200))


def _card_facts(row: ResourceRow, card: Card, locale: str) -> list[str]:
    facts = []
    if card.nickname.strip() and card.nickname.strip() != card.name:
        facts.append(f"“{plain(card.nickname, 80)}”")
    if card.creator.strip():
        facts.append(t(locale, "card.by", creator=plain(card.creator, 80)))
    if card.character_version.strip():
        facts.append(t(locale, "card.version", version=plain(card.character_version, 40)))
    lines = [" · ".join(facts)]
    if row.tags:
        lines.append(t(locale, "card.tags", tags=plain(", ".join(row.tags), 200)))
    if row.nsfw:
        lines.append(t(locale, "card.nsfw"))
    counts = [t(locale, "card.greetings", n=len(card.greetings))]
    if card.book is not None:
        counts.append(t(locale, "card.entries", n=len(card.book.entries)))
    lines.append(" · ".join(counts))
    return [line for line in lines if line]


def _description(card: Card, reader: Reader) -> str:
    text = _spoken(card.description or card.personality or card.creator_notes, card, reader, 420)
    return f"**{t(reader.locale, 'card.description')}**\n{text or t(reader.locale, 'card.no_description')}"


def _greetings(card: Card, reader: Reader) -> str:
    if not card.greetings:
        return ""
    lines = [
        f"{index}. {_spoken(text, card, reader, 110)}"
        for index, text in enumerate(card.greetings[:_GREETINGS], start=1)
    ]
    if len(card.greetings) > _GREETINGS:
        lines.append(t(reader.locale, "card.greetings_more", n=len(card.greetings) - _GREETINGS))
    return "\n".join([f"**{t(reader.locale, 'card.greetings_title')}**", *lines])


def _spoken(text: str, card: Card, reader: Reader, chars: int) -> str:
    """The beginning of a card's text as the reader would meet it in a story, on one line."""
    names = MacroContext(user=reader.name, char=card.speaker, group=(card.speaker,))
    return prose(expand(text[: chars * 8], names), chars)


def _tokens(tokens: Sequence[tuple[str, int]], locale: str) -> str:
    if not tokens:
        return ""
    fields = " · ".join(f"{t(locale, f'card.field.{field}')} {count}" for field, count in tokens)
    total = t(locale, "card.tokens", count=sum(count for _, count in tokens))
    return f"**{total}**\n-# {fields}"


def _remarks(all_remarks: Sequence[Diagnostic], locale: str) -> str:
    """The warnings; what is only worth knowing stands in the details."""
    remarks = [remark for remark in all_remarks if remark.severity == "warning"]
    if not remarks:
        return ""
    # A book of a hundred entries with the same slip was put right in one way, a hundred times.
    kinds = Counter(remark.message for remark in remarks).most_common()
    lines = [t(locale, "card.warnings", n=len(remarks))]
    for message, times in kinds[:_REMARKS]:
        lines.append(f"- {plain(message, 240)}" + (f" (×{times})" if times > 1 else ""))
    left = sum(times for _, times in kinds[_REMARKS:])
    if left:
        lines.append(t(locale, "card.warnings_more", n=left))
    return "\n".join(lines)


def _card_buttons(row: ResourceRow, reader: Reader) -> list[discord.ui.Button[Any]]:
    details = button("card-details", row.id, label=t(reader.locale, "button.details"))
    if not reader.can_play:
        return [details]
    return [
        button("play-card", row.id, label=t(reader.locale, "button.play"), style=_PRIMARY),
        button("bind-card", row.id, label=t(reader.locale, "button.bind")),
        details,
    ]


def _list_line(row: ResourceRow, locale: str) -> str:
    name = plain(row.name, 80)
    if row.kind == "preset":
        return t(
            locale,
            "preset.list_line",
            name=name,
            prompts=t(locale, "preset.prompts", n=row.summary.get("prompts", 0)),
        )
    greetings = t(locale, "card.greetings", n=row.summary.get("greetings", 0))
    line = t(locale, "card.list_line", name=name, greetings=greetings) + (" · 🔞" if row.nsfw else "")
    about = prose(str(row.summary.get("line", "")), 80)
    return f"{line}\n-# {about}" if about else line


class _Sheet:
    """A container that grows downward and stays within the limits of one message."""

    def __init__(self) -> None:
        self._items: Items = []
        self._row: Items = []
        self._chars = MOST_CHARS
        self._bytes = MOST_BYTES

    def text(self, text: str, most_bytes: int) -> None:
        """A text of at most `most_bytes`; nothing for an empty one."""
        if fitted := self._fit(text, most_bytes):
            self._items.append(discord.ui.TextDisplay(fitted))

    def section(self, text: str, most_bytes: int, beside: discord.ui.Item[Any]) -> None:
        """A text with a picture beside it."""
        self._items.append(discord.ui.Section(self._fit(text, most_bytes), accessory=beside))

    def row(self, *buttons: discord.ui.Button[Any]) -> None:
        """The row of buttons at the bottom."""
        self._row = [discord.ui.Separator(), discord.ui.ActionRow(*buttons)]

    def layout(self) -> Layout:
        view = discord.ui.LayoutView(timeout=None)
        view.add_item(discord.ui.Container(*self._items, *self._row, accent_colour=_ACCENT))
        return view

    def _fit(self, text: str, most_bytes: int) -> str:
        fitted = clip(text.strip(), self._chars, min(most_bytes, self._bytes - _TEXT_OVERHEAD))
        self._chars -= len(fitted)
        self._bytes -= len(fitted.encode()) + _TEXT_OVERHEAD
        return fitted
