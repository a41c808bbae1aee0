"""A whole evening in the sandbox as its user has it: the real command, its page, the real bot.

Two people play, the answer streams, is swiped and rewound; a card is imported; the bot is
killed in the middle of an answer and the story goes on.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.conftest import NARROW, WIDE

ROOT = Path(__file__).parents[2]
CARD = ROOT / "tests" / "vectors" / "cards" / "v2.png"
MAREN = "Maren Ashdown"
# Looked for as a whole line: the narrator likes to quote what it was told.
BARRED = "And I bar the door behind her."


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[str]:
    """The address of a fresh sandbox, started by its command in a folder of its own."""
    env = os.environ | {
        "INGLENOOK_SANDBOX__DATA_DIR": str(tmp_path / "sandbox"),
        "INGLENOOK_SANDBOX__PORT": "0",
        # some seconds even for a short answer: a busy machine must see it grow, too
        "INGLENOOK_NARRATOR__WORDS_PER_SECOND": "8",
        "PYTHONPATH": str(ROOT),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot",
        "sandbox",
        cwd=tmp_path,
        env=env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            while not (found := re.search(rb"http://127\.0\.0\.1:\d+/", await process.stdout.readline())):
                assert process.returncode is None
        yield found[0].decode()
    finally:
        process.terminate()
        await asyncio.wait_for(process.communicate(), 30)


async def story(browser: Browser, address: str, person: str, size: tuple[int, int] = WIDE) -> Page:
    """A window in which that person looks at the first story."""
    context = await browser.new_context(viewport={"width": size[0], "height": size[1]}, locale="en-GB")
    page = await context.new_page()
    page.set_default_timeout(20_000)
    await page.goto(address)
    await act_as(page, person)
    if size == NARROW:
        await page.get_by_role("button", name="Channels").click()
    await page.get_by_text(MAREN, exact=True).first.click()
    await page.locator(".channel-title h2", has_text=MAREN).wait_for()
    return page


async def act_as(page: Page, person: str) -> None:
    # The page says who one is once it is connected; a menu that was opened before has nobody in it.
    await expect(page.locator(".top-you")).to_contain_text(re.compile(r"Ana|Ben|Chen"))
    await page.locator(".top-you").click()
    await page.get_by_role("menuitem", name=person).click()
    await expect(page.locator(".top-you")).to_contain_text(person)


async def say(page: Page, text: str) -> None:
    box = page.get_by_role("combobox", name="Message")
    await box.fill(text)
    await box.press("Enter")


def last_answer(page: Page) -> Locator:
    """The newest message that carries the row of an answer."""
    return page.locator(".message", has=page.get_by_role("button", name="⟳")).last


async def answer_to(page: Page, text: str) -> None:
    """Wait until what somebody said has been answered to the end. How it streams may be over before a busy
    machine looks."""
    said = page.locator(".message", has_text=text).last
    below = said.locator("xpath=following::*[contains(@class, 'message')]")
    await expect(below.get_by_role("button", name="⟳").first).to_be_visible(timeout=60_000)


async def answered(page: Page, count: str) -> str:
    """Wait until the newest answer is complete under this counter; its text."""
    await expect(last_answer(page).get_by_role("button", name=count)).to_be_visible(timeout=30_000)
    return await last_answer(page).locator(".content").first.inner_text()


async def app(page: Page, text: str, name: str) -> None:
    """Use a message command as a person does."""
    await page.locator(".message", has_text=text).last.click(button="right")
    await page.get_by_role("menuitem", name="Apps").click()
    await page.get_by_role("menuitem", name=name).click()


async def shot(page: Page, shots: Path | None, name: str) -> None:
    if shots is not None:
        await page.screenshot(path=shots / f"{name}.png")


async def test_an_evening_at_the_inn(sandbox: str, browser: Browser, shots: Path | None) -> None:
    # given a story that waits, and two people who look at it
    ana = await story(browser, sandbox, "Ana")
    ben = await story(browser, sandbox, "Ben", NARROW)
    await expect(ana.get_by_role("button", name="1/4")).to_be_visible()
    # when Ana chooses another greeting
    await ana.get_by_role("button", name="▶").last.click()
    # then both read it
    await expect(ana.get_by_role("button", name="2/4")).to_be_visible()
    await expect(ben.get_by_role("button", name="2/4")).to_be_visible()
    # when she writes
    await say(ana, "I come in with the storm. Is there soup left?")
    # then the answer grows while it is written, and can be stopped
    await expect(ana.get_by_role("button", name="Stop")).to_be_visible()
    await shot(ana, shots, "story-streams")
    first = await answered(ana, "1/1")
    await expect(ana.get_by_role("button", name="Stop")).to_have_count(0)
    await shot(ana, shots, "story-answered")
    # when she asks for another answer
    await last_answer(ana).get_by_role("button", name="▶").click()
    second = await answered(ana, "2/2")
    # then it is a different one, and the first is one press away
    assert second != first
    await last_answer(ana).get_by_role("button", name="◀").click()
    assert await answered(ana, "1/2") == first
    # when Ben speaks, then the story goes on with both
    await say(ben, BARRED)
    await answered(ben, "1/1")
    await shot(ben, shots, "story-narrow")
    # when Ana rewinds to her own words, which sets Ben's aside
    await app(ana, "Is there soup left?", "Rewind")
    # then she is asked once, because his words are concerned
    await ana.get_by_role("button", name="Do it").click()
    await expect(ana.locator(".message", has_text="Rewound to here by Ana")).to_be_visible()
    await expect(ana.get_by_text(BARRED, exact=True)).to_have_count(0)
    await shot(ana, shots, "story-rewound")
    # when Ben takes it back
    await ben.get_by_role("button", name="Undo").click()
    # then his words and their answer are told again
    await expect(ana.get_by_text(BARRED, exact=True)).to_be_visible()
    await answered(ana, "1/1")


async def test_a_card_is_imported_and_played(sandbox: str, browser: Browser, shots: Path | None) -> None:
    # given Ana in the tavern
    ana = await story(browser, sandbox, "Ana")
    await ana.get_by_text("tavern", exact=True).first.click()
    # when she imports a card from her disk
    await ana.get_by_role("combobox", name="Message").fill("/card import")
    await ana.get_by_role("option", name="/card import").first.click()
    await ana.get_by_role("button", name="Run the command").click()
    await ana.locator("dialog.modal input[type=file]").set_input_files(CARD)
    await ana.get_by_role("button", name="Submit").click()
    # then a panel shows what came in, only to her
    await expect(ana.get_by_role("button", name="Play")).to_be_visible()
    await shot(ana, shots, "story-card")
    # when she plays it
    await ana.get_by_role("button", name="Play").click()
    # then a thread opens
    await expect(ana.locator(".message", has_text="The story is open").last).to_be_visible()


async def test_the_bot_is_killed_in_the_middle_of_an_answer(
    sandbox: str, browser: Browser, shots: Path | None
) -> None:
    # given an answer that is being written
    ana = await story(browser, sandbox, "Ana")
    await say(ana, "Tell me of the lamps, all nine of them.")
    await expect(ana.get_by_role("button", name="Stop")).to_be_visible()
    # when the bot is killed and started again
    for action in ("kill", "start"):
        answer = await ana.evaluate(
            """action => fetch('/page/api/bot', {
                method: 'POST',
                headers: {'content-type': 'application/json'},
                body: JSON.stringify({action}),
            }).then(answer => answer.json())""",
            action,
        )
        assert answer["ok"], answer
    # then the channel says so once, without the half answer and its Stop button
    await expect(ana.get_by_role("button", name="Answer now")).to_be_visible(timeout=30_000)
    await expect(ana.get_by_role("button", name="Stop")).to_have_count(0)
    await shot(ana, shots, "story-restarted")
    # when Ana asks for the answer
    await ana.get_by_role("button", name="Answer now").click()
    # then it comes, and the question is gone
    await answered(ana, "1/1")
    await expect(ana.get_by_role("button", name="Answer now")).to_have_count(0)
