"""The library's panels: what they say, and that they always fit into one message of Discord's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import discord
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.details import card_details, card_tokens, preset_details
from bot.panels import MOST_BYTES, MOST_CHARS, Reader, card_panel, list_panel, preset_panel
from bot.sandbox.limits import V2, check_message
from engine.ids import OwnerId, ResourceId
from engine.library import Kind, ResourceRow
from engine.resources import Card, Diagnostic, Diagnostics, Preset, parse_card, parse_preset

ANA = Reader("en", "Ana", can_play=True)
CHEN = Reader("zh-CN", "陈", can_play=True)
DIRECT = Reader("en", "Ana", can_play=False)


def row(kind: Kind = "card", name: str = "Mira", known: bool = False, **summary: Any) -> ResourceRow:
    remarks = summary.pop("remarks", ())
    summary["warnings"] = [[r.code, r.message, r.severity, r.where] for r in remarks]
    return ResourceRow(
        id=ResourceId("c_8f3k0m2x91az"),
        owner=OwnerId("guild:1"),
        kind=kind,
        name=name,
        filename=f"{name}.json",
        revision=1,
        original=b"",
        document=b"",
        avatar=None,
        avatar_type=None,
        size=2048,
        tags=tuple(summary.pop("tags", ())),
        nsfw=summary.pop("nsfw", False),
        summary=summary,
        created_by="7",
        created_at=1_700_000_000_000,
        updated_at=1_700_000_000_000,
        used_at=None,
        deleted_at=None,
        known=known,
    )


def card(**data: Any) -> Card:
    whole = {"name": "Mira", "first_mes": "Good evening.", **data}
    return parse_card({"spec": "chara_card_v2", "spec_version": "2.0", "data": whole}, Diagnostics())


def preset(**root: Any) -> Preset:
    prompts = [{"identifier": "main", "name": "Main", "content": "Write on."}]
    return parse_preset({"prompts": prompts, **root}, Diagnostics(), filename="Fireside.json")


def texts(view: discord.ui.LayoutView) -> str:
    return "\n".join(
        item.content for item in view.walk_children() if isinstance(item, discord.ui.TextDisplay)
    )


def buttons(view: discord.ui.LayoutView) -> list[str]:
    return [item.label or "" for item in view.walk_children() if isinstance(item, discord.ui.Button)]


def fits(view: discord.ui.LayoutView) -> None:
    """Discord's own rules, as the sandbox enforces them, and our margin below them."""
    check_message({"flags": V2, "components": view.to_components()})
    shown = [item.content for item in view.walk_children() if isinstance(item, discord.ui.TextDisplay)]
    assert sum(map(len, shown)) <= MOST_CHARS
    assert sum(len(text.encode()) + 12 for text in shown) <= MOST_BYTES


# --- a card that came in


async def test_a_card_that_came_in_says_what_it_is() -> None:
    # given a card with everything that a panel shows
    mira = card(
        nickname="Mir",
        creator="Alice",
        character_version="2",
        alternate_greetings=["*Rain.*\n\nYou are late, {{user}}.", "{{char}} nods."],
        character_book={"entries": [{"keys": ["inn"], "content": "An inn.", "insertion_order": 1}]},
    )

    # when it is shown after its import
    view = card_panel(row(tags=("cozy", "rain")), mira, ANA, picture=None)

    # then these are its words
    assert texts(view) == (
        "### **Mira** is here.\n"
        "“Mir” · by Alice · version 2\n"
        "Tags: cozy, rain\n"
        "3 greetings · 1 world book entry\n"
        "**How it can begin**\n"
        "1. Good evening.\n"
        "2. Rain. You are late, Ana.\n"
        "3. Mir nods."
    )
    assert buttons(view) == ["Play", "Bind here", "Details"]


async def test_the_same_card_again_says_so() -> None:
    view = card_panel(row(known=True), card(), ANA, picture=None)
    assert texts(view).startswith("### **Mira** was here already, exactly as in this file.")


async def test_repairs_are_named_and_what_is_too_many_is_counted() -> None:
    remarks = [Diagnostic("code", f"Repair *{n}*.", where=str(n)) for n in range(1, 8)]
    remarks.append(Diagnostic("code", "Repair *3*.", where="again"))
    remarks.append(Diagnostic("code", "Nothing to worry about.", severity="info"))

    shown = texts(card_panel(row(remarks=remarks), card(), ANA, picture=None))

    assert shown.endswith(
        "8 things were put right:\n"
        "- Repair \\*3\\*. (×2)\n- Repair \\*1\\*.\n- Repair \\*2\\*.\n- Repair \\*4\\*.\n- Repair \\*5\\*.\n"
        "… and 2 more, all in *Details*."
    )


async def test_more_greetings_than_fit_are_counted() -> None:
    many = card(alternate_greetings=[f"Greeting {n}." for n in range(2, 9)])
    shown = texts(card_panel(row(), many, ANA, picture=None))
    assert "5. Greeting 5.\n… and 3 more, in *Details*." in shown
    assert "Greeting 6." not in shown


async def test_a_picture_stands_beside_the_name() -> None:
    view = card_panel(row(), card(), ANA, picture="portrait.png")
    (face,) = [item for item in view.walk_children() if isinstance(item, discord.ui.Thumbnail)]
    assert (face.media.url, face.spoiler) == ("attachment://portrait.png", False)


async def test_a_picture_for_adults_is_covered() -> None:
    view = card_panel(row(nsfw=True), card(tags=["nsfw"]), ANA, picture="portrait.png")
    (face,) = [item for item in view.walk_children() if isinstance(item, discord.ui.Thumbnail)]
    assert face.spoiler
    assert "🔞 for age-restricted channels only" in texts(view)


async def test_where_no_story_can_be_opened_none_is_offered() -> None:
    assert buttons(card_panel(row(), card(), DIRECT, picture=None)) == ["Details"]
    assert buttons(preset_panel(row("preset", "Fireside"), DIRECT)) == ["Details"]


# --- a card that is looked at


async def test_a_card_is_shown_with_its_description_and_its_size() -> None:
    # given a description with a name to fill in, and Chinese that weighs a token a character
    mira = card(description="{{char}} keeps the inn.\nIt rains.", scenario="雨夜酒馆")

    # when it is looked at
    shown = texts(card_panel(row(nsfw=True), mira, ANA, picture=None, tokens=card_tokens(mira)))

    # then its parts are named by size
    assert shown.startswith("## Mira 🔞\n")
    assert "**Description**\nMira keeps the inn. It rains." in shown
    assert shown.endswith("**About 17 tokens**\n-# description 9 · scenario 4 · greeting 4")


async def test_a_card_that_says_nothing_is_shown_as_that() -> None:
    silent = card(first_mes="")
    view = card_panel(row(), silent, ANA, picture=None, tokens=card_tokens(silent))
    assert texts(view) == "## Mira\n0 greetings\n**Description**\nIt says nothing about itself."


async def test_chinese_readers_read_chinese() -> None:
    mira = card(creator="爱丽丝")
    view = card_panel(row(), mira, CHEN, picture=None, tokens=card_tokens(mira))
    assert "作者 爱丽丝\n1 个开场白" in texts(view)
    assert buttons(view) == ["开始玩", "绑定到这里", "详情"]


async def test_a_name_cannot_dress_up() -> None:
    view = card_panel(row(name="**[Mira](https://example.com)** @everyone"), card(), ANA, picture=None)
    assert r"**\*\*\[Mira](https://example.com)\*\* @everyone** is here." in texts(view)


# --- presets and lists


async def test_a_preset_says_what_it_brings() -> None:
    remark = Diagnostic("connection-stripped", "Its server's address and key were left out.")
    came = row("preset", "Fireside", prompts=12, enabled=9, temperature=0.9, max_tokens=800, remarks=[remark])
    assert texts(preset_panel(came, ANA)) == (
        "### The preset **Fireside** is here.\n"
        "12 prompts · 9 switched on · temperature 0.9 · answers up to 800 tokens\n"
        "1 thing was put right:\n"
        "- Its server's address and key were left out."
    )


async def test_an_empty_library_says_how_to_fill_it() -> None:
    view = list_panel("card", [], 0, "en")
    assert texts(view) == "## Cards\nThere are no cards yet. Bring one in with `/card import`."
    assert buttons(view) == []


async def test_ten_stand_on_a_page() -> None:
    cards = [row(name=f"Card {n:02}", greetings=n) for n in range(1, 24)]

    last = list_panel("card", cards, 2, "en")

    assert texts(last) == (
        "## Cards · 23\n**Card 21** · 21 greetings\n**Card 22** · 22 greetings\n**Card 23** · 23 greetings"
    )
    assert buttons(last) == ["◀", "3/3", "▶"]
    assert [b.disabled for b in last.walk_children() if isinstance(b, discord.ui.Button)] == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(("page", "label"), [(-5, "1/3"), (99, "3/3")])
async def test_a_page_that_is_not_there_is_the_nearest(page: int, label: str) -> None:
    view = list_panel("preset", [row("preset", f"P{n}") for n in range(21)], page, "en")
    assert label in buttons(view)


# --- always

# Everything that can make a text longer than it looks, or more than text.
WILD = st.text(st.sampled_from("a*_`~|>#-[]()\\\n 雨夜🎭👩\u200d🚀e\u0301{}@:"), max_size=6).map(
    lambda pattern: (pattern * 1000)[:1000]
)
# Four bytes a character, and two characters for each that is shown.
HEAVY, ESCAPED = "🎭" * 1000, "*" * 1000
TAGS = st.lists(WILD, max_size=4)


@example(HEAVY, HEAVY, [HEAVY] * 8, [HEAVY] * 4, [HEAVY] * 8)
@example(ESCAPED, ESCAPED, [ESCAPED] * 8, [ESCAPED] * 4, [ESCAPED] * 8)
@given(
    name=WILD, words=WILD, greetings=st.lists(WILD, max_size=8), tags=TAGS, said=st.lists(WILD, max_size=8)
)
async def test_a_cards_panel_always_fits(
    name: str, words: str, greetings: list[str], tags: list[str], said: list[str]
) -> None:
    wild = card(
        name=name or "x",
        nickname=words,
        description=words,
        creator=words,
        character_version=words,
        first_mes=words,
        alternate_greetings=greetings,
        tags=tags,
    )
    remarks = [Diagnostic(f"c{n}", text) for n, text in enumerate(said)]
    of = row(name=name[:200] or "x", tags=tags, nsfw=True, remarks=remarks)
    for reader in (ANA, CHEN):
        fits(card_panel(of, wild, reader, picture="portrait.png"))
        fits(card_panel(of, wild, reader, picture=None, tokens=card_tokens(wild)))


@given(names=st.lists(WILD.map(lambda text: text[:200] or "x"), min_size=1, max_size=12), line=WILD)
async def test_a_list_always_fits(names: list[str], line: str) -> None:
    rows = [row(name=name, greetings=3, line=line[:140], nsfw=True) for name in names]
    for locale in ("en", "zh-CN"):
        fits(list_panel("card", rows, 0, locale))


@given(name=WILD, said=st.lists(WILD, max_size=8))
async def test_a_presets_panel_always_fits(name: str, said: list[str]) -> None:
    remarks = [Diagnostic(f"c{n}", text) for n, text in enumerate(said)]
    of = row("preset", name[:200] or "x", prompts=3, enabled=2, remarks=remarks)
    for reader in (ANA, CHEN):
        fits(preset_panel(of, reader))


# --- the details


def test_a_cards_details_have_everything() -> None:
    # given a card with a repair, a note and a book
    mira = card(
        description="Keeps the inn.",
        creator_notes="Be kind to her.",
        alternate_greetings=["You are late."],
        character_book={
            "entries": [
                {
                    "keys": ["inn", "crossing"],
                    "content": "An old inn.",
                    "comment": "The inn",
                    "constant": True,
                },
                {"keys": ["marsh"], "content": "Wet.", "enabled": False},
            ]
        },
    )
    remarks = [Diagnostic("text-as-list", "The tags were a text.", where="data.tags")]

    # when its details are asked for
    text = card_details(row(remarks=remarks), mira, "en").decode()

    # then they stand in order
    assert text == (
        "# Mira\n\nMira.json · 2 KiB · spec v2 2.0 · 2023-11-14 22:13 UTC · c_8f3k0m2x91az\n\n"
        "## Tokens, about\n\n- description: 4\n- greeting: 4\n- world book: 3\n\n"
        "## 1 thing was put right:\n\n- The tags were a text. (text-as-list @ data.tags)\n\n"
        "## The creator's notes\n\nBe kind to her.\n\n"
        "## Greeting 1 of 2\n\nGood evening.\n\n"
        "## Greeting 2 of 2\n\nYou are late.\n\n"
        "## 2 world book entries\n\n"
        "- ● The inn · inn, crossing · 3\n- – marsh · marsh · 1\n"
    )


def test_a_presets_details_list_its_prompts() -> None:
    prompts = [
        {"identifier": "main", "name": "Main", "content": "Write on."},
        {"identifier": "chatHistory", "marker": True},
    ]
    order = [{"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}]
    text = preset_details(
        row("preset", "Fireside"), preset(prompts=prompts, prompt_order=order), "en"
    ).decode()
    assert text.endswith("## 2 prompts\n\n- [x] Main · system · 3\n- [ ] chatHistory · — · 0\n")


@pytest.mark.parametrize("make", [lambda: card(first_mes="x" * 3_000_000)])
def test_details_stay_small_enough_for_a_file(make: Callable[[], Card]) -> None:
    assert len(card_details(row(), make(), "en")) < 1_100_000
