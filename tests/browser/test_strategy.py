"""Where things go, with a mouse: a strategy is applied, changed, tried and used; wide and on a phone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.conftest import NARROW, WIDE
from tests.browser.test_library import choose, command, newest, run
from tests.browser.test_lore import imported
from tests.browser.test_story import answer_to, answered, sandbox, say, shot, story

__all__ = ["sandbox"]

SIZES = pytest.mark.parametrize("size", [WIDE, NARROW], ids=["desk", "phone"])
FOG = "Fog lies on the harbour, and the bell has been silent for a week."


@SIZES
async def test_the_world_book_is_moved_behind_the_history(
    sandbox: str, browser: Browser, shots: Path | None, tmp_path: Path, size: tuple[int, int]
) -> None:
    # given Ana in her story, with a world book whose entry is always on
    file = tmp_path / "harbour.json"
    entry = {"uid": 0, "key": [], "constant": True, "content": FOG, "comment": "Fog"}
    file.write_text(json.dumps({"name": "Harbour", "entries": {"0": entry}}))
    ana, width = await story(browser, sandbox, "Ana", size), size[0]
    await imported(ana, "world import", file)
    panel = newest(ana, "The world book Harbour is here.")
    await panel.get_by_role("button", name="Bind here", exact=True).click()
    await newest(ana, "This story uses Harbour from the next answer on.").wait_for()
    await say(ana, "I come in with the storm.")
    await answered(ana, "1/1")

    # when she looks at the strategies, and opens the one that is used
    await command(ana, "strategy list")
    await run(ana)
    await newest(ana, "Roles first").wait_for()
    await shot(ana, shots, f"strategy-list-{width}")
    await command(ana, "strategy edit")
    await run(ana)
    editor = newest(ana, "✏️ Preset's slots first")
    await editor.wait_for()
    await shot(ana, shots, f"strategy-editor-{width}")

    # and moves the world book behind the conversation
    await choose(ana, editor, "Change a module …", "World books")
    module = newest(ana, "The entries that are active in this turn.")
    await expect(module).to_contain_text("where the preset has it")
    await module.get_by_role("button", name="Down", exact=True).click()
    await expect(module).to_contain_text("6 of 8")
    await expect(module).to_contain_text("this list decides")
    await shot(ana, shots, f"strategy-module-{width}")
    await module.get_by_role("button", name="Settings", exact=True).click()
    await ana.locator("dialog.modal").wait_for()
    await shot(ana, shots, f"strategy-form-{width}")
    await ana.get_by_role("button", name="Cancel").click()
    await module.get_by_role("button", name="Back", exact=True).click()

    # then it can be tried before it is saved, and applied afterwards
    await expect(editor).to_contain_text("Changed, not saved")
    await shot(ana, shots, f"strategy-unsaved-{width}")
    await editor.get_by_role("button", name="Preview", exact=True).click()
    tried = newest(ana, "your changes, not saved")
    await expect(tried).to_contain_text(f"World books / Fog: {FOG}")
    await shot(ana, shots, f"strategy-preview-{width}")
    await applied(ana, editor)

    # and after a turn the entry stands where she put it: behind what was said before
    sent = await previewed_after_a_turn(ana)
    await expect(sent).to_contain_text("Is there soup left?")
    if shots is not None:
        await sent.screenshot(path=shots / f"strategy-sent-{width}.png")
    text = await sent.inner_text()
    assert text.index("I come in with the storm.") < text.index(FOG[:30])

    # and in what the model got for it
    got = await sent_last(ana, sent)
    if shots is not None:
        await got.screenshot(path=shots / f"strategy-got-{width}.png")
    text = await got.inner_text()
    assert text.index("I come in with the storm.") < text.index(FOG[:30])
    assert text.index(FOG[:30]) < text.index("Is there soup left?")


async def applied(page: Page, editor: Locator) -> None:
    """Save what was changed of a built-in strategy, and let the story here use the copy."""
    await editor.get_by_role("button", name="Save", exact=True).click()
    saved = newest(page, "Your copy is kept.")
    await saved.get_by_role("button", name="Apply here", exact=True).click()
    await newest(page, "this story uses the strategy Preset's slots first – copy").wait_for()


async def previewed_after_a_turn(page: Page) -> Locator:
    """Play a turn, and look at what would be sent next."""
    await say(page, "Is there soup left?")
    await answer_to(page, "Is there soup left?")
    await command(page, "strategy preview")
    await run(page)
    return newest(page, "What the model would be sent")


async def sent_last(page: Page, preview: Locator) -> Locator:
    """The request that brought the newest answer, with the fog in it."""
    await preview.get_by_role("button", name="Sent last", exact=True).click()
    got = newest(page, "What the model was sent")
    await expect(got).to_contain_text(FOG[:30])
    return got


async def pick(page: Page, panel: Locator, menu: str, *options: str) -> None:
    """Choose in a menu that shows what holds; of one that takes several, each option is pressed once."""
    field = panel.locator(f'button.select[aria-label^="{menu}"]')
    await field.click()
    for option in options:
        await page.get_by_role("option", name=option).first.click()
    if await page.locator(".selects").count():
        await page.keyboard.press("Escape")


async def seen(page: Page, panel: Locator, shots: Path | None, name: str) -> None:
    """A picture of the whole panel, and of the page as it stands."""
    if shots is not None:
        await panel.scroll_into_view_if_needed()
        await panel.screenshot(path=shots / f"{name}.png")
        await page.screenshot(path=shots / f"{name}-page.png")


@SIZES
async def test_a_part_gets_a_place_of_its_own_and_the_whole_is_set(
    sandbox: str, browser: Browser, shots: Path | None, tmp_path: Path, size: tuple[int, int]
) -> None:
    # given Ana in her story, with lore that stands before the card
    file = tmp_path / "harbour.json"
    entry = {"uid": 0, "key": [], "constant": True, "content": FOG, "comment": "Fog", "position": 0}
    file.write_text(json.dumps({"name": "Harbour", "entries": {"0": entry}}))
    ana, width = await story(browser, sandbox, "Ana", size), size[0]
    await imported(ana, "world import", file)
    await newest(ana, "The world book Harbour is here.").get_by_role("button", name="Bind here").click()
    await newest(ana, "This story uses Harbour from the next answer on.").wait_for()
    await say(ana, "I come in with the storm.")
    await answered(ana, "1/1")

    # when she opens the editor, it says what the next request here would be
    await command(ana, "strategy edit")
    await run(ana)
    editor = newest(ana, "✏️ Preset's slots first")
    await expect(editor).to_contain_text("The next request here, with this:")
    await seen(ana, editor, shots, f"editor-{width}")

    # and puts the lore before the card behind the conversation, all by itself
    await choose(ana, editor, "Change a module …", "World books")
    module = newest(ana, "The entries that are active in this turn.")
    await expect(module).to_contain_text("Before the examples")
    await seen(ana, module, shots, f"module-{width}")
    await choose(ana, module, "A part of it …", "Before the character")
    part = newest(ana, "World books / Before the character")
    await expect(part).to_contain_text("where its resource has it, before: Card / Description")
    await seen(ana, part, shots, f"part-{width}")
    await part.locator("button.select", has_text="Put it …").click()
    if shots is not None:
        await ana.screenshot(path=shots / f"part-menu-{width}.png")
    await ana.get_by_role("option", name="Next to: Conversation").click()
    side = newest(ana, "before or behind Conversation?")
    await side.wait_for()
    await seen(ana, side, shots, f"part-side-{width}")
    await side.get_by_role("button", name="Behind", exact=True).click()
    placed = newest(ana, "You put it there, and that wins over everything automatic.")
    await expect(placed.get_by_role("button", name="Follow the resource")).to_be_visible()
    await seen(ana, placed, shots, f"part-placed-{width}")
    await placed.get_by_role("button", name="Back", exact=True).click()
    await expect(newest(ana, "1 part placed by you")).to_be_visible()
    await seen(ana, newest(ana, "1 part placed by you"), shots, f"module-placed-{width}")
    await newest(ana, "1 part placed by you").get_by_role("button", name="Back", exact=True).click()

    # and changes the automatic order, which what she placed does not follow
    await editor.get_by_role("button", name="Settings", exact=True).click()
    whole = newest(ana, "⚙️ Preset's slots first")
    await expect(whole).to_contain_text("Automatic order: preset › resource › list")
    await seen(ana, whole, shots, f"whole-{width}")
    await pick(ana, whole, "Automatic order", "Order: list › preset › resource")
    await expect(whole).to_contain_text("Automatic order: list › preset › resource")

    # and says that old added texts go
    await whole.get_by_role("button", name="History", exact=True).click()
    history = newest(ana, "🧹 What earlier turns keep")
    await expect(history).to_contain_text("is not available: a standard strategy")
    await history.get_by_role("button", name="Switch on", exact=True).click()
    await expect(history).to_contain_text("Old texts of the kinds marked ✂️ are taken out.")
    await pick(ana, history, "What is taken out", "Facts that were told")
    await expect(history).to_contain_text("📌 Facts that were told")
    await seen(ana, history, shots, f"history-{width}")
    await history.get_by_role("button", name="Back", exact=True).click()
    await expect(whole).to_contain_text("old added texts go: Texts that a strategy added")

    # and tries the advanced back end, which is switched on in the sandbox and can do more
    await pick(ana, whole, "Back end", "Back end: advanced")
    await expect(whole).to_contain_text("It is switched on here.")
    await seen(ana, whole, shots, f"whole-advanced-{width}")
    await whole.get_by_role("button", name="History", exact=True).click()
    await history.get_by_role("button", name="Add passage", exact=True).click()
    await ana.locator("dialog.modal").wait_for()
    if shots is not None:
        await ana.screenshot(path=shots / f"passage-form-{width}.png")
    await ana.locator("dialog.modal input[type=text]").first.fill("<status>")
    await ana.locator("dialog.modal input[type=text]").last.fill("</status>")
    await ana.get_by_role("button", name="Submit").click()
    passage = newest(ana, "Begins with: <status>")
    await passage.wait_for()
    await seen(ana, passage, shots, f"passage-{width}")
    await passage.get_by_role("button", name="Back", exact=True).click()
    await expect(history).to_contain_text("1 passage is cut out of old answers")
    await seen(ana, history, shots, f"history-advanced-{width}")
    await history.get_by_role("button", name="Back", exact=True).click()
    await pick(ana, whole, "Back end", "Back end: standard")
    await expect(whole).to_contain_text(
        "What the strategy says about the history needs the advanced back end"
    )
    await whole.get_by_role("button", name="History", exact=True).click()
    await expect(history).to_contain_text("It does ask for some of that")
    await seen(ana, history, shots, f"history-refused-{width}")
    await history.get_by_role("button", name="Leave out", exact=True).click()
    await expect(history).not_to_contain_text("It does ask for some of that")
    await history.get_by_role("button", name="Back", exact=True).click()
    await whole.get_by_role("button", name="Back", exact=True).click()

    # then it is saved and applied, and the lore stands where she put it
    await expect(editor).to_contain_text("1 part placed by you")
    await seen(ana, editor, shots, f"editor-changed-{width}")
    await applied(ana, editor)
    sent = await previewed_after_a_turn(ana)
    got = await sent_last(ana, sent)
    text = await got.inner_text()
    assert text.index("I come in with the storm.") < text.index(FOG[:30]) < text.index("Is there soup left?")
