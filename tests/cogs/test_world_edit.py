"""Changing a world book: forms, switches, texts as files; a restart in between; others who are faster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.sandbox.human import Human
from bot.sandbox.limits import Upload
from bot.sandbox.screen import Shown
from tests.cogs.books import becomes, book_json, brought_book, entry_of, fields, row, the_book
from tests.cogs.test_card import promote
from tests.cogs.test_card_import import content_of
from tests.e2e.scene import Scene, labels_of


async def opened(who: Human, panel: Shown, uid: int) -> Shown:
    """The panel of an entry, in the place of the book's."""
    await who.select(panel, panel.menus[0].custom_id, str(uid))
    return await becomes(who, panel, f"#{uid}")


async def test_an_entrys_text_keys_and_place_are_changed_in_forms(scene: Scene) -> None:
    # given Ana's book, and an entry of it
    ana = scene.human("Ana")
    panel = (await brought_book(scene)).message
    entry = await opened(ana, panel, 1)
    assert labels_of(entry) == ["Text", "Keys", "Place", "More", "Switch off", "Always", "Remove", "Back"]

    # when she changes one thing after the other
    form = await ana.click(entry, "Text")
    assert fields(form)["text"]["value"] == "Gulls steal bread."
    await ana.submit(form, {"text": "Gulls steal fish."})
    entry = await becomes(ana, panel, "Gulls steal fish.")
    assert entry.text.startswith("✓ Saved.\n")

    form = await ana.click(entry, "Keys")
    assert fields(form)["keys"]["value"] == "gulls"
    await ana.submit(
        form, {"keys": "gull\n/gulls?,/i\n\n", "secondary": "fish", "logic": "not_any", "case": "true"}
    )
    entry = await becomes(ana, panel, "none of these: fish")

    form = await ana.click(entry, "Place")
    await ana.submit(form, {"position": "at_depth", "order": "7", "depth": "0", "role": "assistant"})
    entry = await becomes(ana, panel, "0 back in the conversation, as assistant · order 7")

    form = await ana.click(entry, "More")
    await ana.submit(
        form,
        {
            "name": "Birds",
            "chance": "35%",
            "group": "sky",
            "times": "3, 2",
            "ways": ["prevent_recursion", "wait"],
        },
    )
    entry = await becomes(ana, panel, "## 🟢 Birds")

    # then the book has all of it, and every other field as it was
    changed = await entry_of(scene, 1)
    assert changed.content == "Gulls steal fish."
    assert changed.keys == ("gull", "/gulls?,/i")
    assert (changed.secondary_keys, changed.selective, changed.logic) == (("fish",), True, "not_any")
    assert (changed.case_sensitive, changed.whole_words) == (True, None)
    assert (changed.position, changed.order, changed.depth, changed.role) == ("at_depth", 7, 0, "assistant")
    assert (changed.comment, changed.probability, changed.group) == ("Birds", 35, "sky")
    assert (changed.sticky, changed.cooldown, changed.delay) == (3, 2, None)
    assert (changed.prevent_recursion, changed.exclude_recursion, changed.ignore_budget) == (
        True,
        False,
        False,
    )
    assert changed.delay_until_recursion == 1
    assert (await entry_of(scene, 0)).content == "THE TOWER HAS NO STAIRS. The gulls nest there."


async def test_switches_say_what_they_did(scene: Scene) -> None:
    ana = scene.human("Ana")
    panel = (await brought_book(scene)).message
    entry = await opened(ana, panel, 1)
    await ana.click(entry, "Switch off")
    off = await becomes(ana, panel, "## ⚪ gulls")
    await ana.click(off, "Switch on")
    on = await becomes(ana, panel, "## 🟢 gulls")
    await ana.click(on, "Always")
    always = await becomes(ana, panel, "## 🔵 gulls")
    assert "By keys" in labels_of(always)
    assert (await entry_of(scene, 1)).constant


async def test_a_form_that_was_open_while_the_bot_restarted_still_counts(scene: Scene) -> None:
    chen = scene.human("Chen")
    panel = (await brought_book(scene, "Chen")).message
    entry = await opened(chen, panel, 3)
    form = await chen.click(entry, "正文")
    await scene.running.restart()
    await chen.submit(form, {"text": "渡船不来了。"})
    assert (await becomes(chen, panel, "渡船不来了。")).text.startswith("✓ 已保存。\n")
    assert (await entry_of(scene, 3)).content == "渡船不来了。"


async def test_entries_are_added_and_taken_out_after_a_question(scene: Scene) -> None:
    # given a new book
    ana = scene.human("Ana")
    made = await ana.slash("general", "world create", name="Coast")
    assert made.text.startswith("✓ Here it is, still empty. *New entry* adds the first one.\n## 📖 Coast\n")

    # when she writes two entries
    form = await ana.click(made.message, "New entry")
    await ana.submit(form, {"name": "Fog", "keys": "fog\nmist", "content": "It comes at six."})
    entry = await becomes(ana, made.message, "✓ The entry is here.")
    assert entry.text == (
        "✓ The entry is here.\n## 🟢 Fog\n-# Coast · #0\n**Keys** fog, mist\n"
        "before the character · order 100 · 4 tokens\n```\nIt comes at six.\n```"
    )
    await ana.click(entry, "Back")
    book = await becomes(ana, made.message, "## 📖 Coast")
    await ana.click(book, "Edit")
    edit = await becomes(ana, made.message, "Entries are changed one by one")
    await ana.submit(await ana.click(edit, "New entry"), {"content": "The sea is near."})
    second = await becomes(ana, made.message, "#1")
    assert second.text.startswith("✓ The entry is here.\n## 🔵 ")  # without keys it is always there

    # when she takes the second out, first not after all, and then really
    await ana.click(second, "Remove")
    asked = await becomes(ana, made.message, "This cannot be undone here")
    await ana.click(asked, "Keep")
    kept = await becomes(ana, made.message, "#1")
    await ana.click(kept, "Remove")
    asked = await becomes(ana, made.message, "This cannot be undone here")
    await ana.click(asked, "Remove")
    await becomes(ana, made.message, "is out of the book.")

    # then one is left
    assert [entry.label for entry in (await the_book(scene, "Coast")).entries] == ["Fog"]


async def test_a_books_settings_are_changed_and_left_open_again(scene: Scene) -> None:
    ana = scene.human("Ana")
    panel = (await brought_book(scene)).message
    await ana.click(panel, "Edit")
    edit = await becomes(ana, panel, "Entries are changed one by one")
    form = await ana.click(edit, "Settings")
    await ana.submit(form, {"name": "Old Town", "depth": "4", "budget": "500", "recursive": "false"})
    changed = await becomes(ana, panel, "## 📖 Old Town")
    assert (
        "-# looks at the last 4 messages · at most 500 tokens · entries do not wake each other"
        in changed.text
    )
    book = await the_book(scene, "Old Town")
    assert (book.scan_depth, book.token_budget, book.recursive) == (4, 500, False)
    assert book.description == "All of the town."
    form = await ana.click(changed, "Settings")
    await ana.submit(form, {"depth": "", "budget": "", "recursive": "none"})
    await ana.wait_for(lambda: "-# looks" not in ana.shown(panel).text)
    book = await the_book(scene, "Old Town")
    assert (book.scan_depth, book.token_budget, book.recursive) == (None, None, None)


@pytest.mark.parametrize(
    ("button", "typed", "told"),
    [
        ("Place", {"order": "high"}, "“high” is no number that fits there. What was there stays."),
        ("Place", {"depth": "-3"}, "That value does not fit there. What was there stays."),
        ("More", {"chance": "often"}, "“often” is no number that fits there. What was there stays."),
        ("More", {"chance": "101"}, "That value does not fit there. What was there stays."),
        ("More", {"times": "1, 2, 3, 4"}, "“1, 2, 3, 4” is no number that fits there. What was there stays."),
    ],
)
async def test_what_does_not_fit_is_said_and_given_back(
    scene: Scene, button: str, typed: dict[str, Any], told: str
) -> None:
    ana = scene.human("Ana")
    panel = (await brought_book(scene)).message
    before = await the_book(scene)
    form = await ana.click(await opened(ana, panel, 1), button)
    await ana.submit(form, typed)
    await ana.sees("general", told)
    given = await ana.sees("general", "This is what you wrote.")
    assert f"{next(iter(typed))}.txt" in given.files
    assert await the_book(scene) == before


async def test_a_long_text_comes_and_goes_as_a_file(scene: Scene) -> None:
    # given an entry whose text no form takes
    long = "The tide. " * 500
    entries = {"0": {"uid": 0, "key": ["sea"], "content": long}}
    ana = scene.human("Ana")
    panel = (await brought_book(scene, entries=entries)).message
    entry = await opened(ana, panel, 0)

    # when she asks for it
    handed = await ana.click(entry, "Text")

    # then it comes as a file, and the changed file is taken
    assert content_of(scene.wire, handed.message.raw) == long
    form = await ana.click(handed.message, "Upload it")
    changed = long + "Again!"
    await ana.submit(form, {"file": Upload("entry-0.txt", changed.encode())})
    await becomes(ana, handed.message, "✓ Saved.")
    assert (await entry_of(scene, 0)).content == changed


async def test_keys_that_no_form_takes_come_as_a_file(scene: Scene) -> None:
    keys = [f"key number {number}" for number in range(400)]
    ana = scene.human("Ana")
    panel = (await brought_book(scene, entries={"0": {"uid": 0, "key": keys, "content": "x"}})).message
    handed = await ana.click(await opened(ana, panel, 0), "Keys")
    assert content_of(scene.wire, handed.message.raw).splitlines() == keys
    form = await ana.click(handed.message, "Upload it")
    await ana.submit(form, {"file": Upload("keys.txt", "\n".join(keys[:10]).encode())})
    await becomes(ana, handed.message, "✓ Saved.")
    assert (await entry_of(scene, 0)).keys == tuple(keys[:10])


# --- others


async def test_who_was_faster_wins_and_nothing_is_lost(scene: Scene) -> None:
    # given Ana and a steward who look at the same entry
    promote(scene, "Ben")
    ana, ben = scene.human("Ana"), scene.human("Ben")
    hers = (await brought_book(scene)).message
    his = (await ben.slash("general", "world show", world="Town")).message
    entry, same = await opened(ana, hers, 1), await opened(ben, his, 1)
    form = await ana.click(entry, "Text")

    # when he changes it while she is writing
    await ben.submit(await ben.click(same, "Text"), {"text": "Gulls sleep."})
    await becomes(ben, his, "✓ Saved.")
    await ana.submit(form, {"text": "Gulls dance."})

    # then hers is not written over his; she sees his, is told so, and has her words
    await ana.sees("general", "It has been changed meanwhile.")
    await becomes(ana, hers, "Gulls sleep.")
    given = await ana.sees("general", "This is what you wrote.")
    assert content_of(scene.wire, given.raw) == "Gulls dance."
    assert (await entry_of(scene, 1)).content == "Gulls sleep."

    # and the same button works now, since her panel is fresh
    await ana.click(ana.shown(hers), "Switch off")
    await becomes(ana, hers, "## ⚪ gulls")


async def test_a_switch_on_a_stale_panel_changes_nothing(scene: Scene) -> None:
    ana = scene.human("Ana")
    first = (await brought_book(scene)).message
    second = (await ana.slash("general", "world show", world="Town")).message
    one, two = await opened(ana, first, 1), await opened(ana, second, 1)
    await ana.click(one, "Switch off")
    await becomes(ana, first, "## ⚪ gulls")
    await ana.click(two, "Switch off")
    await ana.sees("general", "It has been changed meanwhile.")
    assert not (await entry_of(scene, 1)).enabled
    await becomes(ana, second, "## ⚪ gulls")


async def test_an_entry_that_is_gone_is_said_to_be(scene: Scene) -> None:
    ana = scene.human("Ana")
    first = (await brought_book(scene)).message
    second = (await ana.slash("general", "world show", world="Town")).message
    entry = await opened(ana, first, 1)
    await ana.click(entry, "Remove")
    await ana.click(await becomes(ana, first, "This cannot be undone here"), "Remove")
    await becomes(ana, first, "is out of the book.")
    await ana.select(second, second.menus[0].custom_id, "1")
    await becomes(ana, second, "This entry is not in the book any more.")


async def test_others_may_look_and_not_change(scene: Scene) -> None:
    # given Ben before an entry of Ana's book, with the buttons that he once had
    promote(scene, "Ben")
    await brought_book(scene)
    ben = scene.human("Ben")
    panel = (await ben.slash("general", "world show", world="Town")).message
    entry = await opened(ben, panel, 1)
    assert "Switch off" in labels_of(entry)

    # when he is a steward no longer, and presses them
    world = scene.wire.world
    guild = next(iter(world.guilds.values()))
    world.set_member(world.members[f"{guild['id']}:{world.user('Ben')['id']}"], roles=[])
    for label in ("Text", "Keys", "Place", "More", "Switch off", "Always", "Remove"):
        done = await ben.click(entry, label)
        assert done.modal is None
    await ben.sees("general", "Only whoever brought it in may do that")

    # then nothing has changed, and a fresh panel has no such buttons
    assert (await entry_of(scene, 1)).enabled
    fresh = (await ben.slash("general", "world show", world="Town")).message
    assert labels_of(fresh) == ["Bind here", "Test", "Details"]
    assert labels_of(await opened(ben, fresh, 1)) == ["Back"]
    assert (await ben.slash("general", "world edit", world="Town")).text.startswith(
        "Only whoever brought it in"
    )


async def test_a_cards_own_book_is_changed_in_its_card(scene: Scene) -> None:
    # given a card that brings a book along, and whoever looks after the library
    book = {"name": "Inn", "entries": [{"keys": ["soup"], "content": "Leek soup.", "enabled": True, "id": 4}]}
    card = await scene.card("Mira", character_book=book)
    ana = scene.human("Ana")
    panel = (await ana.slash("general", "world show", card="Mira")).message

    # when an entry is changed and one is added
    entry = await opened(ana, panel, 4)
    await ana.submit(await ana.click(entry, "Text"), {"text": "Fish soup."})
    await ana.click(await becomes(ana, panel, "Fish soup."), "Back")
    await ana.click(await becomes(ana, panel, "Mira's own book"), "Edit")
    edit = await becomes(ana, panel, "Entries are changed one by one")
    assert labels_of(edit) == ["Settings", "New entry", "Back"]
    await ana.submit(await ana.click(edit, "New entry"), {"keys": "bread", "content": "Rye."})
    await becomes(ana, panel, "✓ The entry is here.")

    # then the card has it, and is a card as before
    changed = await scene.bot.engine.library.card(card)
    assert changed.book is not None
    assert [(entry.keys, entry.content) for entry in changed.book.entries] == [
        (("soup",), "Fish soup."),
        (("bread",), "Rye."),
    ]
    assert changed.description == "Mira keeps the inn at the crossing."


async def test_only_what_was_edited_differs_in_the_export(scene: Scene) -> None:
    ana = scene.human("Ana")
    panel = (await brought_book(scene, strange={"kept": [1, 2]})).message
    entry = await opened(ana, panel, 2)
    await ana.submit(await ana.click(entry, "Text"), {"text": "It never rains."})
    await becomes(ana, panel, "It never rains.")
    done = await ana.slash("general", "world export", world="Town")
    exported = json.loads(content_of(scene.wire, done.message.raw))
    expected = json.loads(book_json(strange={"kept": [1, 2]}))
    expected["entries"]["2"]["content"] = "It never rains."
    assert exported == expected
    assert (await row(scene)).revision == 2


@pytest.mark.parametrize("button", ["Text", "Keys", "Place", "More"])
async def test_a_form_that_is_sent_as_it_came_changes_nothing(scene: Scene, button: str) -> None:
    # given an entry with little in it, whose chance does not count
    entries = {
        "0": {"uid": 0, "key": ["a"], "content": "A", "probability": 20, "useProbability": False},
        "1": {"uid": 1, "key": ["b"], "keysecondary": ["c"], "content": "B", "selective": True},
    }
    ana = scene.human("Ana")
    panel = (await brought_book(scene, entries=entries)).message
    for uid in (0, 1):
        entry = await opened(ana, panel, uid)
        await ana.submit(await ana.click(entry, button))
        entry = await becomes(ana, panel, "Nothing was changed.")
        await ana.click(entry, "Back")
        await becomes(ana, panel, "## 📖 Town")
    assert (await row(scene)).revision == 1
