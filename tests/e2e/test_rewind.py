"""Going on from an earlier exchange, and taking that back."""

from __future__ import annotations

from bot.sandbox.world.permissions import Permission
from tests.e2e.scene import Scene, Story, labels_of


async def played(story: Story) -> None:
    """Three exchanges; Ben speaks in the second."""
    await story.exchange("Ana", "I knock.", "Who is there?")
    await story.exchange("Ben", "I cough.", "Two of you.")
    await story.exchange("Ana", "I enter.", "Mind the step.")


WHOLE = (
    "Mira: The door is open.",
    "Ana: I knock.",
    "Mira: Who is there?",
    "Ben: I cough.",
    "Mira: Two of you.",
    "Ana: I enter.",
    "Mira: Mind the step.",
)


async def test_one_s_own_words_are_rewound_without_a_question(scene: Scene, story: Story) -> None:
    await played(story)
    # when Ana rewinds over nobody's words but her own
    result = await story.menu(story.find("Two of you."), "Rewind")
    # then it is done at once: the messages are gone, the row is back, one line says so
    await story.reads(*WHOLE[:5], "Inglenook: -# Rewound to here by Ana")
    assert labels_of(story.find("Two of you.")) == ["◀", "1/1", "▶", "⟳", "⋯"]
    assert labels_of(story.find("Rewound to here")) == ["Undo"]
    await story.eyes.wait_for(lambda: result.messages == [])
    # and the story goes on from there
    await story.say("Ana", "I wait.")
    call = await scene.model.call()
    assert call.heard == ["Ana: I knock.", "Who is there?", "Ben: I cough.", "Two of you.", "Ana: I wait."]
    await call.say("Good.")
    await story.answered("Good.")
    # the row moves on with it
    await story.eyes.wait_for(lambda: story.find("Two of you.").buttons == ())


async def test_the_words_of_others_are_asked_about_once(scene: Scene, story: Story) -> None:
    await played(story)
    # when Ana rewinds over something that Ben has said
    asked = await story.menu(story.find("Who is there?"), "Rewind")
    assert asked.text == "2 exchanges after this one are set aside, with words by Ben. It can be undone."
    assert asked.message.ephemeral
    assert story.lines() == list(WHOLE)
    # when she thinks better of it
    await scene.human("Ana").click(asked.message.id, "Cancel")
    await story.eyes.wait_for(lambda: asked.messages == [])
    assert story.lines() == list(WHOLE)
    # when she means it
    asked = await story.menu(story.find("Who is there?"), "Rewind")
    await scene.human("Ana").click(asked.message.id, "Do it")
    await story.reads(*WHOLE[:3], "Inglenook: -# Rewound to here by Ana")
    await story.eyes.wait_for(lambda: asked.messages == [])


async def test_undo_tells_again_what_was_set_aside(scene: Scene, story: Story) -> None:
    await played(story)
    asked = await story.menu(story.find("Who is there?"), "Rewind")
    await scene.human("Ana").click(asked.message.id, "Do it")
    await story.reads(*WHOLE[:3], "Inglenook: -# Rewound to here by Ana")
    # when Ben takes it back
    await story.press("Undo", who="Ben")
    # then everything stands there again, under everybody's name, with the row under the last
    await story.reads(*WHOLE)
    await story.answered("Mind the step.", "1/1")
    assert story.find("Who is there?").buttons == ()
    assert story.find("I cough.").webhook
    assert len(scene.model.calls) == 3
    # and the story goes on from its end
    await story.say("Ana", "I stumble.")
    call = await scene.model.call()
    assert call.heard[-3:] == ["Ana: I enter.", "Mind the step.", "Ana: I stumble."]
    await call.say("Told you.")
    await story.answered("Told you.")


async def test_rewinding_to_the_greeting_begins_anew(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "I knock.", "Who is there?")
    await story.menu(story.messages()[0], "Rewind")
    await story.reads("Mira: The door is open.", "Inglenook: -# Rewound to the beginning by Ana")
    # then the greeting can be turned again
    assert labels_of(story.messages()[0]) == ["◀", "1/3", "▶"]
    await story.press("▶")
    await story.reads("Mira: It rains. The door is shut.", "Inglenook: -# Rewound to the beginning by Ana")
    await story.say("Ana", "I shout.")
    call = await scene.model.call()
    assert call.heard == ["Ana: I shout."]
    assert "It rains. The door is shut." in str(call.body)
    await call.say("Not so loud.")
    await story.answered("Not so loud.")


async def test_undoing_a_rewind_to_the_greeting(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "I knock.", "Who is there?")
    await story.menu(story.messages()[0], "Rewind")
    await story.sees("Rewound to the beginning by Ana")
    await story.press("Undo")
    await story.reads("Mira: The door is open.", "Ana: I knock.", "Mira: Who is there?")
    await story.answered("Who is there?", "1/1")
    # the greeting stands again
    assert story.messages()[0].buttons == ()


async def test_a_rewind_can_be_repeated_on_what_was_told_again(scene: Scene, story: Story) -> None:
    await played(story)
    await story.menu(story.find("Two of you."), "Rewind")
    await story.press("Undo")
    await story.reads(*WHOLE)
    # when Ana rewinds by the menu of her own words as they were told again
    await story.menu(story.find("Two of you."), "Rewind")
    await story.reads(*WHOLE[:5], "Inglenook: -# Rewound to here by Ana")
    # and by the words of a person: the exchange that they belong to
    asked = await story.menu(story.find("I knock."), "Rewind")
    await scene.human("Ana").click(asked.message.id, "Do it")
    await story.eyes.wait_for(
        lambda: story.lines()[:3] == list(WHOLE[:3]) and "I cough." not in str(story.lines())
    )


async def test_undo_is_refused_when_the_story_has_gone_on(scene: Scene, story: Story) -> None:
    await played(story)
    await story.menu(story.find("Two of you."), "Rewind")
    undo = await story.sees("Rewound to here by Ana")
    await story.exchange("Ben", "I stay outside.", "As you like.")
    told = await scene.press_stale("Ana", undo, undo.button("Undo").custom_id or "")
    assert told.text == (
        "The story has gone on since the rewind, so it cannot be undone here. The other line is kept."
    )
    assert story.lines()[-1] == "Mira: As you like."


async def test_rewinding_to_where_the_story_is_says_so(scene: Scene, story: Story) -> None:
    answer = await story.exchange("Ana", "I knock.", "Who is there?")
    told = await story.menu(answer, "Rewind")
    assert told.text == "This is where the story is already."
    elsewhere = await scene.human("Ben").say("general", "Hello?")
    told = await scene.human("Ben").menu(elsewhere.id, "Rewind")
    assert told.text == "No story is being played here. `/play new` begins one."
    top = story.eyes.screen(story.thread)[0]
    told = await scene.human("Ben").menu(top.id, "Rewind")
    assert told.text == "This message is not part of the story."


async def test_without_the_right_to_delete_the_words_stay_and_the_line_divides(
    scene: Scene, story: Story
) -> None:
    await played(story)
    world = scene.wire.world
    world.set_overwrite(world.channel("general"), world.bot["id"], deny=int(Permission.MANAGE_MESSAGES))
    await story.menu(story.find("Two of you."), "Rewind")
    await story.reads(
        *WHOLE[:5],
        "Ana: I enter.",
        "Inglenook: -# Rewound to here by Ana",
    )


async def test_rewinding_while_an_answer_is_written_is_refused(scene: Scene, story: Story) -> None:
    first = await story.exchange("Ana", "I knock.", "Who is there?")
    await story.say("Ben", "I cough.")
    call = await scene.model.call()
    asked = await story.menu(first, "Rewind")
    assert asked.text == "An answer is being written. Stop it or wait a moment."
    await call.say("Two of you.")
    await story.answered("Two of you.")


async def test_words_that_were_never_answered_are_set_aside_too(scene: Scene, story: Story) -> None:
    first = await story.exchange("Ana", "I knock.", "Who is there?")
    # given words whose answer failed
    scene.model.will_refuse(401)
    await story.say("Ana", "I shout.")
    await story.sees("does not accept the key")
    await story.menu(first, "Rewind")
    await story.eyes.wait_for(lambda: "I shout." not in str(story.lines()))
    await story.say("Ana", "I whisper.")
    call = await scene.model.call()
    assert call.heard == ["Ana: I knock.", "Who is there?", "Ana: I whisper."]
    await call.say("Come closer.")
    await story.answered("Come closer.")


async def test_undo_tells_words_again_that_were_never_answered(scene: Scene, story: Story) -> None:
    first = await story.exchange("Ana", "I knock.", "Who is there?")
    scene.model.will_refuse(401)
    await story.say("Ana", "I shout.")
    await story.sees("does not accept the key")
    await story.menu(first, "Rewind")
    await story.reads(*WHOLE[:3], "Inglenook: -# Rewound to here by Ana")
    # when the rewind is taken back
    await story.press("Undo")
    await story.reads(*WHOLE[:3], "Ana: I shout.", "Inglenook: 1 message waits for an answer.")
    await story.press("Answer now")
    call = await scene.model.call()
    assert call.heard == ["Ana: I knock.", "Who is there?", "Ana: I shout."]
    await call.say("Not so loud.")
    await story.answered("Not so loud.")
    # and it can be rewound once more without leaving anything behind
    await story.menu(story.find("Who is there?"), "Rewind")
    await story.reads(*WHOLE[:3], "Inglenook: -# Rewound to here by Ana")


async def test_undo_does_not_repeat_what_still_stands(scene: Scene, story: Story) -> None:
    # given a bot that could not delete what people wrote
    await played(story)
    world = scene.wire.world
    world.set_overwrite(world.channel("general"), world.bot["id"], deny=int(Permission.MANAGE_MESSAGES))
    await story.menu(story.find("Two of you."), "Rewind")
    await story.reads(*WHOLE[:5], "Ana: I enter.", "Inglenook: -# Rewound to here by Ana")
    await story.press("Undo")
    await story.reads(*WHOLE)
    await story.answered("Mind the step.", "1/1")


async def test_words_said_while_the_story_is_told_again_come_after_it(scene: Scene, story: Story) -> None:
    await played(story)
    asked = await story.menu(story.find("Who is there?"), "Rewind")
    await scene.human("Ana").click(asked.message.id, "Do it")
    await story.reads(*WHOLE[:3], "Inglenook: -# Rewound to here by Ana")
    # given an undo that takes its time
    scene.wire.faults.latency_ms = 150
    await scene.human("Ben").click(story.find("Rewound to here").id, "Undo", wait=False)
    await story.sees("I cough.")
    # when Ana writes meanwhile
    await story.say("Ana", "Wait for me.")
    scene.model.will_say("I wait.")
    # then her answer stands below all that was told again, and only it has a row
    await story.answered("I wait.", "1/1", timeout=20)
    scene.wire.faults.latency_ms = 0
    texts = [line for line in story.lines() if "Wait for me." not in line]
    assert texts == [*WHOLE, "Mira: I wait."]
    await story.eyes.wait_for(lambda: story.find("Mind the step.").buttons == ())


async def test_a_regeneration_of_an_older_answer_can_be_taken_back(scene: Scene, story: Story) -> None:
    await played(story)
    # given another answer to the second exchange; what came after it was set aside
    scene.model.will_say("Three of you.")
    await story.menu(story.find("Two of you."), "Regenerate")
    await story.answered("Three of you.", "2/2")
    # when that is undone
    await story.press("Undo")
    # then everything is as it was, and the other answer is one press away
    await story.reads(*WHOLE)
    await story.answered("Mind the step.", "1/1")


async def test_a_greeting_cannot_be_regenerated_and_nobody_is_asked(scene: Scene, story: Story) -> None:
    await played(story)
    refused = await story.menu(story.find("The door is open."), "Regenerate")
    assert refused.text == "This is not an answer of the story."
    assert story.lines() == list(WHOLE)


async def test_a_long_rewind_is_one_request(scene: Scene, story: Story) -> None:
    await played(story)
    asked = await story.menu(story.find("Who is there?"), "Rewind")
    before = len(scene.wire.log.find("DELETE", r"/messages/\d+$"))
    await scene.human("Ana").click(asked.message.id, "Do it")
    await story.reads(*WHOLE[:3], "Inglenook: -# Rewound to here by Ana")
    assert len(scene.wire.log.find("POST", r"/bulk-delete$")) == 1
    assert len(scene.wire.log.find("DELETE", r"/messages/\d+$")) == before
