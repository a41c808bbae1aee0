"""The library with a mouse: a card comes in, is looked at, changed, handed out and deleted; at a desk and
on a phone. The real command, its page, the real bot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.conftest import NARROW, WIDE
from tests.browser.test_story import ROOT, sandbox, shot, story

__all__ = ["sandbox"]

CARD = ROOT / "tests" / "vectors" / "cards" / "v2.png"
SIZES = pytest.mark.parametrize("size", [WIDE, NARROW], ids=["desk", "phone"])


async def in_tavern(browser: Browser, address: str, person: str, size: tuple[int, int]) -> Page:
    """A window in which somebody looks at the channel `tavern`."""
    page = await story(browser, address, person, size)
    if size == NARROW:
        await page.get_by_role("button", name="Channels").click()
    await page.get_by_text("tavern", exact=True).first.click()
    await page.locator(".channel-title h2", has_text="tavern").wait_for()
    return page


async def command(page: Page, name: str) -> None:
    """Choose a slash command, so that its form stands in the composer."""
    await page.get_by_role("combobox", name="Message").fill(f"/{name}")
    await page.get_by_role("option", name=f"/{name}").first.click()


async def run(page: Page) -> None:
    await page.get_by_role("button", name="Run the command").click()


def newest(page: Page, text: str) -> Locator:
    """The newest message with that text in it."""
    return page.locator(".message", has_text=text).last


async def choose(page: Page, message: Locator, menu: str, option: str) -> None:
    """Choose in a menu of a message."""
    await message.locator("button.select", has_text=menu).click()
    await page.get_by_role("option", name=option).first.click()


@SIZES
async def test_a_card_from_its_file_to_its_end(
    sandbox: str, browser: Browser, shots: Path | None, size: tuple[int, int]
) -> None:
    # given Ana in the tavern
    ana = await in_tavern(browser, sandbox, "Ana", size)
    width = size[0]

    # when she imports a card from her disk
    await command(ana, "card import")
    await run(ana)
    await ana.locator("dialog.modal input[type=file]").set_input_files(CARD)
    await shot(ana, shots, f"card-import-{width}")
    await ana.get_by_role("button", name="Submit").click()

    # then its panel stands there, and she may do all of it
    panel = newest(ana, "is here.")
    for label in ("Play", "Bind here", "Edit", "Export", "Details", "Delete"):
        await expect(panel.get_by_role("button", name=label, exact=True)).to_be_visible()
    await shot(ana, shots, f"card-arrived-{width}")

    # when she changes its personality in a form
    await panel.get_by_role("button", name="Edit", exact=True).click()
    editing = newest(ana, "✏️ Seraphina")
    await editing.wait_for()
    await shot(ana, shots, f"card-edit-{width}")
    await choose(ana, editing, "What do you want to change?", "Personality")
    field = ana.locator("dialog.modal textarea")
    await field.fill("Warm as a stove, and as heavy.")
    await shot(ana, shots, f"card-form-{width}")
    await ana.get_by_role("button", name="Submit").click()

    # then it is saved, and Back leads to the card
    await expect(newest(ana, "✓ Saved.")).to_be_visible()
    await expect(newest(ana, "Warm as a stove")).to_be_visible()
    await newest(ana, "✓ Saved.").get_by_role("button", name="Back").click()
    shown = newest(ana, "How it can begin")
    await expect(shown.get_by_role("button", name="Export", exact=True)).to_be_visible()
    await shot(ana, shots, f"card-show-{width}")

    # when she exports it
    await shown.get_by_role("button", name="Export", exact=True).click()
    asked = newest(ana, "as which file?")
    await asked.get_by_role("button", name="JSON", exact=True).click()

    # then the file has what she wrote
    file = ana.locator(".message a[href*='.json']").last
    await file.wait_for()
    address = str(await file.get_attribute("href"))
    body = await (
        await ana.request.get(address if "://" in address else sandbox.rstrip("/") + address)
    ).body()
    assert json.loads(body)["data"]["personality"] == "Warm as a stove, and as heavy."
    await shot(ana, shots, f"card-exported-{width}")

    # when she lists the cards and searches
    await command(ana, "card list")
    await run(ana)
    listed = newest(ana, "Look at one …")
    await listed.wait_for()
    await shot(ana, shots, f"card-list-{width}")
    await listed.get_by_role("button", name="Search").click()
    await ana.locator("dialog.modal input[type=text]").fill("Maren")
    await ana.get_by_role("button", name="Submit").click()
    await expect(newest(ana, "Search: Maren")).to_be_visible()

    # when she deletes it, and is asked once
    await shown.get_by_role("button", name="Delete", exact=True).click()
    question = newest(ana, "Delete")
    await expect(question).to_contain_text("from the library?")
    await question.get_by_role("button", name="Delete", exact=True).click()

    # then it is gone
    await expect(newest(ana, "is out of the library.")).to_be_visible()
    await shot(ana, shots, f"card-deleted-{width}")


@SIZES
async def test_a_preset_is_made_from_nothing(
    sandbox: str, browser: Browser, shots: Path | None, size: tuple[int, int]
) -> None:
    # given Ana in the tavern, and a preset that she begins
    ana = await in_tavern(browser, sandbox, "Ana", size)
    width = size[0]
    await command(ana, "preset create")
    await ana.keyboard.type("Dew")
    await run(ana)
    editing = newest(ana, "✏️ Dew")
    await editing.wait_for()
    await shot(ana, shots, f"preset-edit-{width}")

    # when she writes its prompt and sets its temperature
    await choose(ana, editing, "What do you want to change?", "Prompts")
    await expect(newest(ana, "Prompts · 1")).to_be_visible()
    await shot(ana, shots, f"preset-prompts-{width}")
    await choose(ana, newest(ana, "Prompts · 1"), "What do you want to change?", "Main")
    prompt = newest(ana, "1 of 1")
    await prompt.get_by_role("button", name="Edit", exact=True).click()
    await ana.locator("dialog.modal textarea").fill("Write like dew.")
    await ana.get_by_role("button", name="Submit").click()
    await expect(newest(ana, "Write like dew.")).to_be_visible()
    await shot(ana, shots, f"preset-prompt-{width}")
    await newest(ana, "1 of 1").get_by_role("button", name="Back").click()
    await newest(ana, "Prompts · 1").get_by_role("button", name="Back").click()
    await choose(ana, newest(ana, "✏️ Dew"), "What do you want to change?", "Name and parameters")
    await shot(ana, shots, f"preset-form-{width}")
    await ana.get_by_label("Temperature").fill("0.4")
    await ana.get_by_role("button", name="Submit").click()

    # then it is so
    await expect(newest(ana, "temperature 0.4")).to_be_visible()


async def test_a_posted_card_is_offered(sandbox: str, browser: Browser, shots: Path | None) -> None:
    # given a server that wants offers
    ana = await in_tavern(browser, sandbox, "Ana", WIDE)
    await command(ana, "settings imports")
    await run(ana)
    await newest(ana, "Cards that are posted").get_by_role("button", name="Switch on").click()
    await expect(newest(ana, "This is on in this server.")).to_be_visible()

    # when Ben posts a card
    ben = await in_tavern(browser, sandbox, "Ben", WIDE)
    await ben.locator("input[type=file]").last.set_input_files(CARD)
    await ben.get_by_role("combobox", name="Message").press("Enter")

    # then a small button stands under it, for Ana too
    offer = newest(ana, "This looks like something for the library.")
    await expect(offer.get_by_role("button", name="Import")).to_be_visible()
    await shot(ana, shots, "offer")
    await offer.get_by_role("button", name="Import").click()
    await expect(newest(ana, "is here.")).to_be_visible()
