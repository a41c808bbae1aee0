"""The forms with which a regex script is changed, and what a submission of one says. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import discord

from bot import forms
from bot.i18n import t
from bot.scriptpanel import PLACEMENTS, when_of
from engine.errors import InputError
from engine.resources import RegexScript

__all__ = [
    "new_script",
    "new_script_form",
    "pattern_form",
    "pattern_patch",
    "rename_form",
    "where_form",
    "where_patch",
]

_WHEN: Final = ("display", "prompt", "both", "stored")
_MACROS: Final = ("0", "1", "2")
_NAME = 200
_DEPTH = re.compile(r"\s*(-?\d{1,6})?\s*(?:[-–~～至到,，]\s*(\d{1,6})?)?\s*")


def pattern_form(op: str, args: Sequence[str | int], script: RegexScript, locale: str) -> discord.ui.Modal:
    """What a script is called and what it looks for."""
    fields: list[forms.FormField] = [
        forms.TextField("name", t(locale, "regex.form.name"), script.name[:_NAME], most=_NAME),
        forms.TextField(
            "find", t(locale, "regex.find"), script.find, long=True, required=True, hint=_find_hint(locale)
        ),
    ]
    if len("\n".join(script.trim)) <= forms.LONGEST:
        hint = t(locale, "regex.form.trim_hint")
        trim = "\n".join(script.trim)
        fields.append(forms.TextField("trim", t(locale, "regex.form.trim"), trim, long=True, hint=hint))
    return forms.form(op, *args, title=t(locale, "regex.find_short"), fields=fields)


def pattern_patch(interaction: discord.Interaction, script: RegexScript) -> dict[str, Any]:
    """What a submitted `pattern_form` says of a script."""
    entered = forms.entered(interaction)
    patch: dict[str, Any] = {}
    if entered["name"].strip() != script.name[:_NAME].strip():
        patch["name"] = entered["name"].strip()
    if entered["find"].strip() != script.find.strip():
        patch["find"] = entered["find"]
    if "trim" in entered and entered["trim"].strip() != "\n".join(script.trim).strip():
        patch["trim"] = tuple(line for line in entered["trim"].splitlines() if line)
    return patch


def where_form(op: str, args: Sequence[str | int], script: RegexScript, locale: str) -> discord.ui.Modal:
    """On whose words a script works, and when."""
    places = [(t(locale, f"regex.place.{n}"), str(n), n in script.placements) for n in PLACEMENTS]
    when = [(t(locale, f"regex.when.{word}"), word, word == when_of(script)) for word in _WHEN]
    macros = [(t(locale, f"regex.macros.{n}"), n, n == str(script.substitute)) for n in _MACROS]
    low = "" if script.min_depth is None else str(script.min_depth)
    high = "" if script.max_depth is None else str(script.max_depth)
    depths = f"{low}–{high}" if low or high else ""
    edits = [(t(locale, "regex.on_edit"), "edit", script.run_on_edit)]
    fields: list[forms.FormField] = [
        forms.ChoiceField("places", t(locale, "regex.form.places"), places, most=len(places)),
        forms.ChoiceField("when", t(locale, "regex.form.when"), when),
        forms.TextField(
            "depths",
            t(locale, "regex.form.depths"),
            depths,
            most=20,
            hint=t(locale, "regex.form.depths_hint"),
        ),
        forms.ChoiceField("macros", t(locale, "regex.form.macros"), macros),
        forms.ChoiceField("edits", t(locale, "regex.form.edits"), edits, required=False),
    ]
    return forms.form(op, *args, title=t(locale, "regex.where_short"), fields=fields)


def where_patch(interaction: discord.Interaction) -> dict[str, Any]:
    """What a submitted `where_form` says. Raises InputError NUMBER_INVALID."""
    typed = forms.entered(interaction)["depths"]
    found = _DEPTH.fullmatch(typed)
    if found is None:
        raise InputError("These are no depths.", code="NUMBER_INVALID", text=typed[:40])
    low, high = (int(number) if number is not None else None for number in found.groups())
    if found[1] is not None and found[2] is None and not re.search(r"\d\s*[-–~～至到,，]", typed):
        high = low  # one number alone is that depth
    when = next(iter(forms.picked(interaction, "when")), "stored")
    return {
        "placements": frozenset(int(number) for number in forms.picked(interaction, "places")),
        "display_only": when in ("display", "both"),
        "prompt_only": when in ("prompt", "both"),
        "run_on_edit": "edit" in forms.picked(interaction, "edits"),
        "substitute": int(next(iter(forms.picked(interaction, "macros")), "0")),
        "min_depth": low,
        "max_depth": high if high is None or high >= 0 else None,
    }


def new_script_form(op: str, args: Sequence[str | int], locale: str) -> discord.ui.Modal:
    """A new script, for answers as people see them."""
    fields: list[forms.FormField] = [
        forms.TextField("name", t(locale, "regex.form.name"), most=_NAME),
        forms.TextField(
            "find", t(locale, "regex.find"), long=True, required=True, hint=_find_hint(locale),
            example=r"/\(OOC:.*?\)/gs",
        ),
        forms.TextField(
            "put", t(locale, "regex.replacement"), long=True, hint=t(locale, "regex.form.put_hint")
        ),
    ]  # fmt: skip
    return forms.form(op, *args, title=t(locale, "regex.add"), fields=fields)


def new_script(interaction: discord.Interaction, script_id: str) -> RegexScript:
    """The script of a submitted `new_script_form`."""
    entered = forms.entered(interaction)
    find = entered["find"]
    return RegexScript(
        id=script_id,
        name=entered["name"].strip() or find[:40],
        find=find,
        replacement=entered["put"],
        display_only=True,
    )


def rename_form(op: str, args: Sequence[str | int], name: str, locale: str) -> discord.ui.Modal:
    """Another name for a list."""
    field = forms.TextField("name", t(locale, "regex.form.name"), name, required=True, most=_NAME)
    return forms.form(op, *args, title=t(locale, "regex.rename"), fields=[field])


def _find_hint(locale: str) -> str:
    return t(locale, "regex.form.find_hint")
