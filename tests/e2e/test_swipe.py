"""Other answers to the same words: forward, back, again, on the newest exchange and on an older one."""

from __future__ import annotations

from tests.e2e.scene import Scene, Story, labels_of

LONG = "\n\n".join(f"Part {n}. " + "The river is wide. " * 60 for n in range(4)).strip()


async def test_swiping_forward_and_back(scene: Scene, story: Story) -> None:
    first = await story.exchange("Ana", "Left or right?", "Left.")
    # when Ana asks for another answer
    await story.press("▶")
    call = await scene.model.call()
    assert call.heard == ["Ana: Left or right?"]
    # then the old text has given way to a sign while it waits
    await story.reads("Mira: The door is open.", "Ana: Left or right?", "Mira: ◌")
    await call.say("Right.")
    second = await story.answered("Right.", "2/2")
    assert second.id == first.id
    assert labels_of(second) == ["◀", "2/2", "▶", "⟳", "⋯"]
    # when she goes back, the first answer is there at once, without a call
    await story.press("◀")
    back = await story.answered("Left.", "1/2")
    assert back.button("◀").disabled and not back.button("▶").disabled
    await story.press("▶")
    await story.answered("Right.", "2/2")
    assert len(scene.model.calls) == 2
    # and ⟳ writes a third one
    await story.press("◀")
    await story.answered("Left.", "1/2")
    scene.model.will_say("Straight on.")
    await story.press("⟳")
    await story.answered("Straight on.", "3/3")
    # then the story goes on from the one that stands
    await story.press("◀")
    await story.answered("Right.", "2/3")
    await story.say("Ben", "Right it is.")
    call = await scene.model.call()
    assert call.heard == ["Ana: Left or right?", "Right.", "Ben: Right it is."]
    await call.say("You walk.")
    await story.answered("You walk.", "1/1")


async def test_answers_of_different_lengths_leave_no_blank_behind(scene: Scene, story: Story) -> None:
    # given a long answer that stands in three messages, or two
    scene.model.will_say(LONG)
    await story.say("Ana", "Describe the river.")
    await story.answered("Part 3.", "1/1")
    parts = len(story.messages()) - 2
    assert parts >= 3
    # when a short one takes its place
    scene.model.will_say("Wet.")
    await story.press("▶")
    await story.answered("Wet.", "2/2")
    await story.reads("Mira: The door is open.", "Ana: Describe the river.", "Mira: Wet.")
    # and back, and forth again
    await story.press("◀")
    last = await story.answered("Part 3.", "1/2")
    await story.eyes.wait_for(lambda: len(story.messages()) == 2 + parts)
    assert [bool(m.buttons) for m in story.messages()[2:]] == [False] * (parts - 1) + [True]
    shown = "\n\n".join(m.text for m in story.messages()[2:])
    assert shown.split() == LONG.split()
    assert story.messages()[-1].id == last.id
    await story.press("▶")
    await story.answered("Wet.", "2/2")
    await story.reads("Mira: The door is open.", "Ana: Describe the river.", "Mira: Wet.")


async def test_a_swipe_that_fails_keeps_the_old_answer(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Left or right?", "Left.")
    scene.model.will_refuse(401)
    await story.press("▶")
    # then the old answer is back with its row, and a line says why
    await story.sees("The model's server does not accept the key.")
    await story.answered("Left.", "1/1")
    # and it can be tried again; the line goes away
    scene.model.will_say("Right.")
    await story.press("▶")
    await story.answered("Right.", "2/2")
    await story.reads("Mira: The door is open.", "Ana: Left or right?", "Mira: Right.")


async def test_a_swipe_that_is_stopped_keeps_the_old_answer(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Left or right?", "Left.")
    await story.press("▶")
    call = await scene.model.call()
    await call.write("Ri")
    await story.press("Stop")
    await call.gone.wait()
    await story.answered("Left.", "1/1")
    await story.reads("Mira: The door is open.", "Ana: Left or right?", "Mira: Left.")


async def test_words_that_come_while_a_swipe_writes_are_answered_after_it(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Left or right?", "Left.")
    await story.press("▶")
    call = await scene.model.call()
    await story.say("Ben", "I wait.")
    await call.say("Right.")
    await story.sees("Right.")
    call = await scene.model.call()
    assert call.heard == ["Ana: Left or right?", "Right.", "Ben: I wait."]
    await call.say("Good.")
    await story.answered("Good.")


async def test_words_that_come_while_a_swipe_fails_are_answered_too(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Left or right?", "Left.")
    await story.press("▶")
    call = await scene.model.call()
    await story.say("Ben", "I wait.")
    await scene.waits(story, "I wait.")
    call.refuse(401)
    call = await scene.model.call()
    assert call.heard == ["Ana: Left or right?", "Left.", "Ben: I wait."]
    await call.say("Good.")
    await story.answered("Good.")
    assert story.find("Left.").text == "Left."


async def test_regenerate_on_the_newest_answer_is_a_swipe(scene: Scene, story: Story) -> None:
    answer = await story.exchange("Ana", "Left or right?", "Left.")
    scene.model.will_say("Right.")
    await story.menu(answer, "Regenerate")
    await story.answered("Right.", "2/2")
    await story.reads("Mira: The door is open.", "Ana: Left or right?", "Mira: Right.")


async def test_regenerate_on_an_older_answer_sets_the_rest_aside(scene: Scene, story: Story) -> None:
    older = await story.exchange("Ana", "Left or right?", "Left.")
    await story.exchange("Ana", "I go left.", "A wall.")
    scene.model.will_say("Right.")
    await story.menu(older, "Regenerate")
    await story.answered("Right.", "2/2")
    await story.reads(
        "Mira: The door is open.",
        "Ana: Left or right?",
        "Mira: Right.",
        "Inglenook: -# Rewound to here by Ana",
    )
    # and what was set aside comes back from the answer that it followed
    await story.press("◀")
    await story.answered("Left.", "1/2")
    await story.press("Undo")
    await story.answered("A wall.", "1/1")
    await story.reads(
        "Mira: The door is open.",
        "Ana: Left or right?",
        "Mira: Left.",
        "Ana: I go left.",
        "Mira: A wall.",
    )
    await story.say("Ben", "I turn round.")
    call = await scene.model.call()
    assert call.heard == ["Ana: Left or right?", "Left.", "Ana: I go left.", "A wall.", "Ben: I turn round."]
    await call.say("Back at the fork.")
    await story.answered("Back at the fork.")


async def test_an_old_row_gets_a_polite_answer(scene: Scene, story: Story) -> None:
    # given a row that somebody still sees although the story has moved on
    answer = await story.exchange("Ana", "Left or right?", "Left.")
    again = next(b for b in answer.buttons if b.label == "⟳").custom_id
    assert again is not None
    await story.exchange("Ana", "I go left.", "A wall.")
    # when Ben presses it all the same
    told = await scene.press_stale("Ben", answer, again)
    assert told.text == "The story has moved on since. These buttons belong to an earlier answer."
    assert len(scene.model.calls) == 2


async def test_pressing_quickly_writes_one_answer(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Left or right?", "Left.")
    answer = story.find("Left.")
    ben = scene.human("Ben")
    # when two people press ▶ at the same moment
    await scene.human("Ana").click(answer.id, "▶", wait=False)
    second = await ben.click(answer.id, "▶", wait=False)
    call = await scene.model.call()
    await story.eyes.wait_for(lambda: bool(second.ephemeral))
    # then one answer is written, and the other one is told
    assert [m.text for m in second.ephemeral] == ["An answer is being written. Stop it or wait a moment."]
    await call.say("Right.")
    await story.answered("Right.", "2/2")
    assert len(scene.model.calls) == 2


async def test_what_waits_behind_a_stopped_answer_survives_a_swipe(scene: Scene, story: Story) -> None:
    # given an answer that was stopped while Ben's words waited behind it
    await story.say("Ana", "Left or right?")
    call = await scene.model.call()
    await call.write("Left, I ")
    await story.sees("Left, I")
    await story.say("Ben", "I wait.")
    await scene.waits(story, "I wait.")
    await story.press("Stop")
    await story.sees("Stopped. 1 message waits.")
    # when Ana asks for another answer
    await story.press("⟳")
    call = await scene.model.call()
    assert call.heard == ["Ana: Left or right?"]
    await call.say("Right.")
    await story.sees("Right.")
    # then Ben's words are answered after it
    call = await scene.model.call()
    assert call.heard == ["Ana: Left or right?", "Right.", "Ben: I wait."]
    await call.say("Good.")
    await story.answered("Good.")


async def test_what_waits_behind_a_stopped_answer_survives_turning_back(scene: Scene, story: Story) -> None:
    # given two answers, the second of them stopped while Ben's words waited
    await story.exchange("Ana", "Left or right?", "Left.")
    scene.model.will_say("Right.")
    await story.press("▶")
    await story.answered("Right.", "2/2")
    await story.say("Ana", "Really?")
    call = await scene.model.call()
    await call.write("No, I ")
    await story.sees("No, I")
    await story.say("Ben", "I wait.")
    await scene.waits(story, "I wait.")
    await story.press("Stop")
    await story.sees("Stopped. 1 message waits.")
    scene.model.will_say("Yes.")
    await story.press("▶")
    await story.sees("Yes.")
    call = await scene.model.call()
    assert call.heard[-1] == "Ben: I wait."
    await call.say("Good.")
    await story.answered("Good.")


async def test_words_whose_answer_failed_survive_a_swipe(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Left or right?", "Left.")
    # given Ben's words, whose answer failed
    scene.model.will_refuse(401)
    await story.say("Ben", "I wait.")
    # when Ana asks for another answer to hers, and that fails, too
    first = await story.sees("does not accept the key")
    scene.model.will_refuse(401)
    await story.press("▶")
    await scene.asked(3)
    line = await story.eyes.sees(story.thread, lambda m: "not accept" in m.text and m.id != first.id)
    assert labels_of(line) == ["Retry"]
    await story.answered("Left.", "1/1")
    # and when it works
    scene.model.will_say("Right.")
    await story.press("▶")
    # then Ben's words are answered after it
    call = await scene.model.call()
    assert call.heard == ["Ana: Left or right?", "Right.", "Ben: I wait."]
    await call.say("Good.")
    await story.answered("Good.")
    await story.reads(
        "Mira: The door is open.",
        "Ana: Left or right?",
        "Mira: Right.",
        "Ben: I wait.",
        "Mira: Good.",
    )


async def test_words_whose_answer_failed_survive_turning_back(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Left or right?", "Left.")
    scene.model.will_say("Right.")
    await story.press("▶")
    await story.answered("Right.", "2/2")
    scene.model.will_refuse(401)
    await story.say("Ben", "I wait.")
    await story.sees("does not accept the key")
    # when Ana turns back to the first answer
    await story.press("◀")
    await story.answered("Left.", "1/2")
    # then Retry has Ben's words answered there
    await story.press("Retry")
    call = await scene.model.call()
    assert call.heard == ["Ana: Left or right?", "Left.", "Ben: I wait."]
    await call.say("Good.")
    await story.answered("Good.")
