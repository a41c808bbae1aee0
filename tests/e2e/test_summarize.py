"""`/play summarize`: the story gets shorter for its model, and for nobody else."""

from __future__ import annotations

import asyncio

from bot.sandbox.screen import InteractionResult
from tests.e2e.scene import Scene, Story, labels_of

LONG = "It rained on the harbour, and nobody came. " * 30
NOTES = "Ana and Mira met in the rain."


async def told(story: Story) -> None:
    """Two long exchanges."""
    await story.exchange("Ana", f"First. {LONG}", f"One. {LONG[:200]}")
    await story.exchange("Ben", f"Second. {LONG}", f"Two. {LONG[:200]}")


async def summarizing(story: Story, who: str = "Ana") -> InteractionResult:
    """Somebody asks for it, and the model is at it."""
    asked = await story.scene.human(who).slash(story.thread, "play summarize", wait=False)
    await story.scene.human(who).wait_for(lambda: "Summing up" in asked.text)
    return asked


async def becomes(story: Story, asked: InteractionResult, text: str, who: str = "Ana") -> None:
    """The one thing that is left to see of it, without a button."""
    await story.scene.human(who).wait_for(lambda: text in asked.text)
    assert [labels_of(message) for message in asked.messages] == [[]]


async def told_off(story: Story, text: str, who: str = "Ana") -> None:
    asked = await story.scene.human(who).slash(story.thread, "play summarize")
    await becomes(story, asked, text, who)


async def test_a_story_is_summed_up_and_goes_on(scene: Scene, story: Story) -> None:
    await told(story)
    before = story.lines()
    asked = await summarizing(story)
    assert (labels_of(asked.message), asked.message.ephemeral) == (["Stop"], True)
    call = await scene.model.call()
    # what is said meanwhile waits
    await story.say("Ben", "Still there?")
    await scene.waits(story, "Still there?")
    await call.say(NOTES)
    await becomes(story, asked, "messages are summed up: of about ")
    # then it is answered from the notes, and every word still stands in the thread
    call = await scene.model.call()
    assert NOTES in call.heard[0]
    assert call.heard[-1] == "Ben: Still there?"
    assert not any("First." in heard for heard in call.heard)
    await call.say("Always.")
    await story.answered("Always.")
    assert story.lines()[: len(before)] == before


async def test_it_can_be_stopped(scene: Scene, story: Story) -> None:
    await told(story)
    asked = await summarizing(story)
    call = await scene.model.call()
    await scene.human("Ana").click(asked.message.id, "Stop")
    await call.gone.wait()
    await becomes(story, asked, "Stopped. The story is as it was.")
    await story.say("Ana", "Go on.")
    call = await scene.model.call()
    assert any("First." in heard for heard in call.heard)
    await call.say("I do.")
    await story.answered("I do.")


async def test_a_short_story_needs_none(story: Story) -> None:
    await told_off(story, "There is nothing to sum up yet")


async def test_a_model_that_brings_no_summary_changes_nothing(scene: Scene, story: Story) -> None:
    await told(story)
    scene.model.will_refuse(400)
    await told_off(story, "The model brought no summary that could be used. The story is as it was.")


async def test_only_whoever_began_the_story_may_ask_for_it(scene: Scene, story: Story) -> None:
    await told(story)
    calls = len(scene.model.calls)
    await told_off(story, "Only whoever began the story or a moderator may do that.", "Ben")
    assert len(scene.model.calls) == calls


async def test_not_while_an_answer_is_written(scene: Scene, story: Story) -> None:
    await told(story)
    await story.say("Ana", "Talk.")
    call = await scene.model.call()
    await told_off(story, "An answer is being written. Stop it or wait a moment.")
    await call.say("Done.")
    await story.answered("Done.")


async def test_two_who_ask_at_once_get_one_summary(scene: Scene, story: Story) -> None:
    await told(story)
    asked = await summarizing(story)
    call = await scene.model.call()
    await told_off(story, "The story is being summed up already.")
    await asyncio.gather(call.say(NOTES), becomes(story, asked, "summed up: of about"))


async def test_it_is_said_in_the_language_of_whoever_asks(scene: Scene) -> None:
    story = await scene.open_story(who="Chen")
    await told(story)
    asked = await scene.human("Chen").slash(story.thread, "play summarize", wait=False)
    await scene.human("Chen").wait_for(lambda: "正在总结" in asked.text)
    await (await scene.model.call()).say(NOTES)
    await becomes(story, asked, "条消息：模型要读的内容从约", "Chen")
