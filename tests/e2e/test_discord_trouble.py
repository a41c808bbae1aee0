"""Discord is slow, refuses, forgets, and people delete things: the story goes on."""

from __future__ import annotations

from bot.sandbox.world import posts
from bot.sandbox.world.permissions import Permission
from tests.e2e.scene import Scene, Story, labels_of, until


async def test_a_storm_of_rate_limits_is_waited_out(scene: Scene, story: Story) -> None:
    # given a Discord that refuses every other request for its rate
    scene.wire.faults.fail("POST|PATCH", r"/webhooks/\d+/", 429, times=4)
    await story.say("Ana", "Hello.")
    call = await scene.model.call()
    await call.write("Welcome ")
    await story.sees("Welcome")
    scene.wire.faults.fail("PATCH", r"/webhooks/\d+/", 429, times=2)
    await call.write("in.")
    await call.end()
    await story.answered("Welcome in.")
    assert story.lines() == ["Mira: The door is open.", "Ana: Hello.", "Mira: Welcome in."]
    assert len(scene.wire.log.find(status=429)) >= 4


async def test_errors_of_discord_are_tried_again(scene: Scene, story: Story) -> None:
    # given a first post whose answer is lost although it stands, and a last edit that fails
    scene.wire.faults.fail("POST", r"/webhooks/\d+/", 500, times=1, after=True)
    await story.say("Ana", "Hello.")
    call = await scene.model.call()
    await call.write("Welcome in. ")
    await story.sees("Welcome in.")
    scene.wire.faults.fail("PATCH", r"/webhooks/\d+/", 502, times=1)
    await call.write("Sit down.")
    await call.end()
    await story.answered("Welcome in. Sit down.")
    # then it is said once
    await story.reads("Mira: The door is open.", "Ana: Hello.", "Mira: Welcome in. Sit down.")


async def test_the_story_does_not_wait_for_a_discord_that_is_down(scene: Scene, story: Story) -> None:
    # given a Discord that cuts every line for webhooks
    scene.wire.faults.drop("POST|PATCH", r"/webhooks/\d+/", times=None)
    scene.model.will_say("Welcome in.")
    await story.say("Ana", "Hello.")
    play = scene.bot.bindings.all()[0].play_id
    # then the answer is safe in the story
    await scene.known(play, 1)
    assert story.lines() == ["Mira: The door is open.", "Ana: Hello."]
    # and is shown when Discord is back
    scene.wire.faults.clear()
    await scene.running.restart()
    await story.reads("Mira: The door is open.", "Ana: Hello.", "Mira: Welcome in.", timeout=15)
    await story.answered("Welcome in.", "1/1")


async def test_an_admin_deletes_the_webhook(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Hello.", "Welcome in.")
    world = scene.wire.world
    await story.say("Ben", "Me too.")
    call = await scene.model.call()
    await call.write("You may ")
    await story.sees("You may")
    # when the webhook goes in the middle of an answer
    for hook in world.webhooks.where(channel_id=world.channel("general")["id"]):
        world.webhooks.drop(hook["id"])
    await call.write("come as well.")
    await call.end()
    # then the answer is told through another one, once
    answer = await story.answered("You may come as well.")
    await story.eyes.wait_for(lambda: sum("You may" in line for line in story.lines()) == 1)
    assert answer.webhook
    # and an answer that the old one had told can still be swiped to
    await story.exchange("Ana", "Thanks.", "No trouble.")


async def test_a_swipe_after_the_webhook_was_deleted(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Left or right?", "Left.")
    world = scene.wire.world
    for hook in world.webhooks.where(channel_id=world.channel("general")["id"]):
        world.webhooks.drop(hook["id"])
    scene.model.will_say("Right.")
    await story.press("▶")
    await story.answered("Right.", "2/2")
    await story.reads("Mira: The door is open.", "Ana: Left or right?", "Mira: Right.")
    await story.press("◀")
    await story.answered("Left.", "1/2")


async def test_a_moderator_deletes_the_answer(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Hello.", "Welcome in.")
    # when a moderator deletes what the character said
    await scene.human("Ana").delete(story.find("Welcome in.").id)
    await story.reads("Mira: The door is open.", "Ana: Hello.")
    # then the story knows it all the same and goes on
    await story.say("Ben", "Me too.")
    call = await scene.model.call()
    assert call.heard == ["Ana: Hello.", "Welcome in.", "Ben: Me too."]
    await call.write("You may ")
    growing = await story.sees("You may")
    # and when it is deleted while it is being written, it is posted again
    await scene.human("Ana").delete(growing.id)
    await call.write("come as well.")
    await call.end()
    await story.answered("You may come as well.")
    assert sum("You may" in line for line in story.lines()) == 1


async def test_the_thread_is_deleted_while_it_is_written_in(scene: Scene, story: Story) -> None:
    other = await scene.open_story("Thorn", greetings=["Go away."])
    await story.say("Ana", "Hello.")
    call = await scene.model.call()
    await call.write("Welcome ")
    await story.sees("Welcome")
    # when the thread goes
    world = scene.wire.world
    world.drop_channel(world.channels[story.thread])
    # then the model is not asked to write for nobody
    await call.gone.wait()
    await until(lambda: scene.bot.bindings.of_channel(int(story.thread)) is None)
    # and other stories are played on
    await other.exchange("Ben", "Why?", "Because.")
    await scene.running.restart()
    await other.exchange("Ben", "Really?", "Really.")


async def test_the_channel_is_deleted_with_the_stories_in_it(scene: Scene, story: Story) -> None:
    other = await scene.open_story("Thorn", greetings=["Go away."], channel="after-dark")
    await story.exchange("Ana", "Hello.", "Welcome in.")
    world = scene.wire.world
    world.drop_channel(world.channel("general"))
    await until(lambda: scene.bot.bindings.of_channel(int(story.thread)) is None)
    await other.exchange("Ben", "Why?", "Because.")


async def test_a_thread_that_was_deleted_while_the_bot_was_away(scene: Scene, story: Story) -> None:
    other = await scene.open_story("Thorn", greetings=["Go away."])
    await story.say("Ana", "Hello.")
    await scene.model.call()
    await scene.running.crash()
    world = scene.wire.world
    world.drop_channel(world.channels[story.thread])
    await scene.running.start()
    await other.exchange("Ben", "Why?", "Because.")
    # and the story is not looked for again at every start
    assert scene.bot.bindings.of_channel(int(story.thread)) is None


async def test_without_webhooks_the_bot_speaks_for_the_character(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Hello.", "Welcome in.")
    world = scene.wire.world
    # when the right to manage webhooks is taken away in the middle of the story; a hook that is known
    # goes on working, until the bot has to look for it again
    world.set_overwrite(world.channel("general"), world.bot["id"], deny=int(Permission.MANAGE_WEBHOOKS))
    await scene.running.restart()
    scene.model.will_say("You may.")
    await story.say("Ben", "Me too?")
    answer = await story.answered("You may.")
    assert (answer.author, answer.text, answer.webhook) == ("Inglenook", "**Mira**\nYou may.", False)
    # and it can be swiped and stopped like any other
    scene.model.will_say("You may not.")
    await story.press("▶")
    answer = await story.answered("You may not.", "2/2")
    assert answer.text == "**Mira**\nYou may not."
    # when the right comes back, so does the character
    world.set_overwrite(world.channel("general"), world.bot["id"])
    answer = await story.exchange("Ana", "Pity.", "So it is.")
    assert answer.author == "Mira"


async def test_the_bot_may_not_write_any_more(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Hello.", "Welcome in.")
    world = scene.wire.world
    everything = Permission.MANAGE_WEBHOOKS | Permission.SEND_IN_THREADS | Permission.ADD_REACTIONS
    world.set_overwrite(world.channel("general"), world.bot["id"], deny=int(everything))
    scene.model.will_say("Nobody hears this.")
    await story.say("Ben", "Me too?")
    play = scene.bot.bindings.all()[0].play_id
    # then the story has the answer all the same
    await scene.known(play, 2)
    # and when the bot may write again, it can be shown
    world.set_overwrite(world.channel("general"), world.bot["id"])
    await story.say("Ana", "Say again?")
    call = await scene.model.call()
    assert call.heard == [
        "Ana: Hello.",
        "Welcome in.",
        "Ben: Me too?",
        "Nobody hears this.",
        "Ana: Say again?",
    ]
    await call.say("I said it.")
    await story.answered("I said it.")


async def test_a_thread_that_went_to_sleep_is_woken(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Left or right?", "Left.")
    world = scene.wire.world
    world.set_channel(world.channels[story.thread], archived=True)
    scene.model.will_say("Right.")
    await story.press("▶")
    await story.answered("Right.", "2/2")
    assert world.channels[story.thread]["archived"] is False


async def test_words_deleted_in_bulk_are_taken_back(scene: Scene, story: Story) -> None:
    await story.say("Ana", "One.")
    call = await scene.model.call()
    unwanted = [await story.say("Ben", f"Noise {n}.") for n in range(3)]
    await story.say("Ben", "Two.")
    await scene.waits(story, "Noise 0.", "Noise 1.", "Noise 2.", "Two.")
    # when a moderator's bot clears them in one go
    world = scene.wire.world
    posts.delete_many(world, world.channels[story.thread], [m.id for m in unwanted])
    await scene.waits(story, "Two.")
    await call.say("First.")
    call = await scene.model.call()
    assert call.heard == ["Ana: One.", "First.", "Ben: Two."]
    await call.say("Second.")
    await story.answered("Second.")


async def test_answers_keep_their_order_when_discord_is_slow(scene: Scene, story: Story) -> None:
    # given a long answer that takes Discord a while, and a short one right behind it
    long = "\n\n".join(f"Part {n}. " + "The river is wide. " * 60 for n in range(4)).strip()
    await story.say("Ana", "Describe the river.")
    call = await scene.model.call()
    await story.say("Ben", "And the bridge?")
    await scene.waits(story, "And the bridge?")
    scene.wire.faults.latency_ms = 120
    scene.model.will_say("Long.")
    await call.say(long)
    await story.answered("Long.", timeout=15)
    scene.wire.faults.latency_ms = 0
    said = [m.text for m in story.messages() if m.author == "Mira"]
    assert said[-1] == "Long."
    assert "\n\n".join(said[1:-1]).split() == long.split()
    assert labels_of(story.messages()[-1]) == ["◀", "1/1", "▶", "⟳", "⋯"]
