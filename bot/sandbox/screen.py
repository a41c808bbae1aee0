"""What a person sees: messages as rendered state, and what became of something they pressed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from bot.sandbox.limits.components import BUTTON, SELECTS, walk, words
from bot.sandbox.store import Record
from bot.sandbox.world import World, payloads
from bot.sandbox.world.interactions import Interaction, Interactions, State
from bot.sandbox.world.posts import EPHEMERAL, LOADING

__all__ = ["Button", "InteractionResult", "Menu", "Shown", "show"]


@dataclass(frozen=True, slots=True)
class Button:
    """A button of a message."""

    label: str
    custom_id: str | None
    emoji: str
    style: int
    disabled: bool
    url: str | None


@dataclass(frozen=True, slots=True)
class Menu:
    """A select menu of a message; `options` are (label, value)."""

    custom_id: str
    placeholder: str
    options: tuple[tuple[str, str], ...]
    disabled: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A message as it stands on the screen. A later state is another `Shown`."""

    id: str
    channel_id: str
    author: str
    text: str
    """The content, or with Components V2 the text displays, one a line."""
    buttons: tuple[Button, ...]
    menus: tuple[Menu, ...]
    files: tuple[str, ...]
    reactions: dict[str, int]
    ephemeral: bool
    thinking: bool
    edited: bool
    webhook: bool
    kind: int
    """Discord's message type; 0 and 19 are people's and bots' words."""
    raw: Record

    def button(self, which: str) -> Button:
        """The button with this label, emoji or custom_id. Raises LookupError."""
        for button in self.buttons:
            if which in (button.label, button.emoji, button.custom_id):
                return button
        there = ", ".join(b.label or b.emoji for b in self.buttons) or "none"
        raise LookupError(f"no button {which!r} on message {self.id}; there are: {there}")

    @property
    def everything(self) -> str:
        """The text with that of the embeds."""
        parts = [self.text]
        for embed in self.raw["embeds"]:
            parts += [embed.get("title") or "", embed.get("description") or ""]
            for field in embed.get("fields") or []:
                parts += [field["name"], field["value"]]
        return "\n".join(p for p in parts if p)


def show(world: World, record: Record, viewer: str) -> Shown:
    """A message record as the viewer sees it now."""
    raw = payloads.message(world, record, viewer=viewer)
    found = [c for _, c in walk(raw["components"])]
    return Shown(
        id=record["id"],
        channel_id=record["channel_id"],
        author=_author(world, record),
        text=raw["content"] or words(raw["components"]),
        buttons=tuple(_button(c) for c in found if c["type"] == BUTTON),
        menus=tuple(_menu(c) for c in found if c["type"] in SELECTS),
        files=tuple(a["filename"] for a in raw["attachments"]),
        reactions={r["emoji"]: len(r["users"]) for r in record["reactions"]},
        ephemeral=bool(record["flags"] & EPHEMERAL),
        thinking=bool(record["flags"] & LOADING),
        edited=record["edited_timestamp"] is not None,
        webhook=record["persona"] is not None,
        kind=record["type"],
        raw=raw,
    )


def _author(world: World, record: Record) -> str:
    if record["persona"] is not None:
        return str(record["persona"]["username"])
    user = world.users[record["author_id"]]
    member = world.members.get(f"{record.get('guild_id')}:{user['id']}")
    return str((member and member["nick"]) or user["global_name"] or user["username"])


def _button(component: Record) -> Button:
    return Button(
        label=component.get("label") or "",
        custom_id=component.get("custom_id"),
        emoji=(component.get("emoji") or {}).get("name") or "",
        style=component["style"],
        disabled=bool(component.get("disabled")),
        url=component.get("url"),
    )


def _menu(component: Record) -> Menu:
    return Menu(
        custom_id=component["custom_id"],
        placeholder=component.get("placeholder") or "",
        options=tuple((o["label"], o["value"]) for o in component.get("options") or []),
        disabled=bool(component.get("disabled")),
    )


class InteractionResult:
    """What became of a command, click or submit. It is live: later follow-ups appear in it."""

    def __init__(self, world: World, interactions: Interactions, made: Interaction) -> None:
        self._world = world
        self._interactions = interactions
        self._made = made

    @property
    def id(self) -> str:
        """The interaction's id."""
        return self._made.id

    @property
    def state(self) -> State:
        """pending, deferred, done, modal, or failed: "The application did not respond"."""
        return self._made.state

    @property
    def modal(self) -> Record | None:
        """The modal that opened, as the bot sent it."""
        return self._made.modal

    @property
    def choices(self) -> list[Record]:
        """The choices of an autocomplete."""
        return self._made.choices

    @property
    def messages(self) -> list[Shown]:
        """All messages that it made and that still stand, oldest first."""
        world = self._world
        found = (world.messages.get(i) or world.ephemeral.get(i) for i in self._made.message_ids)
        return [show(world, record, self._made.user_id) for record in found if record is not None]

    @property
    def ephemeral(self) -> list[Shown]:
        """Those of the messages that only the person sees."""
        return [m for m in self.messages if m.ephemeral]

    @property
    def message(self) -> Shown:
        """The latest message. Raises LookupError when there is none."""
        messages = self.messages
        if not messages:
            raise LookupError(f"the interaction is {self.state} and shows no message")
        return messages[-1]

    @property
    def text(self) -> str:
        """The latest message's text, embeds included; empty when there is none."""
        return self.messages[-1].everything if self.messages else ""

    async def until(self, *states: State, timeout: float = 10.0) -> InteractionResult:
        """Wait until it is in one of the states. Raises TimeoutError."""
        reached = asyncio.Event()
        end = self._interactions.watch(
            lambda made: reached.set() if made is self._made and made.state in states else None
        )
        try:
            if self.state not in states:
                async with asyncio.timeout(timeout):
                    await reached.wait()
        except TimeoutError:
            raise TimeoutError(f"the interaction is still {self.state} after {timeout} s") from None
        finally:
            end()
        return self

    async def settled(self, timeout: float = 10.0) -> InteractionResult:
        """Wait until it is answered for good: neither pending nor thinking."""
        return await self.until("done", "modal", "failed", timeout=timeout)
