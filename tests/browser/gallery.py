"""A channel with one of everything that a message can hold."""

from __future__ import annotations

import io

from PIL import Image

from bot.sandbox.limits import Upload
from bot.sandbox.store import Record
from bot.sandbox.world import World, posts, threads

__all__ = ["STORY", "hang_gallery", "painting", "tell_story"]

STORY = "A Night at the Lantern Inn"

_MARKS = """\
# Heading one
## Heading two
### Heading three
-# subtext
**bold** *italic* ***both*** __under__ ~~strike~~ `code` ||a spoiler|| [masked](https://example.com/x)
- one
- two
  - nested
1. first
2. second
> quoted line
> and *another*
```python
def hello():
    return "world"
```
<t:1790000000:D> <@{ana}> <@&{role}> @everyone <#{tavern}> https://example.com/a_b_c"""


def painting(width: int, height: int, top: tuple[int, int, int], bottom: tuple[int, int, int]) -> bytes:
    """A PNG of an evening sky."""
    ramp = Image.linear_gradient("L").resize((width, height))
    sky = Image.composite(Image.new("RGB", ramp.size, bottom), Image.new("RGB", ramp.size, top), ramp)
    out = io.BytesIO()
    sky.save(out, "PNG")
    return out.getvalue()


def _sunset(name: str, width: int = 640, height: int = 400) -> Upload:
    return Upload(name, painting(width, height, (60, 40, 90), (220, 120, 110)), "image/png")


def hang_gallery(world: World) -> Record:
    """The channel #gallery."""
    guild = next(iter(world.guilds.values()))
    channel = world.add_channel(guild, "gallery", topic="Everything at once, **boldly**")
    ana, ben = world.user("Ana"), world.user("Ben")

    def say(user: Record, text: str, *files: Upload, **more: object) -> Record:
        return posts.create(world, channel, posts.Writer(user["id"]), {"content": text, **more}, files)

    say(ana, _MARKS.format(ana=ana["id"], role=guild["roles"][2]["id"], tavern=world.channel("tavern")["id"]))
    first = say(ben, "🎲🔥✨")
    say(ben, "", _sunset("one.png"), _sunset("two.png", 500, 500), _sunset("SPOILER_three.png", 500, 700))
    say(
        ana, "", _sunset("wide.png", 900, 300), Upload("prompt.json", b'{"messages": []}', "application/json")
    )
    say(ana, "A reply", message_reference={"message_id": first["id"]})
    posts.react(world, first, ana["id"], "👍")
    posts.react(world, first, ben["id"], "👍")
    posts.react(world, first, world.bot["id"], "👀")
    for body in (_EMBED, _ROWS, _PANEL):
        _answer(world, channel, ana, body)
    say(
        ben,
        "Chosen: ||nothing||",
        message_reference={"type": 1, "message_id": first["id"], "channel_id": channel["id"]},
    )
    posts.pin(world, first, ana["id"])
    return channel


def _answer(world: World, channel: Record, user: Record, body: Record) -> None:
    bot_id = world.bot["id"]
    used = {"id": world.ids.new(), "type": 2, "user_id": user["id"], "owners": {}, "name": "card show"}
    writer = posts.Writer(bot_id, webhook_id=bot_id, application_id=bot_id, interaction=used)
    posts.create(
        world, channel, writer, body, [_sunset("maren.png", 400, 400)] if body is _PANEL else [], kind=20
    )


_EMBED: Record = {
    "embeds": [
        {
            "title": "Mira of the Lantern",
            "url": "https://example.com",
            "description": "A **landlady** who knows too much.",
            "color": 0xE8A355,
            "author": {"name": "by Ana"},
            "fields": [
                {"name": "Greetings", "value": "4", "inline": True},
                {"name": "Tokens", "value": "1 204", "inline": True},
                {"name": "Book", "value": "12 entries", "inline": True},
                {"name": "Tags", "value": "`fantasy` `cosy`"},
            ],
            "footer": {"text": "imported just now"},
            "timestamp": "2026-11-30T12:00:00+00:00",
        }
    ]
}


def _button(style: int, label: str | None, custom_id: str, **more: object) -> Record:
    return {"type": 2, "style": style, "label": label, "custom_id": custom_id, **more}


_ROWS: Record = {
    "content": "Buttons and menus",
    "components": [
        {
            "type": 1,
            "components": [
                *(
                    _button(i, name, f"b{i}")
                    for i, name in enumerate(("Primary", "Secondary", "Success", "Danger"), 1)
                ),
                {"type": 2, "style": 5, "label": "Link", "url": "https://example.com"},
            ],
        },
        {
            "type": 1,
            "components": [
                _button(1, "Off", "off", disabled=True, emoji={"name": "🔥"}),
                _button(2, "With emoji", "emoji", emoji={"name": "🎲"}),
                _button(2, None, "next", emoji={"name": "▶"}),
            ],
        },
        {
            "type": 1,
            "components": [
                {
                    "type": 3,
                    "custom_id": "greeting",
                    "placeholder": "Choose a greeting",
                    "options": [{"label": f"Greeting {i}", "value": str(i)} for i in range(1, 13)],
                }
            ],
        },
        *(
            {"type": 1, "components": [{"type": kind, "custom_id": f"pick{kind}", "placeholder": text}]}
            for kind, text in ((5, "Who plays?"), (8, "Where?"))
        ),
    ],
}
_PANEL: Record = {
    "flags": 1 << 15,
    "components": [
        {
            "type": 17,
            "accent_color": 0xE8A355,
            "components": [
                {
                    "type": 9,
                    "components": [
                        {"type": 10, "content": "## Mira of the Lantern\n-# by Ana · version 1.2"},
                        {"type": 10, "content": "*Landlady, confidante, keeper of other people’s secrets.*"},
                    ],
                    "accessory": {"type": 11, "media": {"url": "attachment://maren.png"}},
                },
                {"type": 14, "divider": True, "spacing": 1},
                {"type": 10, "content": "**Tokens** 1 204 · **Greetings** 4 · **Book** 12 entries"},
                {
                    "type": 9,
                    "components": [{"type": 10, "content": "**Warnings**\nNone. The card is clean."}],
                    "accessory": _button(2, "Details", "details"),
                },
                {"type": 14, "divider": False, "spacing": 2},
                {
                    "type": 1,
                    "components": [
                        _button(1, "Bind here", "bind"),
                        _button(3, "Play", "play"),
                        _button(4, "Delete", "del"),
                    ],
                },
            ],
        }
    ],
}


def tell_story(world: World) -> Record:
    """A thread in #tavern in which three people play with a character."""
    guild, tavern = next(iter(world.guilds.values())), world.channel("tavern")
    ana, ben, chen, bot = (world.user(n)["id"] for n in ("Ana", "Ben", "Chen", "Inglenook"))
    thread = threads.standalone(world, tavern, ana, {"name": STORY, "type": 11})
    hook = world.webhooks.put(
        {
            "id": world.ids.new(),
            "guild_id": guild["id"],
            "channel_id": tavern["id"],
            "name": "Inglenook",
            "avatar": None,
            "application_id": bot,
            "creator_id": bot,
            "token": "t" * 68,
        }
    )
    mira = posts.Writer(
        bot, persona={"username": "Mira", "avatar": None}, webhook_id=hook["id"], application_id=bot
    )
    turns: list[tuple[posts.Writer, str, list[Record]]] = [
        (
            mira,
            "*The door sighs open and lets the rain in with you.*\n\n“You’re soaked to the bone,” Mira says, "
            "not unkindly. “Sit. The fire doesn’t bite, and neither do I — **much**.”\n\n"
            "> Rule one of the house: nobody asks where you came from.",
            [_button(2, None, "g<", emoji={"name": "◀"}), _button(2, "1/4", "g", disabled=True)],
        ),
        (posts.Writer(ana), "I drip onto the floorboards. “Two of whatever keeps the cold out.”", []),
        (posts.Writer(ben), "“Make it three,” I call, *pretending* to read a map upside down.", []),
        (
            mira,
            "“Three it is. One for the drowned, one for the liar with the map, and one for whoever is still "
            "standing outside my window.”\n\nBehind the glass, something knocks **twice** — politely, the "
            "way a guest would, or something that has learned what guests sound like.",
            [
                _button(2, None, "s<", emoji={"name": "◀"}),
                _button(2, "2/3", "s", disabled=True),
                _button(2, None, "s>", emoji={"name": "▶"}),
                _button(2, None, "re", emoji={"name": "⟳"}),
                _button(2, None, "more", emoji={"name": "⋯"}),
            ],
        ),
        (posts.Writer(chen), "我推开门：“外面只有我。至少，我希望只有我。”", []),
    ]
    for writer, text, buttons in turns:
        row = [{"type": 1, "components": buttons}] if buttons else []
        last = posts.create(world, thread, writer, {"content": text, "components": row})
    posts.react(world, last, bot, "👀")
    return thread
