"""What the panel of a request shows of it."""

from __future__ import annotations

import re

from bot.i18n import FALLBACK
from bot.promptpanel import prompt_panel
from engine.llm import CallConfig
from engine.strategies import Preview, PreviewBlock, PreviewMessage
from tests.bot.test_panels import texts


def said(role: str, text: str) -> PreviewMessage:
    return PreviewMessage(role, text, 2, "history", ())


def placed(text: str) -> PreviewMessage:
    return PreviewMessage("user", text, 3, "pre-step", (PreviewBlock("Note", text, 3, module="preset"),))


async def panel(*messages: PreviewMessage) -> str:
    """What the panel says."""
    preview = Preview(None, messages, (), CallConfig("p", "m"), (), 9, None, None, 0, 0)
    view, _ = prompt_panel(preview, "", "", FALLBACK)
    return texts(view)


async def lines(*messages: PreviewMessage) -> list[str]:
    """What the panel says of messages: their numbers, and what it leaves out."""
    text = await panel(*messages)
    return re.findall(r"^(?:\*\*\d+|… \d+ messages? in between, about \d+)", text, re.MULTILINE)


async def test_a_long_conversation_shows_its_ends() -> None:
    talk = [said("user", f"Word {number}") for number in range(1, 13)]
    assert await lines(*talk) == [
        "**1",
        "**2",
        "**3",
        "… 6 messages in between, about 12",
        "**10",
        "**11",
        "**12",
    ]


async def test_of_texts_placed_in_its_middle_the_last_are_shown_where_they_stand() -> None:
    # given an answer, and a text that the strategy said with it, twelve times
    talk = [it for number in range(12) for it in (said("user", f"Word {number}"), placed(f"Note {number}"))]
    # then the last of them stand among what is left out, and the numbers go up
    assert await lines(*talk) == [
        *["**1", "**2", "**3", "**4", "**5"],
        "… 8 messages in between, about 20",
        "**14",
        "… 1 message in between, about 2",
        "**16",
        "… 1 message in between, about 2",
        "**18",
        *["**19", "**20", "**21", "**22", "**23", "**24"],
    ]


async def test_later_instructions_show_what_they_add_to_those_before() -> None:
    # given instructions of eight parts, and later ones that say all of it and one more
    parts = tuple(
        PreviewBlock(f"Part {number}", f"Text {number}.", 3, module="preset") for number in range(8)
    )
    last = PreviewBlock("Reminder", "Mind the rain.", 4, module="preset")
    first = PreviewMessage("system", "…", 24, "system", parts)
    later = PreviewMessage("system", "…", 28, "system", (*parts, last))
    # then the one that comes on top is not lost among those that are there already
    text = await panel(first, said("user", "Hello."), later)
    assert text.endswith(
        "**3.** ⚙️ system · instructions · 28 tokens\n-# – all of **1.**, and:\n"
        "-# – Preset / Reminder · 4 · Mind the rain."
    )


async def test_the_names_under_the_bar_add_up_to_all_of_it() -> None:
    # given messages that take more than their parts, and one whose parts were each rounded up
    parts = (
        PreviewBlock("Main", "Be kind.", 2, module="preset"),
        PreviewBlock("", "A smith.", 2, module="character"),
    )
    more = await panel(PreviewMessage("system", "…", 9, "system", parts), said("user", "Hello."))
    less = await panel(PreviewMessage("system", "…", 3, "system", parts))
    # then nothing is left without a name, and nothing is counted twice
    assert "-# 🟦 Around the texts 5 · 🟩 Preset 2 · 🟨 Card 2 · 🟧 Conversation 2" in more
    assert "-# 🟦 Card 2 · 🟩 Preset 1" in less


async def test_parts_are_called_what_people_call_them() -> None:
    parts = [("character", "mesexamples"), ("character", "jailbreak"), ("worldbook", "after")]
    blocks = tuple(PreviewBlock(label, "…", 1, module=module) for module, label in parts)
    text = await panel(PreviewMessage("system", "…", 3, "system", blocks))
    assert re.findall(r"-# – (.*?) · ", text) == [
        *("Card / examples", "Card / last instructions", "World books / after the character")
    ]


async def test_a_name_that_somebody_gave_stays_whatever_it_is() -> None:
    blocks = tuple(
        PreviewBlock(label, "…", 1, module=module, node_id="n")
        for module, label in [("worldbook", "at_depth"), ("worldbook", "before"), ("preset", "greeting")]
    )
    text = await panel(PreviewMessage("system", "…", 3, "system", blocks))
    assert re.findall(r"-# – (.*?) · ", text) == [
        *(r"World books / at\_depth", "World books / before", "Preset / greeting")
    ]
