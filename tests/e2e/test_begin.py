"""How a story begins and ends: `/play new`, the gallery, the greeting, and who may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.sandbox.world import threads
from bot.sandbox.world.permissions import Permission
from bot.sandbox.world.posts import Writer
from tests.e2e.scene import Scene, Story, labels_of, set_scene, until
from tests.e2e.table import open_wire


async def test_a_story_opens_in_a_thread_of_its_own(scene: Scene) -> None:
    await scene.card("Mira")
    opened = await scene.human("Ana").slash("general", "play new", card="Mira", title="A wet evening")
    story = scene.story(opened)
    # then only Ana is told where, and the thread has its top post and the greeting
    assert opened.message.ephemeral
    thread = scene.wire.world.channels[story.thread]
    assert (thread["name"], thread["parent_id"]) == (
        "A wet evening",
        scene.wire.world.channel("general")["id"],
    )
    top = story.eyes.screen(story.thread)[0]
    assert top.text.splitlines()[:2] == ["## A wet evening", "Cast: **Mira** · by the tests"]
    assert story.lines() == ["Mira: The door is open."]
    assert labels_of(story.messages()[0]) == ["◀", "1/3", "▶"]


async def test_the_gallery_asks_for_nothing_but_the_card(scene: Scene) -> None:
    await scene.card("Mira")
    await scene.card("Thorn", ["Go away."])
    chen = scene.human("Chen")
    asked = await chen.slash("general", "play new")
    # then Chen is asked in Chinese, and only Chen
    assert asked.message.ephemeral
    assert asked.text == "想和谁一起玩？"
    (menu,) = asked.message.menus
    labels = sorted(label for label, _ in menu.options)
    assert labels == ["Mira — 作者 the tests · 3 个开场白", "Thorn — 作者 the tests · 1 个开场白"]
    # when Chen chooses
    await chen.select(asked.message, menu.custom_id, labels[1])
    await chen.wait_for(lambda: "<#" in asked.text)
    story = scene.story(asked)
    assert story.lines() == ["Thorn: Go away."]
    # a card with one greeting has nothing to turn
    assert story.messages()[0].buttons == ()


async def test_the_card_is_completed_by_name(scene: Scene) -> None:
    mira = await scene.card("Mira")
    await scene.card("Thorn", ["Go away."])
    choices = await scene.human("Ana").autocomplete("general", "play new", "card", "mi")
    assert [(choice["name"], choice["value"]) for choice in choices] == [
        ("Mira — by the tests · 3 greetings", mira)
    ]


async def test_the_greeting_turns_until_somebody_speaks(scene: Scene, story: Story) -> None:
    # when Ana turns to the second greeting, and to the third
    await story.press("▶")
    await story.reads("Mira: It rains. The door is shut.")
    assert labels_of(story.messages()[0]) == ["◀", "2/3", "▶"]
    await story.press("▶")
    await story.reads("Mira: Mira sits on the roof, Ana.")
    last = story.messages()[0]
    assert last.button("▶").disabled
    await story.press("◀")
    await story.reads("Mira: It rains. The door is shut.")
    # when Ben speaks
    await story.say("Ben", "I knock.")
    call = await scene.model.call()
    # then the model knows the greeting that stands, and the greeting keeps no buttons
    assert "It rains. The door is shut." in str(call.body)
    assert "The door is open." not in str(call.body)
    await call.say("Nobody answers.")
    await story.answered("Nobody answers.")
    await story.eyes.wait_for(lambda: story.messages()[0].buttons == ())
    # and whoever still sees them is told
    forward = last.button("◀").custom_id
    assert forward is not None
    told = await scene.press_stale("Ben", last, forward)
    assert told.text == "The story has begun; its beginning can no longer be switched."


async def test_a_long_greeting_stands_in_several_messages(scene: Scene) -> None:
    long = "\n\n".join(f"Chapter {n}. " + "Rain on the roof. " * 50 for n in range(5)).strip()
    story = await scene.open_story(greetings=[long, "Short."])
    parts = story.messages()
    assert len(parts) >= 3
    assert labels_of(parts[-1]) == ["◀", "1/2", "▶"]
    await story.press("▶")
    await story.reads("Mira: Short.")
    await story.press("◀")
    await story.eyes.wait_for(lambda: len(story.messages()) == len(parts))


@pytest.mark.parametrize("flags", [0, 1 << 4], ids=["free", "wants-a-tag"])
async def test_a_forum_takes_stories_as_posts(scene: Scene, flags: int) -> None:
    # given a post in a forum; commands are used in its posts, never in the forum itself
    world = scene.wire.world
    forum = world.channel("stories")
    asks = {"name": "What shall we play?", "message": {"content": "Well?"}}
    tag = forum["available_tags"][0]["id"]
    post, _ = threads.in_forum(world, forum, Writer(scene.human("Ana").id), {**asks, "applied_tags": [tag]})
    world.set_channel(forum, flags=flags)
    story = await scene.open_story(channel=post["id"])
    # then the story is another post of the forum
    assert world.channels[story.thread]["parent_id"] == forum["id"]
    assert story.thread != post["id"]
    assert story.lines() == ["Mira: The door is open."]
    assert (await story.exchange("Ana", "Hello.", "Welcome in.")).webhook


async def test_a_card_for_adults_stays_out_of_ordinary_channels(scene: Scene) -> None:
    await scene.card("Vex", ["…"], tags=["NSFW"])
    refused = await scene.human("Chen").slash("general", "play new", card="Vex")
    assert refused.message.ephemeral
    assert refused.text == "**Vex** 标有 🔞，只能在年龄限制频道里玩。"
    assert scene.wire.world.threads_of(scene.wire.world.channel("general")["id"]) == []
    # and is welcome where it belongs
    opened = await scene.human("Ana").slash("after-dark", "play new", card="Vex")
    assert scene.story(opened).lines() == ["Vex: …"]


@pytest.mark.parametrize(
    ("denied", "name"),
    [
        (Permission.MANAGE_WEBHOOKS, "Manage Webhooks"),
        (Permission.CREATE_PUBLIC_THREADS, "Create Public Threads"),
        (Permission.SEND_IN_THREADS, "Send Messages in Threads"),
    ],
)
async def test_a_missing_permission_is_named(scene: Scene, denied: Permission, name: str) -> None:
    await scene.card("Mira")
    world = scene.wire.world
    world.set_overwrite(world.channel("general"), world.bot["id"], deny=int(denied))
    refused = await scene.human("Ana").slash("general", "play new", card="Mira")
    assert refused.text == f"I lack a permission here: {name}."
    assert world.threads_of(world.channel("general")["id"]) == []
    # and another channel works
    world.set_overwrite(world.channel("general"), world.bot["id"])
    assert scene.story(await scene.human("Ana").slash("general", "play new", card="Mira")).lines()


async def test_discord_refusing_the_thread_leaves_no_half_story(scene: Scene) -> None:
    await scene.card("Mira")
    scene.wire.faults.fail("POST", r"/channels/\d+/threads$", 403, {"code": 50013, "message": "no"})
    refused = await scene.human("Ana").slash("general", "play new", card="Mira")
    assert refused.text == (
        "Discord does not let me do that here. `/play new` in another channel may work; nothing is lost."
    )
    assert await scene.bot.engine.plays.stories(scene.owner) == []


async def test_a_card_that_is_not_there_is_told(scene: Scene) -> None:
    refused = await scene.human("Ana").slash("general", "play new", card="Nobody")
    assert refused.message.ephemeral
    assert refused.text == "No card here is called “Nobody”. `/card list` shows them all."


async def test_an_ended_story_is_over_and_says_so_once(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Hello.", "Welcome in.")
    # given Ben, who did not begin it
    refused = await scene.human("Ben").slash(story.thread, "play end")
    assert refused.text == "Only whoever began the story or a moderator may do that."
    # when Ana ends it
    asked = await scene.human("Ana").slash(story.thread, "play end")
    assert labels_of(asked.message) == ["Do it", "Cancel"]
    await scene.human("Ana").click(asked.message.id, "Do it")
    await story.sees("**Mira** has ended. Thank you for playing.")
    # then talk goes on without it, and it says so once
    await story.say("Ben", "Nice one.")
    await story.sees("This story has ended. `/play new` begins another.")
    await story.say("Ana", "It was.")
    await story.say("Ben", "Again tomorrow?")
    await scene.quiet(story)
    assert [line for line in story.lines() if "This story has ended" in line] == [
        "Inglenook: This story has ended. `/play new` begins another."
    ]
    assert len(scene.model.calls) == 1
    # and nothing stands there that could be pressed
    assert story.find("Welcome in.").buttons == ()


async def test_ending_a_story_stops_what_is_being_written(scene: Scene, story: Story) -> None:
    await story.say("Ana", "Talk.")
    call = await scene.model.call()
    await call.write("Well, once upon a time. ")
    await story.sees("once upon a time")
    asked = await scene.human("Ana").slash(story.thread, "play end")
    await scene.human("Ana").click(asked.message.id, "Do it")
    await call.gone.wait()
    await story.sees("has ended")
    await story.eyes.wait_for(lambda: "▌" not in story.find("once upon a time").text)
    assert "Stop" not in labels_of(story.find("once upon a time"))


async def test_what_is_played_here_can_be_asked(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Hello.", "Welcome in.")
    told = await scene.human("Chen").slash(story.thread, "play info")
    assert told.message.ephemeral
    lines = told.text.splitlines()
    assert lines[:3] == ["### Mira", "登场角色：Mira", "预设：内置"]
    elsewhere = await scene.human("Ana").slash("general", "play info")
    assert elsewhere.text == "No story is being played here. `/play new` begins one."


async def test_a_slow_bot_gets_no_answer_through_and_nothing_breaks(data_dir: Path) -> None:
    # given a Discord that waits three tenths of a second, and a line that takes longer
    async with open_wire(deadline=0.3) as wire, set_scene(wire, data_dir) as scene:
        story = await scene.open_story()
        await story.exchange("Ana", "Left or right?", "Left.")
        wire.faults.latency_ms = 500
        swiped = await scene.human("Ana").click(story.find("Left.").id, "▶", wait=False)
        await swiped.until("failed")
        asked = await scene.human("Ana").slash(story.thread, "play info", wait=False)
        await asked.until("failed")
        await until(lambda: len(wire.log.find("POST", r"/callback$", 404)) == 2)
        # then nothing has happened, and when the line is well again everything works
        wire.faults.clear()
        assert len(scene.model.calls) == 1
        assert (await scene.human("Ana").slash(story.thread, "play info")).text.startswith("### Mira")
        scene.model.will_say("Right.")
        await story.press("▶")
        await story.answered("Right.", "2/2")


async def test_what_a_card_is_called_shows_as_it_is_and_never_makes_the_top_post_too_long(
    scene: Scene,
) -> None:
    # given a card whose name hides links, with a creator longer than a message
    name = "[a](https://b.c) *d* [e](https://f.g)"
    story = await scene.open_story(name, creator="C" * 4_000)

    # then the top post names it letter by letter, and stands
    top = story.eyes.screen(story.thread)[0].text
    assert top.startswith(r"## \[a](https://b.c) \*d\* \[e](https://f.g)" + "\n")
    assert r"Cast: **\[a](https://b.c) \*d\* \[e](https://f.g)** · by CCC" in top
