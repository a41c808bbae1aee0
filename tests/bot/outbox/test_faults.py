"""Given a Discord that fails, when something is to be shown, then it is, or a typed trouble says why not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import discord
import pytest

from bot.outbox import Face, Place, Trouble
from bot.sandbox.world.permissions import Permission
from tests.bot.outbox.table import BRISK, MIRA, Table, answer_row, seated

LONG = "".join(f"Line {n} of a long tale about the sea. " for n in range(120)).strip()


def forbid(table: Table, channel_id: int, *bits: int) -> None:
    """Take permissions from the bot in a channel."""
    world = table.wire.world
    deny = 0
    for bit in bits:
        deny |= int(bit)
    world.set_overwrite(world.channel(str(channel_id)), world.bot["id"], deny=deny)


async def test_a_deleted_message_is_posted_again_by_the_next_edit(table: Table) -> None:
    reply = table.reply()
    reply.write("It begins. ")
    shown = await table.sees("It begins.")
    await table.ana.delete(shown)
    reply.write("It goes on. ")
    await reply.finish(buttons=answer_row)
    [after] = table.screen()
    assert after.id != shown.id
    assert (after.text, len(after.buttons)) == ("It begins. It goes on.", 3)


async def test_when_the_first_part_is_deleted_the_parts_stay_in_order(table: Table) -> None:
    place = Place(table.thread.id, "play", "session", 0, node_id="n1")
    await table.outbox.render(place, MIRA, LONG)
    await table.ana.delete(table.screen()[0])
    await table.outbox.render(replace(place, variant_id="v2"), MIRA, LONG.upper(), buttons=answer_row)
    assert " ".join(table.texts()) == LONG.upper()


async def test_somebody_who_deletes_everything_ends_the_answer_with_a_trouble(table: Table) -> None:
    reply = table.reply()
    over = asyncio.Event()

    async def vandal() -> None:
        while not over.is_set():
            for shown in table.screen():
                await table.ana.delete(shown)
            await asyncio.sleep(0.005)

    deleting = asyncio.create_task(vandal())
    for number in range(60):
        reply.write(f"Sentence {number}. ")
        await asyncio.sleep(0.02)
    delivery = await reply.finish()
    over.set()
    await deleting
    assert delivery.trouble is Trouble.REFUSED
    assert table.count("POST", "/webhooks/") <= 6


async def test_a_deleted_webhook_is_made_again(table: Table) -> None:
    reply = table.reply()
    reply.write("Before. ")
    await table.sees("Before.")
    for hook in await table.channel.webhooks():
        await hook.delete()
    reply.write("After. ")
    delivery = await reply.finish(buttons=answer_row)
    assert delivery.trouble is None
    shown = table.screen()[-1]
    assert (shown.text, shown.author, len(shown.buttons)) == ("Before. After.", "Mira", 3)


async def test_a_webhook_that_was_moved_is_replaced(table: Table) -> None:
    place = table.place(channel_id=table.channel.id)
    await table.outbox.render(place, MIRA, "At home.")
    other = table.client.get_channel(int(table.wire.world.channel("after-dark")["id"]))
    assert isinstance(other, discord.TextChannel)
    [hook] = await table.channel.webhooks()
    await hook.edit(channel=other)
    await table.outbox.render(table.place(channel_id=table.channel.id), MIRA, "Still at home.")
    await table.outbox.render(table.place(), MIRA, "And in the thread.")
    assert [shown.text for shown in table.screen(table.channel.id)][-1] == "Still at home."
    assert table.texts() == ["And in the thread."]
    assert table.texts(other.id) == []


async def test_without_manage_webhooks_the_bot_speaks_itself_with_the_name_on_top(table: Table) -> None:
    forbid(table, table.channel.id, Permission.MANAGE_WEBHOOKS)
    await asyncio.sleep(0.1)  # the gateway tells the client
    reply = table.reply(face=Face("Mira *the* Grey"))
    reply.write("I have no mask. ")
    await table.sees("I have no mask.")
    delivery = await reply.finish(buttons=answer_row)
    assert delivery.plain and delivery.trouble is None
    [shown] = table.screen()
    assert (shown.text, shown.webhook) == ("**Mira the Grey**\nI have no mask.", False)
    assert len(shown.buttons) == 3
    assert table.count("GET", "/webhooks") == 0  # a right that is known to be missing is not asked for


async def test_a_long_plain_answer_fits_too(table: Table) -> None:
    forbid(table, table.channel.id, Permission.MANAGE_WEBHOOKS)
    await asyncio.sleep(0.1)
    await table.outbox.render(table.place(), Face("M" * 200), LONG, footer="stopped", buttons=answer_row)
    texts = table.texts()
    assert texts[0].startswith("**" + "M" * 40 + "**\n")
    assert [text.startswith("**") for text in texts[1:]] == [False, False]
    assert texts[-1].endswith("\n-# stopped")


async def test_a_full_channel_of_webhooks_is_not_asked_again(table: Table) -> None:
    table.wire.faults.fail(
        "POST",
        r"/channels/\d+/webhooks$",
        400,
        {"code": 30007, "message": "Maximum number of webhooks"},
        None,
    )
    first = await table.outbox.render(table.place(), MIRA, "One.")
    second = await table.outbox.render(table.place(), MIRA, "Two.")
    assert first.plain and second.plain
    assert table.count("POST", r"/channels/\d+/webhooks$") == 1


async def test_one_look_up_serves_all_that_speak_at_once(table: Table) -> None:
    table.wire.faults.latency_ms = 30
    await asyncio.gather(
        *(table.outbox.render(table.place(), Face(f"Guest {n}"), f"Hello {n}.") for n in range(6))
    )
    assert len(table.screen()) == 6
    assert table.count("POST", r"/channels/\d+/webhooks$") == 1


async def test_a_rate_limit_delays_but_loses_nothing(table: Table) -> None:
    table.wire.faults.fail("PATCH", "/messages/", 429, times=2)
    reply = table.reply()
    for number in range(12):
        reply.write(f"Sentence {number}. ")
        await asyncio.sleep(0.05)
    delivery = await reply.finish(buttons=answer_row)
    assert delivery.trouble is None
    [shown] = table.screen()
    assert shown.text.endswith("Sentence 11.") and "▌" not in shown.text
    assert len(shown.buttons) == 3


async def test_under_real_rate_limits_three_characters_finish_without_a_429(tmp_path: Path) -> None:
    pace = replace(BRISK, edit_every=1.2, channel_size=4, channel_seconds=5.0, hook_size=4, hook_seconds=2.0)
    async with seated(tmp_path, pace=pace, rate_limits=True) as table:
        replies = [table.reply(face=Face(name)) for name in ("Mira", "Otto", "Milo")]
        for number in range(40):
            for reply in replies:
                reply.write(f"Sentence {number}. ")
            await asyncio.sleep(0.1)
        await asyncio.gather(*(reply.finish(buttons=answer_row) for reply in replies))
        assert len(table.wire.log.find(path="/webhooks/", status=429)) == 0
        assert sorted(shown.author for shown in table.screen()) == ["Milo", "Mira", "Otto"]
        assert all(shown.text.endswith("Sentence 39.") and shown.buttons for shown in table.screen())


async def test_a_server_error_while_streaming_is_ridden_out(table: Table) -> None:
    table.wire.faults.fail("PATCH", "/messages/", 500, times=1)
    reply = table.reply()
    reply.write("One. ")
    await table.sees("One.")
    reply.write("Two. ")
    await asyncio.sleep(0.2)
    reply.write("Three. ")
    delivery = await reply.finish(buttons=answer_row)
    assert delivery.trouble is None
    assert table.texts() == ["One. Two. Three."]


async def test_a_post_whose_answer_was_lost_is_found_and_not_sent_twice(table: Table) -> None:
    await table.outbox.render(table.place(), MIRA, "Something before.")
    table.wire.faults.drop("POST", r"/webhooks/\d+/[^/]+$", after=True)
    reply = table.reply()
    reply.write("Only once. ")
    await table.sees("Only once.")
    reply.write("Really. ")
    delivery = await reply.finish(buttons=answer_row)
    assert delivery.trouble is None
    assert table.texts() == ["Something before.", "Only once. Really."]


async def test_a_plain_post_whose_answer_was_lost_is_not_sent_twice(table: Table) -> None:
    forbid(table, table.channel.id, Permission.MANAGE_WEBHOOKS)
    await asyncio.sleep(0.1)
    table.wire.faults.drop("POST", r"/channels/\d+/messages$", after=True)
    await table.outbox.render(table.place(), MIRA, "Only once.", buttons=answer_row)
    assert table.texts() == ["**Mira**\nOnly once."]


@pytest.mark.parametrize(
    ("status", "code", "trouble"),
    [
        (404, 10003, Trouble.GONE),
        (403, 50001, Trouble.FORBIDDEN),
        (403, 50013, Trouble.FORBIDDEN),
        (400, 50035, Trouble.REFUSED),
    ],
)
async def test_what_discord_refuses_is_a_typed_trouble(
    table: Table, status: int, code: int, trouble: Trouble
) -> None:
    body = {"code": code, "message": "no"}
    table.wire.faults.fail("POST", r"/webhooks/\d+/[^/]+$", status, body, None)
    reply = table.reply()
    reply.write("Words that are kept in the log. ")
    delivery = await reply.finish(buttons=answer_row)
    assert (delivery.trouble, delivery.posts) == (trouble, ())
    assert str(code) in delivery.detail
    assert table.count("POST", r"/webhooks/\d+/[^/]+$") <= 2  # a refusal is never repeated in a loop
    table.wire.faults.clear()
    assert (await table.outbox.render(table.place(), MIRA, "Later it works.")).trouble is None


async def test_a_deleted_thread_is_gone(table: Table) -> None:
    reply = table.reply()
    reply.write("Is anybody there? ")
    await table.sees("Is anybody there?")
    table.wire.world.drop_channel(table.wire.world.channel(str(table.thread.id)))
    await asyncio.sleep(0.1)
    reply.write("No. ")
    delivery = await reply.finish(buttons=answer_row)
    assert delivery.trouble is Trouble.GONE
    assert (await table.outbox.notice(table.thread.id, "Hello?")).trouble is Trouble.GONE


async def test_a_channel_that_may_not_be_written_in_is_forbidden(table: Table) -> None:
    forbid(table, table.channel.id, Permission.MANAGE_WEBHOOKS, Permission.SEND_IN_THREADS)
    await asyncio.sleep(0.1)
    assert (await table.outbox.render(table.place(), MIRA, "Mute.")).trouble is Trouble.FORBIDDEN


async def test_an_archived_thread_is_opened_for_an_edit(table: Table) -> None:
    place = Place(table.thread.id, "play", "session", 0, node_id="n1")
    await table.outbox.render(place, MIRA, "Long ago.")
    await table.thread.edit(archived=True)
    delivery = await table.outbox.render(replace(place, variant_id="v2"), MIRA, "And today.")
    assert delivery.trouble is None
    assert table.texts() == ["And today."]


async def test_names_that_discord_refuses_are_shown_all_the_same(table: Table) -> None:
    for name in ("Clyde", "My Discord Friend", "everyone", "here", "X", "Q" * 120, "```", " "):
        delivery = await table.outbox.render(table.place(), Face(name), f"I am {name}.")
        assert delivery.trouble is None, name
    assert len(table.screen()) == 8
