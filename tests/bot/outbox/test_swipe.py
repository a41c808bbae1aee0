"""Given an answer that stands, when another one takes its place, then the messages follow without gaps."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from bot.outbox import Place
from tests.bot.outbox.table import MIRA, Table, answer_row

SHORT = "A short answer."
LONG = "".join(f"Line {n} of a long tale about the sea. " for n in range(120)).strip()


async def answered(table: Table, text: str) -> Place:
    """An exchange `n1` whose answer is `text`."""
    place = table.place()
    reply = table.reply(place)
    reply.write(text)
    await table.sees(text[:12])  # it stands before anybody knows to which exchange it belongs
    await reply.finish(buttons=answer_row, node_id="n1", variant_id="v1")
    return replace(place, node_id="n1", variant_id="v1")


async def test_a_swipe_streams_into_the_same_message(table: Table) -> None:
    await answered(table, SHORT)
    [before] = table.screen()
    reply = table.reply(table.place(node_id="n1"))
    waiting = await table.sees("◌")
    assert [button.label for button in waiting.buttons] == ["stop"]
    reply.write("Another answer. ")
    await reply.finish(buttons=answer_row, node_id="n1", variant_id="v2")
    [after] = table.screen()
    assert (after.id, after.text) == (before.id, "Another answer.")
    assert len(after.buttons) == 3


async def test_a_swipe_to_a_shorter_answer_removes_the_surplus(table: Table) -> None:
    await answered(table, LONG)
    assert len(table.screen()) == 3
    first = table.screen()[0].id
    reply = table.reply(table.place(node_id="n1"))
    await table.sees("◌")
    await table.ana.wait_for(lambda: len(table.screen()) == 1)
    reply.write(SHORT)
    await reply.finish(buttons=answer_row, node_id="n1", variant_id="v2")
    [shown] = table.screen()
    assert (shown.id, shown.text, len(shown.buttons)) == (first, SHORT, 3)


async def test_going_back_to_a_longer_answer_posts_what_is_missing(table: Table) -> None:
    place = await answered(table, SHORT)
    delivery = await table.outbox.render(replace(place, variant_id="v2"), MIRA, LONG, buttons=answer_row)
    assert len(delivery.posts) == 3
    assert " ".join(table.texts()) == LONG
    assert [bool(shown.buttons) for shown in table.screen()] == [False, False, True]
    await table.outbox.render(place, MIRA, SHORT, buttons=answer_row)
    [shown] = table.screen()
    assert (shown.text, len(shown.buttons)) == (SHORT, 3)


async def test_rendering_what_stands_costs_one_edit_for_the_buttons(table: Table) -> None:
    place = await answered(table, LONG)
    table.wire.log.clear()
    await table.outbox.render(place, MIRA, LONG, buttons=answer_row)
    assert table.count("PATCH", "/messages/") == 1
    assert table.count("POST", "") == 0


async def test_the_newest_of_many_quick_swipes_wins(table: Table) -> None:
    place = await answered(table, SHORT)
    table.wire.faults.latency_ms = 60
    texts = [f"Variant {number}." for number in range(8)]
    deliveries = await asyncio.gather(
        *(
            table.outbox.render(replace(place, variant_id=text), MIRA, text, buttons=answer_row)
            for text in texts
        )
    )
    assert table.texts() == ["Variant 7."]
    assert [delivery.superseded for delivery in deliveries] == [True] * 7 + [False]
    [shown] = table.screen()
    assert len(table.wire.log.edits(shown.id)) < 8


async def test_a_long_answer_that_nobody_wants_any_more_is_not_shown_to_its_end(table: Table) -> None:
    place = await answered(table, SHORT)
    table.wire.faults.latency_ms = 100
    longest = replace(place, variant_id="v2")
    showing = asyncio.create_task(table.outbox.render(longest, MIRA, LONG * 3, buttons=answer_row))
    await table.ana.wait_for(lambda: len(table.screen()) == 2)
    await table.outbox.render(place, MIRA, SHORT, buttons=answer_row)
    assert (await showing).superseded
    assert table.texts() == [SHORT]
    assert table.count("POST", r"/webhooks/\d+/[^/]+$") <= 3  # of nine


async def test_a_swipe_that_is_let_go_can_be_shown_as_it_was(table: Table) -> None:
    place = await answered(table, LONG)
    reply = table.reply(table.place(node_id="n1"))
    await table.ana.wait_for(lambda: table.texts() == ["◌"])
    await reply.abandon()
    assert table.texts() == ["◌"]
    await table.outbox.render(place, MIRA, LONG, buttons=answer_row)
    assert " ".join(table.texts()) == LONG


async def test_a_render_takes_the_spot_from_a_reply_that_still_streams(table: Table) -> None:
    place = await answered(table, SHORT)
    reply = table.reply(table.place(node_id="n1"))
    reply.write("This will not be finished. ")
    await table.sees("This will not be finished.")
    await table.outbox.render(place, MIRA, SHORT, buttons=answer_row)
    assert (await reply.finish("Too late.")).superseded
    assert table.texts() == [SHORT]


async def test_a_greeting_is_one_per_story_and_channel_and_switches_in_place(table: Table) -> None:
    place = Place(table.thread.id, "play", "session-a", 0, kind="greeting")
    await table.outbox.render(place, MIRA, "Welcome, traveller.", buttons=answer_row)
    await table.outbox.render(
        replace(place, session_id="session-b"), MIRA, "Oh, it's you.", buttons=answer_row
    )
    [shown] = table.screen()
    assert (shown.text, len(shown.buttons)) == ("Oh, it's you.", 3)
    await table.outbox.bare(replace(place, session_id=""))
    assert table.screen()[0].buttons == ()


async def test_two_exchanges_of_one_session_are_apart(table: Table) -> None:
    one = Place(table.thread.id, "play", "session", 0, node_id="n1")
    two = Place(table.thread.id, "play", "session", 0, node_id="n2")
    await table.outbox.render(one, MIRA, "First.")
    await table.outbox.render(two, MIRA, "Second.")
    await table.outbox.render(one, MIRA, "First, again.")
    assert table.texts() == ["First, again.", "Second."]


async def test_discarding_takes_an_answer_away_and_it_can_come_back(table: Table) -> None:
    place = await answered(table, LONG)
    await table.outbox.discard(place)
    assert table.screen() == []
    await table.outbox.render(place, MIRA, SHORT)
    assert table.texts() == [SHORT]


async def test_a_message_knows_its_exchange(table: Table) -> None:
    await answered(table, LONG)
    for shown in table.screen():
        post = await table.outbox.posts.by_message(int(shown.id))
        assert post is not None and (post.node_id, post.variant_id) == ("n1", "v1")
    assert await table.outbox.posts.by_message(1) is None


async def test_a_swipe_of_an_old_answer_that_discord_no_longer_edits_is_posted_anew(table: Table) -> None:
    place = await answered(table, LONG)
    table.wire.faults.fail(
        "PATCH", "/messages/", 400, {"code": 30046, "message": "Maximum number of edits reached"}
    )
    await table.outbox.render(replace(place, variant_id="v2"), MIRA, LONG.upper(), buttons=answer_row)
    assert " ".join(table.texts()) == LONG.upper()
    assert [bool(shown.buttons) for shown in table.screen()] == [False, False, True]
