"""What holds for every preset, story and chat."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given as over
from hypothesis import settings as runs
from hypothesis import strategies as st

from engine.errors import AssemblyError
from engine.prompting import SILLYTAVERN, Built, ChatLine, Extension, PromptMessage, Quirk, Story, build
from engine.prompting.squash import squash
from engine.resources import Preset
from tests.engine.prompting.make import STOCK, preset, prompt, story, words

ROLES = ("system", "user", "assistant")
TEXT = st.text("ab \n<>:", max_size=12)
KINDS = ("normal", "continue", "impersonate", "swipe", "quiet")


@st.composite
def presets(draw: st.DrawFn) -> Preset:
    own: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 4))):
        item = prompt(f"p{number}", draw(TEXT), role=draw(st.sampled_from(ROLES)))
        if draw(st.booleans()):
            item |= {"injection_position": 1}
        if draw(st.booleans()):
            item |= {
                "injection_depth": draw(st.integers(0, 9)),
                "injection_order": draw(st.integers(98, 102)),
            }
        own.append(item)
    names = [*STOCK, *(str(item["identifier"]) for item in own)]
    order = draw(st.lists(st.sampled_from(names), max_size=18))
    return preset(
        *own,
        order=order,
        off=draw(st.lists(st.sampled_from(names), max_size=3)),
        squash_system_messages=draw(st.booleans()),
        names_behavior=draw(st.sampled_from((-1, 0, 1, 2))),
        continue_prefill=draw(st.booleans()),
        send_if_empty=draw(st.sampled_from(("", "go on"))),
    )


LINES = st.builds(
    ChatLine,
    st.sampled_from(("Alice", "Bob", "Cleo Ö")),
    TEXT,
    is_user=st.booleans(),
    narrator=st.booleans(),
    labelled=st.booleans(),
    hidden=st.booleans(),
)
NOTES = st.builds(
    Extension,
    st.sampled_from(("1_memory", "2_floating_prompt", "customDepthWI_1_0", "x y")),
    TEXT,
    st.sampled_from(("none", "start", "end", "chat")),
    st.integers(0, 9),
    st.sampled_from(ROLES),
)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    return story(
        type=draw(st.sampled_from(KINDS)),
        description=draw(TEXT),
        lore_before=draw(TEXT),
        persona=draw(TEXT),
        mes_examples=draw(st.sampled_from(("", "Bob: q\nAlice: a", "<START>\nx\n<start>\nBob: b"))),
        quiet=draw(st.sampled_from(("", "hush"))),
        bias=draw(st.sampled_from(("", "Sure"))),
        group=draw(st.sampled_from(((), ("Alice", "Carol")))),
        extensions=tuple(draw(st.lists(NOTES, max_size=4, unique_by=lambda note: note.key))),
    )


CHATS = st.lists(LINES, max_size=7)
ANY = st.frozensets(st.sampled_from(sorted(Quirk)))


def built(
    of: Preset, told: Story, chat: Sequence[ChatLine], quirks: frozenset[Quirk], budget: int | None = None
) -> Built:
    return build(of, told, chat, count_tokens=words, budget=budget, quirks=quirks)


@over(presets(), stories(), CHATS, ANY)
def test_what_was_said_is_sent_in_its_order_and_at_most_once(
    of: Preset, told: Story, chat: list[ChatLine], quirks: frozenset[Quirk]
) -> None:
    found = built(of, told, chat, quirks)
    lines = [line for message in found.messages for line in message.lines]

    assert lines == sorted(set(lines))
    assert not any(chat[line].hidden for line in lines)
    assert sorted([*lines, *found.dropped_lines]) == [
        at for at, line in enumerate(chat) if not line.hidden and (line.text or at in lines)
    ]


@over(presets(), stories(), CHATS, st.integers(0, 60))
def test_ours_never_passes_the_budget_or_refuses_with_what_is_missing(
    of: Preset, told: Story, chat: list[ChatLine], budget: int
) -> None:
    try:
        found = built(of, told, chat, frozenset(), budget)
    except AssemblyError as refused:
        assert refused.error_code == "PROMPT_BUDGET_EXCEEDED"
        assert refused.data["needed"] == budget + refused.data["missing"]
        assert refused.data["missing"] > 0
        # with exactly what it asks for it does
        found = built(of, told, chat, frozenset(), refused.data["needed"])
        assert found.total <= refused.data["needed"]
    else:
        assert found.total == 3 + sum(map(words, found.messages)) <= budget


@over(presets(), stories(), CHATS, st.integers(0, 60))
def test_sillytavern_never_passes_the_budget_before_it_joins_messages(
    of: Preset, told: Story, chat: list[ChatLine], budget: int
) -> None:
    found = built(of, told, chat, SILLYTAVERN, budget)

    assert found.total <= max(budget, 3)


@over(presets(), stories(), CHATS, ANY)
def test_equal_arguments_give_equal_messages_and_stay_as_they_were(
    of: Preset, told: Story, chat: list[ChatLine], quirks: frozenset[Quirk]
) -> None:
    before = (repr(of), repr(told), list(chat))

    first, second = built(of, told, chat, quirks), built(of, told, chat, quirks)

    assert first == second
    assert (repr(of), repr(told), chat) == before


@over(presets(), stories(), CHATS)
def test_the_last_words_of_a_person_are_always_sent(of: Preset, told: Story, chat: list[ChatLine]) -> None:
    said = [at for at, line in enumerate(chat) if line.is_user and not (line.narrator or line.hidden)]
    if not said or not chat[said[-1]].text.strip():
        return
    try:
        found = built(of, told, chat, frozenset(), 40)
    except AssemblyError:
        return
    off = {name for name in ("chatHistory",) if _off(of, name)}
    assert off or any(said[-1] in message.lines for message in found.messages)


def _off(of: Preset, identifier: str) -> bool:
    entries = of.raw["prompt_order"][0]["order"]
    return any(not item["enabled"] for item in entries if item["identifier"] == identifier)


MESSAGES = st.lists(
    st.builds(PromptMessage, st.sampled_from(ROLES), TEXT, st.sampled_from(("", "", "example_user")))
)


@over(MESSAGES)
def test_joining_keeps_every_text_in_its_order(messages: list[PromptMessage]) -> None:
    joined = squash(messages)

    kept = [m for m in messages if m.content or m.role != "system"]
    assert "\n".join(m.content for m in joined) == "\n".join(m.content for m in kept)
    assert squash(joined) == joined
    for one, next_one in pairwise(joined):
        assert not all(m.role == "system" and not m.name for m in (one, next_one))


@pytest.mark.parametrize("quirks", [frozenset(), SILLYTAVERN])
@runs(max_examples=50)
@over(presets(), stories(), CHATS)
def test_more_room_never_drops_what_less_room_had(
    quirks: frozenset[Quirk], of: Preset, told: Story, chat: list[ChatLine]
) -> None:
    kept: set[int] = set()
    for budget in (30, 45, 60, 90):
        try:
            found = built(of, told, chat, quirks, budget)
        except AssemblyError:
            continue
        lines = {line for message in found.messages for line in message.lines}
        assert lines >= kept
        kept = lines
