"""What a text would wake in world books: a panel for the eyes, and a file with everything. Pure.

Fired entries stand first with the reason, then those that a key woke and something else held back,
then all others by reason, counted (`ux` 6). The panel is a summary; the file leaves nothing out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import discord

from bot.bookpanel import place_words, sign_of
from bot.excerpts import clip, one_line, plain
from bot.handout import text_file
from bot.i18n import t
from bot.press import button
from bot.remarks import remark_text
from bot.sheet import Layout, Sheet
from engine.lore import ActiveEntry, Hit, Reason, Verdict
from engine.tavern import LoreTrial

__all__ = ["Scope", "reason_words", "trial_details", "trial_panel"]

Scope: TypeAlias = Literal["story", "alone", "book"]
"""Where the text was tried: in the story, in it without what was said before, in one book by itself."""

FILE = "details.md"
_FIRED = 10  # entries with their reasons on the panel
_NEAR = 6
_KINDS = 7  # reasons with their counts
_NAMES = 120  # characters of the names beside a count
_BAR = 12  # blocks: what a phone shows in one line
_WHOLE = 900_000  # code points of the file
_TEXT = 20_000
# Refused after a key had woken them; the other reasons are asked before any key is looked for.
_CLOSE = frozenset(
    {
        Reason.SECONDARY_ANY,
        Reason.SECONDARY_NOT_ALL,
        Reason.SECONDARY_NOT_ANY,
        Reason.SECONDARY_ALL,
        Reason.EXCLUDE_KEYS,
        Reason.ADDITIONAL_KEYS,
        Reason.GROUP_STICKY,
        Reason.GROUP_COOLDOWN,
        Reason.GROUP_SCORE,
        Reason.GROUP_TAKEN,
        Reason.GROUP_LOSER,
        Reason.PROBABILITY,
        Reason.BUDGET,
        Reason.BOOK_BUDGET,
    }
)


def trial_panel(
    trial: LoreTrial, text: str, scope: Scope, book_id: str, locale: str
) -> tuple[Layout, discord.File]:
    """The panel and its file. `book_id` is the book that was tried by itself, else empty."""
    sheet = Sheet()
    fired, close, far = _sorted(trial)
    sheet.text("\n".join(_head(trial, text, scope, len(fired), locale)), 1_300)
    sheet.text(_budget(trial, scope, locale), 300)
    sheet.text(_fired(trial, fired, locale), 3_400)
    sheet.text(_close(close, locale), 1_800)
    sheet.text(_far(far, locale), 1_500)
    sheet.text(_remarks(trial, locale), 700)
    sheet.row(button("world-try", *([book_id] if book_id else []), label=t(locale, "world.again")))
    view = sheet.layout()
    view.add_item(discord.ui.File[Any](f"attachment://{FILE}"))
    return view, text_file(trial_details(trial, text, scope, locale), FILE)


def reason_words(verdict: Verdict, locale: str) -> str:
    """Why an entry is in, or is not, with where its key stood."""
    facts: dict[str, object] = {
        name: plain(fact, 80) if isinstance(fact, str) else f"{fact:g}"
        for name, fact in verdict.facts.items()
        if name != "where"
    }
    if "where" in verdict.facts:
        facts["where"] = t(locale, f"lore.where.{verdict.facts['where']}")
    words = t(locale, f"lore.reason.{verdict.reason.slug}", **facts)
    if not verdict.fired:
        return words
    far = next((_distance(hit, locale) for hit in verdict.hits if not hit.secondary), "")
    return f"{words} {far}".rstrip()


def trial_details(trial: LoreTrial, text: str, scope: Scope, locale: str) -> str:
    """A Markdown file: the text, the books in their order, every entry with its verdict."""
    fired, close, far = _sorted(trial)
    parts = [
        f"# {t(locale, 'world.trial.title')}",
        _quoted(clip(text, _TEXT)),
        "\n".join(_where(trial, scope, locale)),
        _plain_budget(trial, scope, locale),
        _section(t(locale, "world.trial.books_read"), _book_lines(trial, locale)),
    ]
    active = {entry.id: entry for entry in trial.activation.entries}
    parts.append(
        _section(
            t(locale, "world.trial.fired", n=len(fired)), (_whole(trial, v, active, locale) for v in fired)
        )
    )
    for title, verdicts in (("world.trial.close", close), ("world.trial.far", far)):
        lines = (
            f"{_book_of(trial, v)} · #{v.entry.uid} {one_line(v.entry.label, 100)}: "
            f"{reason_words(v, locale)} ({v.reason.number})"
            for v in verdicts
        )
        parts.append(_section(t(locale, title, n=len(verdicts)), lines))
    remarks = (
        f"{remark_text(locale, note)} ({note.code}{' @ ' + note.where if note.where else ''})"
        for note in trial.remarks
    )
    parts.append(_section(t(locale, "world.trial.remarks"), remarks))
    return clip("\n\n".join(filter(None, parts)) + "\n", _WHOLE)


# -- the panel's parts -----------------------------------------------------------------------------


def _head(trial: LoreTrial, text: str, scope: Scope, fired: int, locale: str) -> list[str]:
    total = len(trial.activation.verdicts)
    return [
        f"## 🔎 {t(locale, 'world.trial.would_fire', n=fired, total=total)}",
        f"> {plain(text, 200)}",
        *(f"-# {line}" for line in _where(trial, scope, locale)),
    ]


def _where(trial: LoreTrial, scope: Scope, locale: str) -> list[str]:
    books = t(locale, "world.trial.books", n=len(trial.books))
    if scope == "book":
        name = plain(trial.books[0].book.name, 80) if trial.books else ""
        return [t(locale, "world.trial.in_book", book=name)]
    if scope == "alone":
        return [t(locale, "world.trial.alone", books=books)]
    if not trial.before:
        return [t(locale, "world.trial.in_story_first", books=books)]
    return [t(locale, "world.trial.in_story", n=trial.before, books=books)]


def _budget(trial: LoreTrial, scope: Scope, locale: str) -> str:
    budget, words = trial.activation.budget, _plain_budget(trial, scope, locale)
    if budget.limit is None:
        return words
    share = min(1.0, budget.used / max(1, budget.limit))
    full = max(round(share * _BAR), 1 if budget.used else 0)
    return f"`{'█' * full}{'░' * (_BAR - full)}` {words}"


def _plain_budget(trial: LoreTrial, scope: Scope, locale: str) -> str:
    budget, used = trial.activation.budget, f"{trial.activation.budget.used:,}"
    if scope == "book":  # no model reads it, so nothing limits it
        return t(locale, "world.tokens", n=budget.used)
    if budget.limit is None:
        return t(locale, "world.trial.budget_open", used=used)
    words = t(locale, "world.trial.budget", used=used, limit=f"{budget.limit:,}")
    return f"{words} {t(locale, 'world.trial.budget_full')}" if budget.overflowed else words


def _fired(trial: LoreTrial, fired: Sequence[Verdict], locale: str) -> str:
    if not fired:
        return t(locale, "world.trial.none_fired")
    lines = []
    for verdict in fired[:_FIRED]:
        tokens = t(locale, "world.tokens", n=verdict.tokens)
        order = t(locale, "world.order", order=verdict.entry.order)
        facts = [place_words(verdict.entry, locale), order, tokens]
        book = f" *{plain(_book_of(trial, verdict), 40)}*" if len(trial.books) > 1 else ""
        label = plain(verdict.entry.label, 60)
        lines.append(f"{sign_of(verdict.entry)} **{label}**{book} · {' · '.join(facts)}")
        lines.append(f"-# {_why(trial, verdict, locale)}")
    if len(fired) > _FIRED:
        lines.append(f"-# {t(locale, 'world.trial.in_file', n=len(fired) - _FIRED)}")
    return "\n".join(lines)


def _why(trial: LoreTrial, verdict: Verdict, locale: str) -> str:
    words = reason_words(verdict, locale)
    if verdict.kind == "recursion":
        words += f" · {t(locale, 'world.trial.pass', n=verdict.number)}"
    unsaid = trial.unsaid.get(verdict.id)
    if unsaid is not None:
        outlet = plain(verdict.entry.outlet, 60)
        words += f" · ⚠ {t(locale, f'lore.reason.{unsaid.slug}', outlet=outlet)}"
    return words


def _close(close: Sequence[Verdict], locale: str) -> str:
    if not close:
        return ""
    lines = [f"**{t(locale, 'world.trial.close', n=len(close))}**"]
    for verdict in close[:_NEAR]:
        keys = ", ".join(f"“{plain(hit.key, 40)}”" for hit in verdict.hits[:2] if not hit.secondary)
        found = f" {t(locale, 'world.trial.found', keys=keys)}" if keys else ""
        lines.append(f"⚪ **{plain(verdict.entry.label, 60)}** · {reason_words(verdict, locale)}{found}")
    if len(close) > _NEAR:
        lines.append(f"-# {t(locale, 'world.trial.in_file', n=len(close) - _NEAR)}")
    return "\n".join(lines)


def _far(far: Sequence[Verdict], locale: str) -> str:
    if not far:
        return ""
    kinds: dict[str, list[str]] = {}
    for verdict in far:
        kinds.setdefault(reason_words(verdict, locale), []).append(one_line(verdict.entry.label, 40))
    lines = [f"**{t(locale, 'world.trial.far', n=len(far))}**"]
    for words, labels in sorted(kinds.items(), key=lambda item: -len(item[1]))[:_KINDS]:
        lines.append(f"- {words} **{len(labels)}**: {plain(', '.join(labels), _NAMES)}")
    if len(kinds) > _KINDS:
        lines.append(f"-# {t(locale, 'world.trial.in_file', n=sum(map(len, list(kinds.values())[_KINDS:])))}")
    return "\n".join(lines)


def _remarks(trial: LoreTrial, locale: str) -> str:
    remarks = [note for note in trial.remarks if note.severity == "warning"]
    lines = [f"⚠ {plain(remark_text(locale, note), 200)}" for note in remarks[:3]]
    if trial.missing:
        lines.append(f"⚠ {t(locale, 'world.trial.missing', n=len(trial.missing))}")
    return "\n".join(lines)


# -- what both use ---------------------------------------------------------------------------------


def _sorted(trial: LoreTrial) -> tuple[list[Verdict], list[Verdict], list[Verdict]]:
    """(in, in reading order; held back after a key was found; all others)."""
    place = {entry.id: number for number, entry in enumerate(trial.activation.entries)}
    fired: list[Verdict] = []
    close: list[Verdict] = []
    far: list[Verdict] = []
    for verdict in trial.activation.verdicts:
        if verdict.fired:
            fired.append(verdict)
        elif verdict.hits or verdict.reason in _CLOSE:
            close.append(verdict)
        else:
            far.append(verdict)
    fired.sort(key=lambda verdict: place.get(verdict.id, len(place)))
    return fired, close, far


def _distance(hit: Hit, locale: str) -> str:
    if hit.where == "message":
        return t(locale, "world.trial.this_text") if hit.at == 0 else t(locale, "world.trial.back", n=hit.at)
    return ""


def _book_of(trial: LoreTrial, verdict: Verdict) -> str:
    book_id = verdict.id.rsplit(":", 1)[0]
    return next((held.book.name for held in trial.books if held.id == book_id), book_id)


def _book_lines(trial: LoreTrial, locale: str) -> Iterable[str]:
    for held in trial.books:
        ways = ", ".join(t(locale, f"world.origin.{origin}") for origin in trial.origins.get(held.id, ()))
        name = one_line(held.book.name, 100) or held.id
        yield " · ".join(filter(None, (name, t(locale, "card.entries", n=len(held.book.entries)), ways)))


def _whole(trial: LoreTrial, verdict: Verdict, active: Mapping[str, ActiveEntry], locale: str) -> str:
    """An active entry with all its hits and its text."""
    entry, found = verdict.entry, active.get(verdict.id)
    head = f"{_book_of(trial, verdict)} · #{entry.uid} {one_line(entry.label, 100)}"
    facts = [
        place_words(entry, locale),
        t(locale, "world.order", order=entry.order),
        t(locale, "world.tokens", n=verdict.tokens),
        t(locale, "world.trial.pass", n=verdict.number),
    ]
    lines = [head, " · ".join(facts), f"{_why(trial, verdict, locale)} ({verdict.reason.number})"]
    for hit in verdict.hits:
        where = t(locale, f"lore.where.{hit.where}")
        lines.append(f"“{one_line(hit.key, 100)}”: {where} {_distance(hit, locale)}".rstrip())
    if found is not None:
        lines.append(_quoted(found.text))
    return "\n  ".join("\n".join(lines).split("\n"))


def _section(title: str, lines: Iterable[str]) -> str:
    made = [f"- {line}" for line in lines]
    return f"## {title}\n\n" + "\n".join(made) if made else ""


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))
