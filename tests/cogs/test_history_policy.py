"""What a strategy says of the history, at the table: a story that stays short, and reasons for people."""

from __future__ import annotations

from typing import Any

import pytest

from bot.i18n import t
from engine.assembler import DEFAULT_POLICY, built_in_strategies
from tests.cogs.test_strategy import kept
from tests.e2e.scene import Scene, Story

ON = {**DEFAULT_POLICY.to_wire(), "enabled": True}
REMIND = {"id": "remind", "kind": "custom", "role": "user", "text": "SPEAK SOFTLY", "delivery": "pre-step"}


def rules() -> list[dict[str, Any]]:
    return [*built_in_strategies()["builtin-native-slots"].to_wire()["rules"], REMIND]


async def told(story: Story, *lines: str) -> list[int]:
    """Each line and its answer; how often each request had the reminder."""
    counts = []
    for line in lines:
        await story.say("Ana", line)
        call = await story.scene.model.call()
        counts.append(call.heard.count("SPEAK SOFTLY"))
        await call.say(f"Yes, {line}")
        await story.answered(f"Yes, {line}")
    return counts


async def test_a_reminder_is_read_once_and_the_story_reads_as_ever(scene: Scene) -> None:
    # given a story with a reminder behind each message
    story = await scene.open_story()
    ana = scene.human("Ana")
    await kept(scene, rules=rules())
    await kept(scene, "Tidy", rules=rules(), historyPolicy=ON)
    await ana.slash(story.thread, "strategy apply", strategy="Ours")
    piled = await told(story, "one", "two", "three")
    preview = await ana.slash(story.thread, "strategy preview")

    # when its strategy tidies up
    await ana.slash(story.thread, "strategy apply", strategy="Tidy")
    tidy = await told(story, "four", "five")
    after = await ana.slash(story.thread, "strategy preview")

    # then the model reads it once, people read what they read before, and the preview has said where to look
    assert (piled, tidy) == ([1, 2, 3], [1, 1])
    # the reminder of the strategy, and the built-in preset's own
    remark = t("en-US", "assembly.PRE_STEP_REPEATED", count=6)
    assert remark in preview.text and "is sent along" not in after.text
    assert not [line for line in story.lines() if "SPEAK SOFTLY" in line]
    swiped = await story.press("▶")
    assert swiped is not None
    call = await scene.model.call()
    assert call.heard.count("SPEAK SOFTLY") == 1
    await call.say("Another five.")
    await story.answered("Another five.")


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_the_remark_names_the_way_to_the_switch(locale: str) -> None:
    remark = t(locale, "assembly.PRE_STEP_REPEATED", count=3)
    assert f"`/strategy edit` → *{t(locale, 'button.settings')}* → *{t(locale, 'button.history')}*" in remark


@pytest.mark.parametrize(
    ("who", "reason"),
    [
        ("Ana", "What the strategy says about the history needs the advanced back end."),
        ("Chen", "策略里关于历史的部分需要高级后端。"),
    ],
)
async def test_what_only_a_copy_of_the_request_can_do_is_refused_with_the_reason(
    scene: Scene, who: str, reason: str
) -> None:
    story = await scene.open_story(who=who)
    cut = {"id": "f", "sourceKind": "model", "start": "<a>", "end": "</a>", "mode": "lines", "enabled": True}
    await kept(scene, historyPolicy={**ON, "fragments": [cut]})
    refused = await scene.human(who).slash(story.thread, "strategy apply", strategy="Ours")
    assert refused.text == reason
