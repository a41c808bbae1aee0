"""Interactions: opened by people, answered once within three seconds, followed up for fifteen minutes.

They live in memory: a token outlives neither its quarter of an hour nor the sandbox.
(spec discord B3, C4)
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from bot.sandbox.limits import Form, Upload, refuse
from bot.sandbox.limits.component_rules import check_modal
from bot.sandbox.limits.components import number, without_nulls
from bot.sandbox.store import Record
from bot.sandbox.world import payloads, posts
from bot.sandbox.world.permissions import in_channel
from bot.sandbox.world.world import World

__all__ = ["AUTOCOMPLETE", "COMMAND", "COMPONENT", "MODAL", "Interaction", "Interactions", "State"]

COMMAND, COMPONENT, AUTOCOMPLETE, MODAL = 2, 3, 4, 5
State: TypeAlias = Literal["pending", "deferred", "done", "modal", "failed"]

TOKEN_LIFE_MS = 15 * 60 * 1000
_PONG, _MESSAGE, _DEFER, _DEFER_UPDATE, _UPDATE, _CHOICES, _MODAL = 1, 4, 5, 6, 7, 8, 9
# Which answers each kind of interaction takes; updates need a message to update.
_ANSWERS = {
    COMMAND: (_MESSAGE, _DEFER, _MODAL),
    COMPONENT: (_MESSAGE, _DEFER, _DEFER_UPDATE, _UPDATE, _MODAL),
    AUTOCOMPLETE: (_CHOICES,),
    MODAL: (_MESSAGE, _DEFER, _DEFER_UPDATE, _UPDATE),
}
_REPLY = {COMMAND: 20, COMPONENT: 19, MODAL: 0}  # message types
_EPHEMERAL, _LOADING = posts.EPHEMERAL, posts.LOADING


@dataclass(slots=True)
class Interaction:
    """One interaction and what became of it."""

    id: str
    token: str
    kind: int
    user_id: str
    channel_id: str
    guild_id: str | None
    data: Record
    created_ms: int
    message_id: str | None = None
    """The message whose component was used (also for a modal that it opened)."""
    name: str | None = None
    state: State = "pending"
    answer: int | None = None
    """The callback type of the first answer."""
    original_id: str | None = None
    message_ids: list[str] = field(default_factory=list)
    modal: Record | None = None
    choices: list[Record] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None

    @property
    def acknowledged(self) -> bool:
        """Whether the bot answered in time."""
        return self.answer is not None


class Interactions:
    """All interactions of a world. `deadline` is the seconds that the bot has for its first answer."""

    def __init__(self, world: World, *, deadline: float = 3.0) -> None:
        self.deadline = deadline
        self._world = world
        self._by_id: dict[str, Interaction] = {}
        self._by_token: dict[str, Interaction] = {}
        self._watchers: list[Callable[[Interaction], None]] = []

    def watch(self, watcher: Callable[[Interaction], None]) -> Callable[[], None]:
        """Call `watcher` at each change of state. Returns the end of it."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def get(self, interaction_id: str) -> Interaction:
        """An interaction by id. Refuses with 10062."""
        found = self._by_id.get(interaction_id)
        if found is None:
            raise refuse(10062)
        return found

    def open(
        self,
        kind: int,
        user_id: str,
        channel: Record,
        data: Record,
        *,
        message: Record | None = None,
        name: str | None = None,
    ) -> Interaction:
        """Begin an interaction: the bot hears of it, and the clock of its deadline runs."""
        self._forget_old()
        made = Interaction(
            id=self._world.ids.new(),
            token=secrets.token_urlsafe(40),
            kind=kind,
            user_id=user_id,
            channel_id=channel["id"],
            guild_id=channel.get("guild_id"),
            data=data,
            created_ms=self._world.clock.now_ms(),
            message_id=message["id"] if message else None,
            name=name,
        )
        self._by_id[made.id] = made
        self._by_token[made.token] = made
        made.timer = asyncio.get_running_loop().call_later(self.deadline, self._expire, made)
        self._world.to_bot("INTERACTION_CREATE", self._payload(made, channel, message))
        return made

    def _forget_old(self) -> None:
        now = self._world.clock.now_ms()
        for made in [m for m in self._by_id.values() if now - m.created_ms > TOKEN_LIFE_MS]:
            del self._by_id[made.id]
            del self._by_token[made.token]

    def close(self) -> None:
        """Stop all deadline timers."""
        for made in self._by_id.values():
            if made.timer is not None:
                made.timer.cancel()

    def _expire(self, made: Interaction) -> None:
        if not made.acknowledged:
            self._become(made, "failed")

    def _become(self, made: Interaction, state: State) -> None:
        made.state = state
        news: Record = {"id": made.id, "state": state, "kind": made.kind, "channel_id": made.channel_id}
        if state == "modal":
            news["modal"] = made.modal
        self._world.to_view("INTERACTION_STATE", news, only_for=made.user_id)
        for watcher in tuple(self._watchers):
            watcher(made)

    def _payload(self, made: Interaction, channel: Record, message: Record | None) -> Record:
        world = self._world
        user = world.users[made.user_id]
        shown: Record = {
            "id": made.id,
            "application_id": world.bot["id"],
            "type": made.kind,
            "token": made.token,
            "version": 1,
            "data": made.data,
            "channel_id": channel["id"],
            "channel": payloads.partial_channel(world, channel, made.user_id),
            "app_permissions": str(in_channel(world, channel, world.bot["id"])),
            "locale": user["locale"],
            "entitlements": [],
            "authorizing_integration_owners": self._owners(made),
            "context": 0 if made.guild_id else 1,
            "attachment_size_limit": payloads.FILE_LIMIT,
        }
        if message is not None:
            shown["message"] = payloads.message(world, message)
        if made.guild_id is None:
            return {**shown, "user": payloads.user(user)}
        member = payloads.member(world, world.members[f"{made.guild_id}:{made.user_id}"])
        return {
            **shown,
            "guild_id": made.guild_id,
            "guild": {"id": made.guild_id, "locale": "en-US", "features": []},
            "guild_locale": "en-US",
            "member": {**member, "permissions": str(in_channel(world, channel, made.user_id))},
        }

    def _owners(self, made: Interaction) -> Record:
        return {"0": made.guild_id or "0"}

    # --- the first answer --------------------------------------------------------

    def respond(
        self, interaction_id: str, token: str, body: Record, files: Sequence[Upload]
    ) -> Record | None:
        """Take the bot's first answer; returns the message it made or changed.

        Late or unknown 10062, second 40060, an answer that the kind does not take 50035.
        """
        made = self._by_id.get(interaction_id)
        if made is None or made.token != token or made.state == "failed":
            raise refuse(10062)
        if made.acknowledged:
            raise refuse(40060)
        answer = body.get("type")
        data = body.get("data") or {}
        self._check_answer(made, answer)
        message = self._act(made, int(answer or 0), data, files)
        made.answer = int(answer or 0)
        if made.timer is not None:
            made.timer.cancel()
        states: dict[int, State] = {_DEFER: "deferred", _MODAL: "modal"}
        self._become(made, states.get(made.answer, "done"))
        return message

    def _check_answer(self, made: Interaction, answer: Any) -> None:
        allowed = _ANSWERS[made.kind]
        if made.message_id is None:
            allowed = tuple(a for a in allowed if a not in (_DEFER_UPDATE, _UPDATE))
        if answer not in allowed:
            form = Form()
            form.flag("type", "INTERACTION_RESPONSE_TYPE_INVALID", f"Value must be one of {set(allowed)}.")
            form.close()

    def _act(self, made: Interaction, answer: int, data: Record, files: Sequence[Upload]) -> Record | None:
        if answer in (_MESSAGE, _DEFER):
            return self._write_original(made, answer, data, files)
        if answer in (_DEFER_UPDATE, _UPDATE):
            source = self._source(made)
            made.original_id = source["id"]
            if answer == _UPDATE:
                posts.edit(self._world, source, data, files)
            return source
        if answer == _MODAL:
            modal: Record = without_nulls(data)
            form = Form()
            check_modal(form, modal)
            form.close()
            number(modal["components"])
            made.modal = modal
        else:
            made.choices = _check_choices(data)
        return None

    def _write_original(
        self, made: Interaction, answer: int, data: Record, files: Sequence[Upload]
    ) -> Record:
        deferred = answer == _DEFER
        body = {} if deferred else data
        flags = int(data.get("flags") or 0) & _EPHEMERAL | (_LOADING if deferred else 0)
        kind = 23 if made.data.get("target_id") else _REPLY[made.kind]
        message = self._write(made, body, files, flags=flags, kind=kind, empty_ok=deferred)
        made.original_id = message["id"]
        return message

    def _write(
        self,
        made: Interaction,
        body: Record,
        files: Sequence[Upload],
        *,
        flags: int,
        kind: int,
        reply_to: str | None = None,
        empty_ok: bool = False,
    ) -> Record:
        world = self._world
        channel = world.channels.get(made.channel_id)
        if channel is None:
            raise refuse(10003)
        extra: Record = {}
        if kind == 19:
            target = reply_to or made.message_id
            extra["reference"] = {"type": 0, "message_id": target, "channel_id": made.channel_id}
        writer = posts.Writer(
            world.bot["id"],
            webhook_id=world.bot["id"],
            application_id=world.bot["id"],
            interaction=self._metadata(made, reply_to),
            only_for=made.user_id if flags & _EPHEMERAL else None,
            flags=flags,
            extra=extra,
        )
        message = posts.create(world, channel, writer, body, files, kind=kind, empty_ok=empty_ok)
        made.message_ids.append(message["id"])
        return message

    def _metadata(self, made: Interaction, original: str | None) -> Record:
        return {
            "id": made.id,
            "type": made.kind,
            "user_id": made.user_id,
            "owners": self._owners(made),
            "name": made.name,
            "interacted_message_id": made.message_id,
            "target_message_id": made.data.get("target_id") if made.data.get("type") == 3 else None,
            "original_response_message_id": original,
        }

    def _source(self, made: Interaction) -> Record:
        return self._message(made.message_id)

    def _message(self, message_id: str | None) -> Record:
        if message_id is None:
            raise refuse(10008)
        found = self._world.messages.get(message_id) or self._world.ephemeral.get(message_id)
        if found is None:
            raise refuse(10008)
        return found

    # --- follow-ups --------------------------------------------------------------

    def by_token(self, token: str) -> Interaction:
        """The interaction that a follow-up belongs to. Bad token 50027, over or never acknowledged 10015."""
        made = self._by_token.get(token)
        if made is None:
            raise refuse(50027)
        if not made.acknowledged or self._world.clock.now_ms() - made.created_ms > TOKEN_LIFE_MS:
            raise refuse(10015)
        return made

    def follow_up(self, made: Interaction, body: Record, files: Sequence[Upload]) -> Record:
        """A further message; the first one after a deferred answer replaces the thinking message."""
        if made.state == "deferred":
            message = posts.edit(self._world, self._message(made.original_id), body, files)
            self._become(made, "done")
            return message
        flags = int(body.get("flags") or 0) & _EPHEMERAL
        reply_to = made.original_id if made.original_id in self._world.messages else None
        kind = 19 if reply_to else 0
        return self._write(made, body, files, flags=flags, kind=kind, reply_to=reply_to)

    def response(self, made: Interaction, message_id: str) -> Record:
        """A message of the interaction: `@original` or a follow-up's id. Refuses with 10008."""
        if message_id == "@original":
            if made.original_id is None:
                raise refuse(10008 if made.acknowledged else 10015)
            return self._message(made.original_id)
        if message_id not in made.message_ids and message_id != made.original_id:
            raise refuse(10008)
        return self._message(message_id)

    def edit(self, made: Interaction, message_id: str, body: Record, files: Sequence[Upload]) -> Record:
        """Change a message of the interaction."""
        message = posts.edit(self._world, self.response(made, message_id), body, files)
        self._settle(made, message["id"])
        return message

    def delete(self, made: Interaction, message_id: str) -> None:
        """Delete a message of the interaction."""
        message = self.response(made, message_id)
        posts.delete(self._world, message)
        self._settle(made, message["id"])

    def _settle(self, made: Interaction, message_id: str) -> None:
        if made.state == "deferred" and message_id == made.original_id:
            self._become(made, "done")


def _check_choices(data: Record) -> list[Record]:
    form = Form()
    choices: list[Record] = data.get("choices") or []
    if form.items("data.choices", choices, most=25):
        for index, choice in enumerate(choices):
            path = f"data.choices.{index}"
            form.text(f"{path}.name", choice.get("name"), least=1, most=100)
            value = choice.get("value")
            if isinstance(value, str):
                form.text(f"{path}.value", value, most=100)
            elif isinstance(value, bool) or not isinstance(value, int | float):
                form.flag(f"{path}.value", "BASE_TYPE_REQUIRED", "This field is required")
    form.close()
    return choices
