"""The page's server side: what a window is told, and what a person may do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from bot.sandbox.human import Human
from bot.sandbox.page import Page
from bot.sandbox.seed import seed_world
from bot.sandbox.wire import WireDiscord
from bot.sandbox.world import World, posts

Api = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
async def inn() -> AsyncIterator[WireDiscord]:
    world = World()
    seed_world(world)
    server = WireDiscord(world)
    Page(server).install()
    async with server:
        yield server
    assert server.crashes == []
    world.close()


@pytest.fixture
async def client(inn: WireDiscord) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers={"Origin": inn.urls.base}) as session:
        yield session


@pytest.fixture
def api(inn: WireDiscord, client: aiohttp.ClientSession) -> Api:
    async def ask(person: str, op: str, **body: Any) -> dict[str, Any]:
        user = inn.world.user(person)["id"]
        answer = await client.post(f"{inn.urls.base}/page/api/{op}?user={user}", json=body)
        shown: dict[str, Any] = await answer.json()
        return shown

    return ask


@asynccontextmanager
async def window(inn: WireDiscord, client: aiohttp.ClientSession, person: str) -> AsyncIterator[Any]:
    """The frames of a window, as an async function that waits for the next one that meets the predicate."""
    user = inn.world.user(person)["id"]
    async with client.ws_connect(f"{inn.urls.base}/page/ws?user={user}") as socket:

        async def until(wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
            async with asyncio.timeout(5):
                while True:
                    frame: dict[str, Any] = await socket.receive_json()
                    if wanted(frame):
                        return frame

        yield until


def is_event(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda frame: frame.get("event") == name


async def test_hello_shows_the_server_as_the_person_sees_it(
    inn: WireDiscord, client: aiohttp.ClientSession
) -> None:
    # given a channel that Ben may not see
    world = inn.world
    guild = next(iter(world.guilds.values()))
    secret = world.add_channel(guild, "cellar")
    world.set_overwrite(secret, world.user("Ben")["id"], deny=1 << 10)
    # when Ben and Ana open the page
    for person, sees in (("Ben", False), ("Ana", True)):
        async with window(inn, client, person) as until:
            hello = await until(lambda f: f["t"] == "hello")
        names = [c["name"] for c in hello["guild"]["channels"]]
        # then each sees their own channels
        assert ("cellar" in names) is sees
        assert {"welcome", "tavern", "library-of-stories", "after-dark"} <= set(names)
        assert hello["you"]["global_name"] == person
        assert hello["guild"]["name"] == "The Lantern Inn"
        assert hello["model"] == {"name": "offline narrator", "offline": True}
        assert hello["bot"]["online"] is False
        assert [m["user"]["username"] for m in hello["members"]] == ["ana", "Inglenook", "ben", "chen"]


async def test_news_reach_those_who_may_see_them(inn: WireDiscord, client: aiohttp.ClientSession) -> None:
    world = inn.world
    guild = next(iter(world.guilds.values()))
    secret = world.add_channel(guild, "cellar")
    world.set_overwrite(secret, world.user("Ben")["id"], deny=1 << 10)
    async with window(inn, client, "Ben") as ben, window(inn, client, "Ana") as ana:
        await ben(lambda f: f["t"] == "hello")
        await ana(lambda f: f["t"] == "hello")
        # when something is said in the cellar, whispered to Ana, and said in the tavern
        say = Human(inn, "Ana").say
        await say("cellar", "psst")
        writer = posts.Writer(world.bot["id"], only_for=world.user("Ana")["id"], flags=64)
        posts.create(world, world.channel("tavern"), writer, {"content": "only you"})
        await say("tavern", "evening")
        # then Ben hears only of the last
        assert (await ben(is_event("MESSAGE_CREATE")))["data"]["content"] == "evening"
        # and Ana of all three
        heard = [(await ana(is_event("MESSAGE_CREATE")))["data"]["content"] for _ in range(3)]
        assert heard == ["psst", "only you", "evening"]


async def test_reactions_are_one_s_own_also_after_an_edit(
    inn: WireDiscord, client: aiohttp.ClientSession, api: Api
) -> None:
    # given a message that Ben reacted to
    made = await Human(inn, "Ana").say("tavern", "one")
    emoji = {"id": None, "name": "🔥"}
    await api("Ben", "react", channel=made.channel_id, message=made.id, emoji=emoji)
    async with window(inn, client, "Ben") as ben, window(inn, client, "Ana") as ana:
        # when it is edited
        await api("Ana", "edit", channel=made.channel_id, message=made.id, content="two")
        # then the new payload says whose reaction it is to each of them
        assert (await ben(is_event("MESSAGE_UPDATE")))["data"]["reactions"][0]["me"] is True
        assert (await ana(is_event("MESSAGE_UPDATE")))["data"]["reactions"][0]["me"] is False
    # when he takes it back
    await api("Ben", "react", channel=made.channel_id, message=made.id, emoji=emoji, remove=True)
    assert Human(inn, "Ana").shown(made).reactions == {}


async def test_history_comes_in_pages(inn: WireDiscord, api: Api) -> None:
    ben = Human(inn, "Ben")
    made = [await ben.say("tavern", str(n)) for n in range(7)]
    channel = made[0].channel_id

    async def page(**more: Any) -> list[str]:
        return [
            m["content"] for m in (await api("Ana", "history", channel=channel, limit=3, **more))["messages"]
        ]

    assert await page() == ["4", "5", "6"]
    assert await page(before=made[4].id) == ["1", "2", "3"]
    assert await page(before=made[1].id) == ["0"]
    assert await page(after="0") == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("op", "body", "says"),
    [
        ("say", {"content": "x" * 2001}, "2000 or fewer"),
        ("say", {"content": ""}, "empty message"),
        ("say", {}, "lacks 'channel'"),
        ("edit", {"message": "1", "content": "x"}, "Unknown Message"),
        ("slash", {"command": ["nothing"], "options": {}}, "not offered"),
        ("fault", {"kind": "earthquake"}, "no fault"),
        ("bot", {"action": "restart"}, "did not start the bot"),
        ("dance", {}, "no operation"),
    ],
)
async def test_what_cannot_be_done_is_said(
    inn: WireDiscord, api: Api, op: str, body: dict[str, Any], says: str
) -> None:
    if body or op == "dance":
        body = {"channel": inn.world.channel("tavern")["id"], **body}
    answer = await api("Ana", op, **body)
    assert answer["ok"] is False
    assert says.lower() in answer["error"].lower().replace("such operation", "operation")


async def test_one_may_not_change_what_others_wrote(inn: WireDiscord, api: Api) -> None:
    made = await Human(inn, "Ana").say("tavern", "mine")
    place = {"channel": made.channel_id, "message": made.id}
    assert not (await api("Ben", "edit", **place, content="his"))["ok"]
    assert not (await api("Ben", "delete", **place))["ok"]
    assert Human(inn, "Ana").shown(made).text == "mine"


async def test_threads_are_started_in_all_three_ways(inn: WireDiscord, api: Api) -> None:
    world = inn.world
    made = await Human(inn, "Ana").say("tavern", "a beginning")
    tavern, forum = made.channel_id, world.channel("library-of-stories")["id"]
    grown = await api("Ben", "thread", channel=tavern, name="grown", message=made.id)
    free = await api("Ben", "thread", channel=tavern, name="free")
    post = await api("Chen", "thread", channel=forum, name="post", content="first words")
    assert grown["thread"]["id"] == made.id
    assert world.channels[free["thread"]["id"]]["parent_id"] == tavern
    assert Human(inn, "Ana").last(post["thread"]["id"]).text == "first words"
    assert not (await api("Chen", "thread", channel=forum, name="empty"))["ok"]


async def test_a_window_that_lags_is_closed_and_may_come_back(
    inn: WireDiscord, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a window that may lag behind by three frames
    monkeypatch.setattr("bot.sandbox.page_feed._WAITING", 3)
    world = inn.world
    user = world.user("Ana")["id"]
    async with client.ws_connect(f"{inn.urls.base}/page/ws?user={user}") as socket:
        assert (await socket.receive_json())["t"] == "hello"
        # when more happens at once than that
        for n in range(10):
            posts.create(world, world.channel("tavern"), posts.Writer(user), {"content": str(n)})
        # then it is closed with "try again later"
        async with asyncio.timeout(5):
            while (message := await socket.receive()).type == aiohttp.WSMsgType.TEXT:
                pass
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 1013)
    async with window(inn, client, "Ana") as until:
        assert await until(lambda f: f["t"] == "hello")


async def test_the_seed_is_sown_once() -> None:
    world = World()
    assert seed_world(world) is True
    before = (len(world.channels), len(world.messages), len(world.users))
    assert seed_world(world) is False
    assert (len(world.channels), len(world.messages), len(world.users)) == before
    assert world.channel("after-dark")["nsfw"] is True
    assert world.threads_of(world.channel("tavern")["id"]) == []
    world.close()
