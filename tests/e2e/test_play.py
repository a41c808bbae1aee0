"""A table plays: people speak, the character answers, in its own name and at a humane pace."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

from bot.pacing import Pace
from bot.settings import PlaySettings
from tests.e2e.scene import Scene, Story, labels_of, set_scene
from tests.e2e.table import open_wire


async def test_a_story_is_played(scene: Scene, story: Story) -> None:
    # given a fresh story
    assert story.lines() == ["Mira: The door is open."]

    # when Ana speaks and the model answers
    await story.say("Ana", "Hello.")
    call = await scene.model.call()
    assert call.heard == ["Ana: Hello."]
    assert "Mira keeps the inn at the crossing." in call.system
    await call.say("Welcome in.")
    answer = await story.answered("Welcome in.")

    # then the character has spoken in its own name, with one row under its words
    assert story.lines() == ["Mira: The door is open.", "Ana: Hello.", "Mira: Welcome in."]
    assert answer.webhook
    assert labels_of(answer) == ["◀", "1/1", "▶", "⟳", "⋯"]
    # and the next call hears all of it
    await story.say("Ana", "Is there a room?")
    call = await scene.model.call()
    assert call.heard == ["Ana: Hello.", "Welcome in.", "Ana: Is there a room?"]
    await call.say("One, under the roof.")
    newest = await story.answered("One, under the roof.")
    # and only the newest answer keeps its row
    await story.eyes.wait_for(lambda: not story.find("Welcome in.").buttons)
    assert labels_of(newest) == ["◀", "1/1", "▶", "⟳", "⋯"]


async def test_two_people_reach_the_model_under_their_personas(scene: Scene, story: Story) -> None:
    # given Ana who plays Lady Anaïs, and Ben who plays himself
    await scene.human("Ana").slash(story.thread, "persona set", name="Lady Anaïs")
    await story.exchange("Ana", "I knock.", "Who is there?")
    # when Ben speaks, and then Ana under another persona
    await story.exchange("Ben", "I hide behind her.", "Two of you, then.")
    await scene.human("Ana").slash(story.thread, "persona set", name="Nan")
    await story.exchange("Ana", "Only me.", "I count two.")
    # then each message carries the name under which it was said
    assert scene.model.calls[-1].heard == [
        "Lady Anaïs: I knock.",
        "Who is there?",
        "Ben: I hide behind her.",
        "Two of you, then.",
        "Nan: Only me.",
    ]


async def test_an_answer_is_seen_while_it_is_written(scene: Scene, story: Story) -> None:
    await story.say("Ana", "Tell me.")
    call = await scene.model.call()
    await call.write("Once there was a fox. ")
    # then the part that came stands there with a cursor and one button
    growing = await story.sees("Once there was a fox.")
    assert growing.text.endswith("▌")
    assert labels_of(growing) == ["Stop"]
    await call.write("It lived alone.")
    await story.sees("It lived alone.")
    await call.end()
    # and the same message becomes the answer
    answer = await story.answered("Once there was a fox. It lived alone.")
    assert answer.id == growing.id
    assert answer.text == "Once there was a fox. It lived alone."


async def test_edits_stay_within_what_discord_allows(data_dir: Path) -> None:
    # given Discord with its real limits and the house's own pace
    async with open_wire(rate_limits=True) as wire, set_scene(wire, data_dir, pace=Pace()) as scene:
        story = await scene.open_story()
        await story.say("Ana", "Talk to me.")
        call = await scene.model.call()
        await call.write("It begins. ")
        shown = await story.sees("It begins.")
        # when the model writes a word every tenth of a second for about four seconds
        words = [f"word{n}. " for n in range(40)]
        for word in words:
            await call.write(word)
            await asyncio.sleep(0.1)
        await call.end()
        answer = await story.answered("word39.")
        # then the message was edited at most once in 1.2 seconds, the end included
        edits = wire.log.edits(answer.id)
        assert answer.id == shown.id
        assert 2 <= len(edits) <= 6
        gaps = [after.at - before.at for before, after in pairwise(edits[:-1])]
        assert all(gap > 1.0 for gap in gaps)
        # and Discord never had to refuse
        assert wire.log.find(status=429) == []


async def test_a_long_answer_stands_in_several_messages_and_keeps_its_markup(
    scene: Scene, story: Story
) -> None:
    # given an answer of more than 7000 characters with a code block in its middle
    paragraph = "The road went on over the hill and down again, *always* down again. " * 12
    code = "```\n" + "\n".join(f"step {n}: mind the gap" for n in range(120)) + "\n```"
    text = "\n\n".join([paragraph.strip()] * 3 + [code] + [paragraph.strip()] * 2)
    await story.exchange("Ana", "And then?", "short")
    scene.model.will_say(text)
    await story.say("Ana", "And before that?")
    last = await story.answered("always", count="1/1")
    parts = [m for m in story.messages() if m.author == "Mira"][2:]
    # then all of it is there, in legal messages, with the row under the last one
    assert len(parts) >= 4
    assert all(0 < len(part.text) <= 2000 for part in parts)
    assert [bool(part.buttons) for part in parts] == [False] * (len(parts) - 1) + [True]
    assert parts[-1].id == last.id
    assert all(part.text.count("```") % 2 == 0 for part in parts)
    shown = " ".join(part.text.replace("```", " ") for part in parts)
    assert shown.split() == text.replace("```", " ").split()
    # and only the first of them made a sound
    assert [bool(part.raw["flags"] & 1 << 12) for part in parts] == [False] + [True] * (len(parts) - 1)


async def test_nobody_is_pinged_by_what_the_model_writes(scene: Scene, story: Story) -> None:
    ana = scene.human("Ana").id
    await story.exchange("Ana", "Call everybody!", f"@everyone @here <@{ana}> come, all of you.")
    answer = story.find("come, all of you.")
    assert answer.text == f"@everyone @here <@{ana}> come, all of you."
    assert not answer.raw["mention_everyone"]
    assert answer.raw["mentions"] == []


async def test_a_reply_that_begins_with_its_own_label_is_shown_without_it(scene: Scene, story: Story) -> None:
    # given a model that writes its own name before its words
    written = ("Mira: It is me.", "**Mira:** Still me.", "Mira：还是我。", "Miranda: not me.")
    scene.model.will_say(*written)
    for question, seen in zip(
        ("Who speaks?", "Who?", "谁？", "Who is not you?"),
        ("It is me.", "Still me.", "还是我。", "Miranda: not me."),
        strict=True,
    ):
        await story.say("Ana", question)
        await story.answered(seen)
    assert [line for line in story.lines() if line.startswith("Mira: ")] == [
        "Mira: The door is open.",
        "Mira: It is me.",
        "Mira: Still me.",
        "Mira: 还是我。",
        "Mira: Miranda: not me.",
    ]
    # then the log has it as it came
    await story.say("Ana", "Go on.")
    call = await scene.model.call()
    assert call.heard[1] == "Mira: It is me."
    await call.say("Yes.")
    await story.answered("Yes.")


async def test_a_reply_that_is_nothing_but_a_label_is_still_an_answer(scene: Scene, story: Story) -> None:
    scene.model.will_say("Mira:")
    await story.say("Ana", "Speak!")
    assert (await story.answered("Mira:")).text == "Mira:"


async def test_messages_that_are_no_words_are_left_alone(scene: Scene, story: Story) -> None:
    # given a story, and messages that nobody means for it
    other = scene.wire.world.add_user("Robot", bot=True)
    scene.wire.world.add_member(next(iter(scene.wire.world.guilds.values())), other)
    await scene.human("Robot").say(story.thread, "Beep.")
    await scene.human("Ben").say("general", "Anybody here?")
    # when somebody speaks
    await story.say("Ana", "Only me.")
    call = await scene.model.call()
    # then the model has heard nobody else
    assert call.heard == ["Ana: Only me."]
    await call.say("Good.")
    await story.answered("Good.")


async def test_a_message_that_is_too_long_is_refused_with_its_length(data_dir: Path) -> None:
    settings = PlaySettings(max_message_length=20)
    async with open_wire() as wire, set_scene(wire, data_dir, play=settings) as scene:
        story = await scene.open_story()
        said = await story.say("Ana", "I have a lot to say.!")
        line = await story.sees("This message has 21 characters; at most 20 can be played at once.")
        assert line.raw["message_reference"]["message_id"] == said.id
        await story.exchange("Ana", "I have much to say.", "Say it.")
        assert scene.model.calls[-1].heard == ["Ana: I have much to say."]


async def test_two_stories_of_one_channel_do_not_mix(scene: Scene, story: Story) -> None:
    other = await scene.open_story("Thorn", greetings=["Go away."])
    await story.say("Ana", "Hello.")
    to_mira = await scene.model.call()
    await other.say("Ben", "Why?")
    to_thorn = await scene.model.call()
    # when both answers are written at the same time
    await to_mira.write("Come in, ")
    await to_thorn.write("Because I ")
    await story.sees("Come in,")
    await other.sees("Because I")
    await to_thorn.write("said so.")
    await to_mira.write("come in.")
    await to_thorn.end()
    await to_mira.end()
    await story.answered("Come in, come in.")
    await other.answered("Because I said so.")
    # then each stands in its own thread under its own name
    assert story.lines() == ["Mira: The door is open.", "Ana: Hello.", "Mira: Come in, come in."]
    assert other.lines() == ["Thorn: Go away.", "Ben: Why?", "Thorn: Because I said so."]


async def test_a_lively_table_stays_within_discord_s_limits(data_dir: Path) -> None:
    # given Discord with its real limits, the house's own pace, and a model that answers at once
    async with open_wire(rate_limits=True) as wire, set_scene(wire, data_dir, pace=Pace()) as scene:
        story = await scene.open_story()
        scene.model.will_say(*(f"Answer {n}." for n in range(5)))
        for n in range(5):
            await story.say(("Ana", "Ben")[n % 2], f"Question {n}.")
        await story.answered("Answer 4.", timeout=30)
        said = [line for line in story.lines() if line.startswith("Mira: Answer")]
        assert said == [f"Mira: Answer {n}." for n in range(5)]
        # then nothing that people wait for was refused; a reaction may have been, and is repeated
        assert [r.path for r in wire.log.find(status=429) if "/reactions/" not in r.path] == []
