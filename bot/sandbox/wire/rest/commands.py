"""REST: the application's commands, global and of guilds."""

from __future__ import annotations

from bot.sandbox.limits import Form, refuse
from bot.sandbox.limits.command_rules import CAPS, SLASH, check_command
from bot.sandbox.store import Record
from bot.sandbox.wire.rest.call import Call, Reply, Routes

__all__ = ["ROUTES"]

ROUTES = Routes()
_GLOBAL = "/applications/{application}/commands"
_OF_GUILD = "/applications/{application}/guilds/{guild}/commands"


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
        check_command(form, str(index), body, kind)
        if (kind, body.get("name")) in names:
            form.flag(f"{index}.name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Names must be unique.")
        names.add((kind, body.get("name")))
    form.close()
    if any(counts.get(kind, 0) > cap for kind, cap in CAPS.items()):
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
    check_command(form, "", call.fields, call.fields.get("type") or SLASH)
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
