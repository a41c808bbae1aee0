"""`/card list`: searching, sorting, an order of one's own, pictures, and cards of one name."""

from __future__ import annotations

import pytest

from bot.sandbox.limits import Upload
from tests.cogs.test_card import becomes, promote
from tests.cogs.test_card_import import every, png_card
from tests.e2e.scene import Scene, card_json, labels_of


def names(text: str) -> list[str]:
    """The names on a page, in order."""
    return [line.split("**")[1] for line in text.splitlines() if line.startswith("**")]


async def test_a_search_finds_names_and_tags_and_lives_through_a_restart(scene: Scene) -> None:
    # given three cards, two of which have to do with rain
    for name, tags in (("Rainer", []), ("Mira", ["rain"]), ("Zoe", [])):
        await scene.card(name, tags=tags)
    ana = scene.human("Ana")

    # when somebody searches, by the button, and the bot restarts between the form and its sending
    listed = (await ana.slash("general", "card list")).message
    form = await ana.click(listed, "Search")
    await scene.running.restart()
    await ana.submit(form, {"search": " rain "})

    # then both are found, and an empty search shows all again
    found = await becomes(ana, listed, "## Cards · 2\nSearch: rain\n")
    assert names(found.text) == ["Mira", "Rainer"]
    await ana.submit(await ana.click(found, "Search"), {"search": ""})
    assert names((await becomes(ana, listed, "## Cards · 3")).text) == ["Mira", "Rainer", "Zoe"]


async def test_a_search_in_the_command_that_finds_nothing_says_so(scene: Scene) -> None:
    await scene.card("Mira")
    done = await scene.human("Chen").slash("general", "card list", search="Zoe")
    assert done.text == "## 角色卡\n搜索：Zoe\n没有名称或标签含有它的。"
    assert labels_of(done.message) == ["搜索"]


async def test_cards_are_sorted_as_one_likes(scene: Scene) -> None:
    # given cards of which the first was used last, and the second changed last
    for name in ("Ada", "Bea", "Cleo"):
        await scene.card(name)
    library, ana = scene.bot.engine.library, scene.human("Ana")
    await library.touch((await library.resolve(scene.owner, "card", "Bea")).id)
    cleo = await library.resolve(scene.owner, "card", "Cleo")
    await library.edit(
        cleo.id, lambda raw: {**raw, "data": {**raw["data"], "creator": "x"}}, expected_revision=1
    )

    # when they are listed by each
    used = await ana.slash("general", "card list", sort="used")
    listed = (await ana.slash("general", "card list")).message
    await ana.select(listed, "In which order", "Changed last")

    # then that one is the first
    assert names(used.text)[0] == "Bea"
    await ana.wait_for(lambda: names(ana.shown(listed).text)[0] == "Cleo")


async def test_stewards_put_cards_into_an_order_of_their_own(scene: Scene) -> None:
    # given three cards in the order that nobody has settled yet
    for name in ("Ada", "Bea", "Cleo"):
        await scene.card(name)
    ben = scene.human("Ben")
    listed = (await ben.slash("general", "card list", sort="custom")).message
    assert names(listed.text) == ["Ada", "Bea", "Cleo"]
    move = "Move one to another place …"
    cleo = next(value for label, value in listed.menus[1].options if label.startswith("Cleo"))

    # when Ben, who is nobody, wants to move one
    form = await ben.select(listed, move, cleo)
    await ben.submit(form, {"place": "1"})

    # then he may not, but as a steward he may
    await ben.sees("general", "Only people who may manage the server can change its library.")
    promote(scene, "Ben")
    await ben.submit(await ben.select(listed, move, cleo), {"place": "1"})
    await ben.wait_for(lambda: names(ben.shown(listed).text) == ["Cleo", "Ada", "Bea"])
    await ben.submit(await ben.select(listed, move, cleo), {"place": "99"})
    await ben.wait_for(lambda: names(ben.shown(listed).text) == ["Ada", "Bea", "Cleo"])


@pytest.mark.parametrize("place", ["0", "one", "-1", ""])
async def test_a_place_that_is_none_is_refused(scene: Scene, place: str) -> None:
    await scene.card("Ada")
    ana = scene.human("Ana")
    promote(scene, "Ana")
    listed = (await ana.slash("general", "card list", sort="custom")).message
    form = await ana.select(listed, "Move one to another place …", listed.menus[1].options[0][1])
    if not place:
        place = " "
    await ana.submit(form, {"place": place})
    await ana.sees("general", "A place in the list is a number from 1 on.")


async def test_pictures_stand_beside_their_cards_and_those_for_adults_are_covered(scene: Scene) -> None:
    # given a card with a picture, one for adults, and one without a picture
    ana = scene.human("Ana")
    await ana.slash("general", "card import", file=Upload("a.png", png_card()))
    lewd = png_card(tags=["nsfw"], creator="Eve")
    await ana.slash("general", "card import", file=Upload("b.png", lewd))
    await scene.card("Zoe")

    # when they are listed
    listed = (await ana.slash("general", "card list")).message

    # then two small pictures go along
    faces = [c for c in every(listed.raw["components"]) if c["type"] == 11]
    assert sorted(face.get("spoiler", False) for face in faces) == [False, True]
    assert len(listed.files) == 2
    assert all(attachment["size"] < 20_000 for attachment in listed.raw["attachments"])


async def test_what_is_chosen_in_the_list_is_shown(scene: Scene) -> None:
    await scene.card("Ada")
    await scene.card("Bea")
    ben = scene.human("Ben")
    listed = (await ben.slash("general", "card list")).message
    done = await ben.select(listed, "Look at one …", listed.menus[0].options[1][1])
    assert done.text.startswith("## Bea\n")
    assert done.message.id != listed.id


async def test_cards_of_one_name_are_told_apart(scene: Scene) -> None:
    # given two different cards that are both called Mira, and a third of another name
    first = await scene.card("Mira", personality="dry")
    second = await scene.card("Mira", personality="wet")
    await scene.card("Zoe")
    ana = scene.human("Ana")

    # when somebody types, and when they are listed
    offered = await ana.autocomplete("general", "card show", "card", "")
    listed = await ana.slash("general", "card list")

    # then the two carry when they came and the end of their ids
    titles = {choice["value"]: choice["name"] for choice in offered}
    assert first[-4:] in titles[first]
    assert second[-4:] in titles[second]
    assert sum(" · " + row_id[-4:] in listed.text for row_id in (first, second)) == 2
    assert "Zoe — by the tests · 3 greetings" in titles.values()
    # and the question before one goes names which
    await ana.slash("general", "card import", file=Upload("m.json", card_json("Mira", personality="odd")))
    third = next(
        r for r in await scene.bot.engine.library.list(scene.owner, "card") if r.created_by == ana.id
    )
    asked = await ana.slash("general", "card delete", card=third.id)
    assert third.id[-4:] in asked.text


# --- gone, and back


async def test_another_file_of_a_deleted_card_takes_its_place(scene: Scene) -> None:
    # given a story with a card that left the library
    ana = scene.human("Ana")
    await ana.slash("general", "card import", file=Upload("a.json", card_json("Mira")))
    (before,) = await scene.bot.engine.library.list(scene.owner, "card")
    story = scene.story(await ana.slash("general", "play new", card="Mira"))
    asked = await ana.slash("general", "card delete", card="Mira")
    await ana.click(asked.message, "Delete")
    await becomes(ana, asked.message, "is out of the library")

    # when a newer file of her comes
    newer = card_json("Mira", description="Mira has sold the inn.")
    done = await ana.slash("general", "card import", file=Upload("b.json", newer))

    # then she is the same card, and the story goes on with the new file
    assert done.text.startswith(
        "### **Mira** is here again. Stories that played the deleted one go on with this file."
    )
    (after,) = await scene.bot.engine.library.list(scene.owner, "card")
    assert after.id == before.id
    await story.exchange("Ana", "What now?", "I travel.")
    assert "Mira has sold the inn." in scene.model.calls[-1].system


async def test_between_two_deleted_ones_a_person_chooses(scene: Scene) -> None:
    # given two cards of one name that were deleted
    ana, library = scene.human("Ana"), scene.bot.engine.library
    gone = []
    for mood in ("dry", "wet"):
        row_id = await scene.card("Mira", personality=mood)
        gone.append(row_id)
    for row_id in gone:
        await library.delete(row_id, release=False)

    # when a third file of the name comes
    done = await ana.slash(
        "general", "card import", file=Upload("c.json", card_json("Mira", personality="odd"))
    )

    # then nothing is guessed, and Ana is asked
    assert done.text.startswith("### **Mira** is here.\n")
    (came,) = await library.list(scene.owner, "card")
    assert came.id not in gone
    assert "Several cards of this name were deleted." in done.text
    values = [value for _, value in done.message.menus[0].options]
    assert sorted(values) == sorted(gone)
    await ana.select(done.message, "It is the one that was deleted …", gone[0])
    await becomes(ana, done.message, "**Mira** is here again.")
    (row,) = await library.list(scene.owner, "card")
    assert row.id == gone[0]
    assert (await library.card(row.id)).personality == "odd"


async def test_a_card_that_is_used_already_stays_another_one(scene: Scene) -> None:
    ana, library = scene.human("Ana"), scene.bot.engine.library
    gone = [await scene.card("Mira", personality=mood) for mood in ("dry", "wet")]
    for row_id in gone:
        await library.delete(row_id, release=False)
    done = await ana.slash("general", "card import", file=Upload("c.json", card_json("Mira")))
    await ana.click(done.message, "Play")
    told = await ana.select(done.message, "It is the one that was deleted …", gone[0])
    assert told.state == "done"
    await ana.sees("general", "One of the two has been used or changed meanwhile, so they stay two.")


# --- unbind


async def test_an_unbound_channel_asks_for_a_card_again(scene: Scene) -> None:
    for name in ("Ada", "Bea"):
        await scene.card(name)
    ana = scene.human("Ana")
    await ana.slash("general", "card bind", card="Bea")
    done = await ana.slash("general", "card unbind")
    general = scene.wire.world.channel("general")["id"]
    assert done.text == f"New stories in <#{general}> ask for a card again."
    asked = await ana.slash("general", "play new")
    assert len(asked.message.menus) == 1
