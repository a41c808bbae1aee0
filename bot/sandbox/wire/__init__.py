"""Discord on the wire: REST, gateway and CDN of one world, on loopback, with its limits and its faults.

From the ground up: `services` is what all doors share; `rest`, `gateway` and `cdn` are the doors;
`WireDiscord` puts them into one server.
"""

from bot.sandbox.wire.server import WireDiscord
from bot.sandbox.wire.services import Urls

__all__ = ["Urls", "WireDiscord"]
