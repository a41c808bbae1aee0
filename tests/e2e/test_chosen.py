"""What a table has chosen for its story goes with it: through swipes, rewinds, restarts and a crash."""

from __future__ import annotations

from dataclasses import replace

from tests.e2e.scene import Scene, Story


async def chosen(scene: Scene, story: Story) -> tuple[str | None, tuple[str, ...]]:
    binding = scene.bot.bindings.of_channel(int(story.thread))
    assert binding is not None
    selection = await scene.bot.engine.plays.selection(binding.play_id)
    return selection.persona_id, selection.tools


async def test_persona_and_template_stay_with_the_story_whatever_happens_to_it(scene: Scene) -> None:
    # given a story with a persona bound and a template applied
    story = await scene.open_story(description="Mira has waited for {{user}}.")
    ana = scene.human("Ana")
    await ana.slash(story.thread, "persona set", name="Vale")
    await ana.slash(story.thread, "persona bind")
    binding = scene.bot.bindings.of_channel(int(story.thread))
    assert binding is not None
    await scene.bot.engine.plays.select(binding.play_id, lambda old: replace(old, tools=("dice",)))
    await ana.slash(story.thread, "template save", name="mine")
    wanted = await chosen(scene, story)
    assert wanted[0] is not None
    await story.exchange("Ana", "One.", "First.")
    await story.exchange("Ana", "Two.", "Second.")

    # when an answer is swiped
    scene.model.will_say("Another second.")
    await story.press("▶")
    await story.answered("Another second.", "2/2")
    # then the other answer is written with the same
    assert await chosen(scene, story) == wanted
    assert "Mira has waited for Vale." in scene.model.calls[-1].system

    # when the bot is killed, and the story rewound to its first answer
    await scene.running.crash()
    await scene.running.start()
    await story.menu(story.find("First."), "Rewind")
    await story.sees("Rewound to here by Ana")
    # then what follows has it too
    assert await chosen(scene, story) == wanted
    await story.exchange("Ana", "Three.", "Third.")
    assert "Mira has waited for Vale." in scene.model.calls[-1].system

    # when it is let go, and the template applied again
    await ana.slash(story.thread, "persona unbind")
    assert await chosen(scene, story) == (None, ("dice",))
    done = await ana.slash(story.thread, "template apply", template="mine")
    # then it is as it was kept
    assert done.text == "From the next answer on this story uses all that **mine** says."
    assert await chosen(scene, story) == wanted
