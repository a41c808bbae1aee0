"""Show prompt on the page: on an older answer, by whoever began the story and by a player; wide and on a
phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.conftest import NARROW, WIDE
from tests.browser.test_library import choose, command, newest, run
from tests.browser.test_story import answered, app, last_answer, sandbox, say, story

__all__ = ["sandbox"]

SIZES = pytest.mark.parametrize("size", [WIDE, NARROW], ids=["desk", "phone"])
FIRST = "I come in with the storm and shake out my cloak."
SECRET = "Carries the silver key under her shirt."


async def pictured(page: Page, panel: Locator, shots: Path | None, name: str) -> None:
    """The panel in its place, and all of it."""
    await expect(panel).to_be_visible()
    if shots is not None:
        # At once: a panel that was just changed may be drawn anew while a slower scroll is under way.
        await panel.evaluate("element => element.scrollIntoView({block: 'end'})")
        await page.screenshot(path=shots / f"{name}.png")
        await panel.screenshot(path=shots / f"{name}-whole.png")


async def typed(page: Page, values: dict[str, str]) -> None:
    """Fill in the options of a command that was chosen; some have to be asked for."""
    for name, value in values.items():
        field = page.locator(f"#option-{name}")
        if not await field.count():
            await page.get_by_role("button", name="optional").click()
            await page.get_by_role("option", name=name).first.click()
        await field.fill(value)


@SIZES
async def test_the_prompt_of_an_older_answer(
    sandbox: str, browser: Browser, shots: Path | None, size: tuple[int, int]
) -> None:
    # given Ana, who plays somebody with a secret, and Ben at her table, after two exchanges
    width = size[0]
    ana, ben = [await story(browser, sandbox, person, size) for person in ("Ana", "Ben")]
    await command(ana, "persona set")
    await typed(ana, {"name": "Vale", "description": SECRET})
    await run(ana)
    await newest(ana, "Vale").wait_for()
    await say(ana, FIRST)
    first = (await answered(ana, "1/1"))[:40]
    await say(ana, "Is there soup left?")
    row = ana.locator(".message", has=ana.get_by_role("button", name="⟳"))
    await expect(row.filter(has_not_text=first)).to_have_count(1, timeout=30_000)
    await expect(row).to_have_count(1)

    # when Ana opens the menu of the first answer, which has no buttons any more
    await app(ana, first, "Show prompt")

    # then she sees what was sent for it, checked, and nothing of what came later
    sent = newest(ana, "What the model was sent")
    await expect(sent).to_contain_text("Checked against the story's log: word for word what the model got.")
    await expect(sent).to_contain_text(FIRST)
    await expect(sent).to_contain_text(SECRET)
    await expect(sent).not_to_contain_text("Is there soup left?")
    await pictured(ana, sent, shots, f"prompt-owner-{width}")

    # when Ben asks, then he is told who sees it
    await app(ben, first, "Show prompt")
    refused = newest(ben, "Here only whoever began the story and moderators may see prompts.")
    await pictured(ben, refused, shots, f"prompt-refused-{width}")

    # when Ana allows it
    await command(ana, "settings prompts")
    await run(ana)
    panel = newest(ana, "Prompts of")
    await pictured(ana, panel, shots, f"prompt-setting-{width}")
    await panel.get_by_role("button", name="For everyone", exact=True).click()
    await expect(panel).to_contain_text("Everybody at this table may see prompts.")

    # then Ben sees it by its menu, without what is hers alone
    await app(ben, first, "Show prompt")
    his = newest(ben, "What the model was sent")
    await expect(his).to_contain_text("What others' personas say is left out for you.")
    await expect(his).to_contain_text(FIRST)
    await expect(his).to_contain_text("[somebody's persona]")
    await expect(his).not_to_contain_text("silver key")
    await pictured(ben, his, shots, f"prompt-player-{width}")

    # and behind the dots of the newest answer
    await last_answer(ben).get_by_role("button", name="⋯").click()
    more = newest(ben, "Answer 1 of 1")
    await pictured(ben, more, shots, f"prompt-more-{width}")
    await more.get_by_role("button", name="Show prompt", exact=True).click()
    await expect(newest(ben, "What the model was sent")).to_contain_text("Is there soup left?")


@SIZES
async def test_the_steps_of_a_turn_with_tools(
    sandbox: str, browser: Browser, shots: Path | None, size: tuple[int, int]
) -> None:
    # given an answer for which the dice were rolled
    ana, width = await story(browser, sandbox, "Ana", size), size[0]
    await command(ana, "settings tools")
    await run(ana)
    tools = newest(ana, "Nothing is on")
    await choose(ana, tools, "Nothing is on", "Dice")
    await ana.keyboard.press("Escape")
    await say(ana, "I try the lock. Roll 1d20 for me.")
    await answered(ana, "1/1")

    # when Ana looks at what was sent, and at the request before the roll
    await app(ana, "🎲", "Show prompt")
    sent = newest(ana, "What the model was sent")
    await expect(sent).to_contain_text("Request 2 of 2")
    await pictured(ana, sent, shots, f"prompt-steps-{width}")
    await choose(ana, sent, "Request 2 of 2", "Request 1 of 2")

    # then it stands in its place
    await expect(sent).to_contain_text("Request 1 of 2")
    await expect(sent).to_contain_text("I try the lock.")
    await pictured(ana, sent, shots, f"prompt-step-one-{width}")
