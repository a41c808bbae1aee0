"""`/card list`, `show`, `bind`, `delete`, and the buttons that outlive a restart."""

from __future__ import annotations

import discord
import pytest

from bot.sandbox.human import Human
from bot.sandbox.limits import Upload
from bot.sandbox.screen import InteractionResult, Shown
from tests.e2e.scene import Scene, card_json, labels_of

MANAGE_GUILD = 1 << 5
EVERYDAY = (1 << 10) | (1 << 11) | (1 << 31)  # see, write, use commands


async def brought(scene: Scene, who: str, name: str = "Mira") -> InteractionResult:
    """A card that somebody brings in, and its panel."""
    file = Upload(f"{name}.json", card_json(name))
    return await scene.human(who).slash("general", "card import", file=file)


async def becomes(who: Human, message: Shown, text: str) -> Shown:
    """The message as soon as it shows the text."""
    await who.wait_for(lambda: text in who.shown(message).text)
    return who.shown(message)


async def cards(scene: Scene) -> list[str]:
    return [row.name for row in await scene.bot.engine.library.list(scene.owner, "card")]


def promote(scene: Scene, name: str) -> str:
    """Somebody may manage the server from now on; the role's id."""
    world = scene.wire.world
    guild = next(iter(world.guilds.values()))
    role = world.add_role(guild, "Steward", EVERYDAY | MANAGE_GUILD)
    member = world.members[f"{guild['id']}:{world.user(name)['id']}"]
    world.set_member(member, roles=[role["id"]])
    return str(role["id"])


# --- list


async def test_an_empty_library_says_how_to_fill_it(scene: Scene) -> None:
    done = await scene.human("Ana").slash("general", "card list")
    assert done.message.ephemeral
    assert done.text == "## Cards\nThere are no cards yet. Bring one in with `/card import`."


async def test_a_long_list_has_pages_that_can_be_turned_after_a_restart(scene: Scene) -> None:
    # given twelve cards and their list
    for n in range(1, 13):
        await scene.card(f"Card {n:02}")
    ana = scene.human("Ana")
    listed = await ana.slash("general", "card list")
    assert listed.text.startswith("## Cards · 12\n**Card 01** · by the tests · 3 greetings\n-# dry, kind\n")
    first = listed.text
    assert "Card 08" in first
    assert "Card 09" not in first
    assert labels_of(listed.message) == ["◀", "1/2", "▶", "Search"]

    # when the bot is restarted and Ana turns the page
    await scene.running.restart()
    await ana.click(listed.message, "▶")

    # then the same message shows the rest
    turned = await becomes(ana, listed.message, "Card 12")
    assert turned.text.splitlines()[0] == "## Cards · 12"
    assert "Card 08" not in turned.text
    assert labels_of(turned) == ["◀", "2/2", "▶", "Search"]
    await ana.click(turned, "◀")
    assert (await becomes(ana, turned, "Card 08")).text == first


# --- show, and naming a card


async def test_a_card_is_shown_by_its_name(scene: Scene) -> None:
    await scene.card("Mira", tags=["inn"])
    done = await scene.human("Ana").slash("general", "card show", card="mira")
    assert done.message.ephemeral
    assert done.text == (
        "## Mira\n"
        "by the tests\n"
        "Tags: inn\n"
        "3 greetings\n"
        "**Description**\n"
        "Mira keeps the inn at the crossing.\n"
        "**How it can begin**\n"
        "1. The door is open.\n"
        "2. It rains. The door is shut.\n"
        "3. Mira sits on the roof, Ana.\n"
        "**About 21 tokens**\n"
        "-# description 9 · personality 3 · scenario 4 · greeting 5"
    )


async def test_greetings_address_who_one_plays(scene: Scene) -> None:
    await scene.card("Mira")
    ana = scene.human("Ana")
    await ana.slash("general", "persona set", name="Captain")
    done = await ana.slash("general", "card show", card="Mira")
    assert "3. Mira sits on the roof, Captain." in done.text


async def test_typing_offers_cards_with_what_tells_them_apart(scene: Scene) -> None:
    # given two cards of nearly one name, one of them for adults
    mira = await scene.card("Mira")
    miriam = await scene.card("Miriam", greetings=("Hm?",), tags=["NSFW"])

    # when somebody types
    offered = await scene.human("Ana").autocomplete("general", "card show", "card", "mir")

    # then both are offered by name, creator and greetings, and stand for their ids
    assert {choice["name"]: choice["value"] for choice in offered} == {
        "Mira — by the tests · 3 greetings": mira,
        "Miriam 🔞 — by the tests · 1 greeting": miriam,
    }
    chosen = await scene.human("Ana").slash("general", "card show", card=miriam)
    assert chosen.text.startswith("## Miriam 🔞\n")


async def test_choices_are_offered_at_once_after_a_restart_and_in_ones_language(scene: Scene) -> None:
    await scene.card("Mira")
    await scene.running.restart()
    offered = await scene.human("Chen").autocomplete("general", "card show", "card", "")
    assert [choice["name"] for choice in offered] == ["Mira — 作者 the tests · 3 个开场白"]


async def test_no_more_is_offered_than_discord_takes(scene: Scene) -> None:
    for n in range(30):
        await scene.card(f"{n} " + "A very long name " * 9, creator="Somebody with a long name " * 5)
    offered = await scene.human("Ana").autocomplete("general", "card show", "card", "")
    assert len(offered) == 25
    assert all(len(choice["name"]) <= 100 for choice in offered)


@pytest.mark.parametrize("typed", ["Nobody", "c_8f3k0m2x91az"])
async def test_what_fits_none_is_said_by_its_name(scene: Scene, typed: str) -> None:
    await scene.card("Mira")
    await scene.card("Miriam")
    done = await scene.human("Ana").slash("general", "card show", card=typed)
    assert done.text == f"No card here is called “{typed}”. `/card list` shows them all."


async def test_where_several_fit_none_is_guessed(scene: Scene) -> None:
    await scene.card("Mira")
    await scene.card("Miriam")
    done = await scene.human("Ana").slash("general", "card show", card="Mi")
    assert done.text == (
        "“Mi” could be several: **Miriam**, **Mira**. "
        "Choose one from the list that Discord shows while you type."
    )


async def test_what_another_server_has_stays_there(scene: Scene) -> None:
    # given a card in Ana's own library, whose id she knows
    ana = scene.human("Ana")
    await ana.slash(ana.direct(), "card import", file=Upload("a.json", card_json("Ada")))
    (hers,) = await scene.bot.engine.library.list(f"user:{ana.id}")

    # when she names it on the server
    done = await ana.slash("general", "card show", card=hers.id)

    # then it is not there
    assert done.text.startswith(f"No card here is called “{hers.id}”.")


# --- play


async def test_play_opens_a_story_also_after_a_restart_and_from_within_a_thread(scene: Scene) -> None:
    # given a panel from before a restart, and a thread of people's own
    panel = await brought(scene, "Ben")
    await scene.running.restart()

    # when Ben presses *Play*
    opened = await scene.human("Ben").click(panel.message, "Play")

    # then the story stands in a thread of the channel
    story = scene.story(opened)
    assert story.lines() == ["Mira: The door is open."]
    assert opened.message.ephemeral
    # and from inside that thread another one opens beside it
    inside = await scene.human("Ana").slash(story.thread, "card show", card="Mira")
    beside = scene.story(await scene.human("Ana").click(inside.message, "Play"))
    general = scene.wire.world.channel("general")["id"]
    assert scene.wire.world.channels[beside.thread]["parent_id"] == general


async def test_a_missing_permission_is_named_and_nothing_is_opened(scene: Scene) -> None:
    # given a channel where the bot may not make webhooks
    panel = await brought(scene, "Ana")
    world = scene.wire.world
    world.set_overwrite(world.channel("general"), world.bot["id"], deny=1 << 29)

    # when somebody wants to play there
    done = await scene.human("Ana").click(panel.message, "Play")

    # then the permission is named
    assert done.text == "I lack a permission here: Manage Webhooks."
    assert await scene.bot.engine.plays.stories(scene.owner, include_ended=True) == []


# --- bind


async def new_story(scene: Scene, channel: str) -> list[str]:
    opened = await scene.human("Ana").slash(channel, "play new")
    return scene.story(opened).lines()


async def test_a_bound_card_is_what_new_stories_start_with(scene: Scene) -> None:
    await scene.card("Ada", greetings=("I am Ada.",))
    await scene.card("Bea", greetings=("I am Bea.",))
    refused = await scene.human("Ben").slash("general", "card bind", card="Ada")
    assert refused.text.startswith("Only people who may manage this channel choose")
    done = await scene.human("Ana").slash("general", "card bind", card="Bea")
    assert done.text == "New stories here start with **Bea**."
    assert await new_story(scene, "general") == ["Bea: I am Bea."]


async def test_binding_inside_a_story_is_for_the_channel_and_leaves_the_story_alone(scene: Scene) -> None:
    # given a story with Mira, and another card
    story = await scene.open_story()
    await scene.card("Bea", greetings=("I am Bea.",))

    # when Bea is bound inside the story's thread
    done = await scene.human("Ana").slash(story.thread, "card bind", card="Bea")

    # then new stories in the channel begin with her, and the old one goes on with Mira
    general = scene.wire.world.channel("general")["id"]
    assert done.text == (
        f"New stories in <#{general}> start with **Bea**. A story that is being played stays as it is."
    )
    assert await new_story(scene, "general") == ["Bea: I am Bea."]
    await story.exchange("Ana", "Who are you?", "Still Mira.")
    assert story.lines()[-1] == "Mira: Still Mira."


async def test_the_button_binds_a_forum_from_within_a_post(scene: Scene) -> None:
    # given a story in a forum's post
    await scene.card("Mira")
    (row,) = await scene.bot.engine.library.list(scene.owner, "card")
    forum = scene.bot.get_channel(int(scene.wire.world.channel("stories")["id"]))
    assert isinstance(forum, discord.ForumChannel)
    opened = await scene.bot.stories.open(forum, row, user_id=1, user_name="Ana")
    post = str(opened.thread.id)

    # when *Bind here* is pressed inside it
    shown = await scene.human("Ana").slash(post, "card show", card="Mira")
    done = await scene.human("Ana").click(shown.message, "Bind here")

    # then the forum is bound
    assert done.text.startswith(f"New stories in <#{forum.id}> start with **Mira**.")
    assert (await scene.bot.bindings.defaults(forum.guild.id, forum.id)).card_id == row.id
    # and *Play* opens another post
    another = scene.story(await scene.human("Ana").click(shown.message, "Play"))
    assert scene.wire.world.channels[another.thread]["parent_id"] == str(forum.id)


async def test_there_is_nothing_to_bind_in_a_direct_message(scene: Scene) -> None:
    ana = scene.human("Ana")
    await ana.slash(ana.direct(), "card import", file=Upload("a.json", card_json("Ada")))
    done = await ana.slash(ana.direct(), "card bind", card="Ada")
    assert done.text == "Stories can be opened in text channels and forums of a server."


# --- delete


async def test_whoever_brought_it_in_may_delete_it_after_being_asked(scene: Scene) -> None:
    # given Ben's card
    await brought(scene, "Ben")
    ben = scene.human("Ben")

    # when he asks for its deletion, keeps it, and then asks again and confirms
    asked = await ben.slash("general", "card delete", card="Mira")
    assert asked.text.startswith("Delete **Mira** from the library? Stories that play it go on.\n-# 20")
    assert labels_of(asked.message) == ["Delete", "Keep"]
    await ben.click(asked.message, "Keep")
    kept = await becomes(ben, asked.message, "**Mira** stays.")
    assert kept.buttons == ()
    assert await cards(scene) == ["Mira"]
    again = await ben.slash("general", "card delete", card="Mira")
    await ben.click(again.message, "Delete")

    # then it is gone, and the question with it
    gone = await becomes(ben, again.message, "**Mira** is out of the library.")
    assert gone.buttons == ()
    assert await cards(scene) == []
    assert await ben.autocomplete("general", "card show", "card", "") == []


async def test_others_may_not_unless_they_manage_the_server(scene: Scene) -> None:
    # given Ana's card
    await brought(scene, "Ana")

    # when Ben, who is nobody, wants it gone
    refused = await scene.human("Ben").slash("general", "card delete", card="Mira")

    # then he is told who may
    assert refused.text == ("Only whoever brought it in may do that, or somebody who may manage the server.")
    # but as a steward of the server he may
    promote(scene, "Ben")
    asked = await scene.human("Ben").slash("general", "card delete", card="Mira")
    await scene.human("Ben").click(asked.message, "Delete")
    await becomes(scene.human("Ben"), asked.message, "is out of the library")
    assert await cards(scene) == []


async def test_who_may_delete_is_asked_again_when_it_happens(scene: Scene) -> None:
    # given a steward who has been asked whether he is sure
    await brought(scene, "Ana")
    promote(scene, "Ben")
    asked = await scene.human("Ben").slash("general", "card delete", card="Mira")

    # when he is one no longer, and confirms
    world = scene.wire.world
    guild = next(iter(world.guilds.values()))
    world.set_member(world.members[f"{guild['id']}:{world.user('Ben')['id']}"], roles=[])
    await scene.human("Ben").click(asked.message, "Delete")

    # then the card stays
    await scene.human("Ben").sees("general", "Only whoever brought it in may do that")
    assert await cards(scene) == ["Mira"]


async def test_a_card_that_is_gone_meanwhile_is_said_to_be(scene: Scene) -> None:
    panel = await brought(scene, "Ana")
    asked = await scene.human("Ana").slash("general", "card delete", card="Mira")
    await scene.human("Ana").click(asked.message, "Delete")
    await becomes(scene.human("Ana"), asked.message, "is out of the library")
    for button in ("Play", "Bind here", "Details", "Export"):
        done = await scene.human("Ana").click(panel.message, button)
        assert done.text == "It does not exist any more."


async def test_a_story_goes_on_with_a_card_that_left_the_library(scene: Scene) -> None:
    # given a story with Mira's picture and two exchanges' worth of past
    story = await scene.open_story()
    await story.exchange("Ana", "Hello.", "Welcome in.")

    # when her card is deleted and the bot restarted
    promote(scene, "Ben")
    asked = await scene.human("Ben").slash("general", "card delete", card="Mira")
    await scene.human("Ben").click(asked.message, "Delete")
    await becomes(scene.human("Ben"), asked.message, "is out of the library")
    assert await cards(scene) == []
    await scene.running.restart()
    await story.exchange("Ana", "Are you still there?", "Where else.")

    # then she speaks under her name, and the model still knows who she is
    assert story.lines()[-1] == "Mira: Where else."
    assert "Mira keeps the inn at the crossing." in scene.model.calls[-1].system
    # and another answer to the same words knows it, too
    scene.model.will_say("Behind the bar.")
    await story.press("⟳")
    await story.answered("Behind the bar.", "2/2")
    assert "Mira keeps the inn at the crossing." in scene.model.calls[-1].system
