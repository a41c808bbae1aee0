"""What messages look like: everything that the wire can carry is drawn, and nothing of it can run."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from bot.sandbox.wire import WireDiscord
from bot.sandbox.world import posts
from tests.browser.conftest import NARROW, WIDE, Open
from tests.browser.gallery import STORY, hang_gallery, tell_story

EVERYTHING = (
    ".h1, blockquote, pre code, .spoiler, .embed .field, .gallery img, .veil, .file, .above, .reaction.mine, "
    ".container .thumbnail img, .select, .separator, .forwarded, .jumbo, .system"
)
WIDEST = """() => Math.max(
    ...[document.documentElement, ...document.querySelectorAll('.scroller, .middle, .feed')]
        .map((el) => el.scrollWidth - el.clientWidth))"""


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
async def test_everything_is_drawn_and_nothing_is_too_wide(
    wire: WireDiscord, open_page: Open, shots: Path | None, size: tuple[int, int]
) -> None:
    # given a channel with everything, and a story
    hang_gallery(wire.world)
    tell_story(wire.world)
    page = await open_page("Ana", "gallery", size)
    await expect(page.locator(".message")).to_have_count(10)
    # then nothing was given up, and each kind of thing is there
    await expect(page.locator(".undrawable, .unknown-component, .lost")).to_have_count(0)
    for what in EVERYTHING.split(", "):
        assert await page.locator(what).count(), what
    assert await page.evaluate(WIDEST) <= 0
    if shots:
        for n, top in enumerate((0, 700, 1500)):
            await page.locator(".scroller").evaluate("(el, top) => { el.scrollTop = top; }", top)
            await page.wait_for_timeout(250)
            await page.screenshot(path=shots / f"gallery-{size[0]}-{n}.png")
    page = await open_page("Ana", STORY, size)
    await expect(page.locator(".message")).to_have_count(5)
    assert await page.evaluate(WIDEST) <= 0
    if shots:
        await page.wait_for_timeout(250)
        await page.screenshot(path=shots / f"story-{size[0]}.png")


async def test_a_spoiler_stays_open_when_its_message_is_edited(wire: WireDiscord, open_page: Open) -> None:
    world = wire.world
    ben = world.user("Ben")
    made = posts.create(
        world, world.channel("tavern"), posts.Writer(ben["id"]), {"content": "it was ||the cat||"}
    )
    page = await open_page("Ana")
    spoiler = page.locator(".spoiler")
    await expect(spoiler.locator(".inside")).to_have_css("opacity", "0")
    await spoiler.press("Enter")
    await expect(spoiler.locator(".inside")).to_have_css("opacity", "1")
    posts.edit(world, made, {"content": "it was ||the cat|| again"})
    await expect(page.locator(".message", has_text="again").locator(".spoiler.shown")).to_have_count(1)


async def test_messages_of_one_author_share_a_head_for_seven_minutes(
    wire: WireDiscord, open_page: Open
) -> None:
    world = wire.world
    tavern = world.channel("tavern")

    def say(name: str, text: str) -> None:
        posts.create(world, tavern, posts.Writer(world.user(name)["id"]), {"content": text})

    say("Ana", "one")
    say("Ana", "two")
    say("Ben", "three")
    say("Ana", "four")
    world.clock.advance(8 * 60)
    say("Ana", "five")
    page = await open_page("Ben")
    heads = await page.locator(".message .author").all_text_contents()
    assert heads == ["Ana", "Ben", "Ana", "Ana"]
    # and a deletion in between gives the next message its head back
    posts.delete(world, world.messages[world.history(tavern["id"])[0]])
    await expect(page.locator(".message", has_text="two").locator(".author")).to_have_text("Ana")


async def test_hostile_text_stays_text(wire: WireDiscord, open_page: Open) -> None:
    # given messages, names and buttons that would like to be more than text
    world = wire.world
    tavern = world.channel("tavern")
    evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    writer = posts.Writer(
        world.bot["id"], persona={"username": evil[:80], "avatar": None}, webhook_id=world.ids.new()
    )
    body = {
        "content": f"{evil} [click](javascript:alert(1)) <javascript:alert(1)> ```{evil}``` `{evil}`",
        "embeds": [{"title": evil, "url": "javascript:alert(1)", "description": evil}],
        "components": [
            {"type": 1, "components": [{"type": 2, "style": 2, "label": evil[:80], "custom_id": evil[:90]}]}
        ],
    }
    posts.create(world, tavern, writer, body)
    world.set_channel(tavern, topic=evil)
    page = await open_page("Ana")
    message = page.locator(".message")
    # then the page shows them as they were typed
    await expect(message.locator(".author")).to_have_text(evil[:80])
    await expect(message.locator(".content")).to_contain_text("<script>")
    # and no element and no address came out of them
    assert await page.locator("main img[src='x'], main script, main [onerror]").count() == 0
    assert await page.locator("a[href^='javascript']").count() == 0
    assert await page.title() != "owned"


async def test_an_odd_payload_does_not_empty_the_page(
    wire: WireDiscord, browser: Browser, open_page: Open
) -> None:
    # given a message whose embeds and components are not what they should be
    world = wire.world
    made = posts.create(world, world.channel("tavern"), posts.Writer(world.bot["id"]), {"content": "odd"})
    made["embeds"] = [{"fields": 7}, {"title": "fine"}]
    made["components"] = [{"type": 99, "content": "from the future"}, {"type": 1, "components": 3}]
    posts.create(
        world, world.channel("tavern"), posts.Writer(world.user("Ben")["id"]), {"content": "and on we go"}
    )
    page = await (await browser.new_context()).new_page()  # its console may complain
    await page.goto(f"{wire.urls.base}/#/{world.channel('tavern')['id']}")
    # then what can be read is read, and the rest of the channel is there
    await expect(page.locator(".message", has_text="odd")).to_contain_text("from the future")
    await expect(page.locator(".embed-title", has_text="fine")).to_be_visible()
    await expect(page.locator(".message", has_text="and on we go")).to_be_visible()
