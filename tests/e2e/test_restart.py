"""The bot ends, in order or not, and begins again: everything goes on, nothing is answered twice."""

from __future__ import annotations

from pathlib import Path

from bot.settings import PlaySettings
from engine.play import Head
from tests.e2e.scene import Scene, Story, labels_of, set_scene, until
from tests.e2e.table import open_wire


async def moved(scene: Scene, standing: Head) -> bool:
    """Whether the only story stands somewhere else by now."""
    return await scene.head() != standing


async def test_after_a_restart_everything_goes_on(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Left or right?", "Left.")
    scene.model.will_say("Right.")
    await story.press("▶")
    await story.answered("Right.", "2/2")
    before = story.lines()
    # when the bot is restarted
    await scene.running.restart()
    # then nothing was said and nothing has changed
    assert story.lines() == before
    # and buttons, menus and messages work as before
    await story.press("◀")
    await story.answered("Left.", "1/2")
    await story.press("▶")
    await story.answered("Right.", "2/2")
    await story.say("Ben", "Right it is.")
    call = await scene.model.call()
    assert call.heard == ["Ana: Left or right?", "Right.", "Ben: Right it is."]
    await call.say("You walk.")
    await story.answered("You walk.", "1/1")
    await scene.running.restart()
    await story.menu(story.find("Right."), "Rewind", who="Ben")
    await story.sees("Rewound to here by Ben")
    await scene.running.restart()
    await story.press("Undo")
    await story.answered("You walk.", "1/1")


async def test_a_greeting_turns_after_a_restart(scene: Scene, story: Story) -> None:
    await story.press("▶")
    await story.reads("Mira: It rains. The door is shut.")
    await scene.running.restart()
    await story.press("▶")
    await story.reads("Mira: Mira sits on the roof, Ana.")


async def test_a_restart_in_order_keeps_what_was_written(scene: Scene, story: Story) -> None:
    await story.say("Ana", "Talk.")
    call = await scene.model.call()
    await call.write("I was about to say ")
    await story.sees("about to say")
    # when the bot is stopped in the middle of the answer
    await scene.running.stop()
    # then it has put the answer in order before it went
    cut = story.find("about to say")
    assert cut.text == "I was about to say\n-# — stopped"
    assert labels_of(cut) == ["◀", "1/1", "▶", "⟳", "⋯"]
    # and after the start the story goes on from there
    await scene.running.start()
    assert story.lines() == [
        "Mira: The door is open.",
        "Ana: Talk.",
        "Mira: I was about to say\n-# — stopped",
    ]
    scene.model.will_say("Now I say it.")
    await story.press("⟳")
    await story.answered("Now I say it.", "2/2")


async def test_a_restart_in_order_before_the_first_word_answers_afterwards(
    scene: Scene, story: Story
) -> None:
    await story.say("Ana", "Talk.")
    call = await scene.model.call()
    await scene.running.stop()
    await call.gone.wait()
    await scene.running.start()
    # then one line says so
    await story.reads(
        "Mira: The door is open.",
        "Ana: Talk.",
        "Inglenook: The bot was restarted in the middle of this answer.",
    )
    await story.press("Answer now")
    call = await scene.model.call()
    assert call.heard == ["Ana: Talk."]
    await call.say("Well.")
    await story.answered("Well.")
    await story.reads("Mira: The door is open.", "Ana: Talk.", "Mira: Well.")


async def test_a_crash_while_it_writes_leaves_one_line(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "I knock.", "Who is there?")
    await story.say("Ben", "I cough.")
    call = await scene.model.call()
    await call.write("Two of you, I ")
    await story.sees("Two of you, I")
    # when the process dies
    await scene.running.crash()
    assert labels_of(story.find("Two of you, I")) == ["Stop"]
    await scene.running.start()
    # then the half answer is gone with its Stop button, and one line offers to answer
    await story.reads(
        "Mira: The door is open.",
        "Ana: I knock.",
        "Mira: Who is there?",
        "Ben: I cough.",
        "Inglenook: The bot was restarted in the middle of this answer.",
    )
    line = story.find("restarted")
    assert labels_of(line) == ["Answer now", "Skip"]
    assert len(scene.model.calls) == 2
    # when somebody wants the answer
    await story.press("Answer now", who="Ana")
    call = await scene.model.call()
    assert call.heard == ["Ana: I knock.", "Who is there?", "Ben: I cough."]
    await call.say("Two of you.")
    await story.answered("Two of you.", "1/1")
    # then it is the only one
    await story.reads(
        "Mira: The door is open.",
        "Ana: I knock.",
        "Mira: Who is there?",
        "Ben: I cough.",
        "Mira: Two of you.",
    )
    assert len(scene.model.calls) == 3


async def test_speaking_is_as_good_as_pressing_the_line(scene: Scene, story: Story) -> None:
    await story.say("Ana", "I knock.")
    await scene.model.call()
    await scene.running.crash()
    await scene.running.start()
    await story.sees("The bot was restarted in the middle of this answer.")
    # when Ben just goes on
    await story.say("Ben", "I cough.")
    call = await scene.model.call()
    # then both are answered together, and the line is gone
    assert call.heard == ["Ana: I knock.", "Ben: I cough."]
    await call.say("Two of you.")
    await story.answered("Two of you.")
    await story.reads("Mira: The door is open.", "Ana: I knock.", "Ben: I cough.", "Mira: Two of you.")


async def test_what_was_skipped_is_not_told_again(scene: Scene, story: Story) -> None:
    await story.say("Ana", "I knock.")
    await scene.model.call()
    await scene.running.crash()
    await scene.running.start()
    skipped = await story.press("Skip")
    await story.eyes.wait_for(lambda: bool(skipped.ephemeral))
    assert skipped.ephemeral[-1].text == "Skipped. The next message goes on."
    await story.reads("Mira: The door is open.", "Ana: I knock.")
    # then another restart says nothing
    await scene.running.restart()
    assert story.lines() == ["Mira: The door is open.", "Ana: I knock."]
    # and the next message takes the skipped words along
    await story.say("Ben", "I cough.")
    call = await scene.model.call()
    assert call.heard == ["Ana: I knock.", "Ben: I cough."]
    await call.say("Two of you.")
    await story.answered("Two of you.")


async def test_a_crash_between_the_answer_and_its_last_edit(scene: Scene, story: Story) -> None:
    # given an answer that is complete in the log, while Discord hangs
    said = await story.say("Ana", "I knock.")
    call = await scene.model.call()
    await call.write("Who is ")
    await story.sees("Who is")
    scene.wire.faults.hang("PATCH", r"/webhooks/", times=None)
    scene.wire.faults.hang("DELETE", r"/reactions/", times=None)
    await call.write("there?")
    await call.end()
    play = scene.bot.bindings.all()[0].play_id
    await scene.known(play, 1)
    await scene.running.crash()
    scene.wire.faults.clear()
    # then the next start shows it, once, with its row
    await scene.running.start()
    await story.answered("Who is there?", "1/1")
    await story.reads("Mira: The door is open.", "Ana: I knock.", "Mira: Who is there?")
    assert len(scene.model.calls) == 1
    # and nothing says any more that her words wait
    await story.eyes.wait_for(lambda: story.eyes.shown(said).reactions == {})


async def test_a_crash_after_a_message_was_sent_and_before_that_was_written_down(
    scene: Scene, story: Story
) -> None:
    # given a first post that reached Discord, whose answer never came back
    scene.wire.faults.hang("POST", r"/webhooks/\d+/", times=1, after=True)
    await story.say("Ana", "I knock.")
    call = await scene.model.call()
    await call.write("Who is there? ")
    await story.sees("Who is there?")
    await scene.running.crash()
    scene.wire.faults.clear()
    await scene.running.start()
    # then the stray message is found and taken away, and the words can be answered
    await story.reads(
        "Mira: The door is open.",
        "Ana: I knock.",
        "Inglenook: The bot was restarted in the middle of this answer.",
    )
    scene.model.will_say("Who is it?")
    await story.press("Answer now")
    await story.answered("Who is it?")
    await story.reads("Mira: The door is open.", "Ana: I knock.", "Mira: Who is it?")


async def test_a_crash_while_a_swipe_writes_shows_the_old_answer_again(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Left or right?", "Left.")
    await story.press("▶")
    call = await scene.model.call()
    await call.write("Rig")
    await story.sees("Rig")
    await scene.running.crash()
    await scene.running.start()
    await story.answered("Left.", "1/1")
    assert story.lines() == ["Mira: The door is open.", "Ana: Left or right?", "Mira: Left."]
    scene.model.will_say("Right.")
    await story.press("▶")
    await story.answered("Right.", "2/2")


async def test_words_that_waited_are_answered_after_a_crash(scene: Scene, story: Story) -> None:
    await story.say("Ana", "One.")
    await scene.model.call()
    await story.say("Ben", "Two.")
    await scene.waits(story, "Two.")
    await scene.running.crash()
    await scene.running.start()
    # then they are young: they are answered by themselves, with what was cut off before them
    call = await scene.model.call()
    assert call.heard == ["Ana: One.", "Ben: Two."]
    await call.say("One and two.")
    await story.answered("One and two.")
    await story.reads("Mira: The door is open.", "Ana: One.", "Ben: Two.", "Mira: One and two.")
    assert len(scene.model.calls) == 2


async def test_old_words_that_waited_are_asked_about(data_dir: Path) -> None:
    # given a table where nothing is answered by itself after a restart
    settings = PlaySettings(catch_up_minutes=0)
    async with open_wire() as wire, set_scene(wire, data_dir, play=settings) as scene:
        story = await scene.open_story()
        await story.say("Ana", "One.")
        await scene.model.call()
        await story.say("Ben", "Two.")
        await scene.waits(story, "Two.")
        await scene.running.crash()
        await scene.running.start()
        line = await story.sees("The bot was restarted in the middle of this answer.")
        assert labels_of(line) == ["Answer now", "Skip"]
        assert len(scene.model.calls) == 1
        await story.press("Answer now")
        call = await scene.model.call()
        assert call.heard == ["Ana: One.", "Ben: Two."]
        await call.say("One and two.")
        await story.answered("One and two.")


async def test_crashing_again_and_again_answers_once(scene: Scene, story: Story) -> None:
    await story.say("Ana", "I knock.")
    await scene.model.call()
    for _ in range(3):
        await scene.running.crash()
        await scene.running.start()
        await story.sees("The bot was restarted in the middle of this answer.")
        assert sum("restarted" in line for line in story.lines()) == 1
    scene.model.will_say("Who is there?")
    await story.press("Answer now")
    await story.answered("Who is there?", "1/1")
    await story.reads("Mira: The door is open.", "Ana: I knock.", "Mira: Who is there?")


async def test_a_failure_can_be_retried_after_a_restart(scene: Scene, story: Story) -> None:
    scene.model.will_refuse(401)
    await story.say("Ana", "I knock.")
    await story.sees("does not accept the key")
    await scene.running.restart()
    assert sum("does not accept the key" in line for line in story.lines()) == 1
    scene.model.will_say("Who is there?")
    await story.press("Retry")
    await story.answered("Who is there?")
    await story.reads("Mira: The door is open.", "Ana: I knock.", "Mira: Who is there?")


async def test_a_crash_in_the_middle_of_a_rewind(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "I knock.", "Who is there?")
    await story.exchange("Ana", "I cough.", "Two of you.")
    # given a rewind that has moved the story, while Discord has not heard of it yet
    standing = await scene.head()
    scene.wire.faults.hang("DELETE", r"/messages/", times=None)
    scene.wire.faults.hang("POST", r"/bulk-delete", times=None)
    await scene.human("Ana").menu(story.find("Who is there?").id, "Rewind", wait=False)
    await until(lambda: moved(scene, standing))
    await scene.running.crash()
    scene.wire.faults.clear()
    assert "Mira: Two of you." in story.lines()
    # then the start brings the thread up to date: the answer is gone, the row is back where it belongs
    await scene.running.start()
    await until(lambda: "Mira: Two of you." not in story.lines())
    await until(lambda: labels_of(story.find("Who is there?")) == ["◀", "1/1", "▶", "⟳", "⋯"])
    scene.model.will_say("Who is it?")
    await story.press("⟳")
    await story.answered("Who is it?", "2/2")


async def test_a_crash_in_the_middle_of_turning_a_page(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Left or right?", "Left.")
    scene.model.will_say("Right.")
    await story.press("▶")
    right = await story.answered("Right.", "2/2")
    # given a ◀ that has moved the story, while Discord has not heard of it yet
    standing = await scene.head()
    scene.wire.faults.hang("PATCH", r"/webhooks/", times=None)
    await scene.human("Ana").click(right.id, "◀", wait=False)
    await until(lambda: moved(scene, standing))
    await scene.running.crash()
    scene.wire.faults.clear()
    await scene.running.start()
    # then the thread shows what stands
    await story.answered("Left.", "1/2")
    await story.press("▶")
    await story.answered("Right.", "2/2")


async def test_a_crash_in_the_middle_of_an_undo(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "I knock.", "Who is there?")
    await story.exchange("Ana", "I cough.", "Two of you.")
    await story.menu(story.find("Who is there?"), "Rewind")
    undo = await story.sees("Rewound to here by Ana")
    standing = await scene.head()
    scene.wire.faults.hang("PATCH|POST|DELETE", r"/(webhooks|channels)/", times=None)
    await scene.human("Ana").click(undo.id, "Undo", wait=False)
    await until(lambda: moved(scene, standing))
    await scene.running.crash()
    scene.wire.faults.clear()
    await scene.running.start()
    await story.answered("Two of you.", "1/1")
    assert [line for line in story.lines() if "Rewound" not in line] == [
        "Mira: The door is open.",
        "Ana: I knock.",
        "Mira: Who is there?",
        "Ana: I cough.",
        "Mira: Two of you.",
    ]


async def test_a_crash_while_the_greeting_is_posted(scene: Scene) -> None:
    await scene.card("Mira")
    scene.wire.faults.hang("POST", r"/webhooks/\d+/", times=1, after=True)
    await scene.human("Ana").slash("general", "play new", card="Mira", wait=False)
    story = await scene.found_story("general")
    await scene.running.crash()
    scene.wire.faults.clear()
    await scene.running.start()
    # then it stands there once, and can be turned
    await story.reads("Mira: The door is open.")
    await story.press("▶")
    await story.reads("Mira: It rains. The door is shut.")
    await story.exchange("Ana", "I knock.", "Who is there?")


async def test_a_crash_in_the_middle_of_a_long_answer(scene: Scene, story: Story) -> None:
    await story.say("Ana", "Describe the river.")
    call = await scene.model.call()
    for n in range(3):
        await call.write(f"Part {n}. " + "The river is wide. " * 100 + "\n\n")
    await story.sees("Part 2.")
    assert len(story.messages()) >= 4
    await scene.running.crash()
    await scene.running.start()
    # then all its messages are gone
    await story.reads(
        "Mira: The door is open.",
        "Ana: Describe the river.",
        "Inglenook: The bot was restarted in the middle of this answer.",
    )
    scene.model.will_say("Wide.")
    await story.press("Answer now")
    await story.answered("Wide.", "1/1")
    await story.reads("Mira: The door is open.", "Ana: Describe the river.", "Mira: Wide.")
