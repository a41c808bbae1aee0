"""The world of the sandbox, without any network: what exists on its Discord and what happens there.

From the ground up: `state` keeps what exists; `permissions`, `payloads`, `attachments` and `pictures`
read it; `World` changes it and tells; `membership`, `posts`, `threads` and `interactions` are
what is done in it, by people and bots alike.
"""

from bot.sandbox.world.state import State
from bot.sandbox.world.world import CHANNEL_TYPES, Feed, World

__all__ = ["CHANNEL_TYPES", "Feed", "State", "World"]
