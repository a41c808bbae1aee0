"""Given a process that died, when the next one goes on, then nothing is doubled or left half done."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import discord

from bot.outbox import Face, Outbox, Place
from bot.personas import HOOK_NAME
from bot.posts import Posts, body_hash
from tests.bot.outbox.table import BRISK, MIRA, Table, answer_row, stop_row


async def leftover(table: Table, place: Place, text: str | None, name: str = "Mira") -> None:
    """What a process leaves that dies between writing a post ahead and recording what became of it.
    `text` is what had reached Discord; None: nothing had."""
    posts = Posts(table.store)
    await posts.plan(place, posts.new_spot(place), 0)
    if text is not None:
        hooks = await table.channel.webhooks()
        hook = hooks[0] if hooks else await table.channel.create_webhook(name=HOOK_NAME)
        await hook.send(text, username=name, thread=table.thread, wait=True)


async def test_a_message_that_was_sent_but_not_recorded_is_adopted(table: Table) -> None:
    place = table.place()
    await leftover(table, place, "She had beg ▌")
    [before] = table.screen()
    reply = table.reply(place)
    reply.write("She had begun to sing. ")
    await reply.finish(buttons=answer_row)
    [after] = table.screen()
    assert (after.id, after.text, len(after.buttons)) == (before.id, "She had begun to sing.", 3)


async def test_a_message_that_was_planned_but_never_sent_is_sent_once(table: Table) -> None:
    place = table.place()
    await leftover(table, place, None)
    await table.outbox.render(place, MIRA, "Here.")
    await table.outbox.render(place, MIRA, "Here.")
    assert table.texts() == ["Here."]


async def test_words_of_another_character_are_not_adopted(table: Table) -> None:
    place = table.place()
    await leftover(table, place, "I am Otto.", name="Otto")
    await table.outbox.render(place, MIRA, "I am Mira.")
    assert table.texts() == ["I am Otto.", "I am Mira."]


async def test_a_recorded_message_is_not_adopted_for_another_one(table: Table) -> None:
    await table.outbox.render(table.place(), MIRA, "The first answer.")
    place = table.place()
    await leftover(table, place, None)
    await table.outbox.render(place, MIRA, "The second answer.")
    assert table.texts() == ["The first answer.", "The second answer."]


async def test_an_unwanted_leftover_is_taken_away(table: Table) -> None:
    place = table.place()
    await leftover(table, place, "Half a sen ▌")
    await table.outbox.discard(place)
    assert table.texts() == []


async def test_answers_that_never_ended_are_listed_and_can_be_ended(table: Table) -> None:
    place = table.place()
    reply = table.reply(place)
    reply.write("The bot dies in the middle of thi")
    await table.sees("in the middle of")
    await table.restart()
    [post] = await table.outbox.posts.unfinished()
    assert (post.session_id, post.turn, post.play_id) == (place.session_id, place.turn, "play")
    assert table.screen()[0].buttons  # the stop button of the dead process
    done = replace(place, node_id="n1", variant_id="v1")
    await table.outbox.render(done, MIRA, "The bot dies in the", footer="stopped", buttons=answer_row)
    assert table.texts() == ["The bot dies in the\n-# stopped"]
    assert await table.outbox.posts.unfinished() == []


async def test_a_swipe_cut_off_by_a_crash_is_unfinished_too(table: Table) -> None:
    place = table.place()
    await table.outbox.render(replace(place, node_id="n1"), MIRA, "The old answer.")
    assert await table.outbox.posts.unfinished() == []
    table.reply(table.place(node_id="n1"))
    await table.sees("◌")
    await table.restart()
    assert [post.node_id for post in await table.outbox.posts.unfinished()] == ["n1"]


async def test_a_turn_that_is_done_over_writes_into_the_messages_of_the_dead_one(table: Table) -> None:
    dead = table.place()
    reply = table.reply(dead)
    reply.write("A first attempt that was lost. ")
    before = await table.sees("A first attempt")
    await table.restart()
    again = replace(table.place(), over=(dead.session_id, dead.turn))
    reply = table.reply(again)
    reply.write("A second one. ")
    await reply.finish()
    [after] = table.screen()
    assert (after.id, after.text) == (before.id, "A second one.")


async def test_the_ledger_knows_the_final_text_by_its_hash(table: Table) -> None:
    place = table.place()
    await table.outbox.render(place, MIRA, "Stored.", buttons=answer_row)
    spot = await table.outbox.posts.spot_of(place)
    assert spot is not None
    [post] = await table.outbox.posts.at_spot(spot)
    assert (post.state, post.body_hash, post.buttons) == ("sent", body_hash("Stored."), True)
    assert len(post.nonce) <= 25 and post.webhook_id is not None
    assert table.outbox.owns(post.webhook_id) and not table.outbox.owns(1)


async def test_a_notice_with_a_key_is_said_once(table: Table) -> None:
    words = await table.ana.say(str(table.thread.id), "Is it open?")
    for _ in range(2):
        await table.outbox.notice(
            table.thread.id, "Too long.", buttons=stop_row, reply_to=int(words.id), key="late:1"
        )
    await table.restart()
    await table.outbox.notice(table.thread.id, "Too long.", buttons=stop_row, key="late:1")
    [shown] = table.screen()
    assert (shown.text, shown.webhook, len(shown.buttons)) == ("Too long.", False, 1)
    assert shown.raw["message_reference"]["message_id"] == words.id
    assert shown.raw["mentions"] == []
    await table.outbox.notice(table.thread.id, "No key.")
    await table.outbox.notice(table.thread.id, "No key.")
    assert table.texts() == ["Too long.", "No key.", "No key."]


async def test_reactions_come_and_go_in_the_order_asked_for(table: Table) -> None:
    words = await table.ana.say(str(table.thread.id), "Hello!")
    table.outbox.mark(table.thread.id, int(words.id), "👀")
    await table.ana.wait_for(lambda: table.ana.shown(words).reactions == {"👀": 1})
    for _ in range(5):
        table.outbox.unmark(table.thread.id, int(words.id), "👀")
        table.outbox.mark(table.thread.id, int(words.id), "👀")
    table.outbox.unmark(table.thread.id, int(words.id), "👀")
    table.outbox.mark(table.thread.id, 1, "👀")  # no such message: nobody is told
    await table.outbox.aclose()
    assert table.ana.shown(words).reactions == {}


async def test_removing_takes_away_what_the_bot_may(table: Table) -> None:
    words = await table.ana.say(str(table.thread.id), "Forget this.")
    delivery = await table.outbox.render(table.place(), MIRA, "Forgotten.")
    assert delivery.last_message_id is not None
    removal = await table.outbox.remove(table.thread.id, [int(words.id), delivery.last_message_id])
    assert set(removal.removed) == {int(words.id), delivery.last_message_id}
    assert table.screen() == []
    assert await table.outbox.posts.unfinished() == []


async def test_messages_of_people_stay_where_the_bot_may_not_delete_them(table: Table) -> None:
    words = await table.ana.say(str(table.thread.id), "Mine.")
    delivery = await table.outbox.render(table.place(), MIRA, "Ours.")
    assert delivery.last_message_id is not None
    table.wire.faults.fail("POST", "bulk-delete", 403, {"code": 50013, "message": "no"}, None)
    table.wire.faults.fail("DELETE", r"/channels/\d+/messages/", 403, {"code": 50013, "message": "no"}, None)
    removal = await table.outbox.remove(table.thread.id, [int(words.id), delivery.last_message_id])
    assert (removal.removed, removal.kept) == ((delivery.last_message_id,), (int(words.id),))
    assert table.texts() == []


async def test_closing_lets_a_final_edit_finish(table: Table) -> None:
    outbox = Outbox(table.client, table.store, pace=BRISK)
    reply = outbox.reply(table.place(), MIRA, stop=stop_row)
    reply.write("The last words. ")
    await table.sees("The last words.")
    table.wire.faults.slow("PATCH", "/messages/", 0.4)
    ending = asyncio.create_task(reply.finish("The very last words.", buttons=answer_row))
    await asyncio.sleep(0.05)
    await outbox.aclose()
    assert (await ending).trouble is None
    assert table.texts() == ["The very last words."]


async def test_closing_lets_go_of_an_answer_that_still_streams(table: Table) -> None:
    outbox = Outbox(table.client, table.store, pace=BRISK)
    reply = outbox.reply(table.place(), Face("Otto"), stop=stop_row)
    reply.write("Unfinished busi")
    await table.sees("Unfinished")
    started = asyncio.get_running_loop().time()
    await outbox.aclose()
    assert asyncio.get_running_loop().time() - started < 2.0
    assert (await reply.finish("ignored")).trouble is None
    assert table.texts()[0].startswith("Unfinished")


async def test_a_direct_message_has_no_webhook_and_works(table: Table) -> None:
    record = table.ana.direct()
    channel = await table.client.fetch_channel(int(record["id"]))
    assert isinstance(channel, discord.DMChannel)
    reply = table.outbox.reply(table.place(channel_id=channel.id), MIRA, stop=stop_row)
    reply.write("Just you and me. ")
    delivery = await reply.finish(buttons=answer_row)
    assert delivery.plain and delivery.trouble is None
    assert [shown.text for shown in table.screen(channel.id)] == ["**Mira**\nJust you and me."]
