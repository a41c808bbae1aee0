"""The forms with which a world book and its entries are changed, and what a submission of one says.

A form shows what stands there now; what comes back is a patch for `engine.resources.edit_entry` or
`edit_book`. Keys stand one a line, because commas are part of patterns. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import discord

from bot import forms
from bot.i18n import t
from engine.errors import InputError
from engine.resources import Entry, WorldBook

__all__ = [
    "add_form",
    "book_patch",
    "key_lines",
    "keys_form",
    "keys_patch",
    "more_form",
    "more_patch",
    "new_patch",
    "place_form",
    "place_patch",
    "settings_form",
    "try_form",
]

_POSITIONS: Final = (
    "before",
    "after",
    "note_top",
    "note_bottom",
    "at_depth",
    "examples_top",
    "examples_bottom",
    "outlet",
)
_LOGICS: Final = ("and_any", "not_all", "not_any", "and_all")
_ROLES: Final = ("system", "user", "assistant")
_THREE: Final = ("none", "true", "false")
_WAYS: Final = ("exclude_recursion", "prevent_recursion", "ignore_budget")
_NAME = 200
_NUMBER = 12


def key_lines(keys: Sequence[str]) -> str:
    """Keys as they stand in a form: one a line."""
    return "\n".join(keys)


def keys_form(op: str, args: Sequence[str | int], entry: Entry, locale: str) -> discord.ui.Modal:
    """What an entry listens to."""
    fields: list[forms.FormField] = [
        _lines("keys", t(locale, "world.form.keys"), entry.keys, t(locale, "world.form.keys_hint")),
        _lines("secondary", t(locale, "world.form.secondary"), entry.secondary_keys),
        _choice("logic", locale, "world.form.logic", "world.logic", _LOGICS, entry.logic),
        _choice("case", locale, "world.form.case", "world.case", _THREE, _word(entry.case_sensitive)),
        _choice("whole", locale, "world.form.whole", "world.whole", _THREE, _word(entry.whole_words)),
    ]
    return forms.form(op, *args, title=t(locale, "world.keys"), fields=fields)


def keys_patch(interaction: discord.Interaction) -> dict[str, Any]:
    """What a submitted `keys_form` says."""
    entered = forms.entered(interaction)
    secondary = _read_lines(entered["secondary"])
    return {
        "keys": _read_lines(entered["keys"]),
        "secondary_keys": secondary,
        **({"selective": True} if secondary else {}),
        "logic": _picked(interaction, "logic", "and_any"),
        "case_sensitive": _tristate(_picked(interaction, "case", "none")),
        "whole_words": _tristate(_picked(interaction, "whole", "none")),
    }


def place_form(op: str, args: Sequence[str | int], entry: Entry, locale: str) -> discord.ui.Modal:
    """Where an entry's text goes."""
    fields: list[forms.FormField] = [
        _choice("position", locale, "world.form.position", "world.spot", _POSITIONS, entry.position),
        _number("order", t(locale, "world.form.order"), entry.order, t(locale, "world.form.order_hint")),
        _number("depth", t(locale, "world.form.depth"), entry.depth, t(locale, "world.form.depth_hint")),
        _choice("role", locale, "world.form.role", "world.role", _ROLES, entry.role),
        forms.TextField("outlet", t(locale, "world.form.outlet"), entry.outlet, most=_NAME),
    ]
    return forms.form(op, *args, title=t(locale, "world.position"), fields=fields)


def place_patch(interaction: discord.Interaction) -> dict[str, Any]:
    """What a submitted `place_form` says. Raises InputError NUMBER_INVALID."""
    entered = forms.entered(interaction)
    return {
        "position": _picked(interaction, "position", "before"),
        "order": _whole(entered["order"], 100),
        "depth": _whole(entered["depth"], 4),
        "role": _picked(interaction, "role", "system"),
        "outlet": entered["outlet"].strip(),
    }


def more_form(op: str, args: Sequence[str | int], entry: Entry, locale: str) -> discord.ui.Modal:
    """An entry's name, its chance, its group, its times, and how it goes with others."""
    times = ", ".join(str(value or 0) for value in (entry.sticky, entry.cooldown, entry.delay))
    ways = [(t(locale, f"world.way.{name}"), name, bool(getattr(entry, name))) for name in _WAYS]
    level = entry.delay_until_recursion
    ways.append((t(locale, "world.way.wait"), "wait", level > 0))
    chance = f"{entry.probability:g}" if entry.use_probability else "100"
    fields: list[forms.FormField] = [
        forms.TextField("name", t(locale, "world.form.name"), entry.comment[:_NAME], most=_NAME),
        forms.TextField("chance", t(locale, "world.form.chance"), chance, most=_NUMBER),
        forms.TextField(
            "group",
            t(locale, "world.form.group"),
            entry.group[:_NAME],
            most=_NAME,
            hint=t(locale, "world.form.group_hint"),
        ),
        forms.TextField(
            "times", t(locale, "world.form.times"), times, most=40, hint=t(locale, "world.form.times_hint")
        ),
        forms.ChoiceField("ways", t(locale, "world.form.ways"), ways, required=False, most=len(ways)),
    ]
    return forms.form(op, *args, title=t(locale, "world.more"), fields=fields)


def more_patch(interaction: discord.Interaction, entry: Entry) -> dict[str, Any]:
    """What a submitted `more_form` says of an entry. Raises InputError NUMBER_INVALID.

    A name or group too long for the form is left alone unless it was changed there.
    """
    entered = forms.entered(interaction)
    ways = forms.picked(interaction, "ways")
    times = [part for part in re.split(r"[^\d]+", entered["times"]) if part]
    if len(times) > 3:
        raise _not_a_number(entered["times"])
    sticky, cooldown, delay = (int(part[:9]) for part in (*times, "0", "0", "0")[:3])
    patch: dict[str, Any] = {
        "sticky": sticky or None,
        "cooldown": cooldown or None,
        "delay": delay or None,
        **{name: name in ways for name in _WAYS},
    }
    chance = _percent(entered["chance"])
    if chance != (entry.probability if entry.use_probability else 100):
        patch |= {"probability": chance, "use_probability": True}
    waits = "wait" in ways
    if waits != (entry.delay_until_recursion > 0):
        patch["delay_until_recursion"] = 1 if waits else 0
    for field, key, before in (("comment", "name", entry.comment), ("group", "group", entry.group)):
        if entered[key].strip() != before[:_NAME].strip():
            patch[field] = entered[key].strip()
    return patch


def add_form(op: str, args: Sequence[str | int], locale: str) -> discord.ui.Modal:
    """A new entry."""
    fields: list[forms.FormField] = [
        forms.TextField("name", t(locale, "world.form.name"), most=_NAME),
        _lines("keys", t(locale, "world.form.keys"), (), t(locale, "world.form.keys_hint")),
        forms.TextField("content", t(locale, "world.text"), long=True, required=True),
    ]
    return forms.form(op, *args, title=t(locale, "world.add"), fields=fields)


def new_patch(interaction: discord.Interaction) -> dict[str, Any]:
    """The new entry; without a key it is one that is always there."""
    entered = forms.entered(interaction)
    keys = _read_lines(entered["keys"])
    return {
        "comment": entered["name"].strip(),
        "keys": keys,
        "content": entered["content"],
        "constant": not keys,
    }


def settings_form(op: str, args: Sequence[str | int], book: WorldBook, locale: str) -> discord.ui.Modal:
    """A book's name, description, and what it wants of the search."""
    depth, budget = ("" if value is None else str(value) for value in (book.scan_depth, book.token_budget))
    default = t(locale, "world.form.empty_is_default")
    fields: list[forms.FormField] = [
        forms.TextField(
            "name", t(locale, "world.form.book_name"), book.name[:_NAME], required=True, most=_NAME
        ),
        forms.TextField(
            "description", t(locale, "world.form.description"), book.description[: forms.LONGEST], long=True
        ),
        forms.TextField("depth", t(locale, "world.form.scan"), depth, most=_NUMBER, hint=default),
        forms.TextField("budget", t(locale, "world.form.budget"), budget, most=_NUMBER, hint=default),
        _choice(
            "recursive", locale, "world.form.recursive", "world.recursive_is", _THREE, _word(book.recursive)
        ),
    ]
    return forms.form(op, *args, title=t(locale, "button.settings"), fields=fields)


def book_patch(interaction: discord.Interaction, book: WorldBook) -> dict[str, Any]:
    """What a submitted `settings_form` says of a book. Raises InputError NUMBER_INVALID."""
    entered = forms.entered(interaction)
    said = {
        "scan_depth": (_optional(entered["depth"]), book.scan_depth),
        "token_budget": (_optional(entered["budget"]), book.token_budget),
        "recursive_scanning": (_tristate(_picked(interaction, "recursive", "none")), book.recursive),
    }
    patch: dict[str, Any] = {field: value for field, (value, before) in said.items() if value != before}
    # Left alone unless changed: a form may hold only the beginning of a long one.
    if entered["name"].strip() != book.name[:_NAME].strip():
        patch["name"] = entered["name"].strip()
    if entered["description"].strip() != book.description[: forms.LONGEST].strip():
        patch["description"] = entered["description"]
    return patch


def try_form(op: str, args: Sequence[str | int], locale: str) -> discord.ui.Modal:
    """A text to try out."""
    field = forms.TextField("text", t(locale, "world.form.try"), long=True, required=True)
    return forms.form(op, *args, title=t(locale, "world.test"), fields=[field])


# -- parts ---------------------------------------------------------------------------------------


def _lines(key: str, label: str, values: Sequence[str], hint: str = "") -> forms.TextField:
    return forms.TextField(key, label, key_lines(values), long=True, hint=hint)


def _number(key: str, label: str, value: int, hint: str = "") -> forms.TextField:
    return forms.TextField(key, label, str(value), most=_NUMBER, hint=hint)


def _choice(
    key: str, locale: str, label: str, words: str, options: Sequence[str], chosen: str
) -> forms.ChoiceField:
    return forms.ChoiceField(
        key,
        t(locale, label),
        [(t(locale, f"{words}.{option}"), option, option == chosen) for option in options],
    )


def _read_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _picked(interaction: discord.Interaction, key: str, default: str) -> str:
    return next(iter(forms.picked(interaction, key)), default)


def _word(value: bool | None) -> str:
    return "none" if value is None else str(value).lower()


def _tristate(word: str) -> bool | None:
    return {"true": True, "false": False}.get(word)


def _whole(text: str, default: int) -> int:
    found = _optional(text)
    return default if found is None else found


def _optional(text: str) -> int | None:
    text = text.strip()
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise _not_a_number(text) from None


def _percent(text: str) -> float:
    text = text.strip().rstrip("%％").strip()
    if not text:
        return 100
    try:
        value = float(text)
    except ValueError:
        raise _not_a_number(text) from None
    return int(value) if value.is_integer() else value


def _not_a_number(text: str) -> InputError:
    return InputError("This is no number.", code="NUMBER_INVALID", text=text[:40])
