"""A person at the table: does what a Discord client lets people do, and sees what it shows them.

Used by the end-to-end tests and by the sandbox's page. What the client would not allow
raises `NotPossible`; what Discord refuses raises `Refusal`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from bot.sandbox.command_input import (
    NotPossible,
    Resolved,
    command_data,
    find_command,
    fits_select,
    modal_data,
    usable_commands,
)
from bot.sandbox.limits import Upload, refuse
from bot.sandbox.limits.command_rules import MESSAGE_MENU, USER_MENU
from bot.sandbox.limits.components import BUTTON, SELECTS, walk
from bot.sandbox.screen import InteractionResult, Shown, show
from bot.sandbox.store import Record
from bot.sandbox.wire import WireDiscord
from bot.sandbox.world import membership, payloads, posts
from bot.sandbox.world.interactions import AUTOCOMPLETE, COMMAND, COMPONENT, MODAL, Interaction
from bot.sandbox.world.permissions import Permission as P
from bot.sandbox.world.permissions import in_channel, require, require_send

__all__ = ["Human", "NotPossible"]

Which: TypeAlias = "str | Mapping[str, Any] | Shown"
"""A channel or message: its id (or a channel's name), its record or payload, or a message as shown."""


class Human:
    """One person. `user` is an id, a name or a record."""

    def __init__(self, wire: WireDiscord, user: str | Record) -> None:
        self._world = wire.world
        self._interactions = wire.interactions
        self.user = self._world.user(user if isinstance(user, str) else user["id"])
        self.id: str = self.user["id"]

    # --- what they see -----------------------------------------------------------------

    def screen(self, channel: Which) -> list[Shown]:
        """The channel as it stands for them, oldest first, their ephemeral messages in place."""
        place = self._channel(channel)
        require(self._world, place, self.id)
        records = [self._world.messages[i] for i in self._world.history(place["id"])]
        mine = [m for m in self._world.ephemeral.values() if m["only_for"] == self.id]
        records += [m for m in mine if m["channel_id"] == place["id"]]
        records.sort(key=lambda m: int(m["id"]))
        return [show(self._world, m, self.id) for m in records]

    def last(self, channel: Which) -> Shown:
        """The last message. Raises LookupError when there is none."""
        screen = self.screen(channel)
        if not screen:
            raise LookupError("the channel is empty")
        return screen[-1]

    def shown(self, message: Which) -> Shown:
        """A message as it stands now."""
        return show(self._world, self._message(message), self.id)

    async def sees(
        self, channel: Which, wanted: str | Callable[[Shown], bool], *, timeout: float = 10.0
    ) -> Shown:
        """Wait until a message of the channel has the text or meets the predicate; the latest such one."""

        def meets(message: Shown) -> bool:
            return wanted in message.everything if isinstance(wanted, str) else wanted(message)

        def latest() -> Shown | None:
            return next((m for m in reversed(self.screen(channel)) if meets(m)), None)

        try:
            await self.wait_for(lambda: latest() is not None, timeout=timeout)
        except TimeoutError:
            lines = "\n".join(f"  {m.author}: {m.everything[:200]!r}" for m in self.screen(channel)[-8:])
            raise TimeoutError(f"not seen within {timeout} s; the channel shows\n{lines}") from None
        found = latest()
        assert found is not None
        return found

    async def wait_for(self, predicate: Callable[[], bool], *, timeout: float = 10.0) -> None:
        """Wait until the predicate holds; it is tried after every event. Raises TimeoutError."""
        news = asyncio.Event()

        def note(name: str, data: Record, only_for: str | None) -> None:
            news.set()

        end = self._world.subscribe(note)
        try:
            async with asyncio.timeout(timeout):
                while not predicate():
                    news.clear()
                    await news.wait()
        finally:
            end()

    def history(self, channel: Which, *, before: str | None = None, limit: int = 50) -> list[Record]:
        """Message payloads, oldest first, without ephemeral ones (a reload loses those)."""
        place = self._channel(channel)
        if not require(self._world, place, self.id) & P.READ_HISTORY:
            return []
        ids = self._world.history(place["id"])
        if before is not None:
            ids = [i for i in ids if int(i) < int(before)]
        return [payloads.message(self._world, self._world.messages[i], viewer=self.id) for i in ids[-limit:]]

    def channels(self) -> list[Record]:
        """The channels and threads that they can see, as payloads."""
        seen = [c for c in self._world.channels.values() if in_channel(self._world, c, self.id)]
        return [payloads.channel(self._world, c, viewer=self.id) for c in seen]

    def commands(self, channel: Which) -> list[Record]:
        """The commands that the client offers here, as the bot registered them."""
        return usable_commands(self._world, self._channel(channel), self.id)

    def direct(self) -> Record:
        """Their direct channel with the bot."""
        return self._world.direct(self.user)

    # --- messages ----------------------------------------------------------------------

    async def say(
        self, channel: Which, text: str = "", files: Sequence[Upload] = (), *, reply_to: Which | None = None
    ) -> Shown:
        """Write a message."""
        place = self._channel(channel)
        body: Record = {"content": text}
        if reply_to is not None:
            body["message_reference"] = {"message_id": self._message(reply_to)["id"]}
        require_send(self._world, place, self.id, body, bool(files))
        return self._show(posts.create(self._world, place, posts.Writer(self.id), body, files))

    async def edit(self, message: Which, text: str, *, keep: Sequence[str] | None = None) -> Shown:
        """Change one's own message; with `keep`, ids of its attachments, take the others off it."""
        record = self._message(message)
        if record["author_id"] != self.id or record["persona"] is not None:
            raise refuse(50005)
        body: Record = {"content": text}
        if keep is not None:
            body["attachments"] = [{"id": attachment_id} for attachment_id in keep]
        return self._show(posts.edit(self._world, record, body))

    async def delete(self, message: Which) -> None:
        """Delete a message: one's own, or with MANAGE_MESSAGES anybody's; dismiss an ephemeral one."""
        record = self._message(message)
        own = record["only_for"] == self.id or (record["author_id"] == self.id and record["persona"] is None)
        require(
            self._world, self._world.channels[record["channel_id"]], self.id, 0 if own else P.MANAGE_MESSAGES
        )
        posts.delete(self._world, record)

    async def react(self, message: Which, emoji: str, *, remove: bool = False) -> None:
        """React to a message, or take the reaction back."""
        record = self._message(message)
        if remove:
            posts.unreact(self._world, record, emoji, self.id)
            return
        require(
            self._world, self._world.channels[record["channel_id"]], self.id, P.READ_HISTORY | P.ADD_REACTIONS
        )
        posts.react(self._world, record, self.id, emoji)

    async def typing(self, channel: Which) -> None:
        """Show the typing line for some seconds."""
        place = self._channel(channel)
        news: Record = {
            "channel_id": place["id"],
            "user_id": self.id,
            "timestamp": self._world.clock.now_ms() // 1000,
        }
        if "guild_id" in place:
            member = self._world.members[f"{place['guild_id']}:{self.id}"]
            news |= {"guild_id": place["guild_id"], "member": payloads.member(self._world, member)}
        self._world.emit("TYPING_START", news)

    async def join(self, thread: Which) -> None:
        """Join a thread."""
        place = self._channel(thread)
        require(self._world, place, self.id)
        membership.join(self._world, place, self.id)

    # --- interactions ------------------------------------------------------------------

    async def slash(
        self,
        channel: Which,
        command: str,
        options: Mapping[str, Any] | None = None,
        *,
        wait: bool = True,
        timeout: float = 10.0,
        **more: Any,
    ) -> InteractionResult:
        """Use a slash command such as `"card import"` with its options (as a mapping or by name).

        Users, channels and roles are given by id, name or record, files as `Upload`. With
        `wait` it returns when the command is answered (or failed), else at once.
        """
        place = self._channel(channel)
        self._may_command(place)
        words = command.lstrip("/").split()
        found, path, leaf = find_command(self._world, place, self.user, words)
        resolved = Resolved(self._world, place, self.id)
        data = command_data(found, path, leaf, {**(options or {}), **more}, resolved)
        name = " ".join([found["name"], *(step["name"] for step in path)])
        made = self._interactions.open(COMMAND, self.id, place, data, name=name)
        return await self._result(made, wait, timeout)

    async def autocomplete(
        self,
        channel: Which,
        command: str,
        focused: str,
        typed: str = "",
        options: Mapping[str, Any] | None = None,
        *,
        timeout: float = 10.0,
    ) -> list[Record]:
        """The choices ({name, value}) offered while typing into an option; none when the bot is silent."""
        place = self._channel(channel)
        found, path, leaf = find_command(self._world, place, self.user, command.lstrip("/").split())
        option = next((o for o in leaf if o["name"] == focused), None)
        if option is None or not option.get("autocomplete"):
            raise NotPossible(f"the option {focused} does not complete")
        values = {**(options or {}), focused: typed}
        data = command_data(found, path, leaf, values, Resolved(self._world, place, self.id), focused=focused)
        made = self._interactions.open(AUTOCOMPLETE, self.id, place, data, name=found["name"])
        return (await self._result(made, True, timeout)).choices

    async def menu(
        self,
        target: Which,
        name: str,
        *,
        channel: Which | None = None,
        wait: bool = True,
        timeout: float = 10.0,
    ) -> InteractionResult:
        """Use an entry of a message's menu, or of a user's when `channel` says where."""
        kind = MESSAGE_MENU if channel is None else USER_MENU
        record = self._message(target) if channel is None else None
        place = self._world.channels[record["channel_id"]] if record else self._channel(channel or "")
        self._may_command(place)
        locale = self.user["locale"]
        offered = [c for c in usable_commands(self._world, place, self.id) if c["type"] == kind]
        command = next(
            (c for c in offered if name in (c["name"], (c["name_localizations"] or {}).get(locale))), None
        )
        if command is None:
            raise NotPossible(f"there is no entry {name!r}")
        resolved = Resolved(self._world, place, self.id)
        target_id = resolved.message(record) if record else resolved.user(target)
        data: Record = {"id": command["id"], "name": command["name"], "type": kind, "target_id": target_id}
        data["resolved"] = resolved.data
        if command["guild_id"] is not None:
            data["guild_id"] = command["guild_id"]
        made = self._interactions.open(COMMAND, self.id, place, data, name=command["name"])
        return await self._result(made, wait, timeout)

    async def click(
        self, message: Which, which: str, *, wait: bool = True, timeout: float = 10.0
    ) -> InteractionResult:
        """Press a button, named by label, emoji or custom_id."""
        record = self._message(message)
        button = show(self._world, record, self.id).button(which)
        if button.disabled or button.custom_id is None:
            raise NotPossible(f"the button {which!r} cannot be pressed")
        data: Record = {"component_type": BUTTON, "custom_id": button.custom_id}
        return await self._component(record, button.custom_id, data, wait, timeout)

    async def select(
        self, message: Which, which: str, *values: Any, wait: bool = True, timeout: float = 10.0
    ) -> InteractionResult:
        """Choose in a select menu, named by custom_id or placeholder; string options by value or label."""
        record = self._message(message)
        for _, component in walk(record["components"]):
            named = which in (component.get("custom_id"), component.get("placeholder"))
            if component["type"] in SELECTS and named:
                break
        else:
            raise LookupError(f"there is no menu {which!r}")
        if component.get("disabled"):
            raise NotPossible(f"the menu {which!r} cannot be used")
        resolved = Resolved(self._world, self._world.channels[record["channel_id"]], self.id)
        picked = fits_select(component, values, resolved)
        data: Record = {"component_type": component["type"], "custom_id": component["custom_id"]}
        data["values"] = picked
        if resolved.data:
            data["resolved"] = resolved.data
        return await self._component(record, component["custom_id"], data, wait, timeout)

    async def _component(
        self, record: Record, custom_id: str, data: Record, wait: bool, timeout: float
    ) -> InteractionResult:
        data["id"] = next(c["id"] for _, c in walk(record["components"]) if c.get("custom_id") == custom_id)
        place = self._world.channels[record["channel_id"]]
        made = self._interactions.open(COMPONENT, self.id, place, data, message=record)
        return await self._result(made, wait, timeout)

    async def submit(
        self,
        modal: InteractionResult | str,
        values: Mapping[str, Any] | None = None,
        *,
        wait: bool = True,
        timeout: float = 10.0,
    ) -> InteractionResult:
        """Send an open modal (its result, or the id of the interaction that opened it).

        `values` by custom_id or label; fields that are not named keep their defaults.
        """
        opener = self._interactions.get(modal if isinstance(modal, str) else modal.id)
        if opener.modal is None or opener.user_id != self.id:
            raise NotPossible("there is no open modal")
        place = self._world.channels[opener.channel_id]
        data = modal_data(opener.modal, values or {}, Resolved(self._world, place, self.id))
        source = None
        if opener.message_id is not None:
            found = self._world.messages, self._world.ephemeral
            source = found[0].get(opener.message_id) or found[1].get(opener.message_id)
        made = self._interactions.open(MODAL, self.id, place, data, message=source, name=opener.name)
        return await self._result(made, wait, timeout)

    # --- small things --------------------------------------------------------------------

    async def _result(self, made: Interaction, wait: bool, timeout: float) -> InteractionResult:
        result = InteractionResult(self._world, self._interactions, made)
        return await result.settled(timeout) if wait else result

    def _may_command(self, place: Record) -> None:
        if place["type"] != 1:
            require(self._world, place, self.id, P.USE_COMMANDS)

    def _show(self, record: Record) -> Shown:
        return show(self._world, record, self.id)

    def _channel(self, which: Which) -> Record:
        return self._world.channel(_key(which))

    def _message(self, which: Which) -> Record:
        key = _key(which)
        found = self._world.messages.get(key) or self._world.ephemeral.get(key)
        if found is None or found["only_for"] not in (None, self.id):
            raise refuse(10008)
        require(self._world, self._world.channels[found["channel_id"]], self.id)
        return found


def _key(which: Which) -> str:
    if isinstance(which, str):
        return which
    return which.id if isinstance(which, Shown) else str(which["id"])
