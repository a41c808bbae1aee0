"""Discord's rules for application commands: slash commands and menu entries (spec discord B3)."""

from __future__ import annotations

import re
from typing import Any

from bot.sandbox.limits.refusal import Form
from bot.sandbox.store import Record

__all__ = ["CAPS", "GROUP", "MESSAGE_MENU", "SLASH", "SUBCOMMAND", "USER_MENU", "check_command"]

SLASH, USER_MENU, MESSAGE_MENU = 1, 2, 3
SUBCOMMAND, GROUP = 1, 2
CAPS = {SLASH: 100, USER_MENU: 15, MESSAGE_MENU: 15}
"""How many commands of a kind a scope takes."""
_OPTIONS = _CHOICES = 25
_CHARS = 8000  # names, descriptions and values of one command
_NAME = re.compile(r"[-_'\w]{1,32}")
_STRING, _INTEGER, _NUMBER = 3, 4, 10


def check_command(form: Form, path: str, body: Record, kind: int) -> None:
    """Flag what Discord would not register. `path` is the command's place in the body, "" for all of it."""
    here = f"{path}." if path else ""
    if kind not in CAPS:
        form.flag(f"{here}type", "BASE_TYPE_CHOICES", "Value must be one of (1, 2, 3).")
        return
    name = body.get("name")
    if kind != SLASH:
        form.text(f"{here}name", name, least=1, most=32)
        if body.get("options") or body.get("description"):
            text = "Context menu commands take no description and options"
            form.flag(f"{here}description", "APPLICATION_COMMAND_INVALID_FIELD", text)
        return
    _check_name(form, f"{here}name", name)
    form.text(f"{here}description", body.get("description"), least=1, most=100)
    _check_localizations(form, here, body)
    _check_options(form, here, body.get("options") or [], depth=0)
    if _weight(body) > _CHARS:
        text = f"Command exceeds maximum size ({_CHARS})"
        form.flag(f"{here}name", "APPLICATION_COMMAND_TOO_LARGE", text)


def _check_name(form: Form, path: str, name: Any) -> None:
    if form.text(path, name, least=1, most=32) and (not _NAME.fullmatch(name) or name != name.lower()):
        form.flag(path, "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")


def _check_localizations(form: Form, here: str, body: Record) -> None:
    for locale, text in (body.get("name_localizations") or {}).items():
        _check_name(form, f"{here}name_localizations.{locale}", text)
    for locale, text in (body.get("description_localizations") or {}).items():
        form.text(f"{here}description_localizations.{locale}", text, least=1, most=100)


def _check_options(form: Form, here: str, options: Any, *, depth: int) -> None:
    if not form.items(f"{here}options", options, most=_OPTIONS):
        return
    names: set[str] = set()
    optional_seen = False
    for index, option in enumerate(options):
        path = f"{here}options.{index}."
        _check_name(form, f"{path}name", option.get("name"))
        form.text(f"{path}description", option.get("description"), least=1, most=100)
        _check_localizations(form, path, option)
        if option.get("name") in names:
            form.flag(f"{path}name", "APPLICATION_COMMAND_OPTIONS_NAME_INVALID", "Names must be unique.")
        names.add(option.get("name"))
        if option.get("type") in (SUBCOMMAND, GROUP):
            if depth == 2 or (depth == 1 and option["type"] == GROUP):
                text = "Subcommands nest two levels deep at most"
                form.flag(f"{path}type", "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", text)
            _check_options(form, path, option.get("options") or [], depth=depth + 1)
            continue
        if option.get("required") and optional_seen:
            text = "Required options must be placed before non-required options"
            form.flag(f"{path}required", "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", text)
        optional_seen = optional_seen or not option.get("required")
        _check_choices(form, path, option)


def _check_choices(form: Form, path: str, option: Record) -> None:
    choices = option.get("choices") or []
    if choices and option.get("autocomplete"):
        text = "Choices and autocomplete cannot be used together"
        form.flag(f"{path}choices", "APPLICATION_COMMAND_OPTIONS_CHOICES_INVALID", text)
    if option.get("autocomplete") and option.get("type") not in (_STRING, _INTEGER, _NUMBER):
        text = "Autocomplete is for strings and numbers"
        form.flag(f"{path}autocomplete", "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", text)
    if not form.items(f"{path}choices", choices, most=_CHOICES):
        return
    for index, choice in enumerate(choices):
        form.text(f"{path}choices.{index}.name", choice.get("name"), least=1, most=100)
        if option.get("type") == _STRING:
            form.text(f"{path}choices.{index}.value", choice.get("value"), most=100)


def _weight(body: Record) -> int:
    # The longest localisation of each text counts.
    total = 0
    for key in ("name", "description"):
        texts = [body.get(key) or "", *(body.get(f"{key}_localizations") or {}).values()]
        total += max(map(len, texts))
    if isinstance(body.get("value"), str):
        total += len(body["value"])
    return total + sum(_weight(part) for key in ("options", "choices") for part in body.get(key) or [])
