"""`/card import`: what people see of a file that they bring, good or bad."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.limits import Upload
from bot.sandbox.wire import WireDiscord
from bot.settings import LimitSettings, Settings
from tests.e2e.running import running_bot
from tests.e2e.scene import Scene, card_json, labels_of
from tests.engine.resources.pngs import SIGNATURE, chunk, encoded, header, picture, pixels, text, v2

SAMPLE = Path(__file__).parents[2] / "config" / "samples" / "maren.png"


def png_card(**data: Any) -> bytes:
    return picture(text(b"chara", encoded(v2("Ada", first_mes="Hi", **data))))


async def test_a_png_card_comes_in(scene: Scene) -> None:
    # given a real card in a picture
    ana = scene.human("Ana")

    # when Ana brings it
    done = await ana.slash("general", "card import", file=Upload("maren.png", SAMPLE.read_bytes()))

    # then only she sees a panel with its picture, its facts, and what was put right
    assert [m.id for m in done.messages] == [done.message.id]
    assert done.message.ephemeral
    assert done.message.files == ("portrait.png",)
    lines = done.text.splitlines()
    assert lines[:5] == [
        "### **Maren Ashdown** is here.",
        "“Maren” · by Inglenook · version 1.0",
        "Tags: fantasy, cozy, mystery, innkeeper, group play",
        "4 greetings · 6 world book entries",
        "**How it can begin**",
    ]
    assert lines[5].startswith("1. The rain has followed you all the way down")
    assert labels_of(done.message) == ["Play", "Bind here", "Edit", "Export", "Details", "Delete"]
    assert scene.human("Ben").screen("general") == []
    # and the card is in the library, under her id
    (row,) = await scene.bot.engine.library.list(scene.owner, "card")
    assert (row.name, row.created_by) == ("Maren Ashdown", ana.id)


async def test_it_is_acknowledged_before_it_is_read(scene: Scene) -> None:
    made = await scene.human("Ana").slash(
        "general", "card import", file=Upload("a.json", card_json()), wait=False
    )
    await made.until("deferred")
    assert made.message.thinking
    await made.settled()
    assert not made.message.thinking
    assert len(made.messages) == 1


async def test_repairs_are_told_and_all_of_them_stand_in_the_details(scene: Scene) -> None:
    # given a card with tags in one text, and seven entries whose keys are no lists
    entries = [{"keys": f"key{n}", "content": f"Lore {n}.", "insertion_order": n} for n in range(7)]
    file = Upload("ada.json", card_json("Ada", tags="elf, inn", character_book={"entries": entries}))

    # when it comes in
    done = await scene.human("Ana").slash("general", "card import", file=file)

    # then each kind is named once
    assert done.text.endswith(
        "8 things were put right:\n"
        "- Keys stood in one text and were split at commas. (×7)\n"
        "- One text stood where a list belongs."
    )
    # and *Details* is a file with every place
    details = await scene.human("Ana").click(done.message, "Details")
    assert details.message.ephemeral
    assert details.message.files == ("details.md",)
    body = content_of(scene.wire, details.message.raw)
    assert body.startswith("# Ada\n\nada.json · ")
    assert "(text-as-list @ entries.0.keys)" in body
    assert "(text-as-list @ entries.6.keys)" in body


async def test_the_same_file_again_is_the_same_card(scene: Scene) -> None:
    first = await scene.human("Ana").slash("general", "card import", file=Upload("a.json", card_json("Ada")))
    again = await scene.human("Ben").slash("general", "card import", file=Upload("b.json", card_json("Ada")))
    assert first.text.startswith("### **Ada** is here.")
    assert again.text.startswith("### **Ada** was here already, from this very file.")
    assert len(await scene.bot.engine.library.list(scene.owner)) == 1


async def test_a_chinese_reader_is_answered_in_chinese(scene: Scene) -> None:
    done = await scene.human("Chen").slash("general", "card import", file=Upload("a.json", card_json("Ada")))
    assert done.text.startswith("### **Ada** 来了。")
    assert labels_of(done.message) == ["开始玩", "绑定到这里", "编辑", "导出", "详情", "删除"]


async def test_a_card_can_be_brought_in_a_direct_message(scene: Scene) -> None:
    # given Ana's direct channel
    ana = scene.human("Ana")

    # when she brings a card there
    done = await ana.slash(ana.direct(), "card import", file=Upload("a.json", card_json("Ada")))

    # then it goes into a library of her own, where no story can be opened
    assert done.text.startswith("### **Ada** is here.")
    assert labels_of(done.message) == ["Edit", "Export", "Details", "Delete"]
    assert [row.name for row in await scene.bot.engine.library.list(f"user:{ana.id}")] == ["Ada"]
    assert await scene.bot.engine.library.list(scene.owner) == []


async def test_a_name_pings_nobody(scene: Scene) -> None:
    done = await scene.human("Ana").slash(
        "general", "card import", file=Upload("a.json", card_json("@everyone **Ada**"))
    )
    assert done.text.startswith(r"### **\@everyone \*\*Ada\*\*** is here.")
    assert done.message.raw["mention_everyone"] is False


# --- a card for adults


async def test_a_card_for_adults_is_covered_and_played_only_where_it_may_be(scene: Scene) -> None:
    # given a card with the tag
    ana = scene.human("Ana")
    done = await ana.slash("general", "card import", file=Upload("a.png", png_card(tags=["nsfw"])))
    assert "🔞 for age-restricted channels only" in done.text
    (thumbnail,) = [c for c in every(done.message.raw["components"]) if c["type"] == 11]
    assert thumbnail["spoiler"] is True

    # when she wants to play it in an ordinary channel, and in one for adults
    refused = await ana.click(done.message, "Play")
    there = await ana.slash("after-dark", "card show", card="Ada")
    opened = await ana.click(there.message, "Play")

    # then only the second opens
    assert refused.text == ("**Ada** is marked 🔞. It can only be played in an age-restricted channel.")
    assert opened.text.startswith("The story is open: <#")
    assert there.text.startswith("## Ada 🔞")


# --- files that are none


@pytest.mark.parametrize(
    ("name", "body", "reason"),
    [
        ("notes.txt", b"Dear diary", "-# This is no character card. A card is a PNG picture,"),
        ("broken.json", b'{"spec": "chara_card_v2",', "its JSON breaks off at line 1"),
        ("fire.json", b'{"prompts": [], "name": "Fire"}', "It looks like a preset: import it as one."),
        ("face.png", picture(), "-# There is no character card in this picture."),
        ("deep.json", b"[" * 5000 + b"]" * 5000, "-# This file is nested more than 64 levels deep."),
        ("empty.json", b"", "-# This file is empty."),
    ],
)
async def test_a_file_that_is_no_card_is_refused_with_the_reason(
    scene: Scene, name: str, body: bytes, reason: str
) -> None:
    ana = scene.human("Ana")
    done = await ana.slash("general", "card import", file=Upload(name, body))
    assert done.message.ephemeral
    assert done.text.startswith(f"I cannot read a character card from **{name}**.\n-# ")
    assert reason in done.text
    assert await scene.bot.engine.library.list(scene.owner) == []


async def test_a_bomb_does_no_harm(scene: Scene) -> None:
    # given a picture of a few kilobytes whose text would be 64 MiB
    packed = zlib.compress(b"0" * 64 * 1024 * 1024, 9)
    bomb = SIGNATURE + header() + chunk(b"zTXt", b"chara\0\0" + packed) + pixels() + b"\0\0\0\0IEND\xaeB`\x82"

    # when somebody brings it
    done = await scene.human("Ben").slash("general", "card import", file=Upload("bomb.png", bomb))

    # then it is refused, and the table can be played at
    assert done.text.startswith("I cannot read a character card from **bomb.png**.")
    story = await scene.open_story()
    assert story.lines() == ["Mira: The door is open."]


async def test_a_chinese_reader_is_refused_in_chinese(scene: Scene) -> None:
    done = await scene.human("Chen").slash("general", "card import", file=Upload("a.json", b"{"))
    assert done.text == "无法从 **a.json** 里读出角色卡。\n-# 文件在第 1 行第 2 列处断开了。"


async def test_limits_refuse_and_say_what_they_are(wire: WireDiscord, settings: Settings) -> None:
    # given a bot that takes one small card
    limits = LimitSettings(card_bytes=2048, cards_per_server=1)
    async with running_bot(wire, settings.model_copy(update={"limits": limits})) as running:
        ana = Scene(wire, running, None).human("Ana")  # type: ignore[arg-type]  # no model is asked

        # when Ana brings one that is too large, one that fits, and one more
        large = await ana.slash("general", "card import", file=Upload("large.json", b" " * 5000))
        await ana.slash("general", "card import", file=Upload("a.json", card_json("Ada")))
        second = await ana.slash("general", "card import", file=Upload("b.json", card_json("Bea")))

        # then each refusal names its limit, and what was there stays
        assert large.text == "**large.json** is 4 KiB and larger than the 2 KiB that can be imported."
        assert second.text == (
            "The library is full (1). Delete something first; nothing is removed by itself."
        )
        listed = await ana.slash("general", "card list")
        assert listed.text.splitlines()[:2] == ["## Cards · 1", "**Ada** · by the tests · 3 greetings"]


def every(components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All components of a message, nested ones too."""
    found = []
    for component in components:
        found.append(component)
        found += every(component.get("components", []))
        if "accessory" in component:
            found.append(component["accessory"])
    return found


def content_of(wire: WireDiscord, message: dict[str, Any]) -> str:
    """The text of a message's only file."""
    (attachment,) = message["attachments"]
    path = attachment["url"].split("/cdn/")[1].split("?")[0]
    body = wire.world.store.get_file(path)
    assert body is not None
    return body.decode()


def test_the_sample_is_a_card() -> None:
    assert json.loads(SAMPLE.with_suffix(".json").read_bytes())["data"]["name"] == "Maren Ashdown"
