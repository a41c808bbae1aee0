"""The model's server is down, refuses, hangs, breaks off or talks nonsense: one line says so, Retry
works, and the table stays playable."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.model import Call
from tests.e2e.scene import Scene, Story, labels_of, set_scene
from tests.e2e.table import open_wire


async def cut_at_once(call: Call) -> None:
    await call.cut()


async def garbage(call: Call) -> None:
    await call.raw(b"data: {this is no JSON\n\n")
    await call.cut()


async def a_web_page(call: Call) -> None:
    await call.raw(b"<!doctype html><title>Welcome to nginx!</title>")
    await call.finish()


async def nothing(call: Call) -> None:
    await call.end()


async def refused(call: Call) -> None:
    call.refuse(401)


async def busy(call: Call) -> None:
    call.refuse(429)


async def used_up(call: Call) -> None:
    call.refuse(402)


async def down(call: Call) -> None:
    call.refuse(503)


async def too_long(call: Call) -> None:
    call.refuse(
        400,
        {"error": {"message": "maximum context length is 4096 tokens", "code": "context_length_exceeded"}},
    )


@pytest.mark.parametrize(
    ("trouble", "line", "tries"),
    [
        (refused, "The model's server does not accept the key.", 1),
        (busy, "The model is busy with too many requests.", 2),
        (used_up, "The model's account is used up.", 1),
        (down, "The model's server has a problem.", 2),
        # all but the first ask for a summary, of all, of half and of a quarter of it
        (too_long, "The story has grown longer than this model can read.", 4),
        # the connection was kept from the call before, so its end alone is no failure
        (cut_at_once, "The line to the model broke.", 3),
        (garbage, "The line to the model broke.", 2),
        (a_web_page, "The model answered something unreadable.", 1),
        (nothing, "The model had nothing to say.", 2),
    ],
)
async def test_one_line_says_what_happened_and_retry_works(
    scene: Scene, story: Story, trouble: object, line: str, tries: int
) -> None:
    await story.exchange("Ana", "I knock.", "Who is there?")
    # given a model that fails, and fails again when it is asked once more
    scene.model.always = trouble  # type: ignore[assignment]
    said = await story.say("Ben", "I cough.")
    told = await story.sees(line)
    assert told.text.endswith("Your message is kept.") or "Your message is kept;" in told.text
    assert labels_of(told) == ["Retry"]
    assert len(scene.model.calls) == 1 + tries
    assert story.lines()[:-1] == [
        "Mira: The door is open.",
        "Ana: I knock.",
        "Mira: Who is there?",
        "Ben: I cough.",
    ]
    await story.eyes.wait_for(lambda: story.eyes.shown(said).reactions == {})
    # when the model is well again and somebody presses Retry
    scene.model.always = None
    await story.press("Retry", who="Ana")
    call = await scene.model.call()
    assert call.heard == ["Ana: I knock.", "Who is there?", "Ben: I cough."]
    await call.say("Two of you.")
    # then the words are answered, once, and the line is gone
    await story.answered("Two of you.", "1/1")
    await story.reads(
        "Mira: The door is open.",
        "Ana: I knock.",
        "Mira: Who is there?",
        "Ben: I cough.",
        "Mira: Two of you.",
    )


async def test_a_server_that_is_not_there(data_dir: Path) -> None:
    # given a model server behind a closed door
    async with (
        open_wire() as wire,
        set_scene(wire, data_dir, base_url="http://127.0.0.1:9/v1", connect_timeout=1.0) as scene,
    ):
        story = await scene.open_story()
        await story.say("Ana", "Hello.")
        told = await story.sees("Your message is kept.")
        assert told.text == "The line to the model broke. Your message is kept."
        assert labels_of(told) == ["Retry"]


async def test_a_server_that_hangs(data_dir: Path) -> None:
    async with open_wire() as wire, set_scene(wire, data_dir, idle_timeout=0.3) as scene:
        story = await scene.open_story()
        await story.say("Ana", "Hello.")
        told = await story.sees("The model is not answering (timeout). Your message is kept.")
        assert labels_of(told) == ["Retry"]
        assert len(scene.model.calls) == 2
        scene.model.forget()
        await story.press("Retry")
        await (await scene.model.call()).say("Welcome in.")
        await story.answered("Welcome in.")


async def test_a_stream_that_breaks_is_begun_again_in_the_same_message(scene: Scene, story: Story) -> None:
    await story.say("Ana", "Hello.")
    call = await scene.model.call()
    await call.write("Welcome to the ")
    growing = await story.sees("Welcome to the")
    # when the line breaks in the middle
    await call.cut()
    # then the model is asked again, and the message begins anew
    call = await scene.model.call()
    await call.say("Come in, come in.")
    answer = await story.answered("Come in, come in.")
    assert answer.id == growing.id
    assert story.lines() == ["Mira: The door is open.", "Ana: Hello.", "Mira: Come in, come in."]
    # and the half answer is not part of the story
    await story.say("Ana", "Thanks.")
    call = await scene.model.call()
    assert call.heard == ["Ana: Hello.", "Come in, come in.", "Ana: Thanks."]
    await call.say("Sit.")
    await story.answered("Sit.")


async def test_a_stream_that_breaks_for_good_keeps_what_came(scene: Scene, story: Story) -> None:
    async def half(call: Call) -> None:
        await call.write("Welcome to *the")
        await story.sees("Welcome to")
        await call.cut()

    scene.model.always = half
    await story.say("Ana", "Hello.")
    told = await story.sees("The line to the model broke.")
    assert told.text == "Welcome to *the*\n-# The line to the model broke. Your message is kept."
    assert labels_of(told) == ["Retry"]
    scene.model.always = None
    await story.press("Retry")
    await (await scene.model.call()).say("Welcome in.")
    await story.answered("Welcome in.")
    await story.reads("Mira: The door is open.", "Ana: Hello.", "Mira: Welcome in.")


async def test_speaking_on_after_a_failure_is_as_good_as_retry(scene: Scene, story: Story) -> None:
    scene.model.will_refuse(401)
    await story.say("Ana", "I knock.")
    await story.sees("does not accept the key")
    await story.say("Ben", "I cough.")
    call = await scene.model.call()
    assert call.heard == ["Ana: I knock.", "Ben: I cough."]
    await call.say("Two of you.")
    await story.answered("Two of you.")
    await story.reads("Mira: The door is open.", "Ana: I knock.", "Ben: I cough.", "Mira: Two of you.")


async def test_a_queue_behind_failures_is_paused_and_goes_on_at_a_press(scene: Scene, story: Story) -> None:
    # given four messages in line and a model that refuses
    await story.say("Ana", "One.")
    first = await scene.model.call()
    for text in ("Two.", "Three.", "Four."):
        await story.say("Ben", text)
    await scene.waits(story, "Two.", "Three.", "Four.")

    async def refuse(call: Call) -> None:
        call.refuse(401)

    scene.model.always = refuse
    first.refuse(401)
    line = await story.sees("Three answers in a row failed, so this story pauses.")
    assert labels_of(line) == ["Answer now", "Skip"]
    assert len(scene.model.calls) == 3
    # when the key is mended and somebody presses
    scene.model.always = None
    await story.press("Answer now")
    call = await scene.model.call()
    assert call.heard == ["Ana: One.", "Ben: Two.", "Ben: Three.", "Ben: Four."]
    await call.say("All of you.")
    await story.answered("All of you.")
    # then the lines of the failures are gone, and every word is answered
    await story.reads(
        "Mira: The door is open.",
        "Ana: One.",
        "Ben: Two.",
        "Ben: Three.",
        "Ben: Four.",
        "Mira: All of you.",
    )


async def test_the_answer_reaches_its_longest(scene: Scene, story: Story) -> None:
    # given an answer that the model had to end because it was long enough
    await story.say("Ana", "Tell me everything.")
    call = await scene.model.call()
    await call.write("First of all, ")
    await call.end("length")
    await story.answered("First of all,", "1/1")


async def test_a_stop_while_it_waits_to_try_again(scene: Scene, story: Story) -> None:
    # given a model that asks to come back in half a second
    async def later(call: Call) -> None:
        call.refuse(429, **{"retry-after": "0.4"})

    scene.model.always = later
    await story.say("Ana", "Hello.")
    await scene.asked(1)
    assert await scene.bot.engine.plays.stop(scene.bot.bindings.all()[0].play_id) == 0
    line = await story.sees("— stopped")
    assert labels_of(line) == ["Retry"]
    assert len(scene.model.calls) == 1
