"""Runners for the chat families."""

from collections.abc import Callable

from tests.conformance.chats import dialects
from tests.conformance.vectors import Vector

RUNNERS: dict[str, Callable[[Vector], None]] = {"chats/import_dialects": dialects.run}
