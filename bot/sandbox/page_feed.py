"""What one browser window is told: everything its person may see, and what goes on behind the scenes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from bot.sandbox.command_input import usable_commands
from bot.sandbox.page_backstage import Backstage
from bot.sandbox.store import Record
from bot.sandbox.wire.requestlog import Request
from bot.sandbox.world import payloads
from bot.sandbox.world.permissions import Permission, in_channel

__all__ = ["Viewer", "requests_since", "visible_channels"]

_WAITING = 2000  # frames that a window may lag behind before it has to load everything again
_SHOWN_REQUESTS = 100
_TAIL = 200  # lines of the bot's log that a new window gets
# News that concern the whole server, not one channel.
_EVERYBODYS = ("GUILD_", "USER_")


def visible_channels(backstage: Backstage, guild_id: str, user_id: str) -> list[Record]:
    """The guild's channels and threads that the person may see, and their direct channels, as records."""
    world = backstage.wire.world
    return [
        c
        for c in world.channels.values()
        if c.get("guild_id", guild_id) == guild_id
        and (c["type"] == 4 or in_channel(world, c, user_id) & Permission.VIEW_CHANNEL)
    ]


def requests_since(backstage: Backstage, last: Request | None) -> list[Request]:
    """The logged requests after `last`, oldest first."""
    found: list[Request] = []
    for request in reversed(list(backstage.wire.log)):
        if request is last:
            break
        found.append(request)
    return found[::-1]


class Viewer:
    """One websocket's queue of frames. `frames` is what to send; None in it means: close."""

    def __init__(self, backstage: Backstage, user: Record, guild: Record) -> None:
        self.backstage = backstage
        self.user = user
        self.guild = guild
        self.frames: asyncio.Queue[Record | None] = asyncio.Queue()
        self._last_request: Request | None = None
        self._log_lines = 0
        self._bot: Record = {}
        self._ends: list[Callable[[], None]] = []

    def open(self) -> None:
        """Say hello and listen from now on; both in one go, so that nothing falls between."""
        self._ends.append(self.backstage.wire.world.subscribe(self._news))
        self._put(self._hello())
        log = list(self.backstage.wire.log)[-_SHOWN_REQUESTS:]
        self._last_request = log[-1] if log else None
        self._put({**self._stats([]), "requests": [_shown(r) for r in log]})
        self.tick()

    def close(self) -> None:
        """Stop listening."""
        while self._ends:
            self._ends.pop()()

    def _put(self, frame: Record) -> None:
        if self.frames.qsize() >= _WAITING:
            self.close()
            self.frames.put_nowait(None)
            return
        self.frames.put_nowait(frame)

    # --- hello -------------------------------------------------------------------

    def _hello(self) -> Record:
        world = self.backstage.wire.world
        me = self.user["id"]
        shown = [
            (c, _named(payloads.channel(world, c, viewer=me), world.bot))
            for c in visible_channels(self.backstage, self.guild["id"], me)
        ]
        members = world.members.where(guild_id=self.guild["id"])
        self._bot = self.backstage.bot_state()
        return {
            "t": "hello",
            "you": payloads.user(self.user),
            "users": [payloads.user(u) for u in world.users.values()],
            "members": [payloads.member(world, m) for m in members],
            "guild": {
                "id": self.guild["id"],
                "name": self.guild["name"],
                "owner_id": self.guild["owner_id"],
                "roles": [payloads.role(r) for r in self.guild["roles"]],
                "channels": [payload for record, payload in shown if not world.is_thread(record)],
                "threads": [payload for record, payload in shown if world.is_thread(record)],
            },
            "commands": self._commands(),
            "bot": self._bot,
            "narrator": self.backstage.model.offline,
            "model": {"name": self.backstage.model.name, "offline": self.backstage.model.offline},
        }

    def _commands(self) -> list[Record]:
        # Offered somewhere on the server: the client hides what is age-restricted in the other channels.
        world, me = self.backstage.wire.world, self.user["id"]
        places = [c for c in visible_channels(self.backstage, self.guild["id"], me) if c["type"] != 4]
        offered = {c["id"]: c for place in places for c in usable_commands(world, place, me)}
        return [_localised(c, self.user["locale"]) for c in offered.values()]

    # --- news ----------------------------------------------------------------------

    def _news(self, name: str, data: Record, only_for: str | None) -> None:
        if only_for is not None and only_for != self.user["id"]:
            return
        if name == "COMMANDS_UPDATE":
            self._put({"t": "commands", "commands": self._commands()})
        elif name == "INTERACTION_STATE":
            self._put({"t": "interaction", **data})
        elif self._may_see(name, data):
            self._put({"t": "event", "event": name, "data": self._mine(name, data)})

    def _may_see(self, name: str, data: Record) -> bool:
        if data.get("guild_id", self.guild["id"]) != self.guild["id"]:
            return False
        if name.startswith(_EVERYBODYS) or (name.endswith("_DELETE") and "channel_id" not in data):
            return True
        world = self.backstage.wire.world
        channel = world.channels.get(str(data.get("channel_id") or data.get("id")))
        if channel is None:
            return False
        return channel["type"] == 4 or bool(
            in_channel(world, channel, self.user["id"]) & Permission.VIEW_CHANNEL
        )

    def _mine(self, name: str, data: Record) -> Record:
        # What was told to everybody was drawn for the bot: "did I react" is this person's question here.
        world = self.backstage.wire.world
        if name in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and data.get("reactions"):
            record = world.messages.get(data["id"])
            if record is not None:
                return payloads.message(world, record, viewer=self.user["id"], news=True)
        if name == "CHANNEL_CREATE":
            return _named(data, world.bot)
        return data

    # --- every second -----------------------------------------------------------------

    def tick(self) -> None:
        """Tell what changed behind the scenes since the last second."""
        fresh = requests_since(self.backstage, self._last_request)
        if fresh:
            self._last_request = fresh[-1]
        self._put(self._stats(fresh))
        bot = self.backstage.bot_state()
        if bot != self._bot:
            self._bot = bot
            self._put({"t": "bot", "bot": bot})
        written, lines = self.backstage.bot_log()
        if written > self._log_lines:
            self._put({"t": "log", "lines": lines[-min(written - self._log_lines, _TAIL) :]})
            self._log_lines = written

    def _stats(self, fresh: list[Request]) -> Record:
        edits = Counter(r.channel_id for r in fresh if r.is_edit and r.status < 300 and r.channel_id)
        wire = self.backstage.wire
        faults: list[Record] = [{"kind": f["kind"], "text": _fault_text(f)} for f in wire.faults.show()]
        if wire.faults.latency_ms:
            ms = round(wire.faults.latency_ms)
            faults.append({"kind": "latency", "ms": ms, "text": f"{ms} ms of latency"})
        return {
            "t": "stats",
            "requests": [_shown(r) for r in fresh[-_SHOWN_REQUESTS:]],
            "edits_per_s": dict(edits),
            "rate": [self._bucket(b) for b in wire.buckets.states()],
            "faults": faults,
        }

    def _bucket(self, state: Record) -> Record:
        # The major parameter is a channel, or a webhook with its token: people know both by the channel.
        world, major = self.backstage.wire.world, str(state["major"])
        hook = next((h for h in world.webhooks.values() if major.startswith(h["id"])), None)
        channel = world.channels.get(hook["channel_id"] if hook else major)
        where = f" · {channel['name']}" if channel is not None and channel.get("name") else ""
        keys = ("limit", "remaining", "reset")
        return {"bucket": f"{state['bucket']}{where}", **{key: state[key] for key in keys}}


def _shown(request: Request) -> Record:
    return {**request.show(), "at": round(request.at * 1000)}


def _fault_text(fault: Mapping[str, Any]) -> str:
    what = {
        "status": str(fault["status"]),
        "drop": "a cut",
        "hang": "silence",
        "slow": f"{fault['seconds']} s of delay",
    }
    left = "every" if fault["left"] is None else f"the next {fault['left']}"
    return f"{what[fault['kind']]} for {left} request{'' if fault['left'] == 1 else 's'}"


def _named(channel: Record, bot: Record) -> Record:
    # A direct channel has no name of its own; people see the other side's.
    return {**channel, "name": bot["global_name"] or bot["username"]} if channel["type"] == 1 else channel


def _localised(thing: Mapping[str, Any], locale: str) -> Record:
    """A command or option as a client in this language describes it; names stay, for typing."""
    shown = dict(thing)
    described = (shown.get("description_localizations") or {}).get(locale)
    if described:
        shown["description"] = described
    if shown.get("options"):
        shown["options"] = [_localised(option, locale) for option in shown["options"]]
    if shown.get("choices"):
        shown["choices"] = [
            {**c, "name": (c.get("name_localizations") or {}).get(locale) or c["name"]}
            for c in shown["choices"]
        ]
    return shown
