"""Random builds against the plain second implementation."""

from typing import Any

from hypothesis import given as over
from hypothesis import settings as runs
from hypothesis import strategies as st

from engine.macros import MacroContext
from engine.prompting import (
    SILLYTAVERN,
    ChatLine,
    Extension,
    Story,
    build,
    settings_of,
)
from engine.resources import Diagnostics, parse_preset
from tests.engine.prompting import oracle
from tests.engine.prompting.make import words

ROLES = ("system", "user", "assistant")
PLACES = {-1: "none", 0: "end", 1: "chat", 2: "start"}
MARKERS = (
    "worldInfoBefore", "personaDescription", "charDescription", "charPersonality", "scenario",
    "worldInfoAfter", "dialogueExamples", "chatHistory",
)  # fmt: skip
NAMES = ("main", *MARKERS, "nsfw", "jailbreak", "enhanceDefinitions", "p1", "p2", "p3")
TEXT = st.sampled_from(("", "x", "two words", " three little words ", "a\nb", "one two three four five"))
KINDS = ("normal", "continue", "impersonate", "swipe", "quiet", "regenerate")


@st.composite
def prompts(draw: st.DrawFn) -> list[dict[str, Any]]:
    found = []
    for name in NAMES:
        item: dict[str, Any] = {"identifier": name}
        if name not in MARKERS:
            item["content"] = draw(TEXT)
        if name not in MARKERS or draw(st.integers(0, 5)) == 0:
            item["role"] = draw(st.sampled_from((*ROLES, "system", None)))
        item["system_prompt"] = draw(
            st.sampled_from(
                (False, False, False, None, True) if name[0] == "p" and name not in MARKERS else (True,)
            )
        )
        if draw(st.integers(0, 4)) == 0:
            item |= {
                "injection_position": 1,
                "injection_depth": draw(st.sampled_from((0, 1, 2, 5, 40, None))),
            }
            item["injection_order"] = draw(st.sampled_from((50, 100, 200, None)))
        if draw(st.integers(0, 9)) == 0:
            item["injection_trigger"] = draw(st.lists(st.sampled_from(KINDS), max_size=2, unique=True))
        found.append({key: value for key, value in item.items() if value is not None})
    return found


LINE = st.fixed_dictionaries(
    {
        "name": st.sampled_from(("Alice", "Bob", "Cleo Ö", "")),
        "mes": TEXT.map(lambda text: text.replace("\n", "\r\n")),
        "is_user": st.booleans(),
        "narrator": st.sampled_from((False, False, True)),
        "forced": st.booleans(),
    }
)
NOTE = st.fixed_dictionaries(
    {
        "value": TEXT,
        "position": st.sampled_from((-1, 0, 1, 2)),
        "depth": st.sampled_from((0, 1, 3, 50)),
        "role": st.integers(0, 2),
    }
)
KEYS = st.sampled_from(
    ("1_memory", "2_floating_prompt", "3_vectors", "chromadb", "customDepthWI_1_0", "mine")
)
EXAMPLES = (
    ("", []),
    ("<START>\nBob: q\nAlice: a b", [[("example_user", "q"), ("example_assistant", "a b")]]),
    (
        "<START>\nBob: q q q\n<START>\nit rains\n<START>\nAlice: a",
        [[("example_user", "q q q")], [], [("example_assistant", "a")]],
    ),
)


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    order = draw(st.lists(st.sampled_from(NAMES), min_size=4, max_size=15, unique=draw(st.booleans())))
    if draw(st.booleans()):
        order = ["main", *(name for name in NAMES if name != "main")]
    text, blocks = draw(st.sampled_from(EXAMPLES))
    chat = draw(st.lists(LINE, max_size=6))
    return {
        "prompts": draw(prompts()),
        "order": [{"identifier": name, "enabled": draw(st.integers(0, 6)) > 0} for name in order],
        "settings": {
            "budget": draw(st.sampled_from((8, 15, 20, 25, 30, 40, 60, 4000))),
            "names": draw(st.sampled_from((-1, 0, 1, 2))),
            "new_chat": draw(st.sampled_from(("", "[new chat]"))),
            "new_example": draw(st.sampled_from(("", "[example]"))),
            "impersonation": draw(st.sampled_from(("", "[as the user]"))),
            "group_nudge": draw(st.sampled_from(("", "[as her]"))),
            "continue_nudge": "[go on then]",
            "continue_prefill": draw(st.booleans()),
            "send_if_empty": draw(st.sampled_from(("", "say something"))),
            "squash": draw(st.booleans()),
            "pinned": draw(st.booleans()),
        },
        "user": "Bob",
        "type": draw(st.sampled_from(KINDS)),
        "group": draw(st.sampled_from(((), ("Alice", "Carol")))),
        "quiet": draw(st.sampled_from(("", "hush now"))),
        "bias": draw(st.sampled_from(("", " ", "Sure"))),
        "persona": draw(TEXT),
        "continued": chat[-1]["mes"] if chat else "",
        "extensions": draw(st.dictionaries(KEYS, NOTE, max_size=4)),
        "example_text": text,
        "blocks": blocks,
        "chat": chat,
        **{name: draw(TEXT) for name in MARKERS[:1] + MARKERS[2:6]},
    }


def ours(case: dict[str, Any]) -> tuple[list[dict[str, Any]], bool]:
    settings = case["settings"]
    preset = parse_preset(
        {
            "prompts": case["prompts"],
            "prompt_order": [{"character_id": 100001, "order": case["order"]}],
            "openai_max_context": settings["budget"],
            "openai_max_tokens": 0,
            "names_behavior": settings["names"],
            "new_chat_prompt": settings["new_chat"],
            "new_group_chat_prompt": settings["new_chat"],
            "new_example_chat_prompt": settings["new_example"],
            "impersonation_prompt": settings["impersonation"],
            "group_nudge_prompt": settings["group_nudge"],
            "continue_nudge_prompt": settings["continue_nudge"],
            "continue_prefill": settings["continue_prefill"],
            "send_if_empty": settings["send_if_empty"],
            "squash_system_messages": settings["squash"],
        },
        Diagnostics(),
    )
    found = build(
        preset,
        Story(
            macros=MacroContext(
                user="Bob",
                char="Alice",
                persona=case["persona"],
                description=case["charDescription"],
                personality=case["charPersonality"],
                scenario=case["scenario"],
                mes_examples=case["example_text"],
            ),
            type=case["type"],
            lore_before=case["worldInfoBefore"],
            lore_after=case["worldInfoAfter"],
            extensions=tuple(
                Extension(key, note["value"], PLACES[note["position"]], note["depth"], ROLES[note["role"]])  # type: ignore[arg-type]
                for key, note in case["extensions"].items()
            ),
            quiet=case["quiet"],
            bias=case["bias"],
            continued=case["continued"],
            group=case["group"],
        ),
        [
            ChatLine(
                line["name"], line["mes"], is_user=line["is_user"], narrator=line["narrator"],
                labelled=line["forced"],
            )
            for line in case["chat"]
        ],
        count_tokens=words,
        settings=settings_of(preset.raw, pin_examples=settings["pinned"]),
        quirks=SILLYTAVERN,
    )  # fmt: skip
    return [message.to_wire() for message in found.messages], not found.errors


@runs(max_examples=200)
@over(cases())
def test_random_builds_are_those_of_the_plain_implementation(case: dict[str, Any]) -> None:
    blocks = [
        [
            {
                "role": "system",
                "content": f"{'Bob' if name == 'example_user' else 'Alice'}: {text}"
                if case["group"]
                else text,
                "name": name,
            }
            for name, text in block
        ]
        for block in case["blocks"]
    ]

    assert ours(case) == oracle.built({**case, "examples": blocks})
