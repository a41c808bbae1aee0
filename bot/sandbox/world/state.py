"""Everything that exists on the wire-level Discord, and quiet keeping of it.

Records are JSON objects with string ids; `payloads` turns them into what the wire
shows. Nothing here tells anybody of a change: that is what `World` is for.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from pathlib import Path
from urllib.parse import quote

from bot.sandbox.limits import refuse
from bot.sandbox.snowflake import Clock, Snowflakes
from bot.sandbox.store import Record, Store, Table

__all__ = ["State"]

THREADS = (10, 11, 12)
THINKING = 1 << 7  # the message flag of a deferred answer
_LINK_LIFE_S = 24 * 3600  # attachment links are signed and live about a day (spec discord B4)


class State:
    """Users, guilds, channels, messages, webhooks and commands; `path` None keeps it in memory.

    Each change is on disk when the call returns (see `store`).
    """

    def __init__(self, path: Path | None = None, *, clock: Clock | None = None) -> None:
        self.store = Store(path)
        self.clock = clock or Clock()
        self.ids = Snowflakes(self.clock)
        self.users = Table(self.store, "user")
        self.guilds = Table(self.store, "guild")
        self.members = Table(self.store, "member", key="key")
        self.channels = Table(self.store, "channel")
        self.messages = Table(self.store, "message")
        self.webhooks = Table(self.store, "webhook")
        self.commands = Table(self.store, "command")
        self._meta = Table(self.store, "meta")
        self.ephemeral: dict[str, Record] = {}
        """Messages that only one user sees; never stored, never in a history."""
        self.cdn = "http://127.0.0.1:0/cdn"
        self.token = "sandbox"
        """The bot token that the REST side and the gateway accept."""
        self.old_edit_allowance = 3
        """Edits per channel and hour of messages older than one hour; Discord does not publish its number."""
        self._timeline: dict[str, list[str]] = {}
        self._restore_order()
        if "identity" not in self._meta:
            bot = self.add_user("Inglenook", bot=True)
            self._meta.put({"id": "identity", "bot": bot["id"], "secret": secrets.token_hex(16)})

    def _restore_order(self) -> None:
        for table in (self.users, self.guilds, self.channels, self.messages, self.webhooks, self.commands):
            for key in table:
                self.ids.seen(key)
        for guild in self.guilds.values():
            for role in guild["roles"]:
                self.ids.seen(role["id"])
        for key in sorted(self.messages, key=int):
            message = self.messages[key]
            if message["flags"] & THINKING:
                # The interaction that it belongs to ended with the process: nobody can answer it.
                self.messages.drop(key)
                continue
            for attachment in message["attachments"]:
                self.ids.seen(attachment["id"])
            self._timeline.setdefault(message["channel_id"], []).append(key)

    def close(self) -> None:
        """Close the file."""
        self.store.close()

    # --- finding things ----------------------------------------------------------

    @property
    def bot(self) -> Record:
        """The bot's user, which is also its application."""
        return self.users[self._meta["identity"]["bot"]]

    @property
    def secret(self) -> bytes:
        """Signs attachment links; made once per world."""
        return bytes.fromhex(self._meta["identity"]["secret"])

    def user(self, name_or_id: str) -> Record:
        """A user by id, username or display name. Refuses with 10013."""
        found = self.users.get(name_or_id)
        if found is None:
            found = next(
                (u for u in self.users.values() if name_or_id in (u["username"], u["global_name"])), None
            )
        if found is None:
            raise refuse(10013)
        return found

    def channel(self, name_or_id: str) -> Record:
        """A channel or thread by id or name. Refuses with 10003."""
        found = self.channels.get(name_or_id)
        if found is None:
            found = next((c for c in self.channels.values() if c.get("name") == name_or_id), None)
        if found is None:
            raise refuse(10003)
        return found

    def message(self, channel_id: str, message_id: str) -> Record:
        """A message that stands in the channel (no ephemeral one). Refuses with 10008."""
        found = self.messages.get(message_id)
        if found is None or found["channel_id"] != channel_id:
            raise refuse(10008)
        return found

    def history(self, channel_id: str) -> list[str]:
        """The ids of a channel's messages, oldest first. Do not change the list."""
        return self._timeline.get(channel_id, [])

    def is_thread(self, channel: Record) -> bool:
        """Whether the channel is a thread or forum post."""
        return channel["type"] in THREADS

    def threads_of(self, parent_id: str) -> list[Record]:
        """The threads of a channel or posts of a forum."""
        return [c for c in self.channels.values() if self.is_thread(c) and c["parent_id"] == parent_id]

    # --- keeping things ----------------------------------------------------------

    def add_user(
        self, name: str, *, bot: bool = False, username: str | None = None, locale: str = "en-US"
    ) -> Record:
        """A new person or bot with a drawn avatar."""
        user_id = self.ids.new()
        plain = "".join(c for c in (username or name).lower() if c.isascii() and (c.isalnum() or c in "._"))
        return self.users.put(
            {
                "id": user_id,
                # Bots keep their name as it is; people's handles are plain.
                "username": name if bot else plain or "user" + user_id[-4:],
                "global_name": None if bot else name,
                "avatar": hashlib.md5(f"{user_id}{name}".encode(), usedforsecurity=False).hexdigest(),
                "bot": bot,
                "locale": locale,
            }
        )

    def keep_message(self, record: Record) -> None:
        """Put a new message at the end of its channel (or among the ephemeral ones)."""
        if record["only_for"] is not None:
            self.ephemeral[record["id"]] = record
            return
        self.messages.put(record)
        self._timeline.setdefault(record["channel_id"], []).append(record["id"])

    def drop_message(self, record: Record) -> None:
        """Take a message away without telling anybody."""
        if self.ephemeral.pop(record["id"], None) is None:
            self.messages.drop(record["id"])
            self._timeline[record["channel_id"]].remove(record["id"])

    def drop_messages(self, channel_id: str) -> None:
        """Take all messages of a channel away without telling anybody."""
        for message_id in self._timeline.pop(channel_id, []):
            self.messages.drop(message_id)

    # --- files -------------------------------------------------------------------

    def link(self, path: str) -> str:
        """A signed link to a stored file, good for a day of the world's clock."""
        expiry = f"{self.clock.now_ms() // 1000 + _LINK_LIFE_S:x}"
        return f"{self.cdn}/{quote(path)}?ex={expiry}&is={expiry}&hm={self._signature(path, expiry)}"

    def link_is_good(self, path: str, expiry: str, signature: str) -> bool:
        """Whether a link was signed by us and has not expired."""
        good = hmac.compare_digest(self._signature(path, expiry), signature)
        return good and int(expiry, 16) >= self.clock.now_ms() // 1000

    def _signature(self, path: str, expiry: str) -> str:
        return hmac.new(self.secret, f"{path}?{expiry}".encode(), hashlib.sha256).hexdigest()[:32]
