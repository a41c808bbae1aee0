"""Changing a card: forms, long texts as files, greetings, world books, export; and who may, and when not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.sandbox.human import Human
from bot.sandbox.limits import Upload
from bot.sandbox.screen import InteractionResult, Shown
from engine.codec import dumps
from engine.resources import Card
from tests.cogs.test_card import becomes, brought, promote
from tests.cogs.test_card_import import content_of
from tests.e2e.scene import Scene, card_json, labels_of


async def editing(scene: Scene, who: str = "Ana", name: str = "Mira") -> Shown:
    """The edit panel of a card, as the button opens it."""
    shown = await scene.human(who).slash("general", "card show", card=name)
    await scene.human(who).click(shown.message, "Edit")
    return await becomes(scene.human(who), shown.message, "✏️")


async def choose(who: Human, panel: Shown, field: str) -> InteractionResult:
    """Choose in the edit panel what to change."""
    return await who.select(panel, "What do you want to change?", field)


async def stored(scene: Scene, name: str = "Mira") -> Card:
    library = scene.bot.engine.library
    return await library.card((await library.resolve(scene.owner, "card", name)).id)


def fields(modal: InteractionResult) -> dict[str, Any]:
    """The fields of a form, by their custom_id."""
    assert modal.modal is not None
    parts = [part.get("component") or part["components"][0] for part in modal.modal["components"]]
    return {part["custom_id"]: part for part in parts}


# --- names and texts


async def test_names_are_changed_in_one_form_also_after_a_restart(scene: Scene) -> None:
    # given Ana's card and its edit panel
    await brought(scene, "Ana")
    ana = scene.human("Ana")
    panel = await editing(scene)

    # when she opens the form, the bot restarts, and she sends it
    form = await choose(ana, panel, "names")
    assert {key: part.get("value") for key, part in fields(form).items()} == {
        "name": "Mira",
        "nickname": None,
        "creator": "the tests",
        "character_version": None,
        "tags": None,
    }
    await scene.running.restart()
    await ana.submit(form, {"nickname": "Mir", "tags": "inn， rain、NSFW"})

    # then the card has them, the library shows them, and nothing else has changed
    changed = await becomes(ana, panel, "✓ Saved.")
    assert changed.text.startswith("## ✏️ Mira 🔞\n✓ Saved.\n")
    card = await stored(scene)
    assert (card.name, card.nickname, card.tags) == ("Mira", "Mir", ("inn", "rain", "NSFW"))
    assert card.description == "Mira keeps the inn at the crossing."
    offered = await ana.autocomplete("general", "card show", "card", "rain")
    assert [choice["name"] for choice in offered] == ["Mira 🔞 — by the tests · 3 greetings"]


async def test_a_new_name_is_the_librarys_too(scene: Scene) -> None:
    await brought(scene, "Ana")
    ana = scene.human("Ana")
    panel = await editing(scene)
    await ana.submit(await choose(ana, panel, "names"), {"name": "Miriam"})
    await becomes(ana, panel, "## ✏️ Miriam")
    assert (await ana.slash("general", "card show", card="Miriam")).text.startswith("## Miriam\n")


async def test_a_text_is_changed_in_a_form_and_back_leads_to_the_card(scene: Scene) -> None:
    # given a card with a text around which white space stands
    await scene.card("Mira", description="  She keeps the inn.\n\n")
    promote(scene, "Ana")
    ana = scene.human("Ana")
    panel = await editing(scene)

    # when the form is only looked at, as Discord sends it back, then nothing changes
    form = await choose(ana, panel, "description")
    await ana.submit(form, {"text": "She keeps the inn."})
    await becomes(ana, panel, "Nothing was changed.")
    assert (await stored(scene)).description == "  She keeps the inn.\n\n"

    # when it is written anew
    again = await choose(ana, panel, "description")
    await ana.submit(again, {"text": "She keeps *two* inns."})

    # then the card says so
    await becomes(ana, panel, "✓ Saved.")
    await ana.click(ana.shown(panel), "Back")
    back = await becomes(ana, panel, "**Description**\nShe keeps two inns.")
    assert labels_of(back)[:2] == ["Play", "Bind here"]


async def test_a_long_text_goes_out_and_in_as_a_file_and_nothing_of_it_is_lost(scene: Scene) -> None:
    # given a description that no form of Discord's can hold
    long = "".join(f"Line {n} of what is known of Mira.\n" for n in range(400))
    await brought_with(scene, "Ana", description=long)
    ana = scene.human("Ana")
    panel = await editing(scene)

    # when Ana wants to change it
    given = await choose(ana, panel, "description")

    # then she gets all of it as a file, and a button for the changed one
    assert given.message.ephemeral
    assert given.text.startswith(f"**Description** has {len(long.rstrip()) + 1} characters, more than")
    assert content_of(scene.wire, given.message.raw) == long
    # when she uploads what she has added to, after a restart
    await scene.running.restart()
    form = await ana.click(given.message, "Upload it")
    await ana.submit(form, {"file": [Upload("description.txt", (long + "And more.").encode())]})
    # then it is kept whole, and the file's message says so
    done = await becomes(ana, given.message, "✓ Saved.")
    assert done.files == ()
    assert done.buttons == ()
    assert (await stored(scene)).description == long + "And more."


async def test_a_short_text_can_grow_beyond_the_form_by_a_file(scene: Scene) -> None:
    await brought(scene, "Ana")
    ana = scene.human("Ana")
    panel = await editing(scene)
    form = await choose(ana, panel, "scenario")
    await ana.submit(form, {"file": [Upload("scenario.txt", b"\xef\xbb\xbf" + b"Rain. " * 2000)]})
    await becomes(ana, panel, "✓ Saved.")
    assert (await stored(scene)).scenario == "Rain. " * 2000


@pytest.mark.parametrize(
    ("who", "line"),
    [
        ("Ana", "**a.txt** is no plain text (UTF-8). What was there stays."),
        ("Chen", "**a.txt** 不是纯文本（UTF-8）。原来的内容不变。"),
    ],
)
async def test_a_file_that_is_no_text_changes_nothing(scene: Scene, who: str, line: str) -> None:
    await brought(scene, who)
    person = scene.human(who)
    shown = await person.slash("general", "card show", card="Mira")
    await person.click(shown.message, shown.message.buttons[2].label)
    panel = await becomes(person, shown.message, "✏️")
    form = await person.select(panel, panel.menus[0].custom_id, "scenario")
    done = await person.submit(form, {"file": [Upload("a.txt", b"\0\1\2")]})
    await person.sees("general", line)
    assert done.state == "done"
    assert (await stored(scene)).scenario == "A wet evening."


async def brought_with(scene: Scene, who: str, **fields: Any) -> InteractionResult:
    file = Upload("Mira.json", card_json("Mira", **fields))
    return await scene.human(who).slash("general", "card import", file=file)


# --- greetings


async def test_greetings_are_changed_added_and_taken_away(scene: Scene) -> None:
    # given a card with three greetings
    await brought(scene, "Ana")
    ana = scene.human("Ana")
    panel = await editing(scene)
    await choose(ana, panel, "greetings")
    listed = await becomes(ana, panel, "## Greetings · 3")
    assert listed.text.splitlines()[1:] == [
        "1. The door is open.",
        "2. It rains. The door is shut.",
        "3. Mira sits on the roof, {{user}}.",
    ]

    # when the second is changed, the third emptied, and one added
    form = await ana.select(listed, "What do you want to change?", listed.menus[0].options[1][1])
    await ana.submit(form, {"text": "It pours."})
    listed = await becomes(ana, panel, "2. It pours.")
    form = await ana.select(listed, "What do you want to change?", listed.menus[0].options[2][1])
    await ana.submit(form, {"text": ""})
    listed = await becomes(ana, panel, "## Greetings · 2")
    await ana.submit(await ana.click(listed, "Add"), {"text": "A bell rings."})
    await becomes(ana, panel, "3. A bell rings.")

    # then the card has them so
    card = await stored(scene)
    assert card.first_mes == "The door is open."
    assert card.alternate_greetings == ("It pours.", "A bell rings.")
    await ana.click(ana.shown(panel), "Back")
    await becomes(ana, panel, "**Description** ·")


async def test_a_list_of_greetings_that_is_behind_changes_none(scene: Scene) -> None:
    # given Ana's list of greetings
    await brought(scene, "Ana")
    promote(scene, "Ben")
    ana = scene.human("Ana")
    panel = await editing(scene)
    await choose(ana, panel, "greetings")
    listed = await becomes(ana, panel, "## Greetings · 3")

    # when Ben takes one away meanwhile, and Ana chooses what was the third
    row = await scene.bot.engine.library.resolve(scene.owner, "card", "Mira")
    await scene.bot.engine.library.edit(
        row.id, lambda raw: {**raw, "data": {**raw["data"], "alternate_greetings": []}}, expected_revision=1
    )
    done = await ana.select(listed, "What do you want to change?", listed.menus[0].options[2][1])

    # then she is told, and nothing is written over his change
    assert done.text.startswith("It has been changed meanwhile.")
    assert (await stored(scene)).alternate_greetings == ()


# --- who, and when


async def test_a_stale_form_is_refused_and_given_back(scene: Scene) -> None:
    # given a form that Ana has open
    await brought(scene, "Ana")
    promote(scene, "Ben")
    ana, ben = scene.human("Ana"), scene.human("Ben")
    panel = await editing(scene)
    form = await choose(ana, panel, "personality")

    # when Ben changes the card before she sends it
    his = await editing(scene, "Ben")
    await ben.submit(await choose(ben, his, "personality"), {"text": "loud"})
    await becomes(ben, his, "✓ Saved.")
    await ana.submit(form, {"text": "quiet as snow"})

    # then his words stand, and she has hers back
    await ana.sees("general", "It has been changed meanwhile.")
    back = await ana.sees("general", "This is what you wrote.")
    assert back.files == ("text.txt",)
    assert content_of(scene.wire, back.raw) == "quiet as snow"
    assert (await stored(scene)).personality == "loud"


async def test_others_are_not_offered_to_change_it_and_may_not(scene: Scene) -> None:
    # given Ana's card
    hers = (await brought(scene, "Ana")).message

    # when Ben looks at it, asks for its edit panel, and presses what Ana was shown
    shown = await scene.human("Ben").slash("general", "card show", card="Mira")
    refused = await scene.human("Ben").slash("general", "card edit", card="Mira")

    # then nothing lets him
    assert labels_of(shown.message) == ["Play", "Bind here", "Export", "Details"]
    only = "Only whoever brought it in may do that, or somebody who may manage the server."
    assert refused.text == only
    for label in ("Edit", "Delete"):
        told = await scene.press_stale("Ben", hers, hers.button(label).custom_id or "")
        await becomes(scene.human("Ben"), told, only)


async def test_a_name_that_is_none_is_refused(scene: Scene) -> None:
    await brought(scene, "Ana")
    ana = scene.human("Ana")
    panel = await editing(scene)
    await ana.submit(await choose(ana, panel, "names"), {"name": "\u200b \u200b"})
    await ana.sees("general", "a name has 1 to 200 characters")
    assert (await stored(scene)).name == "Mira"


# --- letters that were garbled


async def test_garbled_letters_are_mended_when_somebody_wants_it(scene: Scene) -> None:
    garbled = "Café Müller – naïve".encode().decode("latin-1")
    done = await brought_with(scene, "Ana", description=garbled)
    ana = scene.human("Ana")
    assert "They can be mended." in done.text
    await ana.click(done.message, "Mend text")
    mended = await becomes(ana, done.message, "Café Müller – naïve")
    assert "Mend text" not in labels_of(mended)


# --- scripts


async def test_a_cards_scripts_wait_for_consent(scene: Scene) -> None:
    # given a card with a regex script
    script = {"scriptName": "stars", "findRegex": "/x/g", "replaceString": "y", "placement": [2]}
    done = await brought_with(scene, "Ana", extensions={"regex_scripts": [script]})
    ana = scene.human("Ana")
    library = scene.bot.engine.library
    row = await library.resolve(scene.owner, "card", "Mira")
    assert "It brings 1 regex script. They do not run until somebody switches them on." in done.text
    assert await library.consents.given(scene.owner, row.id) is None

    # when its importer allows and forbids it
    await ana.click(done.message, "Scripts on")
    allowed = await becomes(ana, done.message, "They run.")
    assert await library.consents.given(scene.owner, row.id) is True
    await ana.click(allowed, "Scripts off")
    await becomes(ana, done.message, "They are switched off.")

    # then it is so
    assert await library.consents.given(scene.owner, row.id) is False


# --- world books that come along


async def test_world_books_come_along_and_stay_behind(scene: Scene) -> None:
    # given a card, and two books
    await brought(scene, "Ana")
    library = scene.bot.engine.library
    for name in ("Marsh", "Moor"):
        book = dumps({"entries": {"0": {"uid": 0, "key": ["a"], "content": name}}})
        await library.import_book(scene.owner, book, f"{name}.json", "test")
    ana = scene.human("Ana")
    panel = await editing(scene)
    await choose(ana, panel, "books")
    listed = await becomes(ana, panel, "## World books that come along")
    assert "▫️ **Marsh** · 1 world book entry" in listed.text

    # when one is switched on
    await ana.select(listed, "Switch one on or off …", "▫️ Moor")

    # then it comes along, first in the list, and again stays behind
    listed = await becomes(ana, panel, "✅ **Moor**")
    card = await library.resolve(scene.owner, "card", "Mira")
    (moor,) = await library.relations.books("card", card.id)
    assert (await library.get(moor)).name == "Moor"
    shown = await ana.slash("general", "card show", card="Mira")
    assert "📖 1 world book comes along." in shown.text
    await ana.select(listed, "Switch one on or off …", "✅ Moor")
    await becomes(ana, panel, "▫️ **Moor**")
    assert await library.relations.books("card", card.id) == ()


# --- export


async def test_a_card_goes_out_in_each_form(scene: Scene) -> None:
    await brought(scene, "Ana")
    ana = scene.human("Ben")
    shown = await ana.slash("general", "card show", card="Mira")
    asked = await ana.click(shown.message, "Export")
    assert labels_of(asked.message) == ["PNG", "JSON", "CHARX"]
    for label, name, start in (
        ("PNG", "Mira.png", b"\x89PNG"),
        ("JSON", "Mira.json", b"{"),
        ("CHARX", "Mira.charx", b"PK"),
    ):
        given = await ana.click(asked.message, label)
        assert given.message.files == (name,)
        assert bytes_of(scene, given.message).startswith(start)


async def test_what_was_edited_goes_out_and_comes_in_again(scene: Scene) -> None:
    await brought(scene, "Ana")
    ana = scene.human("Ana")
    panel = await editing(scene)
    await ana.submit(await choose(ana, panel, "personality"), {"text": "warm"})
    await becomes(ana, panel, "✓ Saved.")
    given = await ana.slash("general", "card export", card="Mira", form="JSON")
    document = json.loads(bytes_of(scene, given.message))
    assert document["data"]["personality"] == "warm"
    assert document["data"]["creator"] == "the tests"


async def test_an_export_that_discord_would_not_take_says_so(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    await brought_with(scene, "Ana", description="".join(chr(0x4E00 + n % 20000) for n in range(900_000)) * 2)
    monkeypatch.setattr("bot.sandbox.world.payloads.FILE_LIMIT", 1024 * 1024)
    done = await scene.human("Ana").slash("general", "card export", card="Mira", form="JSON")
    assert done.text.startswith("**Mira.json** is 5.")
    assert done.text.endswith("takes files of up to 1.0 MiB here. Try another form, such as JSON.")


def bytes_of(scene: Scene, message: Shown) -> bytes:
    """The only file of a message."""
    (attachment,) = message.raw["attachments"]
    body = scene.wire.world.store.get_file(attachment["url"].split("/cdn/")[1].split("?")[0])
    assert body is not None
    return body
