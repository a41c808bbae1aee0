"""The page without a mouse, with a screen reader, and after a lost line."""

from __future__ import annotations

from playwright.async_api import expect

from bot.sandbox.human import Human
from bot.sandbox.wire import WireDiscord
from tests.browser.conftest import Open
from tests.browser.smallbot import SmallBot
from tests.browser.test_page import run


async def test_a_command_and_its_button_need_no_mouse(
    wire: WireDiscord, bot: SmallBot, open_page: Open
) -> None:
    page = await open_page("Ana")
    # given a command typed and taken with Tab, then run with Enter
    await page.keyboard.type("/hel")
    await expect(page.get_by_role("option", name="/hello")).to_be_visible()
    await page.keyboard.press("Tab")
    await page.get_by_role("button", name="+2 optional").press("Tab")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="Run the command")).to_be_focused()
    await page.keyboard.press("Enter")
    # when its button is pressed twice with the space bar
    button = page.get_by_role("button", name="Count 0")
    await button.focus()
    await page.keyboard.press(" ")
    await expect(page.get_by_role("button", name="Count 1")).to_be_focused()
    await page.keyboard.press(" ")
    # then the focus stays on it although its message was drawn again
    await expect(page.get_by_role("button", name="Count 2")).to_be_focused()


async def test_messages_are_walked_with_arrows_and_have_a_menu(wire: WireDiscord, open_page: Open) -> None:
    ana = Human(wire, "Ana")
    for text in ("first", "second", "third"):
        await ana.say("tavern", text)
    page = await open_page("Ana")
    last = page.locator(".message", has_text="third")
    await last.focus()
    await page.keyboard.press("ArrowUp")
    await expect(page.locator(".message", has_text="second")).to_be_focused()
    # when the menu key is pressed and Delete chosen from below
    await page.keyboard.press("Shift+F10")
    await expect(page.get_by_role("menu")).to_be_visible()
    await page.keyboard.press("ArrowUp")
    await expect(page.get_by_role("menuitem", name="Delete Message")).to_be_focused()
    await page.keyboard.press("Enter")
    # then that message is gone
    await expect(page.locator(".message", has_text="second")).to_have_count(0)
    # and Escape closes a menu and leaves the rest alone
    await last.focus()
    await page.keyboard.press("Shift+F10")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("menu")).to_have_count(0)
    await expect(last).to_be_focused()


async def test_an_answer_that_streams_is_read_aloud_once(
    wire: WireDiscord, bot: SmallBot, open_page: Open
) -> None:
    page = await open_page("Ana")
    # given a note of everything that the live region says
    await page.evaluate(
        """() => {
            window.heard = [];
            const voice = document.querySelector('[aria-live=polite].sr-only');
            const note = () => window.heard.push(voice.textContent);
            new MutationObserver(note).observe(voice, { childList: true });
        }"""
    )
    await run(page, "mira")
    await expect(page.locator(".message", has_text="“Come in.”")).to_be_visible()
    await expect(page.locator("[aria-live=polite].sr-only")).to_have_text("Mira: The door opens. “Come in.”")
    assert await page.evaluate("window.heard") == ["Mira: The door opens. “Come in.”"]


async def test_the_page_comes_back_after_a_lost_line(wire: WireDiscord, open_page: Open) -> None:
    page = await open_page("Ana")
    box = page.get_by_role("combobox", name="Message")
    await box.fill("half a thou")
    # when the line breaks and something is said before it is back
    await page.evaluate("() => sandbox.link.socket.close()")
    await Human(wire, "Ben").say("tavern", "did you hear that?")
    # then what was missed is there, and so is the draft
    await expect(page.locator(".message", has_text="did you hear that?")).to_be_visible()
    await expect(box).to_have_value("half a thou")


async def test_a_deleted_channel_gives_way(wire: WireDiscord, open_page: Open) -> None:
    page = await open_page("Ana")
    wire.world.drop_channel(wire.world.channel("tavern"))
    await expect(page.locator(".channel-title h2")).to_have_text("welcome")
    await expect(page.get_by_role("button", name="tavern")).to_have_count(0)
