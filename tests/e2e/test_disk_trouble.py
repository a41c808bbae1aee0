"""The bot's disk fails for a while: people are told, nothing is lost, and the story goes on."""

from __future__ import annotations

from tests.e2e.scene import Scene, Story


async def disk(scene: Scene, *, works: bool) -> None:
    """From now on every write fails, or none does any more."""
    connection = scene.bot.engine.store._connection.db
    await connection.execute_fetchall(f"PRAGMA query_only = {'OFF' if works else 'ON'}")


async def test_words_that_cannot_be_saved_are_told_and_taken_with_the_next(
    scene: Scene, story: Story
) -> None:
    scene.running.expected |= {"intake.not_saved", "reply.failed"}
    await story.exchange("Ana", "I knock.", "Who is there?")
    await disk(scene, works=False)
    await story.say("Ben", "I cough.")
    told = await story.sees("This could not be saved")
    assert told.text.endswith("whoever runs the bot has to look.")
    assert len(scene.model.calls) == 1
    # when the disk is well again and somebody speaks
    await disk(scene, works=True)
    await story.say("Ana", "Me.")
    call = await scene.model.call()
    # then the words that were not saved are there too, where they were said
    assert call.heard == ["Ana: I knock.", "Who is there?", "Ben: I cough.", "Ana: Me."]
    await call.say("Two of you.")
    await story.answered("Two of you.", "1/1")
    assert [line for line in story.lines() if "could not be saved" not in line] == [
        "Mira: The door is open.",
        "Ana: I knock.",
        "Mira: Who is there?",
        "Ben: I cough.",
        "Ana: Me.",
        "Mira: Two of you.",
    ]


async def test_an_answer_that_came_while_the_disk_was_gone_is_part_of_the_story(
    scene: Scene, story: Story
) -> None:
    scene.running.expected |= {"turn.flush_failed", "play.learning_failed"}
    scene.running.expected |= {"reply.failed", "outbox.chore_failed"}
    await story.say("Ana", "I knock.")
    call = await scene.model.call()
    await call.write("Who is ")
    await story.sees("Who is")
    # when the disk goes in the middle of the answer
    await disk(scene, works=False)
    await call.say("there?")
    agent = scene.bot.engine.agents.get((await scene.head()).session_id)
    assert agent is not None
    await agent.when_idle()
    await disk(scene, works=True)
    # then the next words go on from it
    await story.say("Ben", "Me.")
    call = await scene.model.call()
    assert call.heard == ["Ana: I knock.", "Who is there?", "Ben: Me."]
    await call.say("Come in.")
    await story.answered("Come in.")
    # and both are exchanges of the story, also for the next process
    play_id = scene.bot.bindings.all()[0].play_id
    await scene.known(play_id, 2)
    await scene.running.restart()
    plays = scene.bot.engine.plays
    path = (await plays.timeline(play_id)).path()
    assert [(await plays.text(node.adopted)).answer for node in path] == ["Who is there?", "Come in."]
