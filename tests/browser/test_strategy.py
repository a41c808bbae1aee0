"""Where things go, with a mouse: a strategy is applied, changed, tried and used; wide and on a phone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.conftest import NARROW, WIDE
from tests.browser.test_library import choose, command, newest, run
from tests.browser.test_lore import imported
from tests.browser.test_story import answered, sandbox, say, shot, story

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
    await editor.get_by_role("button", name="Save", exact=True).click()
    saved = newest(ana, "Your copy is kept.")
    await saved.get_by_role("button", name="Apply here", exact=True).click()
    await newest(ana, "this story uses the strategy Preset's slots first – copy").wait_for()

    # and after a turn the entry stands where she put it: behind what was said before
    await say(ana, "Is there soup left?")
    await expect(ana.get_by_role("button", name="Stop")).to_be_visible()
    await expect(ana.get_by_role("button", name="Stop")).to_have_count(0, timeout=30_000)
    await command(ana, "strategy preview")
    await run(ana)
    sent = newest(ana, "What the model would be sent")
    await expect(sent).to_contain_text("Is there soup left?")
    if shots is not None:
        await sent.screenshot(path=shots / f"strategy-sent-{width}.png")
    text = await sent.inner_text()
    assert text.index("I come in with the storm.") < text.index(FOG[:30])

    # and in what the model got for it
    await sent.get_by_role("button", name="Sent last", exact=True).click()
    got = newest(ana, "What the model was sent")
    await expect(got).to_contain_text(FOG[:30])
    if shots is not None:
        await got.screenshot(path=shots / f"strategy-got-{width}.png")
    text = await got.inner_text()
    assert text.index("I come in with the storm.") < text.index(FOG[:30])
    assert text.index(FOG[:30]) < text.index("Is there soup left?")
