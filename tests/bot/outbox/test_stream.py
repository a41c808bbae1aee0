"""Given a story in a thread, when an answer is streamed, then people see it grow and end well."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path

from bot.outbox import Face
from tests.bot.outbox.table import BRISK, MIRA, Table, answer_row, seated, stop_row


async def test_an_answer_streams_into_one_message_of_the_character(table: Table) -> None:
    reply = table.reply(face=Face("Mira", table.wire.urls.cdn + "/none.png"))
    for word in ["The ", "door ", "opens. ", "Nobody ", "is ", "there. "]:
        reply.write(word)
        await asyncio.sleep(0.05)
    growing = await table.sees("▌")
    assert [button.label for button in growing.buttons] == ["stop"]
    reply.write("*A cold wind.*")
    delivery = await reply.finish(buttons=answer_row, node_id="n1", variant_id="v1")

    [shown] = table.screen()
    assert shown.text == "The door opens. Nobody is there. *A cold wind.*"
    assert (shown.author, shown.webhook, shown.id) == ("Mira", True, growing.id)
    assert [button.label for button in shown.buttons] == ["prev", "1/1", "next"]
    assert delivery.trouble is None and not delivery.plain
    assert delivery.last_message_id == int(shown.id)


async def test_the_channel_shows_typing_until_the_first_words_stand(table: Table) -> None:
    reply = table.reply()
    await table.ana.wait_for(lambda: table.count("POST", "/typing") == 1)
    assert table.screen() == []
    reply.write("Hello there. ")
    await reply.finish()
    assert table.texts() == ["Hello there."]


async def test_the_first_post_waits_for_a_sentence_but_not_for_ever(tmp_path: Path) -> None:
    async with seated(tmp_path, pace=replace(BRISK, first_after=0.1, patience=1.5)) as table:
        reply = table.reply()
        reply.write("Hm")
        await asyncio.sleep(0.3)
        assert table.screen() == []
        await table.sees("Hm ▌")
        await reply.finish()
        reply = table.reply()
        reply.write("Yes. And ")
        shown = await table.sees("Yes. And ▌", timeout=1.4)
        assert shown.buttons
        await reply.finish()


async def test_a_long_answer_rolls_over_and_frozen_chunks_are_never_edited_again(table: Table) -> None:
    reply = table.reply()
    text = "".join(f"Sentence number {n} walks along the river. " for n in range(130))
    for start in range(0, len(text), 300):
        reply.write(text[start : start + 300])
        await asyncio.sleep(0.03)
    delivery = await reply.finish(buttons=answer_row)

    screen = table.screen()
    assert len(screen) == len(delivery.posts) == 3
    assert " ".join(shown.text for shown in screen) == text.strip()
    assert [bool(shown.buttons) for shown in screen] == [False, False, True]
    assert [shown.raw["flags"] & 4096 for shown in screen] == [0, 4096, 4096]  # the later ones are silent
    assert all(shown.raw["flags"] & 4 for shown in screen)  # links in prose make no embeds
    last_edit = table.wire.log.edits(screen[0].id)[-1].at
    second_post = table.wire.log.find("POST", "/webhooks/")[1].at
    assert last_edit < second_post + 0.05


async def test_a_model_cannot_ping_anybody(table: Table) -> None:
    reply = table.reply()
    reply.write("@everyone look, <@1> @here. ")
    await reply.finish(buttons=answer_row)
    assert table.screen()[0].raw["mention_everyone"] is False
    assert table.screen()[0].raw["mentions"] == []


async def test_intermediate_edits_stay_humane(tmp_path: Path) -> None:
    async with seated(tmp_path, pace=replace(BRISK, edit_every=0.4, slow_every=0.4)) as table:
        reply = table.reply()
        started = time.monotonic()
        for number in range(100):
            reply.write(f"word{number}. ")
            await asyncio.sleep(0.02)
        await reply.finish()
        [shown] = table.screen()
        edits = len(table.wire.log.edits(shown.id))
        assert 3 <= edits <= (time.monotonic() - started) / 0.4 + 2


async def test_the_final_edit_comes_at_once_and_before_waiting_ones(tmp_path: Path) -> None:
    slow = replace(BRISK, channel_size=3, channel_seconds=3.0)
    async with seated(tmp_path, pace=slow) as table:
        first = table.reply(face=Face("Mira"))
        second = table.reply(face=Face("Otto"))
        for reply in (first, second):
            reply.write("One sentence. ")
        await table.sees("One sentence.")
        for _ in range(10):
            first.write("More. ")
            second.write("More. ")
            await asyncio.sleep(0.06)
        started = asyncio.get_running_loop().time()
        await first.finish(buttons=answer_row)
        assert asyncio.get_running_loop().time() - started < 1.0  # the window is full for 3 s
        assert any(shown.author == "Mira" and shown.buttons[0].label == "prev" for shown in table.screen())
        await second.finish()


async def test_a_restarted_attempt_begins_again_in_the_same_message(table: Table) -> None:
    reply = table.reply()
    reply.write("The first attempt. ")
    before = await table.sees("The first attempt.")
    reply.restart()
    waiting = await table.sees("◌")
    assert [button.label for button in waiting.buttons] == ["stop"]
    reply.write("The second one. ")
    await reply.finish()
    [shown] = table.screen()
    assert (shown.id, shown.text, shown.buttons) == (before.id, "The second one.", ())


async def test_a_text_given_at_the_end_replaces_what_was_streamed(table: Table) -> None:
    reply = table.reply()
    reply.write("Half of it. ")
    await table.sees("Half of it.")
    await reply.finish("All of it, and better.")
    assert table.texts() == ["All of it, and better."]


async def test_an_interrupted_answer_keeps_what_came_with_a_footer(table: Table) -> None:
    reply = table.reply()
    reply.write("She walks. *Slowly, towards")
    await table.sees("She walks.")
    await reply.finish(footer="stopped", buttons=answer_row)
    [shown] = table.screen()
    assert shown.text == "She walks. *Slowly, towards*\n-# stopped"
    assert shown.buttons


async def test_an_empty_answer_leaves_nothing(table: Table) -> None:
    reply = table.reply()
    reply.write(" \n ")
    delivery = await reply.finish(buttons=answer_row)
    assert (delivery.posts, table.screen()) == ((), [])


async def test_a_failure_without_text_is_said_by_the_bot_and_goes_with_the_next_reply(table: Table) -> None:
    reply = table.reply()
    await reply.fail("The model is not answering.", buttons=answer_row)
    [shown] = table.screen()
    assert (shown.text, shown.webhook) == ("The model is not answering.", False)
    assert shown.buttons
    again = table.reply()
    again.write("Here I am. ")
    await again.finish()
    await table.ana.wait_for(lambda: table.texts() == ["Here I am."])


async def test_a_failure_in_the_middle_keeps_what_came_until_the_next_reply(table: Table) -> None:
    reply = table.reply()
    reply.write("She begins. ")
    await table.sees("She begins.")
    await reply.fail("The model fell silent.", buttons=answer_row)
    assert table.texts() == ["She begins.\n-# The model fell silent."]
    again = table.reply()
    again.write("She begins anew. ")
    await again.finish()
    await table.ana.wait_for(lambda: table.texts() == ["She begins anew."])


async def test_sentence_mode_posts_paragraphs_and_never_edits_their_text(tmp_path: Path) -> None:
    async with seated(tmp_path, pace=replace(BRISK, mode="sentence")) as table:
        reply = table.reply()
        reply.write("First paragraph.\n\nSec")
        await table.ana.wait_for(lambda: table.texts() == ["First paragraph."])
        reply.write("ond paragraph.\n\n")
        await asyncio.sleep(0.2)
        assert table.texts() == ["First paragraph."]  # nothing says yet that the second one is complete
        reply.write("Third.")
        await table.ana.wait_for(lambda: table.texts() == ["First paragraph.", "Second paragraph."])
        await reply.finish(buttons=answer_row)
        assert table.texts() == ["First paragraph.", "Second paragraph.", "Third."]
        assert [bool(shown.buttons) for shown in table.screen()] == [False, False, True]


async def test_off_mode_posts_only_at_the_end(tmp_path: Path) -> None:
    async with seated(tmp_path, pace=replace(BRISK, mode="off")) as table:
        reply = table.reply()
        reply.write("All at once. ")
        await asyncio.sleep(0.4)
        assert table.screen() == []
        await reply.finish(buttons=answer_row)
        [shown] = table.screen()
        assert shown.text == "All at once." and not shown.edited


async def test_older_answers_lose_their_buttons_and_the_newest_keeps_them(table: Table) -> None:
    places = [table.place(node_id=None) for _ in range(3)]
    for number, place in enumerate(places):
        reply = table.reply(place)
        reply.write(f"Answer {number}. ")
        await reply.finish(buttons=answer_row, node_id=f"n{number}")
        await table.outbox.unbutton(place)
    assert [bool(shown.buttons) for shown in table.screen()] == [False, False, True]
    await table.outbox.unbutton(places[0])  # an older one that is late does not take the newest's
    assert [bool(shown.buttons) for shown in table.screen()] == [False, False, True]
    await table.outbox.bare(places[2])
    assert [bool(shown.buttons) for shown in table.screen()] == [False, False, False]


async def test_the_bot_speaks_in_a_plain_channel_through_the_hook_too(table: Table) -> None:
    place = table.place(channel_id=table.channel.id)
    reply = table.outbox.reply(place, MIRA, stop=stop_row)
    reply.write("In the open. ")
    await reply.finish(buttons=answer_row)
    assert [shown.author for shown in table.screen(table.channel.id) if shown.text == "In the open."] == [
        "Mira"
    ]
    threads = table.count("POST", r"/channels/\d+/webhooks")
    reply = table.reply()
    reply.write("In the thread. ")
    await reply.finish()
    assert table.count("POST", r"/channels/\d+/webhooks") == threads == 1  # one hook serves them all
