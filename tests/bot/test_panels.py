"""The library's panels: what they say, and that they always fit into one message of Discord's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import discord
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.browse import Browser, Entry, Source, Spot
from bot.cardpanel import CardView, card_edit_panel, card_line, card_panel
from bot.details import card_details, preset_details
from bot.presetpanel import (
    PresetView,
    escaped,
    preset_edit_panel,
    preset_line,
    preset_panel,
    prompt_panel,
    unescaped,
)
from bot.press import button
from bot.sandbox.limits import V2, check_message
from bot.sheet import MOST_BYTES, MOST_CHARS, Layout, Reader
from engine.ids import OwnerId, ResourceId
from engine.library import Kind, ResourceRow
from engine.llm.narrator.scene import estimate_tokens
from engine.resources import Card, Diagnostic, Diagnostics, Preset, card_facts, parse_card, parse_preset

ANA = Reader("en", "Ana", can_play=True, can_change=True)
BEN = Reader("en", "Ben", can_play=True)
CHEN = Reader("zh-CN", "陈", can_play=True, can_change=True)
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


def came(of: ResourceRow, content: Card, reader: Reader, picture: str | None = None, **more: Any) -> Layout:
    """The panel of a card that was imported just now."""
    return card_panel(viewed(of, content, picture, **more), reader, arrived=True)


def looked(of: ResourceRow, content: Card, reader: Reader, picture: str | None = None, **more: Any) -> Layout:
    """The panel of a card that somebody looks at."""
    return card_panel(viewed(of, content, picture, **more), reader, arrived=False)


def viewed(of: ResourceRow, content: Card, picture: str | None, **more: Any) -> CardView:
    return CardView(of, content, card_facts(content, estimate_tokens), picture=picture, **more)


class Names(Source[str]):
    """A list of names."""

    noun = "card"
    sorts = ("name", "custom")

    def __init__(self, names: list[str], pictures: bool = False) -> None:
        self._names = names
        self.pictures = pictures

    async def things(self, interaction: discord.Interaction, spot: Spot) -> list[str]:
        return [name for name in self._names if spot.search in name]

    def entry(self, thing: str, locale: str) -> Entry:
        return Entry(str(self._names.index(thing)), f"**{thing}**", thing, thing)


class Asking:
    """All that a list wants of an interaction."""

    def __init__(self, locale: str) -> None:
        self.locale = locale


async def listed(names: list[str], spot: Spot, locale: str = "en", pictures: bool = False) -> Layout:
    asking: Any = Asking(locale)
    return (await Browser(Names(names, pictures)).panel(asking, spot))[0]


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
    view = came(row(tags=("cozy", "rain")), mira, ANA)

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
    assert buttons(view) == ["Play", "Bind here", "Edit", "Export", "Details", "Delete"]


async def test_the_same_card_again_says_so() -> None:
    view = came(row(known=True), card(), ANA)
    assert texts(view).startswith("### **Mira** was here already, from this very file.")


async def test_repairs_are_named_and_what_is_too_many_is_counted() -> None:
    remarks = [Diagnostic("code", f"Repair *{n}*.", where=str(n)) for n in range(1, 8)]
    remarks.append(Diagnostic("code", "Repair *3*.", where="again"))
    remarks.append(Diagnostic("code", "Nothing to worry about.", severity="info"))

    shown = texts(came(row(remarks=remarks), card(), ANA))

    assert shown.endswith(
        "8 things were put right:\n"
        "- Repair \\*3\\*. (×2)\n- Repair \\*1\\*.\n- Repair \\*2\\*.\n- Repair \\*4\\*.\n- Repair \\*5\\*.\n"
        "… and 2 more, all in *Details*."
    )


async def test_more_greetings_than_fit_are_counted() -> None:
    many = card(alternate_greetings=[f"Greeting {n}." for n in range(2, 9)])
    shown = texts(came(row(), many, ANA))
    assert "5. Greeting 5.\n… and 3 more, in *Details*." in shown
    assert "Greeting 6." not in shown


async def test_a_picture_stands_beside_the_name() -> None:
    view = came(row(), card(), ANA, "portrait.png")
    (face,) = [item for item in view.walk_children() if isinstance(item, discord.ui.Thumbnail)]
    assert (face.media.url, face.spoiler) == ("attachment://portrait.png", False)


async def test_a_picture_for_adults_is_covered() -> None:
    view = came(row(nsfw=True), card(tags=["nsfw"]), ANA, "portrait.png")
    (face,) = [item for item in view.walk_children() if isinstance(item, discord.ui.Thumbnail)]
    assert face.spoiler
    assert "🔞 for age-restricted channels only" in texts(view)


async def test_where_no_story_can_be_opened_none_is_offered() -> None:
    assert buttons(came(row(), card(), DIRECT)) == ["Export", "Details"]
    fireside = PresetView(row("preset", "Fireside"), preset())
    assert buttons(preset_panel(fireside, DIRECT, arrived=True)) == ["Export", "Details"]


async def test_who_may_not_change_it_is_not_offered_to() -> None:
    assert buttons(came(row(), card(), BEN)) == ["Play", "Bind here", "Export", "Details"]


async def test_scripts_variables_and_what_sleeps_are_said() -> None:
    # given a card with a regex script, variables to begin with, and a script of another program
    mira = card(
        extensions={
            "regex_scripts": [{"scriptName": "a", "findRegex": "/a/"}],
            "tavern_helper": {"scripts": [{"name": "b"}]},
        },
        group_only_greetings=["All of you!"],
        character_book={
            "entries": [{"keys": [], "content": "hp: 1", "comment": "[InitVar]", "constant": True}]
        },
    )

    # when nobody has been asked, and when somebody has allowed its script
    unasked = looked(row(), mira, ANA, books=2)
    allowed = looked(row(), mira, ANA, scripts_allowed=True)

    # then the panel says what acts and what does not
    assert (
        "1 greeting · 1 more for groups · 1 world book entry (1 always on)\n" in texts(unasked)
        and "⚙️ It brings 1 regex script. They do not run until somebody switches them on.\n"
        "📊 It keeps variables.\n📖 2 world books come along.\n"
        "💤 1 script of another program is kept but does not run here."
        in texts(unasked)
    )
    assert "Scripts on" in buttons(unasked)
    assert "It brings 1 regex script. They run." in texts(allowed)
    assert "Scripts off" in buttons(allowed)


async def test_letters_that_were_garbled_can_be_mended() -> None:
    garbled = row(remarks=[Diagnostic("double-encoded-text", "The letters look wrong.")])
    assert "Mend text" in buttons(came(garbled, card(), ANA))
    assert "Mend text" not in buttons(came(row(), card(), ANA))


async def test_what_a_card_says_can_be_chosen_to_be_changed() -> None:
    view = card_edit_panel(viewed(row(), card(description="x" * 5000), None), ANA, "✓ Saved.")
    assert texts(view).startswith("## ✏️ Mira\n✓ Saved.\n**Description** · 5000 characters\n-# xxx")
    assert "**Personality** · empty\n" in texts(view)
    (menu,) = [item for item in view.walk_children() if isinstance(item, discord.ui.Select)]
    assert [option.value for option in menu.options] == [
        "names",
        "greetings",
        "description",
        "personality",
        "scenario",
        "mes_example",
        "creator_notes",
        "system_prompt",
        "post_history_instructions",
        "books",
    ]


# --- a card that is looked at


async def test_a_card_is_shown_with_its_description_and_its_size() -> None:
    # given a description with a name to fill in, and Chinese that weighs a token a character
    mira = card(description="{{char}} keeps the inn.\nIt rains.", scenario="雨夜酒馆")

    # when it is looked at
    shown = texts(looked(row(nsfw=True), mira, ANA))

    # then its parts are named by size
    assert shown.startswith("## Mira 🔞\n")
    assert "**Description**\nMira keeps the inn. It rains." in shown
    assert shown.endswith("**About 17 tokens**\n-# description 9 · scenario 4 · greeting 4")


async def test_a_card_that_says_nothing_is_shown_as_that() -> None:
    silent = card(first_mes="")
    view = looked(row(), silent, ANA)
    assert texts(view) == "## Mira\n0 greetings\n**Description**\nIt says nothing about itself."


async def test_chinese_readers_read_chinese() -> None:
    mira = card(creator="爱丽丝")
    view = looked(row(), mira, CHEN)
    assert "作者 爱丽丝\n1 个开场白" in texts(view)
    assert buttons(view) == ["开始玩", "绑定到这里", "编辑", "导出", "详情", "删除"]


async def test_a_name_cannot_dress_up() -> None:
    view = came(row(name="**[Mira](https://example.com)** @everyone"), card(), ANA)
    assert r"**\*\*\[Mira](https://example.com)\*\* \@everyone** is here." in texts(view)


# --- presets and lists


async def test_a_preset_says_what_it_brings() -> None:
    remark = Diagnostic("connection-stripped", "Its server's address and key were left out.")
    content = preset(temperature=0.9, openai_max_tokens=800, stop=["\n\n", "User:"], reasoning_effort="low")
    of = PresetView(row("preset", "Fireside", remarks=[remark]), content)
    assert texts(preset_panel(of, ANA, arrived=True)) == (
        "### The preset **Fireside** is here.\n"
        "1 prompt · 1 switched on · temperature 0.9 · answers up to 800 tokens · reasoning effort low"
        " · stops at “\\\\n\\\\n”, “User:”\n"
        "🟢 **Main** · system · Write on.\n"
        "1 thing was put right:\n"
        "- Its server's address and key were left out."
    )


async def test_a_prompt_shows_its_text_and_where_it_stands() -> None:
    prompts = [
        {"identifier": "main", "name": "Main", "content": "Write ```on```."},
        {"identifier": "chatHistory", "marker": True},
        {"identifier": "note", "name": "Note", "role": "user", "content": "", "injection_position": 1},
    ]
    content = preset(prompts=prompts)
    of = row("preset", "Fireside")
    main, history, note = (prompt_panel(of, content.prompts, each, ANA) for each in content.prompts)
    assert texts(main).startswith("## Main\n1 of 3 · 🟢 on · system\n```\nWrite ")
    assert buttons(main) == ["Edit", "Settings", "Remove", "Switch off", "Up", "Down", "Back"]
    assert texts(history).startswith("## chatHistory\n2 of 3 · ")
    assert buttons(history) == ["Switch on", "Up", "Down", "Back"]
    assert "in the chat, 4 from its end" in texts(note)
    # and its own fences cannot end ours
    assert texts(main).count("```") == 2


@given(text=st.text(st.sampled_from("a\\n\n")))
def test_a_stop_text_on_one_line_is_the_text_again(text: str) -> None:
    assert "\n" not in escaped(text)
    assert unescaped(escaped(text)) == text


async def test_an_empty_list_says_how_to_fill_it() -> None:
    view = await listed([], Spot())
    assert texts(view) == "## Cards\nThere are no cards yet. Bring one in with `/card import`."
    assert buttons(view) == []


async def test_a_search_without_a_find_can_be_changed() -> None:
    view = await listed(["Mira"], Spot(search="Zoe"))
    assert texts(view) == "## Cards\nSearch: Zoe\nNothing here has that in its name or tags."
    assert buttons(view) == ["Search"]


async def test_ten_stand_on_a_page() -> None:
    last = await listed([f"Card {n:02}" for n in range(1, 24)], Spot(page=2))
    assert texts(last) == "## Cards · 23\n**Card 21**\n**Card 22**\n**Card 23**"
    assert buttons(last) == ["◀", "3/3", "▶", "Search"]
    found = [b.disabled for b in last.walk_children() if isinstance(b, discord.ui.Button)]
    assert found == [False, True, True, False]


@pytest.mark.parametrize(("page", "label"), [(-5, "1/3"), (99, "3/3")])
async def test_a_page_that_is_not_there_is_the_nearest(page: int, label: str) -> None:
    assert label in buttons(await listed([f"P{n}" for n in range(21)], Spot(page=page)))


@given(
    spot=st.builds(
        Spot,
        within=st.sampled_from(["", "c_8f3k0m2x91az"]),
        page=st.integers(0, 999),
        sort=st.sampled_from(["name", "updated", "used", "custom"]),
        search=st.text(max_size=60),
    )
)
def test_where_one_is_in_a_list_fits_under_every_button(spot: Spot) -> None:
    args = spot.args()
    button("template-books-found", *args)  # the longest op: raises when it does not fit
    again = Spot.of(*args)
    assert (again.within, again.page, again.sort) == (spot.within, spot.page, spot.sort)
    assert " ".join(spot.search.split()).startswith(again.search)
    assert Spot.of(*again.args()) == again


def test_what_is_no_spot_is_the_beginning() -> None:
    assert Spot.of("x", "one", "name", "") == Spot("x")
    assert Spot.of("x", "1", "name", "!!!") in (Spot("x"), Spot("x", 1))
    assert Spot.of() == Spot()


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
        fits(came(of, wild, reader, "portrait.png", lost=[of]))
        fits(looked(of, wild, reader, "portrait.png", books=3))
        fits(card_edit_panel(viewed(of, wild, None), reader, words[:200]))


@example(names=[HEAVY[:200]] * 12, page=0, pictures=True)
@example(names=[ESCAPED[:200]] * 12, page=1, pictures=False)
@given(
    names=st.lists(WILD.map(lambda text: text[:200] or "x"), min_size=1, max_size=12),
    page=st.integers(0, 2),
    pictures=st.booleans(),
)
async def test_a_list_always_fits(names: list[str], page: int, pictures: bool) -> None:
    for locale in ("en", "zh-CN"):
        for sort in ("name", "custom"):
            view = await listed(
                [f"{n}{name}" for n, name in enumerate(names)], Spot("", page, sort), locale, pictures
            )
            fits(view)


@given(name=WILD, words=WILD, said=st.lists(WILD, max_size=8), count=st.integers(1, 40))
async def test_a_presets_panels_always_fit(name: str, words: str, said: list[str], count: int) -> None:
    remarks = [Diagnostic(f"c{n}", text) for n, text in enumerate(said)]
    prompts = [{"identifier": f"p{n}", "name": words, "content": words} for n in range(count)]
    content = preset(prompts=prompts, stop=[words] * 16)
    of = PresetView(row("preset", name[:200] or "x", remarks=remarks), content, scripts=3, books=2)
    for reader in (ANA, CHEN):
        fits(preset_panel(of, reader, arrived=True))
        fits(preset_panel(of, reader, arrived=False))
        fits(preset_edit_panel(of, reader, words[:200]))
        fits(prompt_panel(of.row, content.prompts, content.prompts[0], reader, "✓ Saved."))


@given(name=WILD, line=WILD)
def test_a_line_of_a_list_is_never_empty(name: str, line: str) -> None:
    of = row(name=name[:200] or "x", line=line[:140], greetings=3, creator=line)
    assert card_line(of, "en").startswith("**")
    assert preset_line(row("preset", name[:200] or "x", prompts=2), "zh-CN").startswith("**")


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
        "## Good to know\n\n- The card brings its own world book of 2 entries.\n\n"
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
