"""Discord's REST API v10: what an endpoint is (`call`), the endpoints by subject, and how they are served."""

from bot.sandbox.wire.rest.api import PREFIX, Rest
from bot.sandbox.wire.rest.body import LARGEST

__all__ = ["LARGEST", "PREFIX", "Rest"]
