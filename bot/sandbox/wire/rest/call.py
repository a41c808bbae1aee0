"""What REST endpoints are made of: a call, an answer, and the table of endpoints."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bot.sandbox.limits import Form, Upload, refuse
from bot.sandbox.store import Record
from bot.sandbox.wire.buckets import Limit
from bot.sandbox.wire.services import Services
from bot.sandbox.world import World

__all__ = ["Call", "Endpoint", "Handler", "Reply", "Routes", "read_image"]


@dataclass(slots=True)
class Call:
    """One request of the bot, read and authorised."""

    services: Services
    params: Mapping[str, str]
    query: Mapping[str, str]
    body: Any = None
    files: Sequence[Upload] = ()

    @property
    def world(self) -> World:
        """The world the call acts on."""
        return self.services.world

    @property
    def me(self) -> str:
        """The bot's user id."""
        bot_id: str = self.world.bot["id"]
        return bot_id

    @property
    def fields(self) -> Record:
        """The body as an object. Refuses other JSON with 50109."""
        if self.body is None:
            return {}
        if not isinstance(self.body, dict):
            raise refuse(50109)
        return self.body

    def channel(self) -> Record:
        """The channel of the path's `channel`. Refuses with 10003."""
        found = self.world.channels.get(self.params["channel"])
        if found is None:
            raise refuse(10003)
        return found

    def guild(self) -> Record:
        """The guild of the path's `guild`. Refuses with 10004."""
        found = self.world.guilds.get(self.params["guild"])
        if found is None:
            raise refuse(10004)
        return found

    def message(self) -> Record:
        """The message of the path. Refuses with 10003 or 10008."""
        return self.world.message(self.channel()["id"], self.params["message"])

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number of the query. Refuses with 50035."""
        text = self.query.get(name)
        if text is None:
            return default
        form = Form()
        value: Any = int(text) if re.fullmatch(r"-?\d+", text) else text
        form.number(name, value, least=least, most=most)
        form.close()
        return int(value)

    def snowflake(self, name: str, default: str = "0") -> int:
        """An id of the query. Refuses with 50035."""
        text = self.query.get(name, default)
        if not text.isdecimal():
            form = Form()
            form.flag(name, "NUMBER_TYPE_COERCE", f'Value "{text}" is not snowflake.')
            form.close()
        return int(text)

    def flag(self, name: str) -> bool:
        """A switch of the query: 1 or true."""
        return self.query.get(name, "").lower() in ("1", "true")


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; body None sends none."""

    body: Any = None
    status: int = 200


Handler: TypeAlias = Callable[[Call], Reply]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A handler with its place. `open` ones carry their secret in the path; `free` ones are outside the
    bot's global limit."""

    method: str
    template: str
    handler: Handler
    limit: Limit | None
    open: bool
    free: bool


@dataclass(slots=True)
class Routes:
    """A table of endpoints, filled by decorators."""

    endpoints: list[Endpoint] = field(default_factory=list)

    def add(
        self,
        method: str,
        template: str,
        limit: Limit | None = None,
        *,
        open: bool = False,
        free: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Register a handler for a method and a path template such as `/channels/{channel}`."""

        def register(handler: Handler) -> Handler:
            self.endpoints.append(Endpoint(method, template, handler, limit, open, free))
            return handler

        return register


_DATA_URI = re.compile(r"data:image/(png|jpeg|gif|webp);base64,(.*)", re.DOTALL)


def read_image(form: Form, path: str, value: Any) -> bytes | None:
    """The bytes of an image given as a data URI; None for null."""
    if value is None:
        return None
    match = _DATA_URI.fullmatch(value) if isinstance(value, str) else None
    try:
        if match:
            return base64.b64decode(match[2], validate=True)
    except binascii.Error:
        pass
    form.flag(path, "IMAGE_INVALID", "Invalid image data")
    return None
