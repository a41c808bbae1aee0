"""World books and scripts with a mouse: brought in, opened, changed, bound, tried; wide and on a phone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.conftest import NARROW, WIDE
from tests.browser.test_library import choose, command, newest, run
from tests.browser.test_story import sandbox, shot, story
from tests.cogs.books import book_json, script

__all__ = ["sandbox"]


SIZES = pytest.mark.parametrize("size", [WIDE, NARROW], ids=["desk", "phone"])


async def imported(page: Page, name: str, file: Path) -> None:
    """Bring a file in by a command's form."""
    await command(page, name)
    await run(page)
    await page.locator("dialog.modal input[type=file]").set_input_files(file)
    await page.get_by_role("button", name="Submit").click()


@SIZES
async def test_a_world_book_is_brought_in_changed_bound_and_tried(
    sandbox: str, browser: Browser, shots: Path | None, tmp_path: Path, size: tuple[int, int]
) -> None:
    # given Ana in her story, and a book on her disk
    file = tmp_path / "town.json"
    file.write_bytes(book_json())
    ana, width = await story(browser, sandbox, "Ana", size), size[0]

    # when she brings it in, and binds it
    await imported(ana, "world import", file)
    panel = newest(ana, "The world book Town is here.")
    await panel.wait_for()
    await shot(ana, shots, f"lore-book-{width}")
    await panel.get_by_role("button", name="Bind here", exact=True).click()
    await newest(ana, "This story uses Town from the next answer on.").wait_for()

    # when she opens an entry, looks at its forms and changes its text
    await choose(ana, panel, "Look at an entry …", "Clock tower")
    entry = newest(ana, "THE TOWER HAS NO STAIRS")
    await entry.wait_for()
    await shot(ana, shots, f"lore-entry-{width}")
    for button in ("Keys", "Place", "More"):
        await entry.get_by_role("button", name=button, exact=True).click()
        await ana.locator("dialog.modal").wait_for()
        await shot(ana, shots, f"lore-form-{button.lower()}-{width}")
        await ana.get_by_role("button", name="Cancel").click()
    await entry.get_by_role("button", name="Text", exact=True).click()
    await ana.locator("dialog.modal textarea").fill("The tower leans. The gulls nest there.")
    await ana.get_by_role("button", name="Submit").click()
    await newest(ana, "The tower leans.").wait_for()

    # then a text that is tried wakes it, and the gulls
    await command(ana, "world test")
    await ana.keyboard.type("To the clocktower, by the ferry!")
    await run(ana)
    tried = newest(ana, "would be active")
    await expect(tried).to_contain_text("Its key “clocktower” stands in the conversation. (this text)")
    await expect(tried).to_contain_text("Its key “gulls” stands in another entry.")
    await expect(tried).to_contain_text("Woken, but held back: 1")
    await shot(ana, shots, f"lore-test-{width}")
    await tried.get_by_role("button", name="Another text").click()
    await ana.locator("dialog.modal textarea").fill("Good night.")
    await ana.get_by_role("button", name="Submit").click()
    await expect(newest(ana, "Good night.")).to_contain_text("It is always on.")

    # and what is in use stands in a list
    await command(ana, "world show")
    await run(ana)
    await newest(ana, "World books of this story").wait_for()
    await shot(ana, shots, f"lore-here-{width}")


@SIZES
async def test_scripts_are_brought_in_changed_and_tried(
    sandbox: str, browser: Browser, shots: Path | None, tmp_path: Path, size: tuple[int, int]
) -> None:
    # given Ana in her story, and scripts on her disk
    file = tmp_path / "Tidy.json"
    file.write_text(
        json.dumps([script("No OOC", r"/\(OOC:.*?\)/gs"), script("Loud", "/shout/g", "**SHOUT**")])
    )
    ana, width = await story(browser, sandbox, "Ana", size), size[0]

    # when she brings them in, and changes what one puts there
    await imported(ana, "regex import", file)
    panel = newest(ana, "The scripts Tidy are here.")
    await panel.wait_for()
    await shot(ana, shots, f"regex-list-{width}")
    await panel.get_by_role("button", name="Bind here", exact=True).click()
    await newest(ana, "This story uses the scripts Tidy").wait_for()
    await choose(ana, panel, "Look at a script …", "Loud")
    shown = newest(ana, "Puts in its place")
    await shown.wait_for()
    await shot(ana, shots, f"regex-script-{width}")
    await shown.get_by_role("button", name="Where", exact=True).click()
    await ana.locator("dialog.modal").wait_for()
    await shot(ana, shots, f"regex-where-{width}")
    await ana.get_by_role("button", name="Cancel").click()
    await shown.get_by_role("button", name="Text", exact=True).click()
    await ana.locator("dialog.modal textarea").fill("*whisper*")
    await ana.get_by_role("button", name="Submit").click()
    await newest(ana, "*whisper*").wait_for()

    # then a text that is tried shows it
    await command(ana, "regex test")
    await ana.keyboard.type("I shout. (OOC: brb)")
    await run(ana)
    tried = newest(ana, "What the scripts make of it")
    await expect(tried).to_contain_text("I *whisper*.")
    await shot(ana, shots, f"regex-test-{width}")
