"""The wire-level Discord carries an unmodified discord.py bot."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable

import discord
import pytest

from bot.sandbox.human import Human, NotPossible
from bot.sandbox.limits import Upload
from bot.sandbox.wire import WireDiscord
from tests.bot.sandbox.sample import SampleBot, counter_view, run_sample
from tests.e2e.table import open_wire

People = Callable[[str], Human]


def text_channel(bot: SampleBot, name: str = "general") -> discord.TextChannel:
    channel = discord.utils.get(bot.guilds[0].text_channels, name=name)
    assert channel is not None
    return channel


async def test_login_shows_the_guild_with_its_channels_and_the_bots_membership(bot: SampleBot) -> None:
    guild = bot.guilds[0]

    assert guild.name == "The Table"
    assert [c.name for c in guild.channels] == ["general", "after-dark", "stories"]
    assert guild.me.guild_permissions.manage_webhooks
    assert not guild.me.guild_permissions.administrator
    assert bot.application_id == bot.user.id if bot.user else False


async def test_a_message_is_heard_with_its_author_and_text(bot: SampleBot, human: People) -> None:
    await human("Ana").say("general", "hello there")

    assert await bot.texts(1) == ["hello there"]
    assert bot.heard[0].author.display_name == "Ana"
    assert isinstance(bot.heard[0].channel, discord.TextChannel)


async def test_edits_deletions_and_reactions_are_heard(bot: SampleBot, human: People) -> None:
    ana = human("Ana")
    message = await ana.say("general", "frist")

    await ana.edit(message, "first")
    await ana.react(message, "🔥")
    await ana.delete(message)

    await bot.until(f"delete {message.id}")
    assert bot.events[-3:] == ["edit first", "reaction 🔥", f"delete {message.id}"]


async def test_a_deferred_command_reads_an_uploaded_file_and_answers_only_its_user(
    bot: SampleBot, human: People
) -> None:
    ana, ben = human("Ana"), human("Ben")

    result = await ana.slash("general", "card import", {"file": Upload("mira.png", b"x" * 1234)}, title="M")

    assert result.state == "done"
    assert result.text == "mira.png: 1234 bytes, M"
    assert result.message.ephemeral
    assert not result.message.thinking
    assert [m.text for m in ana.screen("general")] == ["mira.png: 1234 bytes, M"]
    assert ben.screen("general") == []
    assert ana.history("general") == []
    assert bot.heard == []  # an ephemeral message never reaches the gateway


async def test_options_resolve_to_members_and_channels(bot: SampleBot, human: People) -> None:
    result = await human("Ana").slash("general", "who", member="Ben", place="after-dark")

    assert result.text == "Ben in after-dark"
    assert not result.message.ephemeral
    assert result.message.kind == 20


async def test_autocomplete_offers_choices_by_what_is_typed(bot: SampleBot, human: People) -> None:
    choices = await human("Ana").autocomplete("general", "card show", "name", "mi")

    assert choices == [
        {"name": "Mira the card", "value": "Mira"},
        {"name": "Milo the card", "value": "Milo"},
    ]


async def test_what_the_client_would_not_send_is_not_possible(bot: SampleBot, human: People) -> None:
    ana = human("Ana")

    with pytest.raises(NotPossible, match="required"):
        await ana.slash("general", "card import")
    with pytest.raises(NotPossible, match="not offered"):
        await ana.slash("general", "dance")
    with pytest.raises(NotPossible, match="subcommand"):
        await ana.slash("general", "card")


async def test_a_dynamic_button_counts_on_and_survives_a_restart_of_the_bot(
    wire: WireDiscord, human: People
) -> None:
    ana = human("Ana")
    async with run_sample(wire):
        message = (await ana.slash("general", "count")).message
        await ana.click(message, "0")
        assert ana.shown(message).text == "count 1"
    async with run_sample(wire):
        await ana.click(message, "1")

    assert ana.shown(message).text == "count 2"
    assert [b.label for b in ana.shown(message).buttons] == ["2"]


async def test_a_modal_takes_text_choice_and_file(bot: SampleBot, human: People) -> None:
    ana = human("Ana")

    opened = await ana.slash("general", "form")
    result = await ana.submit(opened, {"Name": "Ana", "mood": "grim", "pic": Upload("a.png", b"12345")})

    assert opened.state == "modal"
    assert result.text == "Ana is grim [5]"


async def test_a_modal_refuses_what_does_not_fit_its_fields(bot: SampleBot, human: People) -> None:
    ana = human("Ana")
    opened = await ana.slash("general", "form")

    with pytest.raises(NotPossible, match="wrong length"):
        await ana.submit(opened, {"Name": "x" * 21, "mood": "glad"})
    with pytest.raises(NotPossible, match="no option"):
        await ana.submit(opened, {"Name": "x", "mood": "bored"})


async def test_a_select_updates_its_message(bot: SampleBot, human: People) -> None:
    ana = human("Ana")
    message = (await ana.slash("general", "pick")).message

    await ana.select(message, "fruit", "pear")

    seen = await ana.sees("general", "chose pear")
    assert seen.id == message.id
    assert seen.menus == ()


async def test_a_message_menu_names_its_message(bot: SampleBot, human: People) -> None:
    ana = human("Ana")
    message = await ana.say("general", "once upon a time")

    result = await ana.menu(message, "Rewind")

    assert result.text == "rewound to 'once upon a time'"


async def test_components_v2_are_shown_numbered_and_can_be_pressed(bot: SampleBot, human: People) -> None:
    ana = human("Ana")
    panel = (await ana.slash("general", "panel")).message

    result = await ana.click(panel, "Press")

    assert panel.text == "# The panel\na line"
    assert panel.raw["components"][0]["id"] == 1
    assert result.text == "pressed"


async def test_no_answer_within_the_deadline_fails_the_interaction(human: People) -> None:
    async with open_wire(deadline=0.3) as wire, run_sample(wire):
        result = await Human(wire, "Ana").slash("general", "silent")

        assert result.state == "failed"
        assert result.messages == []


async def test_a_webhook_speaks_as_a_character_in_a_thread(bot: SampleBot, human: People) -> None:
    ana = human("Ana")
    channel = text_channel(bot)
    hook = await channel.create_webhook(name="Table voices")
    thread = await channel.create_thread(name="The inn", type=discord.ChannelType.public_thread)

    sent = await hook.send(
        "Welcome.", username="Mira", avatar_url="https://example.org/m.png", thread=thread, wait=True,
        view=counter_view(5),
    )  # fmt: skip
    await hook.edit_message(sent.id, content="Welcome in.", thread=thread)

    seen = await ana.sees(str(thread.id), "Welcome in.")
    assert (seen.author, seen.webhook, seen.edited) == ("Mira", True, True)
    assert seen.buttons[0].custom_id == "count:5"
    await ana.click(seen, "5")
    assert ana.shown(seen).text == "count 6"
    await hook.delete_message(sent.id, thread=thread)
    assert [m.text for m in ana.screen(str(thread.id))] == []


async def test_a_forum_post_is_a_thread_whose_first_message_has_its_id(bot: SampleBot, human: People) -> None:
    forum = bot.guilds[0].forums[0]

    made = await forum.create_thread(name="A story", content="Once", applied_tags=[forum.available_tags[0]])

    assert made.message.id == made.thread.id
    assert [t.name for t in made.thread.applied_tags] == ["ongoing"]
    assert human("Ana").last(str(made.thread.id)).text == "Once"


async def test_a_thread_on_a_message_has_the_messages_id_and_only_one_exists(
    bot: SampleBot, human: People
) -> None:
    message = await human("Ana").say("general", "a seed")
    heard = await text_channel(bot).fetch_message(int(message.id))

    thread = await heard.create_thread(name="Grown")

    assert thread.id == heard.id
    with pytest.raises(discord.HTTPException) as refused:
        await heard.create_thread(name="Twice")
    assert refused.value.code == 160004


async def test_history_pages_forward_and_backward_in_order(bot: SampleBot, human: People) -> None:
    ana = human("Ana")
    for number in range(7):
        await ana.say("general", f"{number}")
    channel = text_channel(bot)
    third = human("Ana").screen("general")[2]

    after = [m.content async for m in channel.history(after=discord.Object(int(third.id)), limit=3)]
    before = [m.content async for m in channel.history(limit=3)]
    every = [m.content async for m in channel.history(limit=None, oldest_first=True)]

    assert after == ["3", "4", "5"]
    assert before == ["6", "5", "4"]
    assert every == ["0", "1", "2", "3", "4", "5", "6"]


async def test_files_pins_reactions_bulk_deletion_and_direct_messages(bot: SampleBot, human: People) -> None:
    channel = text_channel(bot)
    ana = human("Ana")

    sent = await channel.send("look", file=discord.File(io.BytesIO(b"hello"), "note.txt"))
    assert await sent.attachments[0].read() == b"hello"
    await sent.pin()
    assert [m.id async for m in channel.pins()] == [sent.id]
    await sent.add_reaction("👀")
    assert ana.shown(str(sent.id)).reactions == {"👀": 1}
    await sent.clear_reactions()
    assert ana.shown(str(sent.id)).reactions == {}
    await channel.delete_messages([m async for m in channel.history()])
    assert ana.screen("general") == []

    user = await bot.fetch_user(int(ana.id))
    await user.send("psst")
    assert ana.last(ana.direct()).text == "psst"
    await ana.say(ana.direct(), "yes?")
    assert (await bot.texts(1))[-1] == "yes?"


async def test_threads_archive_wake_and_are_listed(bot: SampleBot, human: People) -> None:
    channel = text_channel(bot)
    thread = await channel.create_thread(name="Sleepy", type=discord.ChannelType.public_thread)
    sent = await thread.send("zzz")

    await thread.edit(archived=True)

    assert [t.name async for t in channel.archived_threads()] == ["Sleepy"]
    with pytest.raises(discord.HTTPException) as refused:
        await sent.edit(content="zz")
    assert refused.value.code == 50083
    await human("Ana").say(str(thread.id), "wake up")
    assert [t.name for t in await bot.guilds[0].active_threads()] == ["Sleepy"]
    await sent.edit(content="z")
    await thread.edit(name="Awake")
    assert human("Ana").last(str(thread.id)).kind == 4  # the thread says that it was renamed


async def test_a_user_can_fetch_members_and_their_avatars(bot: SampleBot, wire: WireDiscord) -> None:
    ben = wire.world.user("Ben")

    member = await bot.guilds[0].fetch_member(int(ben["id"]))
    picture = await member.display_avatar.read()

    assert member.display_name == "Ben"
    assert picture.startswith(b"\x89PNG")


async def test_typing_is_shown_to_people(bot: SampleBot, wire: WireDiscord) -> None:
    seen: list[str] = []
    wire.world.subscribe(lambda name, data, only_for: seen.append(name))

    async with text_channel(bot).typing():
        await asyncio.sleep(0)

    assert "TYPING_START" in seen
