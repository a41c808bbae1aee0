"""Stopping, and what waits behind an answer that is being written."""

from __future__ import annotations

from tests.e2e.scene import Scene, Story, labels_of


async def test_a_stopped_answer_keeps_what_came(scene: Scene, story: Story) -> None:
    await story.say("Ana", "Talk.")
    call = await scene.model.call()
    await call.write("I was *about to say")
    await story.sees("about to say")
    # when Ben presses Stop
    await story.press("Stop", who="Ben")
    # then the model's line is closed and the part that came stands, its markup closed
    await call.gone.wait()
    stopped = await story.answered("about to say")
    assert stopped.text == "I was *about to say*\n-# — stopped"
    assert labels_of(stopped) == ["◀", "1/1", "▶", "⟳", "⋯"]
    # and the story goes on from there
    await story.say("Ana", "Then say it.")
    call = await scene.model.call()
    assert call.heard[:2] == ["Ana: Talk.", "I was *about to say"]
    await call.say("Never mind.")
    await story.answered("Never mind.")


async def test_stopping_before_the_first_word_leaves_a_line_and_retry(scene: Scene, story: Story) -> None:
    said = await story.say("Ana", "Talk.")
    call = await scene.model.call()
    await scene.bot.engine.plays.stop(scene.bot.bindings.all()[0].play_id)
    await call.gone.wait()
    line = await story.sees("— stopped")
    assert labels_of(line) == ["Retry"]
    # when somebody presses Retry
    await story.press("Retry", who="Ben")
    call = await scene.model.call()
    assert call.heard == ["Ana: Talk."]
    await call.say("Now I talk.")
    await story.answered("Now I talk.")
    # then the line is gone
    await story.reads("Mira: The door is open.", "Ana: Talk.", "Mira: Now I talk.")
    assert story.eyes.shown(said).reactions == {}


async def test_what_waits_is_kept_by_a_stop_and_answered_at_a_press(scene: Scene, story: Story) -> None:
    await story.say("Ana", "Talk.")
    call = await scene.model.call()
    await call.write("Well. ")
    await story.sees("Well.")
    waits = await story.say("Ben", "And me?")
    await story.eyes.wait_for(lambda: story.eyes.shown(waits).reactions == {"⏳": 1})
    # when the answer is stopped
    await story.press("Stop")
    # then it is said that a message waits, and nothing is answered by itself
    line = await story.sees("Stopped. 1 message waits.")
    assert labels_of(line) == ["Answer now", "Skip"]
    assert len(scene.model.calls) == 1
    # when somebody wants it answered
    await story.press("Answer now")
    call = await scene.model.call()
    assert call.heard == ["Ana: Talk.", "Well. ", "Ben: And me?"]
    await call.say("You too.")
    await story.answered("You too.")
    # then the line is gone and nothing waits any more
    await story.reads(
        "Mira: The door is open.",
        "Ana: Talk.",
        "Mira: Well.\n-# — stopped",
        "Ben: And me?",
        "Mira: You too.",
    )
    await story.eyes.wait_for(lambda: story.eyes.shown(waits).reactions == {})


async def test_messages_wait_their_turn_and_are_answered_in_order(scene: Scene, story: Story) -> None:
    first = await story.say("Ana", "One.")
    call = await scene.model.call()
    second = await story.say("Ben", "Two.")
    third = await story.say("Ana", "Three.")
    # then the first is marked as taken, the others wait
    eyes = story.eyes
    await eyes.wait_for(
        lambda: [eyes.shown(m).reactions for m in (first, second, third)] == [{"👀": 1}, {"⏳": 1}, {"⏳": 1}]
    )
    # when the answers come
    await call.say("First.")
    call = await scene.model.call()
    await eyes.wait_for(
        lambda: [eyes.shown(m).reactions for m in (first, second, third)] == [{}, {"👀": 1}, {"⏳": 1}]
    )
    assert call.heard == ["Ana: One.", "First.", "Ben: Two."]
    await call.say("Second.")
    call = await scene.model.call()
    assert call.heard == ["Ana: One.", "First.", "Ben: Two.", "Second.", "Ana: Three."]
    await call.say("Third.")
    await story.answered("Third.")
    # then every one was answered once, in order, and no mark is left
    await eyes.wait_for(lambda: [eyes.shown(m).reactions for m in (first, second, third)] == [{}, {}, {}])
    assert story.lines() == [
        "Mira: The door is open.",
        "Ana: One.",
        "Ben: Two.",
        "Ana: Three.",
        "Mira: First.",
        "Mira: Second.",
        "Mira: Third.",
    ]


async def test_quick_answers_leave_no_marks(scene: Scene, story: Story) -> None:
    # given a model that answers before a reaction can be set
    said = []
    for n in range(6):
        scene.model.will_say(f"Answer {n}.")
    for n in range(6):
        said.append(await story.say("Ana", f"Question {n}."))
    await story.answered("Answer 5.")
    await story.eyes.wait_for(lambda: all(story.eyes.shown(m).reactions == {} for m in said))


async def test_words_that_wait_can_be_changed_and_taken_back(scene: Scene, story: Story) -> None:
    await story.say("Ana", "One.")
    call = await scene.model.call()
    changed = await story.say("Ben", "Two, I thnik.")
    gone = await story.say("Ben", "Forget this.")
    await story.eyes.wait_for(lambda: story.eyes.shown(gone).reactions == {"⏳": 1})
    # when Ben mends one message and deletes another while they wait
    await scene.human("Ben").edit(changed, "Two, I think.")
    await scene.human("Ben").delete(gone)
    await scene.waits(story, "Two, I think.")
    await call.say("First.")
    call = await scene.model.call()
    # then the model hears the mended one, and never the other
    assert call.heard == ["Ana: One.", "First.", "Ben: Two, I think."]
    await call.say("Second.")
    await story.answered("Second.")
    assert len(scene.model.calls) == 2


async def test_words_that_were_used_cannot_be_changed_any_more(scene: Scene, story: Story) -> None:
    said = await story.say("Ana", "I take the left door.")
    await (await scene.model.call()).say("It creaks.")
    await story.answered("It creaks.")
    # when Ana edits what the story has used
    await scene.human("Ana").edit(said, "I take the right door.")
    line = await story.sees("The story already used the old words. Rewind to change what happened.")
    assert line.raw["message_reference"]["message_id"] == said.id
    # and when she deletes it
    await scene.human("Ana").delete(said)
    await story.sees("The story already used this message. Rewind to take it back.")
    # then the story knows what it knew
    await story.say("Ana", "Go on.")
    call = await scene.model.call()
    assert call.heard == ["Ana: I take the left door.", "It creaks.", "Ana: Go on."]
    await call.say("On it goes.")
    await story.answered("On it goes.")


async def test_a_long_answer_that_is_stopped_keeps_all_its_messages(scene: Scene, story: Story) -> None:
    await story.say("Ana", "Describe the river.")
    call = await scene.model.call()
    for n in range(3):
        await call.write(f"Part {n}. " + "The river is wide. " * 100 + "\n\n")
    await story.sees("Part 2.")
    await story.press("Stop")
    await call.gone.wait()
    last = await story.answered("— stopped")
    parts = [m for m in story.messages() if m.author == "Mira"][1:]
    assert len(parts) >= 3
    assert parts[-1].id == last.id
    assert [n for n in range(3) if any(f"Part {n}." in part.text for part in parts)] == [0, 1, 2]
    assert [bool(part.buttons) for part in parts] == [False] * (len(parts) - 1) + [True]


async def test_pressing_the_same_button_twice_does_it_once(scene: Scene, story: Story) -> None:
    # given a line with Retry that two people see
    scene.model.will_refuse(401)
    await story.say("Ana", "Hello.")
    line = await story.sees("does not accept the key")
    # when both press it
    await scene.human("Ana").click(line.id, "Retry", wait=False)
    second = await scene.human("Ben").click(line.id, "Retry", wait=False)
    call = await scene.model.call()
    await story.eyes.wait_for(lambda: bool(second.ephemeral))
    assert second.ephemeral[-1].text in (
        "An answer is being written. Stop it or wait a moment.",
        "The story has moved on since. These buttons belong to an earlier answer.",
    )
    await call.say("Welcome in.")
    await story.answered("Welcome in.")
    await story.reads("Mira: The door is open.", "Ana: Hello.", "Mira: Welcome in.")
    assert len(scene.model.calls) == 2


async def test_a_stop_that_comes_too_late_changes_nothing(scene: Scene, story: Story) -> None:
    await story.say("Ana", "Hello.")
    call = await scene.model.call()
    await call.write("Welcome ")
    growing = await story.sees("Welcome")
    stop = growing.buttons[0].custom_id
    assert stop is not None
    await call.write("in.")
    await call.end()
    await story.answered("Welcome in.")
    told = await scene.press_stale("Ben", growing, stop)
    assert told.text == "Nothing is being written any more."
    assert story.find("Welcome in.").text == "Welcome in."
