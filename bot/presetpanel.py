"""The panels of a preset in Components V2: facts in, a layout out. Pure, but for needing a running loop."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import discord

from bot.cardpanel import scripts_buttons
from bot.excerpts import clip, plain, prose
from bot.i18n import t
from bot.press import button, menu
from bot.remarks import remarks_text
from bot.sheet import DANGER, PRIMARY, Layout, Reader, Sheet
from engine.library import ResourceRow
from engine.resources import Preset, Prompt

__all__ = [
    "PresetView",
    "escaped",
    "preset_edit_panel",
    "preset_line",
    "preset_panel",
    "prompt_line",
    "prompt_panel",
    "prompt_token",
    "unescaped",
]

_SHOWN = 12  # prompts on a panel; the rest are counted, and all stand in the details
_STOPS = 4


@dataclass(frozen=True, slots=True)
class PresetView:
    """What a panel needs to know of a preset; see `cardpanel.CardView`."""

    row: ResourceRow
    preset: Preset
    scripts: int = 0
    scripts_allowed: bool | None = None
    books: int = 0


def preset_panel(view: PresetView, reader: Reader, *, arrived: bool) -> Layout:
    """A preset: its parameters and its prompts in their order."""
    sheet, row, locale = Sheet(), view.row, reader.locale
    title = f"## {plain(row.name, 200)}"
    if arrived:
        key = "preset.imported_again" if row.known else "preset.imported"
        title = f"### {t(locale, key, name=plain(row.name, 200))}"
    sheet.text(f"{title}\n{' · '.join(_parameters(view.preset, locale))}", 1_600)
    prompts = view.preset.prompts
    lines = [prompt_line(prompt, locale) for prompt in prompts[:_SHOWN]]
    if len(prompts) > _SHOWN:
        lines.append(t(locale, "preset.prompts_more", n=len(prompts) - _SHOWN))
    sheet.text("\n".join(lines), 3_000)
    sheet.text("\n".join(_extras(view, locale)), 700)
    sheet.text(remarks_text(row.warnings, locale) if arrived else "", 2_400)
    first = []
    if reader.can_play:
        first.append(button("preset-bind", row.id, label=t(locale, "button.bind"), style=PRIMARY))
    if reader.can_change:
        first.append(button("preset-edit", row.id, label=t(locale, "button.edit")))
    first.append(button("preset-export", row.id, label=t(locale, "button.export")))
    second = [button("preset-details", row.id, label=t(locale, "button.details"))]
    if reader.can_change:
        second += scripts_buttons("preset", row, view.scripts, view.scripts_allowed, locale)
        second.append(button("preset-delete", row.id, label=t(locale, "button.delete"), style=DANGER))
    sheet.row(*first)
    sheet.row(*second)
    return sheet.layout()


def preset_edit_panel(view: PresetView, reader: Reader, note: str = "") -> Layout:
    """What can be changed about a preset."""
    sheet, row, locale = Sheet(), view.row, reader.locale
    facts = " · ".join(_parameters(view.preset, locale))
    sheet.text(f"## ✏️ {plain(row.name, 200)}\n{note}\n{facts}".replace("\n\n", "\n"), 2_000)
    options = [
        discord.SelectOption(label=t(locale, "preset.edit.parameters"), value="parameters"),
        discord.SelectOption(
            label=t(locale, "preset.edit.prompts"),
            value="prompts",
            description=t(locale, "preset.prompts", n=len(view.preset.prompts)),
        ),
        discord.SelectOption(
            label=t(locale, "library.books_title"), value="books", description=str(view.books)
        ),
    ]
    sheet.row(menu("preset-field", row.id, options=options, placeholder=t(locale, "edit.choose")))
    sheet.row(button("preset-show", row.id, label=t(locale, "button.back")))
    return sheet.layout()


def prompt_panel(
    row: ResourceRow, prompts: Sequence[Prompt], prompt: Prompt, reader: Reader, note: str = ""
) -> Layout:
    """One prompt of a preset: its text, whether it is on, and where it stands."""
    sheet, locale, place = Sheet(), reader.locale, prompts.index(prompt)
    name = plain(prompt.name or prompt.identifier, 100)
    facts = [
        t(locale, "preset.prompt_place", place=place + 1, count=len(prompts)),
        t(locale, "preset.prompt_on" if prompt.enabled else "preset.prompt_off"),
    ]
    if prompt.marker:
        facts.append(t(locale, "preset.prompt_marker"))
    else:
        facts.append(t(locale, f"preset.role.{prompt.role}"))
        if prompt.in_chat:
            facts.append(t(locale, "preset.prompt_depth", depth=prompt.depth))
    sheet.text(f"## {name}\n{' · '.join(facts)}\n{note}", 900)
    if not prompt.marker:
        shown = clip(prompt.content, 1_500) if prompt.content.strip() else f"*{t(locale, 'edit.nothing')}*"
        length = t(locale, "edit.chars", n=len(prompt.content))
        sheet.text(f"```\n{shown.replace('```', '`​``')}\n```\n-# {length}", 4_600)
    args = (row.id, row.revision, prompt_token(prompt.identifier))
    if not prompt.marker:
        sheet.row(
            button("prompt-text", *args, label=t(locale, "button.edit"), style=PRIMARY),
            button("prompt-props", *args, label=t(locale, "button.settings")),
            button("prompt-remove", *args, label=t(locale, "button.remove"), style=DANGER),
        )
    switch = "button.off" if prompt.enabled else "button.on"
    sheet.row(
        button("prompt-on", *args, int(not prompt.enabled), label=t(locale, switch)),
        button("prompt-up", *args, label=t(locale, "button.up"), disabled=place == 0),
        button("prompt-down", *args, label=t(locale, "button.down"), disabled=place == len(prompts) - 1),
        button("prompt-page", row.id, place // 10, label=t(locale, "button.back")),
    )
    return sheet.layout()


def prompt_line(prompt: Prompt, locale: str) -> str:
    """A prompt in a list: on or off, its name, its role or that it marks a place, and how it begins."""
    mark = "🟢" if prompt.enabled else "⚪"
    name = plain(prompt.name or prompt.identifier, 60)
    if prompt.marker:
        return f"{mark} *{name}* · {t(locale, 'preset.prompt_marker')}"
    begins = prose(prompt.content, 60)
    return f"{mark} **{name}** · {t(locale, f'preset.role.{prompt.role}')}" + (
        f" · {begins}" if begins else ""
    )


def prompt_token(identifier: str) -> str:
    """What stands for a prompt in a custom_id, since identifiers can be of any length and sign."""
    return hashlib.sha256(identifier.encode()).hexdigest()[:10]


def preset_line(row: ResourceRow, locale: str) -> str:
    """A preset in a list."""
    prompts = t(locale, "preset.prompts", n=row.summary.get("prompts", 0))
    return t(locale, "preset.list_line", name=plain(row.name, 80), prompts=prompts)


def _parameters(preset: Preset, locale: str) -> list[str]:
    on = sum(prompt.enabled for prompt in preset.prompts)
    facts = [t(locale, "preset.prompts", n=len(preset.prompts)), t(locale, "preset.enabled", count=on)]
    if preset.temperature is not None:
        facts.append(t(locale, "preset.temperature", value=f"{preset.temperature:g}"))
    if preset.max_tokens is not None:
        facts.append(t(locale, "preset.max_tokens", count=preset.max_tokens))
    if preset.reasoning_effort:
        facts.append(t(locale, "preset.effort", value=plain(preset.reasoning_effort, 20)))
    if preset.stop:
        shown = ", ".join(f"“{plain(escaped(stop), 30)}”" for stop in preset.stop[:_STOPS])
        facts.append(t(locale, "preset.stop", texts=shown + (" …" if len(preset.stop) > _STOPS else "")))
    return facts


def escaped(text: str) -> str:
    """A text on one line, as people write it: a line break is `\\n`."""
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def unescaped(line: str) -> str:
    """The text that `escaped` gave."""
    return line.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")


def _extras(view: PresetView, locale: str) -> list[str]:
    lines = []
    if view.scripts:
        state = {True: "on", False: "off", None: "unasked"}[view.scripts_allowed]
        lines.append(f"⚙️ {t(locale, 'card.scripts', n=view.scripts)} {t(locale, f'library.scripts_{state}')}")
    if view.books:
        lines.append(f"📖 {t(locale, 'card.books', n=view.books)}")
    return lines
