"""`/world`: bringing books in, looking at them, using them; and who may."""

from __future__ import annotations

from typing import Any

import pytest

from bot.sandbox.limits import Upload
from tests.cogs.books import becomes, book_json, brought_book, fields, row
from tests.cogs.test_card import promote
from tests.cogs.test_card_import import content_of
from tests.e2e.scene import Scene, card_json, labels_of

# --- bringing in and looking


async def test_a_book_shows_what_came_in(scene: Scene) -> None:
    done = await brought_book(scene)
    assert done.message.ephemeral
    assert done.text == (
        "### The world book **Town** is here.\n"
        "All of the town.\n"
        "5 world book entries · 4 switched on · 1 always there (about 4 tokens)\n"
        "🟢 **Clock tower** · clocktower, /tow(er\\|n)s/i · before the character · 12 tokens\n"
        "🟢 **gulls** · gulls · 2 back in the conversation, as user · 5 tokens\n"
        "🔵 **Weather** · before the character · 4 tokens\n"
        "🟢 **Ferry** · ferry · before the character · 5 tokens\n"
        "⚪ **The king** · king · before the character · 3 tokens\n"
        "-# 🔵 always · 🟢 by its keys · ⚪ switched off"
    )
    assert labels_of(done.message) == ["Bind here", "Test", "Edit", "Details"]


async def test_it_speaks_chinese_with_chinese_people(scene: Scene) -> None:
    done = await brought_book(scene, "Chen")
    assert done.text.startswith("### 世界书 **Town** 来了。\nAll of the town.\n5 个世界书条目 · 启用 4 条")
    assert "🔵 **Weather** · 角色之前 · 4 token" in done.text
    assert labels_of(done.message) == ["绑定到这里", "测试", "编辑", "详情"]


async def test_a_book_that_was_mended_says_so_in_ones_language(scene: Scene) -> None:
    entries = {"0": {"uid": 0, "key": ["a"], "content": "A", "position": 99}}
    english = await brought_book(scene, "Ana", entries=entries)
    assert "1 thing was put right:\n- An unknown position was read as the usual one." in english.text
    chinese = await brought_book(scene, "Chen", entries=entries)
    assert "有一个无法识别的位置" in chinese.text or "位置" in chinese.text.split("-# 🔵")[0]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "breaks off at line 1"),
        (b'{"prompts": []}', "preset"),
        (card_json(), "character card"),
        (b'{"entries": {"0": ', "breaks off"),
        (b"\x89PNG\r\n\x1a\n", "no world book in this picture"),
    ],
    ids=["empty", "preset", "card", "broken", "picture"],
)
async def test_what_is_no_book_is_refused_with_the_reason(scene: Scene, body: bytes, reason: str) -> None:
    done = await scene.human("Ana").slash("general", "world import", file=Upload("x.json", body))
    assert done.text.startswith("I cannot read a world book from **x.json**.\n-# ")
    assert reason in done.text
    assert await scene.bot.engine.library.list(scene.owner) == []


async def test_without_a_file_a_form_asks_for_one(scene: Scene) -> None:
    ana = scene.human("Ana")
    form = await ana.slash("general", "world import")
    assert form.modal is not None
    await scene.running.restart()
    (key,) = [name for name, part in fields(form).items() if part["type"] == 19]
    done = await ana.submit(form, {key: Upload("town.json", book_json())})
    assert done.text.startswith("### The world book **Town** is here.")


async def test_an_address_must_be_one(scene: Scene) -> None:
    done = await scene.human("Chen").slash("general", "world import", url="http://example.com/a.json")
    assert done.text == "这不是文件的 https 地址。"


def many(count: int) -> dict[str, Any]:
    return {
        str(uid): {"uid": uid, "key": [f"key{uid}"], "comment": f"Entry {uid:02}", "content": f"Text {uid}"}
        for uid in range(count)
    }


async def test_a_long_book_has_pages_and_entries_that_open_after_a_restart(scene: Scene) -> None:
    # given a book of twelve entries
    panel = (await brought_book(scene, entries=many(12))).message
    assert labels_of(panel)[:3] == ["◀", "1/2", "▶"]
    assert "Entry 09" in panel.text
    assert "Entry 10" not in panel.text

    # when the bot restarts, and Ana turns the page and opens an entry
    await scene.running.restart()
    ana = scene.human("Ana")
    await ana.click(panel, "▶")
    turned = await becomes(ana, panel, "Entry 10")
    assert "Entry 09" not in turned.text
    await ana.select(turned, "Look at an entry …", "11")

    # then it stands there whole, and *Back* leads to its page
    entry = await becomes(ana, panel, "```")
    assert entry.text == (
        "## 🟢 Entry 11\n-# Town · #11\n**Keys** key11\n"
        "before the character · order 100 · 2 tokens\n```\nText 11\n```"
    )
    await ana.click(entry, "Back")
    back = await becomes(ana, panel, "Entry 10")
    assert "2/2" in labels_of(back)


async def test_an_entry_of_a_long_book_is_found_by_its_words_and_a_page_by_its_number(scene: Scene) -> None:
    # given a book of forty entries
    panel = (await brought_book(scene, entries=many(40))).message
    ana = scene.human("Ana")

    # when Ana looks for what one of them says, and then again
    await ana.submit(await ana.click(panel, "1/4"), {"text": "text 3"})
    found = await becomes(ana, panel, "11 entries have “text 3”. The next is Entry 30.")
    assert "4/4" in labels_of(found)
    await ana.submit(await ana.click(found, "4/4"), {"text": "KEY7"})
    found = await becomes(ana, panel, "1 entry has “KEY7”: Entry 07")
    assert "1/4" in labels_of(found)

    # and for a page, and for what nothing says
    await ana.submit(await ana.click(found, "1/4"), {"text": "3"})
    found = await becomes(ana, panel, "Entry 25")
    assert "3/4" in labels_of(found)
    await ana.submit(await ana.click(found, "3/4"), {"text": "heron"})
    found = await becomes(ana, panel, "No entry has “heron”.")
    assert "3/4" in labels_of(found)


async def test_an_entry_tells_everything_that_decides_about_it(scene: Scene) -> None:
    entries = {
        "7": {
            "uid": 7, "key": ["a", "b"], "keysecondary": ["c"], "selective": True, "selectiveLogic": 2,
            "content": "```x```", "comment": "*All*", "position": 7, "outletName": "out", "order": 5,
            "probability": 30, "group": "g", "sticky": 2, "cooldown": 1, "delay": 4, "scanDepth": 9,
            "caseSensitive": True, "matchWholeWords": False, "ignoreBudget": True,
            "excludeRecursion": True, "delayUntilRecursion": 2,
        }
    }  # fmt: skip
    panel = (await brought_book(scene, entries=entries)).message
    ana = scene.human("Ana")
    await ana.select(panel, "Look at an entry …", "7")
    shown = await becomes(ana, panel, "#7")
    assert shown.text == (
        "## 🟢 \\*All\\*\n"
        "-# Town · #7\n"
        "**Keys** a, b\n"
        "**And** none of these: c\n"
        "outlet “out” · order 5 · 2 tokens\n"
        "-# 30 % chance · group “g” · stays for 2 messages · rests for 1 message · from message 4 on · "
        "looks at the last 9 messages · case counts · also inside words · outside the budget · "
        "not woken by other entries · waits for other entries (level 2)\n"
        "```\nʼʼʼxʼʼʼ\n```"
    )


async def test_books_are_listed_searched_and_sorted(scene: Scene) -> None:
    await brought_book(scene, name="Zoo")
    await brought_book(scene, name="Town")
    ana = scene.human("Ana")
    listed = await ana.slash("general", "world list")
    assert listed.text.splitlines()[0] == "## World books · 2"
    assert listed.text.index("Town") < listed.text.index("Zoo")
    found = await ana.slash("general", "world list", search="zo")
    assert "Zoo" in found.text
    assert "Town" not in found.text
    await ana.select(listed.message, "Look at one …", (await row(scene, "Zoo")).id)
    await ana.sees("general", "## 📖 Zoo")
    empty = await scene.human("Chen").slash(scene.human("Chen").direct(), "world list")
    assert (
        empty.text
        == "## 世界书\n这里还没有世界书。用 `/world import` 带一本来，或用 `/world create` 从头写。"
    )


async def test_a_cards_own_book_is_looked_at_like_any_other(scene: Scene) -> None:
    # given a card with a book of its own
    book = {"name": "Inn", "entries": [{"keys": ["soup"], "content": "Leek soup.", "enabled": True}]}
    await scene.card("Mira", character_book=book)
    await scene.card("Ada")
    ben = scene.human("Ben")

    # when somebody asks for it, and for that of a card without one
    shown = await ben.slash("general", "world show", card="Mira")
    none = await ben.slash("general", "world show", card="Ada")

    # then it is shown, and cannot be bound: it comes with its card
    assert shown.text.startswith("## 📖 Mira's own book\n1 world book entry\n🟢 **soup** · soup · ")
    assert labels_of(shown.message) == ["Test", "Details"]
    assert none.text == "**Ada** brings no world book along."
    assert (await ben.slash("general", "world show", card="Mira", world="x")).text == (
        "Name a world book or a card: one of the two."
    )


async def test_what_would_stop_every_answer_is_said_when_it_is_bound(scene: Scene) -> None:
    # given an entry in the role of the assistant, which this strategy cannot deliver
    story = await scene.open_story()
    await scene.human("Ana").slash(story.thread, "strategy apply", strategy="Roles first")
    speaks = {"uid": 0, "key": [], "constant": True, "content": "I am.", "position": 4, "depth": 1, "role": 2}
    await brought_book(scene, entries={"0": {**speaks, "comment": "Voice"}})
    ana = scene.human("Ana")

    # when it is bound, then Ana is told what would come of it, and after it is gone of nothing
    bound = await ana.slash(story.thread, "world bind", world="Town")
    assert bound.text.splitlines()[0] == "This story uses **Town** from the next answer on."
    assert bound.text.splitlines()[1].startswith(
        "⚠️ **Nothing could be sent like this**, because of *World books / Voice*: "
    )
    await ana.slash(story.thread, "world unbind", world="Town")
    preset = await ana.slash(story.thread, "preset bind", preset="Storyteller")
    assert "⚠️" not in preset.text


async def test_the_file_behind_details_leaves_nothing_out(scene: Scene) -> None:
    panel = await brought_book(scene, entries=many(25))
    done = await scene.human("Ana").click(panel.message, "Details")
    text = content_of(scene.wire, done.message.raw)
    assert text.startswith("# Town\n")
    assert all(f"#{uid} Entry {uid:02}" in text and f"Text {uid}" in text for uid in range(25))


async def test_an_export_is_the_file_that_came(scene: Scene) -> None:
    await brought_book(scene)
    done = await scene.human("Ben").slash("general", "world export", world="Town")
    assert done.message.files == ("Town.json",)
    assert content_of(scene.wire, done.message.raw).encode() == book_json()


# --- using


async def test_books_are_bound_to_the_story_in_their_order(scene: Scene) -> None:
    # given a story, two books, and somebody else's wish
    story = await scene.open_story()
    await brought_book(scene, name="Town")
    await brought_book(scene, name="Zoo")
    refused = await scene.human("Ben").slash(story.thread, "world bind", world="Town")
    assert refused.text == "Only whoever began the story or a moderator may do that."

    # when Ana binds both, one by the command and one by the button of a panel in the thread
    ana = scene.human("Ana")
    shown = await ana.slash(story.thread, "world show", world="Zoo")
    assert (await ana.click(shown.message, "Bind here")).text == (
        "This story uses **Zoo** from the next answer on."
    )
    assert (await ana.slash(story.thread, "world bind", world="Town")).text == (
        "This story uses **Town** from the next answer on."
    )
    again = await ana.slash(story.thread, "world bind", world="Town")

    # then the story has them, and the list of what is in use shows them in order
    assert again.text == "**Town** is in use here already."
    (binding,) = scene.bot.bindings.all()
    selection = await scene.bot.engine.plays.selection(binding.play_id)
    assert selection.book_ids == ((await row(scene, "Zoo")).id, (await row(scene, "Town")).id)
    here = await ana.slash(story.thread, "world show")
    assert here.text.startswith("## World books of this story\n1. **Zoo** · ")
    assert "\n2. **Town** · " in here.text
    await ana.select(here.message, "Look at one …", (await row(scene, "Town")).id)
    await ana.sees(story.thread, "## 📖 Town")

    # and what was bound is told to the model
    await story.exchange("Ana", "What a day.", "Indeed.")
    assert "It always rains." in scene.model.calls[-1].system

    # and unbinding takes it out again
    gone = await ana.slash(story.thread, "world unbind", world="Zoo")
    assert gone.text == "**Zoo** is not used here any more."
    assert (await ana.slash(story.thread, "world unbind", world="Zoo")).text == "**Zoo** was not in use here."
    assert (await scene.bot.engine.plays.selection(binding.play_id)).book_ids == (
        (await row(scene, "Town")).id,
    )


async def test_a_story_is_not_changed_while_it_writes(scene: Scene) -> None:
    # given an answer that is being written
    story = await scene.open_story()
    await brought_book(scene)
    await story.say("Ana", "Hello?")
    call = await scene.model.call()

    # when somebody wants to bind a book meanwhile
    done = await scene.human("Ana").slash(story.thread, "world bind", world="Town")

    # then it waits until the answer is there
    assert done.text == "An answer is being written. Stop it or wait a moment."
    await call.write("Here.")
    await call.end()
    await story.answered("Here.")
    done = await scene.human("Ana").slash(story.thread, "world bind", world="Town")
    assert done.text == "This story uses **Town** from the next answer on."


async def test_outside_a_story_a_book_is_for_new_ones(scene: Scene) -> None:
    await brought_book(scene)
    refused = await scene.human("Ben").slash("general", "world bind", world="Town")
    assert refused.text.startswith("Only people who may manage this channel choose")
    ana = scene.human("Ana")
    bound = await ana.slash("general", "world bind", world="Town")
    assert bound.text == "New stories here use **Town**."
    assert (await ana.slash("general", "world bind", world="Town")).text == "**Town** is in use here already."
    here = await ana.slash("general", "world show")
    assert here.text.startswith("## World books of new stories here\n1. **Town** · ")
    story = await scene.open_story()
    await story.exchange("Ana", "What a day.", "Indeed.")
    assert "It always rains." in scene.model.calls[-1].system
    refused = await scene.human("Ben").slash("general", "world unbind", world="Town")
    assert refused.text.startswith("Only people who may manage this channel choose")
    assert (await ana.slash("general", "world unbind", world="Town")).text == (
        "**Town** is not used here any more."
    )
    none = await scene.human("Chen").slash("general", "world show")
    assert none.text.startswith("## 这里新故事的世界书\n还没有。")


# --- going


async def test_a_book_goes_after_a_question_and_stories_keep_it(scene: Scene) -> None:
    # given a story that uses Ana's book
    story = await scene.open_story()
    await brought_book(scene)
    ana = scene.human("Ana")
    await ana.slash(story.thread, "world bind", world="Town")

    # when Ben wants it gone, and then Ana does
    refused = await scene.human("Ben").slash("general", "world delete", world="Town")
    asked = await ana.slash("general", "world delete", world="Town")
    await ana.click(asked.message, "Delete")

    # then only she may, and the story reads it on
    assert refused.text == "Only whoever brought it in may do that, or somebody who may manage the server."
    assert asked.text.startswith("Delete **Town** from the library? Stories that use it go on with it.")
    await becomes(ana, asked.message, "**Town** is out of the library.")
    assert await scene.bot.engine.library.list(scene.owner, "world_book") == []
    await story.exchange("Ana", "What a day.", "Indeed.")
    assert "It always rains." in scene.model.calls[-1].system


async def test_what_another_library_has_stays_there(scene: Scene) -> None:
    ana = scene.human("Ana")
    mine = await ana.slash(ana.direct(), "world import", file=Upload("t.json", book_json()))
    (hers,) = await scene.bot.engine.library.list(f"user:{ana.id}")
    done = await ana.slash("general", "world show", world=hers.id)
    assert done.text == f"No world book here is called “{hers.id}”. `/world list` shows them all."
    # in a direct message there is nothing to bind it to
    assert labels_of(mine.message) == ["Test", "Edit", "Details"]
    assert (await ana.slash(ana.direct(), "world bind", world="Town")).text == (
        "Stories can be opened in text channels and forums of a server."
    )


async def test_a_steward_may_change_what_others_brought(scene: Scene) -> None:
    await brought_book(scene, "Ana")
    shown = await scene.human("Ben").slash("general", "world show", world="Town")
    assert "Edit" not in labels_of(shown.message)
    promote(scene, "Ben")
    shown = await scene.human("Ben").slash("general", "world show", world="Town")
    assert "Edit" in labels_of(shown.message)


async def test_a_book_that_was_deleted_is_named_where_it_is_still_read_and_can_be_taken_out(
    scene: Scene,
) -> None:
    # given a story that uses a book, which then leaves the library
    ana, story = scene.human("Ana"), await scene.open_story()
    await brought_book(scene)
    await ana.slash(story.thread, "world bind", world="Town")
    asked = await ana.slash("general", "world delete", world="Town")
    await ana.click(asked.message, "Delete")
    await ana.sees("general", "is out of the library.")

    # then the story still reads it, and says so
    shown = await ana.slash(story.thread, "world show")
    assert "1. **Town** · deleted from the library" in shown.text
    assert shown.message.menus == ()

    # when its name is given to be used no more, in any case of letters
    done = await ana.slash(story.thread, "world unbind", world="town")

    # then it is out
    assert done.text == "**Town** is not used here any more."
    assert "None so far." in (await ana.slash(story.thread, "world show")).text
    again = await ana.slash(story.thread, "world unbind", world="Town")
    assert again.text.startswith("No world book here is called “Town”.")


async def test_of_two_books_of_one_name_the_one_in_use_is_taken_out(scene: Scene) -> None:
    # given a deleted book in use, and another of its name in the library
    ana, story = scene.human("Ana"), await scene.open_story()
    await brought_book(scene)
    await ana.slash(story.thread, "world bind", world="Town")
    asked = await ana.slash("general", "world delete", world="Town")
    await ana.click(asked.message, "Delete")
    await ana.sees("general", "is out of the library.")
    await brought_book(scene, entries={})

    # when that name is given
    await ana.slash(story.thread, "world unbind", world="Town")

    # then the deleted one is out
    assert "None so far." in (await ana.slash(story.thread, "world show")).text
