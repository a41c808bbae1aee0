"""From what a person typed or picked to the data of an interaction, with the client's own checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.sandbox.limits import Upload, check_files
from bot.sandbox.limits.command_rules import GROUP, SLASH, SUBCOMMAND
from bot.sandbox.limits.components import (
    ACTION_ROW,
    CHECKBOX,
    CHECKBOX_GROUP,
    FILE_UPLOAD,
    LABEL,
    RADIO_GROUP,
    STRING_SELECT,
    TEXT,
    TEXT_INPUT,
)
from bot.sandbox.store import Record
from bot.sandbox.world import State, payloads
from bot.sandbox.world.attachments import attach
from bot.sandbox.world.permissions import Permission as P
from bot.sandbox.world.permissions import in_guild

__all__ = [
    "NotPossible",
    "Resolved",
    "command_data",
    "find_command",
    "fits_select",
    "modal_data",
    "usable_commands",
]

_STRING, _INTEGER, _BOOLEAN, _USER, _CHANNEL, _ROLE, _MENTIONABLE, _NUMBER, _FILE = (
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
)
_USER_SELECT, _ROLE_SELECT, _MENTIONABLE_SELECT, _CHANNEL_SELECT = 5, 6, 7, 8


class NotPossible(Exception):
    """Discord's client would not let the person do this."""


class Resolved:
    """Collects what an interaction's values stand for."""

    def __init__(self, state: State, channel: Record, viewer: str) -> None:
        self._state = state
        self._channel = channel
        self._viewer = viewer
        self.data: Record = {}

    def _put(self, kind: str, key: str, shown: Record) -> str:
        self.data.setdefault(kind, {})[key] = shown
        return key

    def user(self, value: Any) -> str:
        """A user, given by id, name, record or anything with an `id`."""
        user = self._state.user(_id(value))
        member = self._state.members.get(f"{self._channel.get('guild_id')}:{user['id']}")
        if member is not None:
            shown = payloads.member(self._state, member, with_user=False)
            bits = in_guild(self._state, self._state.guilds[self._channel["guild_id"]], user["id"])
            self._put("members", user["id"], {**shown, "permissions": str(bits)})
        return self._put("users", user["id"], payloads.user(user))

    def channel(self, value: Any) -> str:
        """A channel, given by id, name or record."""
        channel = self._state.channel(_id(value))
        return self._put(
            "channels", channel["id"], payloads.partial_channel(self._state, channel, self._viewer)
        )

    def role(self, value: Any) -> str:
        """A role, given by id, name or record."""
        wanted = _id(value)
        for role in self._state.guilds[self._channel["guild_id"]]["roles"]:
            if wanted in (role["id"], role["name"]):
                return self._put("roles", role["id"], payloads.role(role))
        raise NotPossible(f"there is no role {wanted}")

    def mentionable(self, value: Any) -> str:
        """A user or role."""
        try:
            return self.role(value)
        except NotPossible:
            return self.user(value)

    def file(self, upload: Upload) -> str:
        """An uploaded file."""
        check_files([upload])
        record = attach(self._state, self._channel["id"], [upload], ephemeral=True)[0]
        return self._put("attachments", record["id"], payloads.attachment(self._state, record))

    def message(self, record: Record) -> str:
        """A message."""
        return self._put("messages", record["id"], payloads.message(self._state, record))


def _id(value: Any) -> str:
    if isinstance(value, str | int):
        return str(value)
    return str(value["id"] if isinstance(value, Mapping) else value.id)


# --- commands ------------------------------------------------------------------------


def usable_commands(state: State, channel: Record, user_id: str) -> list[Record]:
    """The commands that the client offers the person in the channel."""
    guild_id = channel.get("guild_id")
    place = state.channels[channel["parent_id"]] if state.is_thread(channel) else channel
    bits = in_guild(state, state.guilds[guild_id], user_id) if guild_id else 0
    offered = []
    for command in _commands_of(state, guild_id):
        needed = command["default_member_permissions"]
        context = 0 if guild_id else 1
        contexts = command["contexts"] or ([0, 1] if command["dm_permission"] is not False else [0])
        if context not in contexts:
            continue
        # Nothing hides a command from administrators; "0" hides it from everybody else.
        required = int(needed or 0)
        closed = needed is not None and (required == 0 or bits & required != required)
        if guild_id and closed and not bits & P.ADMINISTRATOR:
            continue
        if command["nsfw"] and not place.get("nsfw"):
            continue
        offered.append(command)
    return offered


def _commands_of(state: State, guild_id: str | None) -> list[Record]:
    # What a guild's (None: a direct channel's) people can use: its own commands and the global ones.
    return [c for c in state.commands.values() if c["guild_id"] in (None, guild_id)]


def find_command(
    state: State, channel: Record, user: Record, words: Sequence[str]
) -> tuple[Record, list[Record], list[Record]]:
    """The slash command, the subcommand options on the way, and the options of the last one.

    Names count in the person's language too. Raises NotPossible for what is not offered.
    """
    offered = [c for c in usable_commands(state, channel, user["id"]) if c["type"] == SLASH]
    command = next((c for c in offered if words and _named(c, words[0], user["locale"])), None)
    if command is None:
        raise NotPossible(f"/{' '.join(words)} is not offered in this channel")
    path: list[Record] = []
    options: list[Record] = command["options"]
    for word in words[1:]:
        step = next(
            (o for o in options if o["type"] in (SUBCOMMAND, GROUP) and _named(o, word, user["locale"])), None
        )
        if step is None:
            raise NotPossible(f"/{' '.join(words)} does not exist")
        path.append(step)
        options = step.get("options") or []
    if any(o["type"] in (SUBCOMMAND, GROUP) for o in options):
        raise NotPossible(f"/{' '.join(words)} needs a subcommand")
    return command, path, options


def _named(item: Record, word: str, locale: str) -> bool:
    return word in (item["name"], (item.get("name_localizations") or {}).get(locale))


def command_data(
    command: Record,
    path: Sequence[Record],
    options: Sequence[Record],
    values: Mapping[str, Any],
    resolved: Resolved,
    *,
    focused: str | None = None,
) -> Record:
    """The data of a command (or, with `focused`, of an autocomplete) interaction."""
    unknown = set(values) - {o["name"] for o in options}
    if unknown:
        raise NotPossible(f"/{command['name']} has no option {', '.join(sorted(unknown))}")
    filled = []
    for option in options:
        value = values.get(option["name"])
        if option["name"] == focused:
            filled.append({"name": focused, "type": option["type"], "value": value or "", "focused": True})
        elif value is not None:
            filled.append(
                {"name": option["name"], "type": option["type"], "value": _value(option, value, resolved)}
            )
        elif option.get("required") and focused is None:
            raise NotPossible(f"the option {option['name']} is required")
    for step in reversed(path):
        filled = [{"name": step["name"], "type": step["type"], "options": filled}]
    data: Record = {"id": command["id"], "name": command["name"], "type": SLASH, "options": filled}
    if command["guild_id"] is not None:
        data["guild_id"] = command["guild_id"]
    if resolved.data:
        data["resolved"] = resolved.data
    return data


def _value(option: Record, value: Any, resolved: Resolved) -> Any:
    kind = option["type"]
    pickers = {
        _USER: resolved.user,
        _CHANNEL: resolved.channel,
        _ROLE: resolved.role,
        _MENTIONABLE: resolved.mentionable,
        _FILE: resolved.file,
    }
    if kind in pickers:
        return pickers[kind](value)
    if kind == _BOOLEAN:
        return bool(value)
    choices = option.get("choices")
    if choices:
        chosen = next((c for c in choices if value in (c["value"], c["name"])), None)
        if chosen is None:
            raise NotPossible(f"{value!r} is no choice of {option['name']}")
        return chosen["value"]
    if kind == _STRING:
        text = str(value)
        if not option.get("min_length", 0) <= len(text) <= option.get("max_length", 6000):
            raise NotPossible(f"{option['name']} has the wrong length")
        return text
    number = int(value) if kind == _INTEGER else float(value)
    if not option.get("min_value", number) <= number <= option.get("max_value", number):
        raise NotPossible(f"{option['name']} is out of range")
    return number


# --- components ----------------------------------------------------------------------


def fits_select(select: Record, values: Sequence[Any], resolved: Resolved) -> list[str]:
    """The wire values of a selection. Raises NotPossible for what the menu does not allow."""
    low, high = select.get("min_values", 1), select.get("max_values", 1)
    if select.get("required") is False and not values:
        return []
    if not low <= len(values) <= high:
        raise NotPossible(f"the menu takes {low} to {high} values, not {len(values)}")
    if select["type"] in (STRING_SELECT, RADIO_GROUP, CHECKBOX_GROUP):
        return [_option(select, value) for value in values]
    picker = {
        _USER_SELECT: resolved.user,
        _ROLE_SELECT: resolved.role,
        _MENTIONABLE_SELECT: resolved.mentionable,
        _CHANNEL_SELECT: resolved.channel,
    }[select["type"]]
    return [picker(value) for value in values]


def _option(select: Record, wanted: Any) -> str:
    for option in select["options"]:
        if wanted in (option["value"], option["label"]):
            return str(option["value"])
    raise NotPossible(f"{wanted!r} is no option of the menu")


def modal_data(modal: Record, values: Mapping[str, Any], resolved: Resolved) -> Record:
    """The data of a modal's submission; `values` by custom_id or label, missing ones keep their defaults."""
    known: set[str] = set()
    shown = [_modal_part(part, values, resolved, known) for part in modal["components"]]
    unknown = set(values) - known
    if unknown:
        raise NotPossible(f"the modal has no field {', '.join(sorted(unknown))}")
    data: Record = {"custom_id": modal["custom_id"], "components": shown}
    if resolved.data:
        data["resolved"] = resolved.data
    return data


def _modal_part(part: Record, values: Mapping[str, Any], resolved: Resolved, known: set[str]) -> Record:
    if part["type"] == TEXT:
        return {"type": TEXT, "id": part.get("id", 0)}
    field = part["component"] if part["type"] == LABEL else part["components"][0]
    label = part.get("label") or field.get("label") or ""
    names = (field["custom_id"], label)
    known.update(names)
    given = next((values[n] for n in names if n in values), None)
    filled = {"type": field["type"], "id": field.get("id", 0), "custom_id": field["custom_id"]}
    filled |= _modal_value(field, given, label, resolved)
    if part["type"] == ACTION_ROW:
        return {"type": ACTION_ROW, "id": part.get("id", 0), "components": [filled]}
    return {"type": LABEL, "id": part.get("id", 0), "component": filled}


def _modal_value(field: Record, given: Any, label: str, resolved: Resolved) -> Record:
    kind = field["type"]
    required = field.get("required", True)
    if kind == TEXT_INPUT:
        text = str(field.get("value") or "") if given is None else str(given)
        if not text and not required:
            return {"value": ""}
        low = field.get("min_length") or (1 if required else 0)
        if not low <= len(text) <= (field.get("max_length") or 4000):
            raise NotPossible(f"{label} has the wrong length ({len(text)})")
        return {"value": text}
    if kind == CHECKBOX:
        return {"value": bool(field.get("default") if given is None else given)}
    chosen = _chosen(field, given)
    if kind == FILE_UPLOAD:
        low = field.get("min_values", 1) if required else 0
        if not low <= len(chosen) <= field.get("max_values", 1):
            raise NotPossible(f"{label} takes {low} to {field.get('max_values', 1)} files")
        return {"values": [resolved.file(upload) for upload in chosen]}
    if kind == CHECKBOX_GROUP:
        field = {"max_values": len(field["options"]), **field}
    picked = fits_select(field, chosen, resolved)
    return {"value": picked[0] if picked else None} if kind == RADIO_GROUP else {"values": picked}


def _chosen(field: Record, given: Any) -> list[Any]:
    if given is None:
        return [o["value"] for o in field.get("options") or [] if o.get("default")]
    return list(given) if isinstance(given, list | tuple) else [given]
