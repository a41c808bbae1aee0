"""What is written while the bot is away is taken in exactly once, however it was away."""

from __future__ import annotations

from pathlib import Path

from bot.sandbox.world import payloads
from bot.settings import PlaySettings
from tests.e2e.scene import Scene, Story, labels_of, set_scene
from tests.e2e.table import open_wire


async def test_a_line_that_was_cut_replays_what_was_missed(scene: Scene, story: Story) -> None:
    gateway = scene.wire.gateway
    await story.exchange("Ana", "One.", "First.")
    # given a cut line, and words meanwhile
    async with gateway.outage():
        await story.say("Ana", "Two.")
        await story.say("Ben", "Three.")
    # when the bot resumes its session
    await gateway.wait_until(resumes=1, timeout=20)
    # then each message is answered, in order, once
    call = await scene.model.call()
    assert call.heard == ["Ana: One.", "First.", "Ana: Two."]
    await call.say("Second.")
    call = await scene.model.call()
    assert call.heard == ["Ana: One.", "First.", "Ana: Two.", "Second.", "Ben: Three."]
    await call.say("Third.")
    await story.answered("Third.")
    assert gateway.identifies == 1
    assert len(scene.model.calls) == 3


async def test_a_lost_session_is_caught_up(scene: Scene, story: Story) -> None:
    gateway = scene.wire.gateway
    await story.say("Ana", "One.")
    call = await scene.model.call()
    await call.write("Fir")
    # given a session that Discord ends for good in the middle of an answer (INVALID_SESSION)
    await gateway.invalidate_session()
    # when the answer is completed all the same, and words come that no event will ever tell of
    await call.write("st.")
    await call.end()
    await story.answered("First.")
    await story.say("Ana", "Two.")
    await story.say("Ben", "Three.")
    assert gateway.identifies == 1
    await gateway.wait_until(identifies=2, timeout=20)
    # then they are read from the channel and answered together
    call = await scene.model.call()
    assert call.heard == ["Ana: One.", "First.", "Ana: Two.", "Ben: Three."]
    await call.say("Second and third.")
    await story.answered("Second and third.")
    # and buttons still work
    scene.model.will_say("Two, three.")
    await story.press("▶")
    await story.answered("Two, three.", "2/2")
    assert len(scene.model.calls) == 3


async def test_words_that_come_right_after_a_lost_session_keep_their_place(
    scene: Scene, story: Story
) -> None:
    gateway = scene.wire.gateway
    await story.exchange("Ana", "One.", "First.")
    async with gateway.outage(lose_sessions=True):
        await story.say("Ana", "Two.")
    # when Ben writes the moment the bot is back, before it can have read what it missed
    await gateway.wait_until(identifies=2, timeout=20)
    await story.say("Ben", "Three.")
    # then Ana's words are answered too, and before his
    call = await scene.model.call()
    assert call.heard[:3] == ["Ana: One.", "First.", "Ana: Two."]
    await call.say("Second.")
    if call.heard[3:] == []:
        call = await scene.model.call()
        await call.say("Third.")
    assert call.heard[-1] == "Ben: Three."
    assert [said for said in call.heard if said.startswith(("Ana: Two", "Ben: Three"))] == [
        "Ana: Two.",
        "Ben: Three.",
    ]


async def test_an_outage_with_a_restart_is_caught_up(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "One.", "First.")
    # given a bot that was off
    await scene.running.stop()
    await story.say("Ana", "Two.")
    await story.say("Ben", "Three.")
    await scene.running.start(wait=False)
    call = await scene.model.call()
    assert call.heard == ["Ana: One.", "First.", "Ana: Two.", "Ben: Three."]
    await call.say("Second and third.")
    await story.answered("Second and third.")
    # when it is restarted again, nothing is answered twice
    await scene.running.restart()
    await scene.running.restart()
    assert len(scene.model.calls) == 2
    assert story.lines()[-1] == "Mira: Second and third."


async def test_words_that_were_written_while_it_was_crashed_are_caught_up(scene: Scene, story: Story) -> None:
    await story.say("Ana", "One.")
    await scene.model.call()
    await scene.running.crash()
    await story.say("Ben", "Two.")
    await scene.running.start(wait=False)
    # then the cut words and the missed ones are answered together
    call = await scene.model.call()
    assert call.heard == ["Ana: One.", "Ben: Two."]
    await call.say("One and two.")
    await story.answered("One and two.")
    await story.reads("Mira: The door is open.", "Ana: One.", "Ben: Two.", "Mira: One and two.")


async def test_a_crash_before_a_message_is_safe_reads_it_again(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "One.", "First.")
    # given a bot that dies the moment a message has reached it
    await story.say("Ana", "Two.")
    await scene.running.crash()
    scene.model.forget()
    await scene.running.start(wait=False)
    # then the message is read again
    call = await scene.model.call()
    assert call.heard == ["Ana: One.", "First.", "Ana: Two."]
    await call.say("Second.")
    await story.answered("Second.")
    await story.reads("Mira: The door is open.", "Ana: One.", "Mira: First.", "Ana: Two.", "Mira: Second.")


async def test_old_words_wait_for_a_press(data_dir: Path) -> None:
    # given a table where nothing that is older than a moment is answered by itself
    settings = PlaySettings(catch_up_minutes=0)
    async with open_wire() as wire, set_scene(wire, data_dir, play=settings) as scene:
        story = await scene.open_story()
        await story.exchange("Ana", "One.", "First.")
        await scene.running.stop()
        await story.say("Ana", "Two.")
        await story.say("Ben", "Three.")
        await scene.running.start()
        line = await story.sees("While the bot was away, 2 messages came in.")
        assert labels_of(line) == ["Answer now", "Skip"]
        assert len(scene.model.calls) == 1
        # and it is not told twice
        await scene.running.restart()
        assert sum("2 messages came in" in text for text in story.lines()) == 1
        await story.press("Answer now", who="Ben")
        call = await scene.model.call()
        assert call.heard == ["Ana: One.", "First.", "Ana: Two.", "Ben: Three."]
        await call.say("Second.")
        await story.answered("Second.")
        assert not any("came in" in text for text in story.lines())


async def test_a_whole_evening_without_the_bot_is_one_answer(scene: Scene, story: Story) -> None:
    # given more messages than may wait in line, the last of them without words
    await scene.running.stop()
    for n in range(40):
        await story.say("Ana" if n % 2 else "Ben", f"Line {n}.")
    await scene.human("Ben").say(story.thread, "​")
    await scene.running.start(wait=False)
    call = await scene.model.call()
    assert call.heard == [f"{'Ana' if n % 2 else 'Ben'}: Line {n}." for n in range(40)]
    await call.say("You talked a lot.")
    await story.answered("You talked a lot.")
    assert len(scene.model.calls) == 1


async def test_a_message_that_comes_twice_is_answered_once(scene: Scene, story: Story) -> None:
    said = await story.say("Ana", "One.")
    call = await scene.model.call()
    # when Discord delivers it again, while it is being answered and afterwards
    world = scene.wire.world
    again = payloads.message(world, world.messages[said.id])
    world.to_bot("MESSAGE_CREATE", again)
    await call.say("First.")
    await story.answered("First.")
    world.to_bot("MESSAGE_CREATE", again)
    await story.say("Ben", "Two.")
    call = await scene.model.call()
    assert call.heard == ["Ana: One.", "First.", "Ben: Two."]
    await call.say("Second.")
    await story.answered("Second.")
    assert len(scene.model.calls) == 2


async def test_a_flood_is_answered_up_to_the_limit_and_the_rest_is_told(data_dir: Path) -> None:
    settings = PlaySettings(max_waiting=2)
    async with open_wire() as wire, set_scene(wire, data_dir, play=settings) as scene:
        story = await scene.open_story()
        await story.say("Ana", "One.")
        call = await scene.model.call()
        await story.say("Ana", "Two.")
        await story.say("Ana", "Three.")
        refused = await story.say("Ben", "Four.")
        line = await story.sees("Too many messages wait here already, so this one was not taken.")
        assert line.raw["message_reference"]["message_id"] == refused.id
        scene.model.will_say("Second.", "Third.")
        await call.say("First.")
        await story.answered("Third.")
        assert [call.heard[-1] for call in scene.model.calls] == ["Ana: One.", "Ana: Two.", "Ana: Three."]


async def test_a_channel_whose_history_cannot_be_read_is_still_played_in(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "One.", "First.")
    await scene.running.stop()
    scene.wire.faults.fail(
        "GET", rf"/channels/{story.thread}/messages$", 403, {"code": 50001, "message": "no"}
    )
    await story.say("Ana", "Two.")
    await scene.running.start()
    assert len(scene.model.calls) == 1
    await story.exchange("Ben", "Three.", "Third.")


async def test_a_history_that_fails_for_now_is_read_later(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "One.", "First.")
    await scene.running.stop()
    await story.say("Ana", "Two.")
    # given a Discord that does not answer about this channel, five times in a row
    scene.wire.faults.fail("GET", rf"/channels/{story.thread}/messages$", 503, times=1)
    await scene.running.start()
    # when somebody writes
    await story.say("Ben", "Three.")
    call = await scene.model.call()
    assert call.heard == ["Ana: One.", "First.", "Ana: Two.", "Ben: Three."]
    await call.say("Second and third.")
    await story.answered("Second and third.")
    assert len(scene.model.calls) == 2
