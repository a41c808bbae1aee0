"""What a new sandbox begins with: a server with its rooms, three people, and a word of welcome."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from importlib import resources

from bot.sandbox.store import Record
from bot.sandbox.world import World, posts
from bot.sandbox.world.pictures import Pictures

__all__ = ["FIRST_STORY", "GUILD", "PEOPLE", "seed_world"]

GUILD = "The Lantern Inn"
FIRST_STORY = "tavern"
"""The channel in which the first story waits."""
# Name → role, its colour, and the language of their Discord: one of them reads Chinese, so that
# the bot's second language can be seen without a second installation.
PEOPLE: Mapping[str, tuple[str, int, str]] = {
    "Ana": ("Storyteller", 0xE8A355, "en-US"),
    "Ben": ("Regular", 0x4FC3B0, "en-US"),
    "Chen": ("Traveller", 0xF08CA0, "zh-CN"),
}
_FORUM_TAGS = ("ongoing", "finished", "one evening")

_WELCOME = """\
# Welcome to The Lantern Inn
This is a **sandbox**: the whole bot, on your machine only, with people you play yourself. \
Top right you choose who you are (Ana, Ben or Chen; Chen's Discord speaks Chinese).

**To begin**
1. Go to {tavern} and open the story that waits there, or start your own with `/play new`.
2. Write something. The character answers in its own name.
3. Under the answer: ◀ ▶ turn through other answers, ⟳ writes one more.
4. A message's **Apps** menu has *Rewind*: the story goes on from there.

Bring your own card with `/card import`: a PNG or JSON, dropped on this page or chosen from disk."""
_HONEST = """\
-# Unless you named a model server in the settings, answers come from the *offline narrator*: a small \
program that shows how everything works, not how well a model writes. *Tools*, at the top right, \
opens the engine room: every request, rate limits, and ways to break things on purpose."""


def seed_world(world: World) -> bool:
    """Fill an empty world. A world that has a server already is left alone; False then."""
    if world.guilds:
        return False
    people = {name: _person(world, name, locale) for name, (_, _, locale) in PEOPLE.items()}
    world.bot["username"] = "Inglenook"  # bots have no display name, and their name may have capitals
    _face(world, world.bot, "inglenook")
    guild = world.add_guild(GUILD, people["Ana"])
    for name, (role_name, colour, _) in PEOPLE.items():
        role = world.add_role(guild, role_name, color=colour)
        member = world.members.get(f"{guild['id']}:{people[name]['id']}")
        if member is None:
            world.add_member(guild, people[name], [role["id"]], announce=False)
        else:
            world.set_member(member, roles=[*member["roles"], role["id"]])

    room = world.add_channel(guild, "Common room", "category")
    upstairs = world.add_channel(guild, "Upstairs", "category")
    welcome = world.add_channel(guild, "welcome", topic="How to begin", parent_id=room["id"])
    tavern = world.add_channel(
        guild, FIRST_STORY, topic="Stories live here, each in its own thread", parent_id=room["id"]
    )
    world.add_channel(
        guild,
        "library-of-stories",
        "forum",
        topic="A post for each story that deserves a shelf",
        parent_id=upstairs["id"],
        available_tags=[{"name": tag} for tag in _FORUM_TAGS],
    )
    world.add_channel(
        guild,
        "after-dark",
        topic="Age-restricted: for cards that say so",
        nsfw=True,
        parent_id=upstairs["id"],
    )
    _greet(world, guild, welcome, _WELCOME.format(tavern=f"<#{tavern['id']}>"))
    _greet(world, guild, welcome, _HONEST)
    return True


def _person(world: World, name: str, locale: str) -> Record:
    user = world.add_user(name, locale=locale)
    _face(world, user, name.lower())
    return user


def _face(world: World, user: Record, picture: str) -> None:
    user["avatar"] = _picture(world, picture)
    world.users.put(user)


def _picture(world: World, name: str) -> str:
    return Pictures(world).keep((resources.files("bot.sandbox") / "faces" / f"{name}.png").read_bytes())


def _greet(world: World, guild: Record, channel: Record, text: str) -> None:
    """A word from the innkeeper, who is a webhook that nobody else may use."""
    hook = next(iter(world.webhooks.where(channel_id=channel["id"])), None)
    if hook is None:
        hook = world.webhooks.put(
            {
                "id": world.ids.new(),
                "guild_id": guild["id"],
                "channel_id": channel["id"],
                "name": "The Innkeeper",
                "avatar": _picture(world, "innkeeper"),
                "application_id": None,
                "creator_id": guild["owner_id"],
                "token": secrets.token_urlsafe(51),
            }
        )
    persona = {"username": hook["name"], "avatar": hook["avatar"]}
    posts.create(
        world,
        channel,
        posts.Writer(hook["creator_id"], persona=persona, webhook_id=hook["id"]),
        {"content": text},
    )
