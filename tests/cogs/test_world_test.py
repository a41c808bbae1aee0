"""`/world test`: what a text would wake, and why not; and that what it says is what the model then reads."""

from __future__ import annotations

from typing import Any

from engine.tavern import PatternStopped
from tests.cogs.books import becomes, book_json, brought_book
from tests.cogs.test_card_import import content_of
from tests.e2e.scene import Scene, Story, labels_of

EVIL = "/(a|aa)+$(?=b)|^(?:(a|aa)+)\\1$/"
EVIL_TEXT = "a" * 1_500 + "!"  # as long as a message may be, about


async def with_town(scene: Scene, **fields: Any) -> Story:
    """A story that uses the town."""
    story = await scene.open_story(**fields)
    await brought_book(scene)
    await scene.human("Ana").slash(story.thread, "world bind", world="Town")
    return story


async def test_it_tells_what_would_be_active_and_what_not(scene: Scene) -> None:
    # given a story in which something was said
    story = await with_town(scene)
    await story.exchange("Ana", "Where is everybody?", "At the ferry.")

    # when Ana tries a text
    done = await scene.human("Ana").slash(story.thread, "world test", text="I climb the clocktower.")

    # then the panel has the active ones with the reason, the near ones, and the others counted
    assert done.message.ephemeral
    assert done.text == (
        "## 🔎 3 of 5 entries would be active\n"
        "> I climb the clocktower.\n"
        "-# In this story: this text and the message before it · 1 world book\n"
        "21 tokens; no limit is known\n"
        "🟢 **gulls** · 2 back in the conversation, as user · order 50 · 5 tokens\n"
        "-# Its key “gulls” stands in another entry. · round 2\n"
        "🔵 **Weather** · before the character · order 100 · 4 tokens\n"
        "-# It is always on.\n"
        "🟢 **Clock tower** · before the character · order 100 · 12 tokens\n"
        "-# Its key “clocktower” stands in the conversation. (this text)\n"
        "**Woken, but held back: 1**\n"
        "⚪ **Ferry** · Not all secondary keys stand in the text. (found: “ferry”)\n"
        "**Not woken: 1**\n"
        "- It is switched off. **1**: The king"
    )
    assert labels_of(done.message) == ["Another text"]
    # and a file says all of it
    details = content_of(scene.wire, done.message.raw)
    assert "> I climb the clocktower." in details
    assert "- Town · 5 world book entries · of this story" in details
    assert "> THE TOWER HAS NO STAIRS. The gulls nest there." in details
    assert "“clocktower”: the conversation (this text)" in details
    assert "Town · #3 Ferry: Not all secondary keys stand in the text. (2.3.B16)" in details
    assert "Town · #4 The king: It is switched off. (2.3.B1)" in details


async def test_it_speaks_chinese(scene: Scene) -> None:
    story = await with_town(scene)
    done = await scene.human("Chen").slash(story.thread, "world test", text="去 clocktower")
    assert done.text.startswith(
        "## 🔎 启用 3 条，共 5 条\n> 去 clocktower\n-# 在这个故事里：这段文字 · 1 本世界书\n"
    )
    assert "-# 它的关键词“clocktower”出现在对话中。 （这段文字）" in done.text
    assert "- 它已被关闭。 **1**: The king" in done.text
    assert labels_of(done.message) == ["换一段文字"]
    assert "# 这段文字会启用什么" in content_of(scene.wire, done.message.raw)


async def test_the_story_then_reads_exactly_that_and_the_test_changed_nothing(scene: Scene) -> None:
    # given a story whose book has entries that only chance and groups decide on
    story = await scene.open_story()
    entries = {
        str(uid): {
            "uid": uid, "key": ["dice"], "content": f"OUTCOME {uid};", "probability": 50,
            "group": "fate" if uid > 12 else "", "sticky": 2,
        }
        for uid in range(20)
    }  # fmt: skip
    ana = scene.human("Ana")
    await brought_book(scene, entries=entries)
    await ana.slash(story.thread, "world bind", world="Town")
    session = (await scene.head()).session_id
    before = len((await scene.bot.engine.journal.read(session)).events)

    # when the text is tried twice, and then said
    first, second = [await ana.slash(story.thread, "world test", text="Throw the dice.") for _ in range(2)]
    after = len((await scene.bot.engine.journal.read(session)).events)
    await story.exchange("Ana", "Throw the dice.", "They fall.")

    # then both said the same, nothing was written, and the model reads what they said
    assert first.text == second.text
    assert after == before
    told = content_of(scene.wire, first.message.raw).split("## Woken")[0].split("## Not woken")[0]
    for uid in range(20):
        assert (f"#{uid} " in told) is (f"OUTCOME {uid};" in scene.model.calls[-1].system), uid
    assert 0 < told.count("> OUTCOME") < 14


async def test_without_history_only_the_text_counts(scene: Scene) -> None:
    story = await with_town(scene)
    await story.exchange("Ana", "Where is everybody?", "At the ferry.")
    ana = scene.human("Ana")
    done = await ana.slash(story.thread, "world test", text="At night.", history=False)
    assert "-# In this story, the text alone · 1 world book" in done.text
    assert "**Ferry** · before" not in done.text
    done = await ana.slash(story.thread, "world test", text="At night.")
    assert "🟢 **Ferry** · before the character" in done.text
    assert "stands in the conversation. (1 message back)" in done.text


async def test_books_that_come_along_are_tried_too_in_their_order(scene: Scene) -> None:
    # given a card with its own book and one that comes along, and a book of the story
    own = {"name": "Inn", "entries": [{"keys": ["soup"], "content": "Leek soup.", "enabled": True}]}
    story = await with_town(scene, character_book=own)
    await brought_book(scene, name="Coast", entries={"0": {"uid": 0, "key": ["soup"], "content": "Fish."}})
    library = scene.bot.engine.library
    mira = await library.resolve(scene.owner, "card", "Mira")
    coast = await library.resolve(scene.owner, "world_book", "Coast")
    await library.relations.set_books("card", mira.id, [coast.id], owner=scene.owner)

    # when a text with the key of both is tried
    done = await scene.human("Ana").slash(story.thread, "world test", text="Soup!")

    # then both are active, each under its book, and the file names the order
    assert "· 3 world books" in done.text
    assert "🟢 **soup** *Coast* · " in done.text
    assert "🟢 **soup** *Inn* · " in done.text
    details = content_of(scene.wire, done.message.raw)
    lines = [line for line in details.splitlines() if " world book entr" in line and line.startswith("- ")]
    assert lines == [
        "- Town · 5 world book entries · of this story",
        "- Coast · 1 world book entry · with the card",
        "- Inn · 1 world book entry · with the card",
    ]
    # and so does the list of what is in use here
    here = await scene.human("Ana").slash(story.thread, "world show")
    assert here.text.endswith("**Read after these**\n- **Coast** · with the card\n- **Inn** · with the card")
    # and the model reads them
    await story.exchange("Ana", "Soup!", "Coming.")
    system = scene.model.calls[-1].system
    assert "Fish." in system
    assert "Leek soup." in system


async def test_a_book_can_be_tried_anywhere_by_itself_also_after_a_restart(scene: Scene) -> None:
    # given a book's panel, and no story
    panel = (await brought_book(scene)).message
    ana = scene.human("Ana")
    done = await ana.slash("general", "world test", text="The ferry at night.", world="Town")
    assert done.text.startswith(
        "## 🔎 2 of 5 entries would be active\n> The ferry at night.\n-# The book “Town” by itself\n"
    )

    # when the bot restarts and she uses the buttons
    await scene.running.restart()
    form = await ana.click(panel, "Test")
    tried = await ana.submit(form, {"text": "Gulls!"})
    again = await ana.submit(await ana.click(tried.message, "Another text"), {"text": "Two towers."})

    # then both texts were tried
    assert "> Gulls!" in tried.text
    assert "🟢 **gulls**" in tried.text
    assert "-# Its key “/tow(er|n)s/i”" not in tried.text
    assert "> Two towers." in again.text
    assert "Its key “/tow(er\\|n)s/i” stands in the text." in again.text


async def test_a_cards_own_book_can_be_tried(scene: Scene) -> None:
    own = {"name": "Inn", "entries": [{"keys": ["{{char}}"], "content": "She cooks.", "enabled": True}]}
    await scene.card("Mira", character_book=own)
    done = await scene.human("Ben").slash("general", "world test", text="I look at Mira.", card="Mira")
    assert done.text.startswith("## 🔎 1 of 1 entries would be active\n")
    assert "🟢 **{{char}}**" in done.text


async def test_without_a_story_a_book_must_be_named(scene: Scene) -> None:
    done = await scene.human("Ana").slash("general", "world test", text="Hello")
    assert done.text == (
        "No story is being played here. Name a world book, or use this in the thread of a story."
    )
    done = await scene.human("Chen").slash("general", "world test", text="Hello")
    assert done.text == "这里没有正在进行的故事。请指定一本世界书，或到故事的子区里用。"


async def test_a_story_without_books_says_so(scene: Scene) -> None:
    story = await scene.open_story()
    done = await scene.human("Ana").slash(story.thread, "world test", text="Hello")
    assert done.text.startswith("## 🔎 0 of 0 entries would be active\n> Hello\n")
    assert "Nothing would be active." in done.text


async def test_a_huge_book_still_makes_a_panel(scene: Scene) -> None:
    # given a book of three hundred entries with long Chinese names, most of which wake
    entries = {
        str(uid): {
            "uid": uid, "key": ["风" if uid % 2 else f"雨{uid}"], "comment": "很长的名字" * 30,
            "content": "内容" * 50, "keysecondary": [], "order": uid,
        }
        for uid in range(300)
    }  # fmt: skip
    story = await scene.open_story()
    await brought_book(scene, entries=entries)
    await scene.human("Ana").slash(story.thread, "world bind", world="Town")
    done = await scene.human("Chen").slash(story.thread, "world test", text="风雨" * 900)
    assert done.text.startswith("## 🔎 启用 150 条，共 300 条")
    assert "……还有 140 条，在文件里。" in done.text
    assert content_of(scene.wire, done.message.raw).count("#299 ") == 1


# --- patterns that take too long


async def test_a_pattern_that_takes_too_long_three_times_is_stopped_and_its_owner_told(scene: Scene) -> None:
    # given a book of Ben's with a pattern that no machine likes, in Ana's story
    story = await scene.open_story()
    entries = {"0": {"uid": 0, "key": [EVIL], "content": "X", "comment": "Evil"}}
    panel = (await brought_book(scene, "Ben", entries=entries)).message
    ana, ben = scene.human("Ana"), scene.human("Ben")
    await ana.slash(story.thread, "world bind", world="Town")

    # when it is tried out, nobody has a strike for it
    for _ in range(3):
        tried = await ana.slash(story.thread, "world test", text=EVIL_TEXT)
        assert "⚠ There was no time for a pattern key, so it was left out this time." in tried.text
    assert scene.bot.engine.watches.stopped(scene.owner) == ()

    # when it takes too long in three answers
    for number in range(3):
        await story.exchange("Ana", EVIL_TEXT, f"Answer {number}.")

    # then Ben is told, in person, and the story went on
    told = await ben.sees(ben.direct(), "took too long three times")
    assert told.text.startswith("A pattern key of **Town** took too long three times")
    assert len(scene.bot.engine.watches.stopped(scene.owner)) == 1

    # and the book's panel shows it to him, with a way to let it run again
    shown = await ben.slash("general", "world show", world="Town")
    assert "⏱ 1 key took too long three times and is not run any more:" in shown.text
    await ben.click(shown.message, "Run it again")
    await becomes(ben, shown.message, "✓ It is run again.")
    assert scene.bot.engine.watches.stopped(scene.owner) == ()
    assert panel.text.startswith("### The world book **Town**")


async def test_where_nobody_can_be_written_to_the_story_says_it(scene: Scene) -> None:
    # given a book that no person of Discord brought in, in a story
    story = await scene.open_story()
    body = book_json(entries={"0": {"uid": 0, "key": ["x"], "content": "X"}})
    town = await scene.bot.engine.library.import_book(scene.owner, body, "Town.json", "a script")
    session = (await scene.head()).session_id

    # when a pattern of it is stopped, twice since somebody let it run again
    for _ in range(2):
        scene.bot.engine.watches.tell(PatternStopped(scene.owner, town.id, "/a`b/", session))

    # then a line in the story says so each time
    line = await story.sees("A pattern key of **Town** took too long three times")
    assert "`/aˋb/`" in line.text
    # and of a book that is gone there is nothing to say
    await scene.bot.engine.library.delete(town.id)
    scene.bot.engine.watches.tell(PatternStopped(scene.owner, town.id, "/c/", session))
    await story.exchange("Ana", "Hello.", "Hm.")
    assert not any("/c/" in line for line in story.lines())
