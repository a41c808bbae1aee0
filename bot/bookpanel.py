"""The panels of a world book and of one of its entries. Pure, but for needing a running loop.

A book is shown page by page with a menu to open an entry; where a reader is stands in the ids. The
book that is embedded in a card is shown by the same panels, under the card's id.
"""

from __future__ import annotations

from collections.abc import Sequence

import discord

from bot.excerpts import clip, one_line, plain
from bot.i18n import t
from bot.press import button, menu
from bot.remarks import remarks_text
from bot.sheet import DANGER, PRIMARY, Layout, Reader, Sheet
from engine.library import ResourceRow
from engine.resources import Entry, WorldBook
from engine.session import estimate_tokens

__all__ = [
    "ENTRIES",
    "book_facts",
    "book_line",
    "book_panel",
    "books_panel",
    "confirm_removal",
    "edit_book_panel",
    "entry_facts",
    "entry_panel",
    "place_words",
    "sign_of",
    "ways_words",
]

ENTRIES = 10  # on a page: what a phone shows at once
_LINE = 260  # bytes of an entry's line
_CONTENT = 4_000  # bytes of an entry's text on its panel
_MENU = 25  # what a menu of Discord holds
_WAYS = ("exclude_recursion", "prevent_recursion")


def book_panel(
    row: ResourceRow,
    book: WorldBook,
    reader: Reader,
    page: int = 0,
    *,
    note: str = "",
    arrived: bool = False,
    stopped: Sequence[tuple[str, str]] = (),
) -> Layout:
    """A book with one page of its entries; `page` counts from 0 and is moved into what there is.

    `note` is a line of its own at the top; with `arrived` the panel tells what was put right. `stopped` are
    the patterns (source, flags) among its keys that took too long and are not run any more.
    """
    sheet, locale = Sheet(), reader.locale
    sheet.text(_head(row, book, locale, note, arrived=arrived), 2_000)
    if arrived:
        sheet.text(remarks_text(row.warnings, locale), 2_000)
    if stopped:
        patterns = ", ".join(
            f"`{one_line(f'/{source}/{flags}', 60).replace('`', 'ˋ')}`" for source, flags in stopped[:3]
        )
        sheet.text(f"⏱ {t(locale, 'world.stopped', n=len(stopped))} {patterns}", 500)
    pages = max(1, -(-len(book.entries) // ENTRIES))
    page = min(max(page, 0), pages - 1)
    shown = book.entries[page * ENTRIES : (page + 1) * ENTRIES]
    if shown:
        legend = f"-# {t(locale, 'world.legend')}"
        lines = (clip(_line(entry, locale), 240, _LINE) for entry in shown)
        sheet.text("\n".join([*lines, legend]), 3_200)
        options = [_option(entry, locale) for entry in shown]
        sheet.row(menu("world-entry", row.id, page, options=options, placeholder=t(locale, "world.open")))
    if pages > 1:
        sheet.row(
            button("world-leaf", row.id, page - 1, label="◀", disabled=page == 0),
            button("world-find", row.id, page, label=f"{page + 1}/{pages}", emoji="🔍"),
            button("world-leaf", row.id, page + 1, label="▶", disabled=page == pages - 1),
        )
    sheet.row(*_book_buttons(row, reader))
    if stopped and reader.can_change:
        sheet.row(button("world-pardon", row.id, label=t(locale, "regex.pardon")))
    return sheet.layout()


def book_line(row: ResourceRow, locale: str) -> str:
    """A book's one or two lines in a list."""
    facts = [t(locale, "card.entries", n=row.summary.get("entries", 0))]
    if constant := row.summary.get("constant"):
        facts.append(t(locale, "world.constant_short", count=constant))
    line = f"**{plain(row.name, 80)}** · {' · '.join(facts)}"
    about = plain(str(row.summary.get("line", "")), 120)
    return f"{line}\n-# {about}" if about else line


def books_panel(
    rows: Sequence[ResourceRow], locale: str, *, in_story: bool, along: Sequence[tuple[str, str]] = ()
) -> Layout:
    """The books that a story, or new stories of a channel, use; in their order. `along` are those that come
    by themselves (name, entry count and why in words), and are read after them. One that was deleted is
    read all the same, so it is named."""
    sheet = Sheet()
    title = t(locale, "world.here_story" if in_story else "world.here_channel")
    lines = [
        f"{number}. {book_line(row, locale)}"
        if row.deleted_at is None
        else f"{number}. " + t(locale, "world.here_gone", name=plain(row.name, 80))
        for number, row in enumerate(rows[:_MENU], 1)
    ]
    sheet.text("\n".join([f"## {title}", *(lines or [t(locale, "world.here_none")])]), 5_500)
    if along:
        more = (f"- **{plain(name, 80)}** · {why}" for name, why in along[:_MENU])
        sheet.text("\n".join([f"**{t(locale, 'world.here_along')}**", *more]), 1_500)
    options = [
        discord.SelectOption(label=one_line(row.name, 100) or "…", value=row.id)
        for row in rows[:_MENU]
        if row.deleted_at is None
    ]
    if options:
        sheet.row(menu("world-pick", options=options, placeholder=t(locale, "browse.open")))
    if in_story:
        sheet.row(button("world-try", label=t(locale, "world.test")))
    return sheet.layout()


def edit_book_panel(row: ResourceRow, book: WorldBook, locale: str, note: str = "") -> Layout:
    """What can be changed about a book as a whole."""
    sheet = Sheet()
    sheet.text(_head(row, book, locale, note), 2_400)
    sheet.text(f"-# {t(locale, 'world.edit_hint')}")
    revision = row.revision
    sheet.row(
        button("world-settings", row.id, revision, label=t(locale, "button.settings"), style=PRIMARY),
        button("world-add", row.id, revision, label=t(locale, "world.add")),
        button("world-show", row.id, label=t(locale, "button.back")),
    )
    if row.kind == "world_book":
        sheet.row(
            button("world-export", row.id, label=t(locale, "button.export")),
            button("world-delete", row.id, label=t(locale, "button.delete"), style=DANGER),
        )
    return sheet.layout()


def entry_panel(row: ResourceRow, entry: Entry, reader: Reader, page: int = 0, note: str = "") -> Layout:
    """One entry: when it comes, where it goes, what it says; and how to change that."""
    sheet, locale = Sheet(), reader.locale
    title = f"## {sign_of(entry)} {plain(entry.label, 150)}"
    head = [line for line in (note, title, f"-# {plain(row.name, 100)} · #{entry.uid}") if line]
    sheet.text("\n".join([*head, *entry_facts(entry, locale)]), 2_800)
    sheet.text(_content(entry, locale), _CONTENT)
    here = (row.id, row.revision, entry.uid, page)
    if reader.can_change:
        sheet.row(
            button("world-text", *here, label=t(locale, "world.text"), style=PRIMARY),
            button("world-keys", *here, label=t(locale, "world.keys")),
            button("world-place", *here, label=t(locale, "world.position")),
            button("world-more", *here, label=t(locale, "world.more")),
        )
        sheet.row(
            button("world-on", *here, label=t(locale, "button.off" if entry.enabled else "button.on")),
            button(
                "world-always", *here, label=t(locale, "world.by_key" if entry.constant else "world.always")
            ),
            button("world-remove", *here, label=t(locale, "button.remove"), style=DANGER),
            button("world-leaf", row.id, page, label=t(locale, "button.back")),
        )
    else:
        sheet.row(button("world-leaf", row.id, page, label=t(locale, "button.back")))
    return sheet.layout()


def confirm_removal(row: ResourceRow, entry: Entry, page: int, locale: str) -> Layout:
    """The question before an entry goes."""
    sheet = Sheet()
    sheet.text(t(locale, "world.remove_confirm", entry=plain(entry.label, 150), book=plain(row.name, 100)))
    here = (row.id, row.revision, entry.uid, page)
    sheet.row(
        button("world-remove-yes", *here, label=t(locale, "button.remove"), style=DANGER),
        button("world-remove-no", row.id, entry.uid, page, label=t(locale, "button.keep")),
    )
    return sheet.layout()


# -- words ---------------------------------------------------------------------------------------


def sign_of(entry: Entry) -> str:
    """🔵 always, 🟢 by its keys, ⚪ switched off: SillyTavern's own signs."""
    if not entry.enabled:
        return "⚪"
    return "🔵" if entry.constant else "🟢"


def place_words(entry: Entry, locale: str) -> str:
    """Where an entry's text goes."""
    outlet = plain(entry.outlet, 60) or "—"
    role = t(locale, f"world.role.{entry.role}")
    return t(locale, f"world.place.{entry.position}", depth=entry.depth, role=role, outlet=outlet)


def ways_words(entry: Entry, locale: str) -> list[str]:
    """How it goes with what other entries write."""
    found = [t(locale, f"world.way.{name}") for name in _WAYS if getattr(entry, name)]
    if entry.delay_until_recursion:
        found.append(t(locale, "world.way.delay_until_recursion", level=entry.delay_until_recursion))
    return found


def book_facts(book: WorldBook, locale: str) -> list[str]:
    """Counts, then the book's own settings."""
    on = [entry for entry in book.entries if entry.enabled]
    always = [entry for entry in on if entry.constant]
    counts = [t(locale, "card.entries", n=len(book.entries))]
    if len(on) < len(book.entries):
        counts.append(t(locale, "world.on", count=len(on)))
    if always:
        tokens = sum(estimate_tokens(entry.content) for entry in always)
        counts.append(t(locale, "world.constant", count=len(always), tokens=f"{tokens:,}"))
    settings = []
    if book.scan_depth is not None:
        settings.append(t(locale, "world.scan_depth", n=book.scan_depth))
    if book.token_budget is not None:
        settings.append(t(locale, "world.token_budget", count=f"{book.token_budget:,}"))
    if book.recursive is not None:
        settings.append(t(locale, "world.recursive_on" if book.recursive else "world.recursive_off"))
    lines = [" · ".join(counts)]
    return [*lines, f"-# {' · '.join(settings)}"] if settings else lines


def entry_facts(entry: Entry, locale: str) -> list[str]:
    """When an entry comes and where it goes, one fact a line."""
    lines = [f"**{t(locale, 'world.keys')}** {_listed(entry.keys) or t(locale, 'world.no_keys')}"]
    if entry.secondary_keys:
        logic = t(locale, f"world.logic.{entry.logic}")
        off = "" if entry.selective else f" ({t(locale, 'world.not_selective')})"
        lines.append(f"**{t(locale, 'world.secondary')}** {logic}{off}: {_listed(entry.secondary_keys)}")
    tokens = estimate_tokens(entry.content)
    place = place_words(entry, locale)
    order = t(locale, "world.order", order=entry.order)
    lines.append(f"{place} · {order} · {t(locale, 'world.tokens', n=tokens)}")
    more = _conditions(entry, locale)
    return [*lines, f"-# {' · '.join(more)}"] if more else lines


def _conditions(entry: Entry, locale: str) -> list[str]:
    found = []
    if entry.use_probability and entry.probability < 100:
        found.append(t(locale, "world.chance", percent=f"{entry.probability:g}"))
    if entry.group:
        found.append(t(locale, "world.group", group=plain(entry.group, 60)))
    for name in ("sticky", "cooldown", "delay"):
        if value := getattr(entry, name):
            found.append(t(locale, f"world.timed.{name}", n=value))
    if entry.scan_depth is not None:
        found.append(t(locale, "world.scan_depth", n=entry.scan_depth))
    if entry.case_sensitive is not None:
        found.append(t(locale, f"world.case.{str(entry.case_sensitive).lower()}"))
    if entry.whole_words is not None:
        found.append(t(locale, f"world.whole.{str(entry.whole_words).lower()}"))
    if entry.ignore_budget:
        found.append(t(locale, "world.ignore_budget"))
    if entry.triggers:
        found.append(t(locale, "world.triggers", kinds=plain(", ".join(entry.triggers), 80)))
    if entry.vectorized:
        found.append(t(locale, "world.vectorized"))
    return [*found, *ways_words(entry, locale)]


# -- parts ---------------------------------------------------------------------------------------


def _head(row: ResourceRow, book: WorldBook, locale: str, note: str = "", *, arrived: bool = False) -> str:
    name = plain(row.name, 200)
    if row.kind == "card":
        name = t(locale, "world.of_card", name=name)
    title = f"## 📖 {name}"
    if arrived:
        title = f"### {t(locale, 'world.imported_again' if row.known else 'world.imported', name=name)}"
    lines = [note, title, plain(book.description, 300), *book_facts(book, locale)]
    return "\n".join(line for line in lines if line)


def _line(entry: Entry, locale: str) -> str:
    keys = "" if entry.constant else _listed(entry.keys, 60) or t(locale, "world.no_keys")
    tokens = t(locale, "world.tokens", n=estimate_tokens(entry.content))
    facts = [f"{sign_of(entry)} **{plain(entry.label, 60)}**", keys, place_words(entry, locale), tokens]
    return " · ".join(fact for fact in facts if fact)


def _option(entry: Entry, locale: str) -> discord.SelectOption:
    about = one_line(", ".join(entry.keys), 60) or place_words(entry, locale)
    return discord.SelectOption(
        label=one_line(entry.label, 90) or "…",
        value=str(entry.uid),
        description=one_line(about, 100) or None,
        emoji=sign_of(entry),
    )


def _content(entry: Entry, locale: str) -> str:
    """The text as it is written; a fence keeps its markup from playing tricks."""
    if not entry.content.strip():
        return f"*{t(locale, 'edit.nothing')}*"
    text = clip(entry.content.replace("```", "ʼʼʼ"), 1_500, _CONTENT - 12)
    return f"```\n{text}\n```"


def _book_buttons(row: ResourceRow, reader: Reader) -> list[discord.ui.Button[discord.ui.View]]:
    locale, buttons = reader.locale, []
    if reader.can_play and row.kind == "world_book":
        buttons.append(button("world-bind", row.id, label=t(locale, "button.bind"), style=PRIMARY))
    buttons.append(button("world-try", row.id, label=t(locale, "world.test")))
    if reader.can_change:
        buttons.append(button("world-edit", row.id, label=t(locale, "button.edit")))
    buttons.append(button("world-details", row.id, label=t(locale, "button.details")))
    return buttons


def _listed(keys: Sequence[str], chars: int = 300) -> str:
    return plain(", ".join(key for key in keys if key.strip()), chars)
