"""The world keeps its state, its order and its links."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.sandbox.human import Human
from bot.sandbox.limits import Upload
from bot.sandbox.snowflake import Clock, Snowflakes, ms_of
from bot.sandbox.wire import WireDiscord
from bot.sandbox.world import World, posts
from bot.sandbox.world.permissions import EVERYONE_DEFAULT, Permission, in_channel
from bot.sandbox.world.pictures import draw
from tests.bot.sandbox.api import Api
from tests.bot.sandbox.sample import run_sample
from tests.e2e.table import furnish, open_wire


class StubbornClock(Clock):
    """A clock that is set from outside, also backwards."""

    def __init__(self, times: list[int]) -> None:
        super().__init__()
        self.times = times

    def now_ms(self) -> int:
        return self.times.pop(0)


@given(st.lists(st.integers(1_420_070_400_000, 2_000_000_000_000), min_size=1, max_size=200))
def test_ids_always_increase_whatever_the_clock_does(times: list[int]) -> None:
    ids = Snowflakes(StubbornClock(list(times)))

    made = [int(ids.new()) for _ in times]

    assert made == sorted(set(made))


def test_an_id_tells_when_it_was_made() -> None:
    clock = Clock()

    made = Snowflakes(clock).new()

    assert abs(ms_of(made) - clock.now_ms()) < 1000


async def test_a_restarted_sandbox_continues(tmp_path: Path) -> None:
    path = tmp_path / "sandbox.db"
    async with open_wire(path) as wire, run_sample(wire):
        ana = Human(wire, "Ana")
        said = await ana.say("general", "hello", [Upload("a.txt", b"text")])
        await ana.react(said, "🔥")
        counted = (await ana.slash("general", "count")).message
        await ana.slash("general", "card import", file=Upload("m.png", b"1"))

    async with open_wire(path) as wire, run_sample(wire) as bot:
        ana = Human(wire, "Ana")
        await ana.click(counted, "0")

        assert [m.text for m in ana.screen("general")] == ["hello", "count 1"]
        again = ana.shown(said)
        assert (again.files, again.reactions) == (("a.txt",), {"🔥": 1})
        async with aiohttp.ClientSession() as http, http.get(again.raw["attachments"][0]["url"]) as file:
            assert await file.read() == b"text"
        assert int((await ana.say("general", "later")).id) > int(counted.id)
        assert await bot.texts(1) == ["later"]


def test_what_was_not_closed_is_on_disk(tmp_path: Path) -> None:
    first = furnish(World(tmp_path / "w.db"))
    channel = first.channel("general")
    posts.create(first, channel, posts.Writer(first.user("Ana")["id"]), {"content": "hi"})

    second = World(tmp_path / "w.db")  # the first one was killed, so to speak

    assert [second.messages[i]["content"] for i in second.history(channel["id"])] == ["hi"]
    first.close()
    second.close()


async def test_an_answer_that_was_still_thinking_is_gone_after_a_restart(tmp_path: Path) -> None:
    async with open_wire(tmp_path / "w.db") as wire:
        channel = wire.world.channel("general")
        writer = posts.Writer(wire.world.bot["id"], flags=posts.LOADING)
        posts.create(wire.world, channel, writer, {}, kind=20, empty_ok=True)
        assert Human(wire, "Ana").last("general").thinking

    async with open_wire(tmp_path / "w.db") as wire:
        assert Human(wire, "Ana").screen("general") == []


async def test_an_attachment_link_is_signed_and_expires(wire: WireDiscord) -> None:
    ana = Human(wire, "Ana")
    said = await ana.say("general", "", [Upload("Mira & co.txt", b"x")])
    url = said.raw["attachments"][0]["url"]

    async with aiohttp.ClientSession() as http:

        async def status(address: str) -> int:
            async with http.get(address) as answer:
                return answer.status

        assert await status(url) == 200
        assert await status(url.replace("hm=", "hm=0")) == 404
        assert await status(url.partition("?")[0]) == 404
        wire.world.clock.advance(24 * 3600 + 1)
        assert await status(url) == 404
        assert await status(ana.shown(said).raw["attachments"][0]["url"]) == 200


async def test_uploaded_pages_are_never_run_by_the_browser(wire: WireDiscord) -> None:
    said = await Human(wire, "Ana").say("general", "", [Upload("x.html", b"<script>1</script>", "text/html")])

    async with aiohttp.ClientSession() as http, http.get(said.raw["attachments"][0]["url"]) as answer:
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["Content-Disposition"].startswith("attachment")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_webhooks_avatar_is_copied_from_our_cdn_when_the_link_is_good(api: Api) -> None:
    wire = api.wire
    picture = draw("seed", "M")
    said = await Human(wire, "Ana").say(
        "general", "", [Upload("m.png", picture), Upload("t.txt", b"no picture")]
    )
    good, no_picture = (a["url"] for a in said.raw["attachments"])
    _, hook = await api("POST", api.at("general") + "/webhooks", {"name": "voices"})

    async def avatar(url: str) -> str | None:
        body = {"content": "x", "avatar_url": url}
        _, shown = await api("POST", f"/webhooks/{hook['id']}/{hook['token']}", body, wait="1")
        return shown["author"]["avatar"]  # type: ignore[no-any-return]

    name = await avatar(good)
    url = f"{wire.urls.cdn}/avatars/{hook['id']}/{name}.png"
    async with aiohttp.ClientSession() as http, http.get(url) as answer:
        assert await answer.read() == picture
    assert await avatar(no_picture) is None
    wire.world.clock.advance(25 * 3600)
    assert await avatar(good) is None


async def test_only_loopback_is_listened_on(world: World) -> None:
    with pytest.raises(ValueError, match="loopback"):
        await WireDiscord(world).start("0.0.0.0")


async def test_people_see_their_own_news_only(wire: WireDiscord) -> None:
    news: list[tuple[str, str | None]] = []
    wire.world.subscribe(lambda name, data, only_for: news.append((name, only_for)))
    async with run_sample(wire):
        ana = Human(wire, "Ana")
        await ana.slash("general", "card import", file=Upload("m.png", b"1"))

    mine = [(name, who) for name, who in news if name.startswith(("MESSAGE", "INTERACTION"))]
    assert mine == [
        ("MESSAGE_CREATE", ana.id),
        ("INTERACTION_STATE", ana.id),
        ("MESSAGE_UPDATE", ana.id),
        ("INTERACTION_STATE", ana.id),
    ]


async def test_a_broken_screen_does_not_break_the_world(wire: WireDiscord) -> None:
    def broken(name: str, data: object, only_for: str | None) -> None:
        raise RuntimeError("no screen")

    wire.world.subscribe(broken)

    assert (await Human(wire, "Ana").say("general", "still here")).text == "still here"


# --- permissions ---------------------------------------------------------------------

BITS = st.sampled_from(
    [p for p in Permission if p not in (Permission.ADMINISTRATOR, Permission.VIEW_CHANNEL)]
)


@given(
    everyone=st.sets(BITS),
    role_allow=st.sets(BITS),
    role_deny=st.sets(BITS),
    own_allow=st.sets(BITS),
    own_deny=st.sets(BITS),
)
def test_a_members_own_overwrite_beats_roles_and_a_roles_allow_beats_a_roles_deny(
    everyone: set[Permission],
    role_allow: set[Permission],
    role_deny: set[Permission],
    own_allow: set[Permission],
    own_deny: set[Permission],
) -> None:
    world = furnish(World())
    channel, ben = world.channel("general"), world.user("Ben")
    guild = world.guilds[channel["guild_id"]]
    role = world.add_role(guild, "players")
    world.set_member(world.members[f"{guild['id']}:{ben['id']}"], roles=[role["id"]])

    world.set_overwrite(channel, guild["id"], deny=sum(everyone))
    world.set_overwrite(channel, role["id"], allow=sum(role_allow), deny=sum(role_deny))
    world.set_overwrite(channel, ben["id"], allow=sum(own_allow), deny=sum(own_deny))

    bits = in_channel(world, channel, ben["id"])
    for permission in Permission:
        if permission in own_allow:
            expected = True
        elif permission in own_deny:
            expected = False
        elif permission in role_allow:
            expected = True
        elif permission in role_deny or permission in everyone:
            expected = False
        else:
            expected = permission in EVERYONE_DEFAULT
        assert bool(bits & permission) == expected, permission
    world.close()


async def test_a_channel_that_cannot_be_seen_allows_nothing(world: World) -> None:
    channel, ben = world.channel("general"), world.user("Ben")

    world.set_overwrite(channel, ben["id"], deny=int(Permission.VIEW_CHANNEL))

    assert in_channel(world, channel, ben["id"]) == 0
    assert in_channel(world, channel, world.user("Ana")["id"]) & Permission.ADMINISTRATOR
