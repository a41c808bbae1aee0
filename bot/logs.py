"""Logs: readable on a terminal, JSON elsewhere; never what people wrote, never a secret.

Engine and bot log through structlog, libraries through the standard `logging`; both leave by the
same handler and the same redaction. Three nets hold secrets and prose back: fields are judged by
their name, strings are searched for the secrets of these settings and for the shapes that tokens
have in addresses and headers, and libraries that print bodies at debug level are kept above it.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Mapping, MutableMapping
from contextlib import AbstractContextManager
from typing import Any, TextIO

import structlog
from pydantic import SecretStr
from structlog.contextvars import bound_contextvars, merge_contextvars
from structlog.stdlib import ProcessorFormatter

from bot.settings import LogSettings

__all__ = ["FLOORS", "Redaction", "about", "configure"]

HIDDEN = "[hidden]"

_SECRET_FIELD = re.compile(r"(^|_)(token|key|api_?key|authorization|secret|password|cookie)$", re.IGNORECASE)
_PROSE_FIELD = re.compile(
    r"(^|_)(content|text|texts|body|prompt|messages|answer|greeting|description|arguments|payload|utterance)$",
    re.IGNORECASE,
)
_SHAPES = [
    # Authorization headers
    (re.compile(r"\b(Bearer|Bot)\s+[\w.~+/=-]{8,}"), rf"\1 {HIDDEN}"),
    # webhook and interaction tokens, which stand in paths
    (re.compile(r"(/(?:webhooks|interactions)/\d+/)[\w-]{8,}"), rf"\1{HIDDEN}"),
    # OpenAI-like keys
    (re.compile(r"\bsk-[\w-]{8,}"), HIDDEN),
    # pydantic quotes the value that it refused
    (re.compile(r"input_value=.*, input_type="), f"input_value={HIDDEN}, input_type="),
]

# What a library logs below this level contains message bodies, keys, or one line per frame.
FLOORS = {
    "discord.http": logging.INFO,
    "discord.webhook": logging.INFO,
    "discord.gateway": logging.INFO,
    "discord.client": logging.INFO,
    "aiosqlite": logging.WARNING,
    "httpcore": logging.WARNING,
    "httpx": logging.WARNING,
    "aiohttp.access": logging.WARNING,
    "asyncio": logging.WARNING,
    "PIL": logging.WARNING,
}


class Redaction:
    """A structlog processor that takes secrets and prose out of a log line."""

    def __init__(self, secrets: Iterable[SecretStr | None] = ()) -> None:
        values = {secret.get_secret_value() for secret in secrets if secret is not None}
        # Shorter than 6 would blank out ordinary words ("sandbox" is the sandbox's token, and no secret).
        self._secrets = sorted((value for value in values if len(value) >= 6), key=len, reverse=True)

    def __call__(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
        return {
            name: value if name.startswith("_") else self._field(name, value) for name, value in event.items()
        }

    def _field(self, name: str, value: Any) -> Any:
        if isinstance(value, SecretStr):
            return HIDDEN
        # Numbers are sizes and counts (`max_tokens`), never secrets.
        if _SECRET_FIELD.search(name) and value is not None and not isinstance(value, int | float):
            return HIDDEN
        if _PROSE_FIELD.search(name) and isinstance(value, str | bytes | list | tuple | Mapping):
            return f"[{len(value)} long]"
        return self._value(value)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, Mapping):
            return {self.clean(str(key)): self._field(str(key), inner) for key, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._value(inner) for inner in value]
        if isinstance(value, bool | int | float) or value is None:
            return value
        # Whatever else would be printed by its repr, which may hold anything.
        return self.clean(repr(value))

    def clean(self, text: str) -> str:
        """The text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        for shape, instead in _SHAPES:
            text = shape.sub(instead, text)
        return text


def configure(
    settings: LogSettings, *, secrets: Iterable[SecretStr | None] = (), stream: TextIO | None = None
) -> None:
    """Send all logs of this process to `stream` (standard error), in the format of the settings.

    May be called again; the last call counts.
    """
    stream = stream or sys.stderr
    level = getattr(logging, settings.level.upper())
    console = settings.format == "console" or (settings.format == "auto" and stream.isatty())
    shared: list[structlog.typing.Processor] = [
        merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if console else "iso", utc=not console),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        Redaction(secrets),
    ]
    structlog.configure(
        processors=[*shared, ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,  # so that a second `configure` reaches loggers made before
    )
    renderer = (
        structlog.dev.ConsoleRenderer(colors=stream.isatty())
        if console
        else structlog.processors.JSONRenderer(ensure_ascii=False)
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=shared, processors=[ProcessorFormatter.remove_processors_meta, renderer]
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name, floor in FLOORS.items():
        logging.getLogger(name).setLevel(max(floor, level))
    logging.captureWarnings(True)


def about(
    *,
    play: str | None = None,
    session: str | None = None,
    channel: int | str | None = None,
    **more: str | int,
) -> AbstractContextManager[Any]:
    """Name what the lines inside the `with` are about, also those that libraries and the engine write."""
    facts: dict[str, Any] = {"play": play, "session": session, "channel": channel, **more}
    return bound_contextvars(**{name: value for name, value in facts.items() if value is not None})
