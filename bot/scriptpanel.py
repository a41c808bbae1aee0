"""The panels of regex scripts: a list of them, one of them, and what they make of a text. Pure.

Scripts stand in a list of their own, in a preset or in a card; all three are shown and changed alike.
Those of a preset or card run only when whoever looks after the library has allowed it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import discord

from bot.excerpts import clip, one_line, plain
from bot.i18n import t
from bot.press import button, menu
from bot.remarks import remark_text, remarks_text
from bot.sheet import DANGER, PRIMARY, Layout, Reader, Sheet
from engine.errors import PatternRefused
from engine.library import ResourceRow
from engine.resources import Diagnostic, RegexScript
from engine.scripts import check_script, find_pattern, script_limits
from engine.tavern import ScriptTrial

__all__ = [
    "PLACEMENTS",
    "SCRIPTS",
    "ListView",
    "confirm_script_removal",
    "edit_list_panel",
    "list_panel",
    "pattern_of",
    "placement_words",
    "script_line",
    "script_panel",
    "scripts_details",
    "try_panel",
    "when_of",
]

SCRIPTS: Final = 10  # on a page: what a phone shows at once
PLACEMENTS: Final = (2, 1, 5, 6, 3)
"""SillyTavern's numbers of places, those that people use most first."""

# Remarks on a script that does not do what its author wanted at all.
_SEVERE: Final = frozenset(
    {"nothing-to-find", "no-placement", "flags-unknown", "depth-order", "invalid-pattern"}
)
_CODE = 60  # characters of a pattern on one line
_WHOLE = 1_000_000
_TRIED = 700  # characters of a text that was tried


@dataclass(frozen=True, slots=True)
class ListView:
    """What a panel shows: the resource, its scripts, whether they may run (None: nobody was asked), and the
    patterns of the library that are not run any more."""

    row: ResourceRow
    scripts: Sequence[RegexScript]
    allowed: bool | None = True
    stopped: Collection[str] = ()

    @property
    def own(self) -> bool:
        """Whether this is a list of scripts, and not a preset or card that brings some."""
        return self.row.kind == "regex"


def list_panel(
    view: ListView, reader: Reader, page: int = 0, note: str = "", *, arrived: bool = False
) -> Layout:
    """A list with one page of its scripts; `page` counts from 0 and is moved into what there is."""
    sheet, locale, row = Sheet(), reader.locale, view.row
    sheet.text(_head(view, locale, note, arrived=arrived), 1_800)
    if arrived:
        sheet.text(remarks_text(row.warnings, locale), 1_800)
    pages = max(1, -(-len(view.scripts) // SCRIPTS))
    page = min(max(page, 0), pages - 1)
    shown = list(enumerate(view.scripts))[page * SCRIPTS : (page + 1) * SCRIPTS]
    if shown:
        sheet.text("\n".join(_line(place, script, view, locale) for place, script in shown), 4_000)
        options = [
            discord.SelectOption(
                label=one_line(script.name, 90) or "…",
                value=str(place),
                description=one_line(script.find, 90) or None,
                emoji=_sign(script),
            )
            for place, script in shown
        ]
        sheet.row(menu("script-open", row.id, page, options=options, placeholder=t(locale, "regex.open")))
    if pages > 1:
        sheet.row(
            button("script-leaf", row.id, page - 1, label="◀", disabled=page == 0),
            button("script-leaves", row.id, label=f"{page + 1}/{pages}", disabled=True),
            button("script-leaf", row.id, page + 1, label="▶", disabled=page == pages - 1),
        )
    sheet.row(*_list_buttons(view, reader))
    return sheet.layout()


def edit_list_panel(view: ListView, locale: str, note: str = "") -> Layout:
    """What can be changed about a list as a whole."""
    sheet, row = Sheet(), view.row
    sheet.text(_head(view, locale, note), 1_800)
    sheet.text(f"-# {t(locale, 'regex.edit_hint')}")
    sheet.row(
        button("script-add", row.id, row.revision, label=t(locale, "regex.add"), style=PRIMARY),
        button("script-rename", row.id, label=t(locale, "regex.rename")),
        button("script-leaf", row.id, 0, label=t(locale, "button.back")),
    )
    sheet.row(
        button("regex-export", row.id, label=t(locale, "button.export")),
        button("regex-delete", row.id, label=t(locale, "button.delete"), style=DANGER),
    )
    return sheet.layout()


def script_panel(view: ListView, place: int, reader: Reader, note: str = "") -> Layout:
    """One script: what it looks for, what it puts there, where and when; and how to change that."""
    sheet, locale, row = Sheet(), reader.locale, view.row
    script = view.scripts[place]
    title = f"## {_sign(script)} {plain(script.name, 120)}"
    where = f"-# {plain(row.name, 100)} · {place + 1}/{len(view.scripts)}"
    lines = [note, title, where, *_facts(script, locale)]
    sheet.text("\n".join(line for line in lines if line), 1_800)
    sheet.text(f"**{t(locale, 'regex.find')}**\n{_block(script.find, locale, 700)}", 2_200)
    sheet.text(f"**{t(locale, 'regex.replacement')}**\n{_block(script.replacement, locale, 900)}", 2_600)
    sheet.text(_troubles(view, script, locale), 1_400)
    here = (row.id, row.revision, place)
    back = button("script-leaf", row.id, place // SCRIPTS, label=t(locale, "button.back"))
    if not reader.can_change:
        sheet.row(back)
        return sheet.layout()
    sheet.row(
        button("script-pattern", *here, label=t(locale, "regex.find_short"), style=PRIMARY),
        button("script-text", *here, label=t(locale, "regex.replacement_short")),
        button("script-where", *here, label=t(locale, "regex.where_short")),
        button("script-on", *here, label=t(locale, "button.on" if script.disabled else "button.off")),
    )
    sheet.row(
        button("script-up", *here, emoji="🔼", disabled=place == 0),
        button("script-down", *here, emoji="🔽", disabled=place == len(view.scripts) - 1),
        button("script-remove", *here, label=t(locale, "button.remove"), style=DANGER),
        back,
    )
    if pattern_of(script) in view.stopped:
        sheet.row(button("script-pardon", row.id, place, label=t(locale, "regex.pardon")))
    return sheet.layout()


def confirm_script_removal(view: ListView, place: int, locale: str) -> Layout:
    """The question before a script goes."""
    sheet, row = Sheet(), view.row
    name = plain(view.scripts[place].name, 120)
    sheet.text(t(locale, "regex.remove_confirm", script=name, list=plain(row.name, 100)))
    sheet.row(
        button("script-gone", row.id, row.revision, place, label=t(locale, "button.remove"), style=DANGER),
        button("script-kept", row.id, place, label=t(locale, "button.keep")),
    )
    return sheet.layout()


def try_panel(
    trials: Sequence[tuple[int, ScriptTrial]], text: str, about: Sequence[str], list_id: str, locale: str
) -> Layout:
    """What scripts make of a text at some placements. `about` are small lines that say which scripts."""
    sheet = Sheet()
    lines = [f"## {t(locale, 'regex.tried')}", *(f"-# {line}" for line in about)]
    sheet.text("\n".join(lines), 1_000)
    sheet.text(f"**{t(locale, 'regex.before')}**\n{_block(text, locale, _TRIED)}", 2_000)
    for placement, trial in trials:
        sheet.text(_tried(placement, trial, locale), 2_600)
    problems = {problem.script.name: problem for _, trial in trials for problem in trial.problems}
    sheet.text(
        "\n".join(
            f"⚠ **{plain(name, 60)}** {t(locale, f'regex.problem.{problem.code}')}"
            for name, problem in list(problems.items())[:5]
        ),
        900,
    )
    sheet.row(button("script-try", *([list_id] if list_id else []), label=t(locale, "regex.again")))
    return sheet.layout()


def scripts_details(view: ListView, locale: str) -> bytes:
    """A Markdown file with all scripts whole."""
    parts = [f"# {one_line(view.row.name, 200)}"]
    for place, script in enumerate(view.scripts, start=1):
        head = f"## {place}. {_sign(script)} {one_line(script.name, 150)}"
        facts = "\n".join(f"- {fact}" for fact in _facts(script, locale))
        find = f"{t(locale, 'regex.find')}:\n\n````\n{script.find}\n````"
        put = f"{t(locale, 'regex.replacement')}:\n\n````\n{script.replacement}\n````"
        parts.append("\n\n".join([head, facts, find, put, _troubles(view, script, locale)]).rstrip())
    return clip("\n\n".join(parts) + "\n", _WHOLE).encode()


# -- words ---------------------------------------------------------------------------------------


def script_line(row: ResourceRow, locale: str) -> str:
    """A list's one or two lines in a list of lists."""
    scripts = int(row.summary.get("scripts", 0))
    facts = [t(locale, "library.scripts", n=scripts)]
    if (on := row.summary.get("enabled", scripts)) < scripts:
        facts.append(t(locale, "world.on", count=on))
    line = f"**{plain(row.name, 80)}** · {' · '.join(facts)}"
    about = plain(str(row.summary.get("line", "")), 120)
    return f"{line}\n-# {about}" if about else line


def placement_words(script: RegexScript, locale: str) -> str:
    """On whose words a script works."""
    names = [t(locale, f"regex.place.{number}") for number in PLACEMENTS if number in script.placements]
    return ", ".join(names) or t(locale, "regex.place.none")


def when_of(script: RegexScript) -> str:
    """When a script runs: `display`, `prompt`, `both`, or `stored` for what is kept for good."""
    if script.display_only:
        return "both" if script.prompt_only else "display"
    return "prompt" if script.prompt_only else "stored"


def pattern_of(script: RegexScript) -> str | None:
    """The script's pattern as it is counted when it takes too long; None when it is none."""
    try:
        pattern = find_pattern(script)
    except PatternRefused:
        return None
    return f"/{pattern.source}/{pattern.flags}"


# -- parts ---------------------------------------------------------------------------------------


def _head(view: ListView, locale: str, note: str = "", *, arrived: bool = False) -> str:
    row, name = view.row, plain(view.row.name, 200)
    title = f"## 🧩 {name}"
    if arrived:
        title = f"### {t(locale, 'regex.imported_again' if row.known else 'regex.imported', name=name)}"
    elif not view.own:
        title = f"## 🧩 {t(locale, 'regex.of_other', name=name)}"
    counts = [t(locale, "library.scripts", n=len(view.scripts))]
    on = sum(not script.disabled for script in view.scripts)
    if on < len(view.scripts):
        counts.append(t(locale, "world.on", count=on))
    lines = [note, title, " · ".join(counts)]
    if not view.own:
        said = {None: "unasked", True: "allowed", False: "refused"}[view.allowed]
        lines.append(t(locale, f"regex.consent.{said}"))
    return "\n".join(line for line in lines if line)


def _line(place: int, script: RegexScript, view: ListView, locale: str) -> str:
    severe = any(remark.code in _SEVERE for remark in _remarks(script))
    trouble = " ⚠" if severe or pattern_of(script) in view.stopped else ""
    name = plain(script.name, 60)
    facts = f"{placement_words(script, locale)} · {t(locale, f'regex.when.{when_of(script)}')}"
    head = f"{_sign(script)} {place + 1}. **{name}**{trouble} · {facts}"
    put = _inline(script.replacement) if script.replacement.strip() else f"*{t(locale, 'regex.nothing')}*"
    return clip(f"{head}\n-# {_inline(script.find)} → {put}", 400, 390)


def _facts(script: RegexScript, locale: str) -> list[str]:
    facts = [f"{placement_words(script, locale)} · {t(locale, f'regex.when.{when_of(script)}')}"]
    more = []
    if script.min_depth is not None or script.max_depth is not None:
        low = max(script.min_depth or 0, 0)
        if script.max_depth is None:
            more.append(t(locale, "regex.depths_open", low=low))
        else:
            more.append(t(locale, "regex.depths", low=low, high=script.max_depth))
    if script.run_on_edit:
        more.append(t(locale, "regex.on_edit"))
    if script.substitute:
        more.append(t(locale, f"regex.macros.{script.substitute}"))
    if script.trim:
        more.append(t(locale, "regex.trims", texts=plain(", ".join(script.trim), 100)))
    return [*facts, f"-# {' · '.join(more)}"] if more else facts


def _troubles(view: ListView, script: RegexScript, locale: str) -> str:
    lines = [f"⚠ {plain(remark_text(locale, remark), 300)}" for remark in _remarks(script)]
    if pattern_of(script) in view.stopped:
        lines.append(f"⏱ {t(locale, 'regex.stopped')}")
    return "\n".join(lines)


def _remarks(script: RegexScript) -> list[Diagnostic]:
    return [remark for remark in check_script(script) if remark.severity == "warning"]


def _tried(placement: int, trial: ScriptTrial, locale: str) -> str:
    lines = [f"**{t(locale, f'regex.as.{placement}')}**"]
    if not trial.changed:
        return "\n".join([*lines, t(locale, "regex.unchanged")])
    if trial.shown.text == trial.sent.text:
        lines.append(f"{t(locale, 'regex.shown_and_sent')}\n{_block(trial.shown.text, locale, _TRIED)}")
    else:
        lines.append(f"{t(locale, 'regex.shown')}\n{_block(trial.shown.text, locale, _TRIED)}")
        lines.append(f"{t(locale, 'regex.sent')}\n{_block(trial.sent.text, locale, _TRIED)}")
    names = dict.fromkeys(
        script.name for each in (trial.stored, trial.shown, trial.sent) for script in each.changed
    )
    lines.append(f"-# {t(locale, 'regex.by', names=plain(', '.join(names), 200))}")
    limits = {note.code: note for script in trial.sent.changed for note in script_limits(script)}
    lines += [f"-# ⚠ {plain(remark_text(locale, note), 300)}" for note in limits.values()]
    return "\n".join(lines)


def _list_buttons(view: ListView, reader: Reader) -> list[discord.ui.Button[discord.ui.View]]:
    locale, row, buttons = reader.locale, view.row, []
    if view.own and reader.can_play:
        buttons.append(button("regex-bind", row.id, label=t(locale, "button.bind"), style=PRIMARY))
    if not view.own and reader.can_change:
        allow = not view.allowed
        text = t(locale, "button.allow" if allow else "button.forbid")
        buttons.append(button("script-allow", row.id, int(allow), label=text, style=PRIMARY))
    buttons.append(button("script-try", row.id, label=t(locale, "world.test")))
    if reader.can_change:
        op = ("regex-edit", row.id) if view.own else ("script-add", row.id, row.revision)
        label = t(locale, "button.edit") if view.own else t(locale, "regex.add")
        buttons.append(button(*op, label=label))
    buttons.append(button("script-details", row.id, label=t(locale, "button.details")))
    return buttons


def _sign(script: RegexScript) -> str:
    return "⚪" if script.disabled else "🟢"


def _inline(text: str) -> str:
    """A piece of a pattern as code on one line; back ticks would end it."""
    return f"`{one_line(text, _CODE).replace('`', 'ˋ') or ' '}`"


def _block(text: str, locale: str, chars: int) -> str:
    if not text:
        return f"*{t(locale, 'regex.nothing')}*"
    shown = clip(text.replace("```", "ˋˋˋ"), chars).rstrip()
    return f"```\n{shown}\n```" if shown else f"*{t(locale, 'regex.nothing')}*"
