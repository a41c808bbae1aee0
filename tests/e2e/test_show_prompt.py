"""Show prompt: what the model was sent for any answer, and who may see that."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.sandbox.screen import Shown
from bot.sandbox.world.permissions import Permission
from engine.strategies import REQUEST_RECORD
from tests.e2e.scene import Scene, Story, labels_of, until

ONLY_LEADERS = (
    "Here only whoever began the story and moderators may see prompts. "
    "They can allow it to everybody with `/settings prompts`."
)
CHECKED = "-# ✓ Checked against the story's log: word for word what the model got."
VEILED = "-# ✓ Checked against the story's log. What others' personas say is left out for you."
MARK = "[somebody's persona]"


def file_of(scene: Scene, shown: Shown) -> str:
    """The text of the panel's file."""
    (attachment,) = shown.raw["attachments"]
    body = scene.wire.world.store.get_file(attachment["url"].split("/cdn/")[1].split("?")[0])
    assert body is not None
    return body.decode()


async def prompt(story: Story, message: Shown, who: str = "Ana") -> Shown:
    """The panel that the message menu brings."""
    (shown,) = (await story.menu(message, "Show prompt", who=who)).ephemeral
    return shown


async def told(story: Story, message: Shown, who: str = "Ana") -> str:
    return (await prompt(story, message, who)).text


async def open_to_all(scene: Scene, story: Story) -> Shown:
    """Whoever began the story lets everybody see prompts; the panel where she did."""
    (shown,) = (await scene.human("Ana").slash(story.thread, "settings prompts")).ephemeral
    await scene.human("Ana").click(shown, "For everyone")
    return await becomes(scene, shown, "Everybody at this table may see prompts.")


async def becomes(scene: Scene, message: Shown, text: str, who: str = "Ana") -> Shown:
    person = scene.human(who)
    await person.wait_for(lambda: text in person.shown(message).text)
    return person.shown(message)


def moderate(scene: Scene, name: str) -> None:
    """Somebody may manage messages from now on."""
    world = scene.wire.world
    guild = next(iter(world.guilds.values()))
    allowed = (
        Permission.VIEW_CHANNEL
        | Permission.SEND_MESSAGES
        | Permission.SEND_IN_THREADS
        | Permission.USE_COMMANDS
        | Permission.MANAGE_MESSAGES
    )
    role = world.add_role(guild, "Moderator", allowed)
    world.set_member(world.members[f"{guild['id']}:{world.user(name)['id']}"], roles=[role["id"]])


# --- which request


async def test_an_older_answer_shows_what_it_was_written_to(scene: Scene, story: Story) -> None:
    # given three exchanges, the first answer longer than a message
    scene.model.will_say("The door creaks. " * 150 + "Who is there?")
    await story.say("Ana", "I knock.")
    await story.answered("Who is there?")
    await story.exchange("Ana", "I cough.", "Bless you.")
    await story.exchange("Ana", "I enter.", "Mind the step.")
    await scene.human("Ana").slash(story.thread, "strategy off")
    await scene.running.restart()

    # when Ana asks for the prompt of the first, by its first message and by its last
    chunks = [m for m in story.messages() if "The door creaks." in m.text]
    assert len(chunks) == 2
    first, second = await prompt(story, chunks[0]), await prompt(story, chunks[1])

    # then it is what was sent then: the panel, checked, and the file with all of it
    assert first.ephemeral
    lines = first.text.splitlines()
    assert lines[0] == "## What the model was sent"
    assert re.fullmatch(r"<t:\d+:R>", lines[1])
    facts = "-# storyteller · temperature 0.9 · answers up to 900 tokens"
    assert lines[2:5] == ["Strategy **Preset's slots first**", facts, CHECKED]
    assert re.fullmatch(r"about \d+ tokens", lines[5])
    assert lines[6].startswith("🟦")
    assert len(lines[6]) == 12
    assert any(re.fullmatch(r"\*\*1\.\*\* ⚙️ system · instructions · \d+ tokens", line) for line in lines)
    at = lines.index("-# Ana: I knock.")
    assert lines[at - 1].startswith("**2.** 👤 user · the new message · ")
    text = file_of(scene, first)
    assert "Mira keeps the inn at the crossing." in text
    assert "I cough." not in text and "The door creaks." not in text
    assert second.text == first.text
    assert labels_of(first) == ["Next request"]

    # and her own words show the request that answered them
    own = file_of(scene, await prompt(story, story.find("I cough.")))
    assert own == file_of(scene, await prompt(story, story.find("Bless you.")))
    assert own.index("I knock.") < own.index("The door creaks.") < own.index("I cough.")
    assert "Bless you." not in own and "I enter." not in own


async def test_the_answer_that_is_shown_is_the_one_that_is_meant(scene: Scene, story: Story) -> None:
    # given two answers to the same words, under two strategies
    await story.exchange("Ana", "Left or right?", "Left.")
    await scene.human("Ana").slash(story.thread, "strategy off")
    scene.model.will_say("Right.")
    await story.press("▶")
    second = await story.answered("Right.", "2/2")

    # then each has its own
    assert "No strategy: all that is no message stands in the system text" in await told(story, second)
    await story.press("◀")
    first = await story.answered("Left.", "1/2")
    assert "Strategy **Preset's slots first**" in await told(story, first)

    # and an older one that is no more the newest answer as well
    await story.exchange("Ana", "And now?", "Straight on.")
    assert "Strategy **Preset's slots first**" in await told(story, story.find("Left."))


async def test_a_turn_with_tools_shows_each_of_its_requests(scene: Scene, story: Story) -> None:
    # given an answer for which the model rolled twice
    ana = scene.human("Ana")
    (tools,) = (await ana.slash(story.thread, "settings tools")).ephemeral
    await ana.select(tools.id, "Nothing is on", "dice")
    for _ in range(2):
        scene.model.will_use("dice", expression="2d6+3", reason="Stealth")
    scene.model.will_say("You slip past.")
    await story.say("Ana", "I sneak.")
    answer = await story.answered("You slip past.")

    # when she looks, then it is the last request, with both results
    panel = await prompt(story, answer)
    assert panel.text.splitlines()[1].endswith(" · Request 3 of 3")
    text = file_of(scene, panel)
    assert text.count("Stealth: 2d6+3 → ") == 2
    assert text.count("### Call of a tool / dice · ") == 2
    assert panel.text.count("-# – Call of a tool / dice · ") == 2, panel.text
    (menu,) = panel.menus
    assert [label for label, _ in menu.options] == ["Request 1 of 3", "Request 2 of 3", "Request 3 of 3"]
    described = [each["description"] for each in options_of(panel)]
    assert described == ["The model called: Dice", "The model called: Dice", "The model answered with text"]

    # and the earlier ones can be chosen, also after a restart
    await scene.running.restart()
    await ana.select(panel.id, "Another request for this answer …", "1")
    shown = await becomes(scene, panel, " · Request 1 of 3")
    assert CHECKED in shown.text
    assert "Stealth" not in file_of(scene, shown)
    await ana.select(panel.id, "Another request for this answer …", "2")
    shown = await becomes(scene, panel, " · Request 2 of 3")
    assert file_of(scene, shown).count("Stealth: 2d6+3 → ") == 1

    # and what was sent last leads to them as well
    (preview,) = (await ana.slash(story.thread, "strategy preview")).ephemeral
    (last,) = (await ana.click(preview.id, "Sent last")).ephemeral
    assert last.text.splitlines()[1].endswith(" · Request 3 of 3")
    await ana.select(last.id, "Another request for this answer …", "1")
    shown = await becomes(scene, last, " · Request 1 of 3")
    assert "Stealth" not in file_of(scene, shown)


def options_of(message: Shown) -> list[dict[str, str]]:
    """The options of the only menu, with all that is said of them."""
    found: list[dict[str, str]] = []

    def walk(value: object) -> None:
        if isinstance(value, dict):
            found.extend(value.get("options", ()))
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)

    walk(message.raw["components"])
    return found


# --- where there is none


async def test_where_nothing_was_sent_it_is_said_politely(scene: Scene, story: Story) -> None:
    # given a greeting, the top post, words that nobody has answered yet, and an answer that is being written
    greeting, top = story.messages()[0], story.eyes.screen(story.thread)[0]
    said = await story.say("Ana", "I knock.")
    call = await scene.model.call()
    await call.write("Who ")
    growing = await story.sees("Who ")

    assert await told(story, greeting) == (
        "This is the greeting from the card: nothing was sent to the model for it."
    )
    assert await told(story, top) == "This message is not part of the story."
    not_yet = "There is no finished answer here yet. Try again when it stands there."
    assert await told(story, said) == not_yet
    assert await told(story, growing) == not_yet
    await call.write("is there?")
    await call.end()
    answer = await story.answered("Who is there?")
    assert CHECKED in await told(story, answer)

    # nor while another answer takes its place
    await story.press("▶")
    call = await scene.model.call()
    await call.write("Nobody ")
    assert await told(story, await story.sees("Nobody ")) == not_yet
    assert await told(story, said) == not_yet
    await call.write("is home.")
    await call.end()
    await story.answered("Nobody is home.", "2/2")

    # and outside of stories there is none
    elsewhere = await scene.human("Ben").say("general", "Hello?")
    assert (await scene.human("Ben").menu(elsewhere.id, "Show prompt")).text == (
        "No story is being played here. `/play new` begins one."
    )


async def test_what_the_log_does_not_prove_is_not_shown(scene: Scene, story: Story) -> None:
    # given a log whose evidence does not fit what it holds
    answer = await story.exchange("Ana", "I knock.", "Who is there?")
    play = story_play(scene, story)
    plays = scene.bot.engine.plays
    agent = await plays.agents.open((await plays.get(play)).head.session_id)
    record = next(e for e in agent.session.events() if e.type == REQUEST_RECORD)
    agent.session.append(REQUEST_RECORD, dict(record.data) | {"messagesHash": "0" * 64}, ignorable=True)
    preview = (await scene.human("Ana").slash(story.thread, "strategy preview")).message

    # then it says so, and shows nothing of it
    refused = await scene.human("Ana").click(preview, "Sent last")
    assert refused.text == "The story's log does not prove any more what was sent, so it is not shown."
    assert CHECKED in await told(story, answer)


def story_play(scene: Scene, story: Story) -> str:
    binding = scene.bot.bindings.of_channel(int(story.thread))
    assert binding is not None
    return binding.play_id


# --- ⋯


async def test_the_panel_behind_the_dots_shows_it_too(scene: Scene, story: Story) -> None:
    # given two answers to the same words
    await story.exchange("Ana", "Left or right?", "Left.")
    scene.model.will_say("Right.")
    await story.press("▶")
    await story.answered("Right.", "2/2")
    await scene.running.restart()

    # when Ana presses ⋯
    more = (await story.press("⋯")).message

    # then the panel says which answer it is about, and shows its prompt, also after a restart
    assert more.ephemeral
    assert more.text.splitlines() == [
        "### Answer 2 of 2",
        "-# Only whoever began the story and moderators may see prompts.",
    ]
    assert labels_of(more) == ["Show prompt"]
    await scene.running.restart()
    shown = (await scene.human("Ana").click(more, "Show prompt")).message
    assert shown.ephemeral and CHECKED in shown.text

    # and it is still about that answer when the story has gone on
    await story.exchange("Ana", "And now?", "Straight on.")
    again = (await scene.human("Ana").click(more, "Show prompt")).message
    assert file_of(scene, again) == file_of(scene, shown)


async def test_in_chinese(scene: Scene) -> None:
    story = await scene.open_story(who="Chen")
    answer = await story.exchange("Chen", "Hello.", "Welcome.")
    chen = scene.human("Chen")
    (command,) = [c for c in chen.commands(story.thread) if c["name"] == "Show prompt"]
    assert command["name_localizations"]["zh-CN"] == "查看提示词"
    shown = await prompt(story, answer, "Chen")
    assert shown.text.splitlines()[0] == "## 发给模型的内容"
    assert "-# ✓ 已对照故事记录核对：与模型收到的逐字一致。" in shown.text
    more = (await story.press("⋯", who="Chen")).message
    assert more.text.splitlines() == [
        "### 第 1 条回复，共 1 条",
        "-# 只有开始故事的人和管理员可以查看提示词。",
    ]


# --- who may see it


async def test_players_see_prompts_when_the_table_allows_it(scene: Scene, story: Story) -> None:
    # given Ana's story, and Ben who plays in it
    answer = await story.exchange("Ben", "I knock.", "Who is there?")
    ben = scene.human("Ben")

    # then he is refused at first, and not offered it
    assert await told(story, answer, "Ben") == ONLY_LEADERS
    closed = (await story.press("⋯", who="Ben")).message
    assert labels_of(closed) == []
    assert (await ben.slash(story.thread, "settings prompts")).text == (
        "Only whoever began the story or a moderator may do that."
    )

    # when Ana allows it
    panel = await open_to_all(scene, story)
    assert labels_of(panel) == ["Leaders only"]

    # then he sees it, but not the next request, which is for those who lead
    shown = await prompt(story, answer, "Ben")
    assert CHECKED in shown.text
    assert labels_of(shown) == []
    more = (await story.press("⋯", who="Ben")).message
    assert more.text.splitlines()[1] == "-# Everybody at this table may see prompts."
    assert labels_of(more) == ["Show prompt"]

    # and a swipe, a rewind and a restart leave it so
    scene.model.will_say("Nobody.")
    await story.press("▶")
    answer = await story.answered("Nobody.", "2/2")
    await scene.running.restart()
    assert CHECKED in await told(story, answer, "Ben")

    # when she thinks better of it, then what he has open is of no use any more
    await scene.human("Ana").click(panel, "Leaders only")
    await becomes(scene, panel, "Only whoever began the story and moderators may see prompts.")
    assert (await ben.click(more, "Show prompt")).text == ONLY_LEADERS
    assert await told(story, answer, "Ben") == ONLY_LEADERS
    # and moderators see it all the time
    moderate(scene, "Ben")
    assert CHECKED in await told(story, answer, "Ben")


async def test_the_switch_is_checked_when_it_is_pressed(scene: Scene, story: Story) -> None:
    # given Ben, who was a moderator when he opened the panel
    moderate(scene, "Ben")
    ben = scene.human("Ben")
    panel = (await ben.slash(story.thread, "settings prompts")).message
    world = scene.wire.world
    guild = next(iter(world.guilds.values()))
    world.set_member(world.members[f"{guild['id']}:{ben.id}"], roles=[])

    # when he presses it, then nothing has changed
    await ben.click(panel, "For everyone")
    await ben.sees(story.thread, "Only whoever began the story or a moderator may do that.")
    answer = await story.exchange("Ana", "I knock.", "Who is there?")
    assert await told(story, answer, "Ben") == ONLY_LEADERS


async def test_rights_in_one_story_open_no_other(scene: Scene, story: Story) -> None:
    # given Ana's story, and one of Ben's own with a card of its own
    await story.exchange("Ana", "I knock.", "Who is there?")
    theirs = (await story.press("⋯")).message
    his = await scene.open_story("Nora", who="Ben")
    answer = await his.exchange("Ben", "Hello.", "Welcome.")

    # when he presses in his own what belongs to hers
    (stolen,) = [button.custom_id for button in theirs.buttons]
    assert stolen is not None
    button = {"type": 2, "style": 2, "label": "Show prompt", "custom_id": stolen, "id": 2}
    row = {"type": 1, "components": [button], "id": 1}
    forged = replace(answer, raw={**answer.raw, "components": [row]})
    other = await scene.press_stale("Ben", forged, stolen)

    # then there is nothing to see
    await becomes(scene, other, "No story is being played here. `/play new` begins one.", "Ben")


async def test_personas_are_shown_to_those_whose_they_are(scene: Scene, story: Story) -> None:
    # given Ana, Ben and Chen at Ana's table, each with a persona that says something
    ana, ben, chen = (scene.human(name) for name in ("Ana", "Ben", "Chen"))
    await ana.slash(story.thread, "persona set", name="Vale", description="Vale hides a silver key.")
    await ana.slash(story.thread, "persona bind")
    await ben.slash(story.thread, "persona set", name="Oak", description="Oak was a thief once.")
    await chen.slash(story.thread, "persona set", name="Qi", description="Qi fears the sea.")
    await story.exchange("Ana", "Hello.", "Welcome.")
    await story.exchange("Chen", "Hello.", "Come in.")
    answer = await story.exchange("Ben", "Hello.", "You too.")
    await open_to_all(scene, story)
    # and later they say something else
    await ana.slash(story.thread, "persona set", name="Vale", description="Vale is a baker.")
    await chen.slash(story.thread, "persona set", name="Qi", description="Qi loves the sea.")

    # then Ana, who began the story, sees all as it was
    hers = file_of(scene, await prompt(story, answer))
    assert all(words in hers for words in ("a silver key", "a thief once", "fears the sea"))
    assert MARK not in hers

    # and Ben only what his own says; what others said then is left out, and he is told so
    panel = await prompt(story, answer, "Ben")
    his = file_of(scene, panel)
    assert VEILED in panel.text and CHECKED not in panel.text
    assert "About Oak: Oak was a thief once." in his
    assert MARK in his
    assert not re.search("silver key|fears the sea|baker|loves the sea", his + panel.text)
    # and what Chen's own says now is not what it said then, so it is kept from Chen rather than shown
    theirs = file_of(scene, await prompt(story, answer, "Chen"))
    assert not re.search("silver key|thief|baker", theirs)


async def test_what_an_older_version_sent_only_its_starter_sees(scene: Scene, story: Story) -> None:
    # given evidence that does not say which words are a persona's
    await story.exchange("Ana", "I knock.", "Who is there?")
    plays = scene.bot.engine.plays
    agent = await plays.agents.open((await plays.get(story_play(scene, story))).head.session_id)
    record = next(e for e in agent.session.events() if e.type == REQUEST_RECORD)
    older = {key: value for key, value in record.data.items() if key != "private"}
    agent.session.append(REQUEST_RECORD, older, ignorable=True)
    answer = await story.exchange("Ana", "I enter.", "Mind the step.")
    await open_to_all(scene, story)

    # then Ben is told why he does not see it, and Ana does
    assert await told(story, answer, "Ben") == (
        "An older version sent this, and did not keep which words are somebody's persona. "
        "So only whoever began the story sees it."
    )
    assert CHECKED in await told(story, answer)
    await until(lambda: len(scene.model.calls) == 2)
