"""The panel of a template: what it would set and what is missing, in words. Pure, in a running loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.excerpts import one_line, plain
from bot.i18n import t
from bot.press import button
from bot.sheet import DANGER, PRIMARY, Layout, Sheet
from engine.library import Preview, Template

__all__ = ["TemplateView", "missing_lines", "template_line", "template_panel"]

_LISTED = 12  # names of one kind; a story with more is rare, and the rest is counted
_KINDS = {
    "SESSION_CONFIGURATION_PRESET_MISSING": "preset",
    "SESSION_CONFIGURATION_CHARACTER_MISSING_OR_INVALID": "card",
    "SESSION_CONFIGURATION_USER_MISSING": "persona",
    "SESSION_CONFIGURATION_WORLD_BOOK_MISSING": "world_book",
    "SESSION_CONFIGURATION_REGEX_MISSING": "regex",
}


@dataclass(frozen=True, slots=True)
class TemplateView:
    """Where it is looked at: whether there is a story to apply it to, whether stories can be opened from
    here, whether the reader may change it, and a line to say above."""

    has_story: bool = False
    can_play: bool = False
    can_change: bool = False
    note: str = ""


def template_panel(preview: Preview, view: TemplateView, locale: str) -> Layout:
    """What applying it would set, and what is missing of that."""
    template = preview.template
    sheet = Sheet()
    head = [f"## {plain(template.name, 120)}", *_sets(preview, locale)]
    if view.note:
        head.insert(0, view.note)
    sheet.text("\n".join(head), 4_000)
    if preview.missing:
        lines = [t(locale, "template.missing", n=len(preview.missing)), *missing_lines(preview, locale)]
        sheet.text("\n".join(lines), 2_400)
    first = []
    if view.has_story:
        first.append(
            button(
                "template-apply",
                template.id,
                label=t(locale, "button.apply"),
                style=PRIMARY,
                disabled=bool(preview.missing),
            )
        )
    if view.can_play:
        first.append(button("template-bind", template.id, label=t(locale, "button.bind")))
    last = [button("template-export", template.id, label=t(locale, "button.export"))]
    if view.can_change:
        last.insert(0, button("template-edit", template.id, label=t(locale, "button.edit")))
        last.append(button("template-delete", template.id, label=t(locale, "button.delete"), style=DANGER))
    sheet.row(*first)
    sheet.row(*last)
    return sheet.layout()


def missing_lines(preview: Preview, locale: str) -> Sequence[str]:
    """A line for each thing that is not there: by its name, where it once was here."""
    lines = []
    for code, resource_id in preview.missing:
        kind = t(locale, f"template.kind.{_KINDS[code]}")
        name = preview.names.get(resource_id)
        if name is not None:
            line = t(locale, "template.gone", kind=kind, name=plain(name, 80))
        else:  # shown as code, where a backslash would be seen
            foreign = one_line(resource_id.replace("`", "'"), 80)
            line = t(locale, "template.never", kind=kind, name=foreign)
        lines.append("- ✗ " + line)
    return lines


def template_line(template: Template, locale: str) -> str:
    """`**The inn** · 2 world books · 1 tool`."""
    chosen = template.selection
    facts = [
        t(locale, f"template.count.{key}", n=count)
        for key, count in (
            ("books", len(chosen.book_ids)),
            ("regexes", len(chosen.regex_ids)),
            ("tools", len(chosen.tools)),
        )
        if count
    ]
    return " · ".join([f"**{plain(template.name, 80)}**", *facts])


def _sets(preview: Preview, locale: str) -> list[str]:
    chosen = preview.template.selection
    if chosen.card_id is None:
        card = t(locale, "template.any_card")
    else:
        card = _name(preview, chosen.card_id)
        if chosen.greeting_index:
            card += " · " + t(locale, "template.greeting", number=chosen.greeting_index + 1)
    facts = [
        ("card", card),
        ("preset", _name(preview, chosen.preset_id) if chosen.preset_id else t(locale, "preset.builtin")),
        ("persona", _name(preview, chosen.persona_id) if chosen.persona_id else t(locale, "template.opener")),
        ("world_book", _names(preview, chosen.book_ids, locale)),
        ("regex", _names(preview, chosen.regex_ids, locale)),
        (
            "tools",
            ", ".join(t(locale, f"tools.{tool}") for tool in chosen.tools) or t(locale, "template.none"),
        ),
    ]
    return [
        t(locale, "template.fact", what=t(locale, f"template.sets.{key}"), value=value)
        for key, value in facts
    ]


def _names(preview: Preview, ids: Sequence[str], locale: str) -> str:
    names = ", ".join(_name(preview, each) for each in ids[:_LISTED])
    if len(ids) > _LISTED:
        names += " " + t(locale, "template.more", n=len(ids) - _LISTED)
    return names or t(locale, "template.none")


def _name(preview: Preview, resource_id: str) -> str:
    """Its name; struck through when it is not there any more."""
    name = plain(preview.names.get(resource_id, resource_id), 60)
    gone = any(resource_id == missing for _, missing in preview.missing)
    return f"~~{name}~~" if gone else f"**{name}**"
