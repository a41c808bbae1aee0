"""REST: the application's commands, global and of guilds."""

from __future__ import annotations

import re
from typing import Any

from bot.sandbox.refusal import Form, refuse
from bot.sandbox.rest import Call, Reply, Routes
from bot.sandbox.store import Record
from bot.sandbox.world import World

__all__ = ["ROUTES", "SLASH", "commands_of"]

ROUTES = Routes()
SLASH, USER_MENU, MESSAGE_MENU = 1, 2, 3
SUBCOMMAND, GROUP = 1, 2
_CAPS = {SLASH: 100, USER_MENU: 15, MESSAGE_MENU: 15}
_OPTIONS = _CHOICES = 25
_CHARS = 8000  # names, descriptions and values of one command
_NAME = re.compile(r"[-_'\w]{1,32}")
_STRING, _INTEGER, _NUMBER = 3, 4, 10
_GLOBAL = "/applications/{application}/commands"
_OF_GUILD = "/applications/{application}/guilds/{guild}/commands"


def commands_of(world: World, guild_id: str | None) -> list[Record]:
    """The commands that a guild's (None: a direct channel's) people can use: its own and the global ones."""
    return [c for c in world.commands.values() if c["guild_id"] in (None, guild_id)]


def _scope(call: Call) -> str | None:
    if call.params["application"] != call.me:
        raise refuse(50001)
    if "guild" not in call.params:
        return None
    guild = call.guild()
    if f"{guild['id']}:{call.me}" not in call.world.members:
        raise refuse(50001)
    return str(guild["id"])


def _shown(command: Record) -> Record:
    return {k: v for k, v in command.items() if k != "guild_id" or v is not None}


@ROUTES.add("GET", _GLOBAL)
@ROUTES.add("GET", _OF_GUILD)
def list_commands(call: Call) -> Reply:
    """The commands of a scope."""
    return Reply([_shown(c) for c in call.world.commands.where(guild_id=_scope(call))])


@ROUTES.add("PUT", _GLOBAL)
@ROUTES.add("PUT", _OF_GUILD)
def overwrite_commands(call: Call) -> Reply:
    """Replace all commands of a scope; a command that keeps kind and name keeps its id."""
    scope = _scope(call)
    if not isinstance(call.body, list):
        raise refuse(50109)
    form = Form()
    counts: dict[int, int] = {}
    names: set[tuple[int, str]] = set()
    for index, body in enumerate(call.body):
        kind = body.get("type") or SLASH
        counts[kind] = counts.get(kind, 0) + 1
        _check_command(form, str(index), body, kind)
        if (kind, body.get("name")) in names:
            form.flag(f"{index}.name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Names must be unique.")
        names.add((kind, body.get("name")))
    form.close()
    if any(counts.get(kind, 0) > cap for kind, cap in _CAPS.items()):
        raise refuse(30032)
    old = {(c["type"], c["name"]): c for c in call.world.commands.where(guild_id=scope)}
    kept = [_keep(call, scope, body, old) for body in call.body]
    for command in old.values():
        if command["id"] not in {c["id"] for c in kept}:
            call.world.commands.drop(command["id"])
    call.world.to_view("COMMANDS_UPDATE", {"guild_id": scope})
    return Reply([_shown(c) for c in kept])


@ROUTES.add("POST", _GLOBAL)
@ROUTES.add("POST", _OF_GUILD)
def upsert_command(call: Call) -> Reply:
    """Make or replace one command."""
    scope = _scope(call)
    form = Form()
    _check_command(form, "", call.fields, call.fields.get("type") or SLASH)
    form.close()
    old = {(c["type"], c["name"]): c for c in call.world.commands.where(guild_id=scope)}
    command = _keep(call, scope, call.fields, old)
    call.world.to_view("COMMANDS_UPDATE", {"guild_id": scope})
    return Reply(_shown(command), 201)


def _keep(call: Call, scope: str | None, body: Record, old: dict[tuple[int, str], Record]) -> Record:
    kind = body.get("type") or SLASH
    before = old.get((kind, body["name"]))
    command = {
        "id": before["id"] if before else call.world.ids.new(),
        "application_id": call.me,
        "guild_id": scope,
        "type": kind,
        "name": body["name"],
        "name_localizations": body.get("name_localizations"),
        "description": body.get("description") or "",
        "description_localizations": body.get("description_localizations"),
        "options": body.get("options") or [],
        "default_member_permissions": body.get("default_member_permissions"),
        "dm_permission": body.get("dm_permission", True),
        "contexts": body.get("contexts"),
        "integration_types": body.get("integration_types") or [0],
        "nsfw": bool(body.get("nsfw")),
        "version": call.world.ids.new(),
    }
    return call.world.commands.put(command)


def _one(call: Call) -> Record:
    scope = _scope(call)
    command = call.world.commands.get(call.params["command"])
    if command is None or command["guild_id"] != scope:
        raise refuse(10063)
    return command


@ROUTES.add("GET", _GLOBAL + "/{command}")
@ROUTES.add("GET", _OF_GUILD + "/{command}")
def get_command(call: Call) -> Reply:
    """One command."""
    return Reply(_shown(_one(call)))


@ROUTES.add("DELETE", _GLOBAL + "/{command}")
@ROUTES.add("DELETE", _OF_GUILD + "/{command}")
def delete_command(call: Call) -> Reply:
    """Delete one command."""
    command = _one(call)
    call.world.commands.drop(command["id"])
    call.world.to_view("COMMANDS_UPDATE", {"guild_id": command["guild_id"]})
    return Reply(status=204)


# --- the rules (spec discord B3) -----------------------------------------------------


def _check_command(form: Form, path: str, body: Record, kind: int) -> None:
    here = f"{path}." if path else ""
    if kind not in _CAPS:
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
