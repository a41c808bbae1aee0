"""The panels of a card in Components V2: facts in, a layout out. Pure, but for needing a running loop.

Each has a title, at most one picture, facts in short lines, and buttons with the most wanted first
(`ux` 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import discord

from bot.choices import gone_on
from bot.excerpts import clip, one_line, plain, prose
from bot.i18n import t
from bot.press import button, menu
from bot.remarks import remarks_text
from bot.sheet import DANGER, PRIMARY, Layout, Reader, Sheet
from engine.library import ResourceRow
from engine.macros import Authored, MacroContext, expand
from engine.resources import Card, CardFacts, Diagnostic

__all__ = ["CARD_TEXTS", "PORTRAIT", "CardView", "card_edit_panel", "card_line", "card_panel"]

PORTRAIT = "portrait"
"""The name, without its ending, of the attachment that a panel shows."""

CARD_TEXTS = (
    "description",
    "personality",
    "scenario",
    "mes_example",
    "creator_notes",
    "system_prompt",
    "post_history_instructions",
)
"""The texts of a card that are edited one by one, under their names in `EDITABLE`."""

MOJIBAKE = "double-encoded-text"
_GREETINGS = 5


@dataclass(frozen=True, slots=True)
class CardView:
    """What a panel needs to know of a card. `scripts_allowed` is what was said about its scripts, if
    anything; `picture` the file name of the attachment that goes along; `books` how many come along;
    `lost` are deleted cards of the same name, whose place it may take."""

    row: ResourceRow
    card: Card
    facts: CardFacts
    scripts_allowed: bool | None = None
    picture: str | None = None
    books: int = 0
    lost: Sequence[ResourceRow] = ()


def card_panel(view: CardView, reader: Reader, *, arrived: bool) -> Layout:
    """A card as `/card show` shows it; or when it `arrived` just now, with what was put right."""
    sheet = Sheet()
    row, card, locale = view.row, view.card, reader.locale
    title = f"### {_arrived(row, locale)}" if arrived else f"## {_named(row)}"
    head = "\n".join([title, *_card_facts(view, locale)])
    if view.picture is None:
        sheet.text(head, 1_600)
    else:
        # A picture for adults stays covered until somebody wants to see it.
        face = discord.ui.Thumbnail[Any](f"attachment://{view.picture}", spoiler=row.nsfw)
        sheet.section(head, 1_600, face)
    if not arrived:
        sheet.text(_description(card, reader), 1_500)
    sheet.text(_greetings(card, reader), 1_800)
    sheet.text("\n".join(_extras(view, locale)), 900)
    if arrived:
        sheet.text(remarks_text(row.warnings, locale), 2_400)
    else:
        sheet.text(_tokens(view.facts.tokens, locale), 800)
        sheet.text(_remark_count(row.warnings, locale), 300)
    if view.lost:
        sheet.text(f"**{t(locale, 'card.relink_about')}**", 600)
        sheet.row(_relink_menu(view, locale))
    first, second = _card_buttons(view, reader)
    sheet.row(*first)
    sheet.row(*second)
    return sheet.layout()


def card_edit_panel(view: CardView, reader: Reader, note: str = "") -> Layout:
    """What can be changed about a card, with what stands there now."""
    sheet, row, card, locale = Sheet(), view.row, view.card, reader.locale
    sheet.text(f"## ✏️ {_named(row)}\n{note}", 900)
    fields = [(key, str(getattr(card, key))) for key in CARD_TEXTS]
    lines = [
        f"**{t(locale, f'card.edit.{key}')}** · {_length(text, locale)}"
        + (f"\n-# {prose(text, 90)}" if text.strip() else "")
        for key, text in fields
    ]
    sheet.text("\n".join(lines), 5_000)
    greetings = 1 + len(card.alternate_greetings)
    options = [
        discord.SelectOption(
            label=t(locale, "card.edit.names"), value="names", description=one_line(card.name, 100) or None
        ),
        discord.SelectOption(
            label=t(locale, "card.edit.greetings"),
            value="greetings",
            description=t(locale, "card.greetings", n=greetings),
        ),
        *(
            discord.SelectOption(
                label=t(locale, f"card.edit.{key}"), value=key, description=one_line(text, 90) or None
            )
            for key, text in fields
        ),
        discord.SelectOption(
            label=t(locale, "library.books_title"), value="books", description=str(view.books)
        ),
    ]
    chooser = menu("card-field", row.id, options=options, placeholder=t(locale, "edit.choose"))
    sheet.row(chooser)
    sheet.row(button("card-show", row.id, label=t(locale, "button.back")))
    return sheet.layout()


def card_line(row: ResourceRow, locale: str) -> str:
    """A card in a list: a line, and a small one of what it says about itself."""
    facts = [t(locale, "card.greetings", n=row.summary.get("greetings", 0))]
    if row.summary.get("creator"):
        facts.insert(0, t(locale, "card.by", creator=plain(str(row.summary["creator"]), 40)))
    line = f"**{plain(row.name, 80)}** · {' · '.join(facts)}" + (" · 🔞" if row.nsfw else "")
    about = prose(str(row.summary.get("line", "")), 80)
    return f"{line}\n-# {about}" if about else line


# -- parts ---------------------------------------------------------------------------------------


def _named(row: ResourceRow) -> str:
    return plain(row.name, 200) + (" 🔞" if row.nsfw else "")


def _arrived(row: ResourceRow, locale: str) -> str:
    key = "card.imported_again" if row.known else "card.relinked" if row.relinked else "card.imported"
    return t(locale, key, name=plain(row.name, 200))


def _relink_menu(view: CardView, locale: str) -> discord.ui.Select[Any]:
    options = [
        discord.SelectOption(label=one_line(f"{each.name} — {gone_on(each)}", 100), value=each.id)
        for each in view.lost[:25]
    ]
    return menu("card-relink", view.row.id, options=options, placeholder=t(locale, "card.relink"))


def _length(text: str, locale: str) -> str:
    return t(locale, "edit.chars", n=len(text)) if text.strip() else t(locale, "edit.nothing")


def _card_facts(view: CardView, locale: str) -> list[str]:
    row, card, facts = view.row, view.card, view.facts
    who = []
    if card.nickname.strip() and card.nickname.strip() != card.name:
        who.append(f"“{plain(card.nickname, 80)}”")
    if card.creator.strip():
        who.append(t(locale, "card.by", creator=plain(card.creator, 80)))
    if card.character_version.strip():
        who.append(t(locale, "card.version", version=plain(card.character_version, 40)))
    lines = [" · ".join(who)]
    if row.tags:
        lines.append(t(locale, "card.tags", tags=plain(", ".join(row.tags), 200)))
    if row.nsfw:
        lines.append(t(locale, "card.nsfw"))
    counts = [t(locale, "card.greetings", n=facts.greetings)]
    if facts.group_greetings:
        counts.append(t(locale, "card.group_greetings", n=facts.group_greetings))
    if card.book is not None:
        constant = sum(entry.constant and entry.enabled for entry in card.book.entries)
        text = t(locale, "card.entries", n=facts.entries)
        counts.append(text + (t(locale, "card.entries_constant", count=constant) if constant else ""))
    lines.append(" · ".join(counts))
    return [line for line in lines if line]


def _extras(view: CardView, locale: str) -> list[str]:
    """Scripts, variables, books that come along, and what does not act here."""
    facts, lines = view.facts, []
    if facts.scripts:
        state = {True: "on", False: "off", None: "unasked"}[view.scripts_allowed]
        lines.append(
            f"⚙️ {t(locale, 'card.scripts', n=facts.scripts)} {t(locale, f'library.scripts_{state}')}"
        )
    if facts.variables:
        lines.append(f"📊 {t(locale, 'card.variables')}")
    if view.books:
        lines.append(f"📖 {t(locale, 'card.books', n=view.books)}")
    if foreign := facts.helper_scripts + facts.risu_scripts:
        lines.append(f"💤 {t(locale, 'card.foreign_scripts', n=foreign)}")
    return lines


def _description(card: Card, reader: Reader) -> str:
    notes = card.notes_for(reader.locale)
    text = _spoken(card.description or card.personality or notes, card, reader, 420)
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
    return prose(expand(Authored(text[: chars * 8]), names), chars)


def _tokens(tokens: Sequence[tuple[str, int]], locale: str) -> str:
    if not tokens:
        return ""
    fields = " · ".join(f"{t(locale, f'card.field.{field}')} {count}" for field, count in tokens)
    total = t(locale, "card.tokens", count=sum(count for _, count in tokens))
    return f"**{total}**\n-# {fields}"


def _remark_count(all_remarks: Sequence[Diagnostic], locale: str) -> str:
    count = sum(remark.severity == "warning" for remark in all_remarks)
    return f"-# ⚠️ {clip(t(locale, 'card.warnings_there', n=count), 200)}" if count else ""


def _card_buttons(
    view: CardView, reader: Reader
) -> tuple[list[discord.ui.Button[Any]], list[discord.ui.Button[Any]]]:
    """Two rows: what one does with a card, and what is done to it."""
    row, locale = view.row, reader.locale
    first = []
    if reader.can_play:
        first = [
            button("card-play", row.id, label=t(locale, "button.play"), style=PRIMARY),
            button("card-bind", row.id, label=t(locale, "button.bind")),
        ]
    if reader.can_change:
        first.append(button("card-edit", row.id, label=t(locale, "button.edit")))
    first.append(button("card-export", row.id, label=t(locale, "button.export")))
    second = [button("card-details", row.id, label=t(locale, "button.details"))]
    if reader.can_change:
        if any(remark.code == MOJIBAKE for remark in row.warnings):
            second.append(button("card-mend", row.id, row.revision, label=t(locale, "button.mend")))
        second += scripts_buttons("card", row, view.facts.scripts, view.scripts_allowed, locale)
        second.append(button("card-delete", row.id, label=t(locale, "button.delete"), style=DANGER))
    return first, second


def scripts_buttons(
    noun: str, row: ResourceRow, scripts: int, allowed: bool | None, locale: str
) -> list[discord.ui.Button[Any]]:
    """The buttons that let scripts run or stop them, and that show them."""
    if not scripts:
        return []
    word = "forbid" if allowed else "allow"
    text = t(locale, f"button.{word}")
    return [
        button(f"{noun}-scripts", row.id, int(not allowed), label=text, emoji="⚙️"),
        button("script-show", row.id, emoji="🧩"),
    ]
