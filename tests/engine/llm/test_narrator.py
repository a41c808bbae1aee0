"""The offline narrator: what it reads, what it writes, and that it behaves like a model."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cancel import CancelCause, CancelToken
from engine.llm import CallConfig, Chunk, Llm, LlmRequest, Narrator
from engine.llm.boundary import StreamGrammar
from engine.llm.narrator.scene import estimate_tokens, plain, read_scene, sentences
from tests.engine.llm.server import message, reason_of, text_of

SYSTEM = """Character: Mara Voss
Mara is a lighthouse keeper on the coast of Hask. She trusts nobody from the capital.
The Salt Gate has been shut since the flood. The Grey Heron sank within sight of the lamp.
Write the next reply of Mara about the Salt Gate. Do not speak for the user."""

DICE = {
    "name": "dice",
    "description": "Roll dice.",
    "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}},
}


def request(
    *said: Any, session: str = "s_1", system: str = SYSTEM, tools: Sequence[Any] = (), **config: Any
) -> LlmRequest:
    """A request with the system text, then user messages (texts) and whole messages (dicts) in turn."""
    messages = [message("system", system)] if system else []
    messages += [message("user", item) if isinstance(item, str) else item for item in said]
    return LlmRequest(
        CallConfig("narrator", config.pop("model", "offline"), **config),
        tuple(messages),
        tools=tools,
        session_id=session,
    )


async def stream(asked: LlmRequest, token: CancelToken | None = None, pace: float = 0) -> list[Chunk]:
    llm = Llm()
    llm.register(Narrator(words_per_second=pace))
    call = llm.prepare_call(asked.config)
    return [chunk async for chunk in call.stream(asked, token or CancelToken())]


async def say(*said: Any, **options: Any) -> str:
    return text_of(await stream(request(*said, **options)))


def texts(chunks: list[Chunk]) -> list[str]:
    return [chunk["text"] for chunk in chunks if chunk["type"] == "text-delta"]


# -- what it writes ------------------------------------------------------------------------------


async def test_it_answers_as_the_character_in_prose() -> None:
    answer = await say("Ana: I lost my brother in the war.")
    assert "Mara" in answer
    assert "*" in answer and '"' in answer
    assert 1 <= len(answer.split("\n\n")) <= 4


async def test_equal_requests_get_equal_answers_and_a_swipe_another_one() -> None:
    answers = [
        await say("Ana: Where is the Salt Gate?", session=session) for session in ("s_1", "s_1", "s_2", "s_3")
    ]
    assert answers[0] == answers[1]
    assert len(set(answers)) == 3


async def test_the_temperature_changes_the_draw() -> None:
    assert await say("Ana: Hello.", temperature=0.1) != await say("Ana: Hello.", temperature=0.9)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Ana: I found this brass bell in the sand.", ["brass bell", "I found"]),
        ("Ana: I lost my brother in the war.", ["your brother", "I lost my brother"]),
        ("Ana: *opens the iron door slowly*", ["Ana opens the iron door"]),
        ("Ana: Why do you never sleep?", ["Why do you never sleep"]),
        ("Ana: Could we please row to the reef tonight?", ["Could we please", "the reef"]),
        ("小安: 我在沙滩上捡到这口铜钟。", ["那口铜钟", "我在沙滩上捡到这口铜钟", "你在沙滩上捡到这口铜钟"]),
        ("小安: *推开门*", ["小安推开门"]),
    ],
)  # fmt: skip
async def test_it_takes_up_what_the_person_said(said: str, words: list[str]) -> None:
    """Whatever the seed, the answer holds some of the person's own words, turned round or as they were."""
    for session in range(30):
        answer = await say(said, session=f"s_{session}")
        assert any(word.lower() in answer.lower() for word in words), answer


async def test_a_question_is_answered_with_what_the_world_knows() -> None:
    for session in range(10):
        answer = await say("Ana: What happened at the Salt Gate?", session=f"s_{session}")
        assert "he Salt Gate has been shut since the flood" in answer


async def test_of_several_instructions_the_last_holds() -> None:
    said = message("user", "Ana: Where is the Grey Heron?")
    later = message("system", SYSTEM.replace("The Grey Heron sank", "The Grey Heron came home"))
    scene = read_scene(request(said, later))
    assert any("came home" in sentence for sentence in scene.lore)
    assert not any("sank" in sentence for sentence in scene.lore)
    assert Narrator().model_info("offline").system_prompt_update == "in-history"


async def test_instructions_are_never_told_as_lore() -> None:
    for session in range(20):
        answer = await say("Ana: Tell me of the Salt Gate.", session=f"s_{session}")
        assert "next reply" not in answer


async def test_notes_and_example_dialogues_are_never_told_as_lore() -> None:
    system = (
        "Character: Mara\nLooks: tall. Fond of the old bell.\n"
        '<START>\nAna: I ring the bell.\nMara: *She listens to the bell.* "Leave the bell alone."'
    )
    for session in range(20):
        answer = await say("Ana: Whose is the bell?", session=f"s_{session}", system=system)
        for line in (
            "Fond of the old bell",
            "I ring the bell",
            "listens to the bell",
            "Leave the bell alone",
        ):
            assert line.lower() not in answer.lower()


async def test_it_answers_chinese_in_chinese() -> None:
    answer = await say("小安: 盐门在哪里？", system="Character: 林月\n盐门自洪水以后就一直关着。")
    assert "林月" in answer
    assert "盐门自洪水以后就一直关着" in answer
    assert "The" not in answer


async def test_the_card_says_which_pronoun() -> None:
    he = "Character: Tom\nTom is a miller. He is slow to anger, and his mill is old."
    nobody = "Character: Tom\nTom grinds the corn."
    answers = {
        name: " ".join([await say("Ana: Well?", session=f"s_{n}", system=text) for n in range(25)])
        for name, text in (("she", SYSTEM), ("he", he), ("they", nobody))
    }
    assert " her " in answers["she"] and " his " not in answers["she"]
    assert " his " in answers["he"] and " her " not in answers["he"]
    assert " their " in answers["they"] and " her " not in answers["they"] and " his " not in answers["they"]
    assert "They looks" not in answers["they"]


async def test_without_a_character_the_narrator_speaks() -> None:
    answer = await say("Ana: Is anyone here?", system="")
    assert "narrator" in answer.lower()


async def test_out_of_character_it_says_what_it_is() -> None:
    for said in ("Ana: ((are you a real model?))", "Ana: OOC: which model is this?"):
        assert "offline narrator" in (await say(said)).lower()
    assert "离线叙述者" in await say("小安: （（你是什么模型？））")


async def test_two_people_at_the_table_are_told_apart() -> None:
    said = ("Ana: Good evening.", message("assistant", "Mara nods."), "Ben: I saw the lamp go out.")
    for session in range(10):
        answer = await say(*said, session=f"s_{session}")
        assert "Ben" in answer or "the lamp" in answer


async def test_what_nobody_said_is_not_answered() -> None:
    context = message("user", "Weather: a storm is coming")
    context["source"] = {"kind": "runtime-context"}
    answer = await say("Ana: I lost my brother.", context)
    assert "brother" in answer
    assert "Weather" not in answer


async def test_a_picture_is_noticed_and_nothing_is_made_up_about_it() -> None:
    shown = message("user", "Ana: Look at this.")
    shown["content"] = [*shown["content"], {"type": "image", "attachment": {"attachmentId": "a1"}}]
    answer = await say(shown)
    assert "picture" in answer or "image" in answer


def attached(*names: str, said: str = "Ana: Look at this.") -> dict[str, Any]:
    blocks = [{"type": "image", "attachment": {"attachmentId": name, "name": name}} for name in names]
    shown = message("user", said)
    return shown | {"content": [*shown["content"], *blocks]}


@pytest.mark.parametrize("said", ["Ana: Look at this.", "Ana:", "Ana: *holds it out*", "安娜：看看这个。"])
async def test_what_is_shown_is_named_every_time(said: str) -> None:
    for session in range(20):
        answer = await say(attached("old_key.png (a rusty key)", said=said), session=f"s_{session}")
        assert "`old_key.png`" in answer
        assert "rusty" not in answer


async def test_of_several_things_the_last_is_named_whoever_showed_it() -> None:
    answer = await say(attached("a.png", "b.png"), "Ben: What do you make of it?")
    assert "`b.png`" in answer


async def test_what_was_shown_before_the_last_answer_is_not_named_again() -> None:
    assert "a.png" not in await say(attached("a.png"), message("assistant", "I see."), "Ana: And now?")


async def test_a_file_is_named_and_its_text_is_not_taken_for_what_was_said() -> None:
    shown = message("user", "Ana: Read this.")
    note = "[file: note.txt]\nI lost the lighthouse.\n[end of note.txt]"
    shown["content"] = [*shown["content"], {"type": "text", "text": note}]
    answer = await say(shown)
    assert "`note.txt`" in answer
    assert "lighthouse" not in answer


async def test_a_name_cannot_break_out_of_its_marks() -> None:
    answer = await say(attached("a`*b*`{user}<x|y>.png" + "z" * 100))
    assert "`a'*b*'{user}<x|y>.png" in answer
    assert "z" * 60 not in answer


async def test_the_narrator_without_a_name_begins_its_sentences_with_a_large_letter() -> None:
    for session in range(30):
        answer = await say("Good evening to you.", system="", session=f"s_{session}")
        assert ". the narrator" not in answer
        assert not answer.startswith("*the ")


EN = [
    "Hello! I saw the light from the road.",
    "*knocks the rain off my coat and sits down by the fire* Who are you?",
    "Where is the Salt Gate?",
    "I lost my brother in the war.",
    "I take the old lantern and walk to the cellar",
    "Why do you never sleep? You look tired.",
    "I found this brass bell in the sand, with a name on it. Do you know it?",
    "ok",
    "Please help me carry it up.",
    "*draws my sword slowly*",
    "I'm sorry. I love you.",
    "...",
]
ZH = [
    "你好！",
    "*推开门* 你是谁？",
    "盐门在哪里？",
    "我的哥哥死在了战争里。",
    "嗯",
    "请帮我把这口钟抬上去。",
    "我拿起那盏旧灯。",
]


@pytest.mark.parametrize("lines", [EN, ZH])
async def test_a_long_play_repeats_no_sentence_from_answer_to_answer(lines: list[str]) -> None:
    """Given 36 exchanges, then no stock sentence of an answer stood in one of the three before it, and no
    answer is a mere word."""
    rng = random.Random(7)
    history: list[Any] = []
    told: list[set[str]] = []
    for _ in range(36):
        history.append(message("user", f"{rng.choice(['Ana', 'Ben'])}: {rng.choice(lines)}"))
        answer = text_of(await stream(request(*history)))
        history.append(message("assistant", answer))
        now = {plain(sentence) for sentence in sentences(answer)} - {""}
        assert not now & set().union(*told[-3:]), answer
        assert len(answer) > 30
        told.append(now)


WILD = st.text(
    alphabet=st.one_of(
        st.sampled_from(list("*\"'.,?!…<>[]{}|/:（）我你的这那口不 I you my the a")),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=80,
)


@settings(max_examples=300)
@given(WILD, WILD, st.integers(0, 1000))
def test_whatever_people_write_there_is_an_answer(said: str, system: str, seed: int) -> None:
    """Always: a text, no slot or choice left open, the grammar of streams kept, the same twice."""

    async def both() -> tuple[list[Chunk], list[Chunk]]:
        asked = request(said, system="Character: Mara\n" + system, session=f"s_{seed}")
        return await stream(asked), await stream(asked)

    first, second = asyncio.run(both())
    assert first == second
    grammar = StreamGrammar()
    for chunk in first:
        grammar.check(chunk)
    answer = text_of(first)
    assert reason_of(first) == {"kind": "stop"}
    assert answer.strip()
    for slot in ("{name}", "{user}", "{they}", "{quote}", "{thing}", "{deed}", "{lore}"):
        assert slot not in answer or slot in said or slot in system


# -- how it behaves ------------------------------------------------------------------------------


async def test_it_streams_word_by_word_and_reports_usage() -> None:
    chunks = await stream(request("Ana: Hello."))
    words = texts(chunks)
    block = next(chunk["block"] for chunk in chunks if chunk["type"] == "block-end")
    usage = chunks[-2]["usage"]
    assert len(words) > 5
    assert all(len(word.split()) <= 1 for word in words)
    assert "".join(words) == block["text"]
    assert usage["outputTokens"] == estimate_tokens(block["text"])
    assert usage["inputTokens"] == estimate_tokens(SYSTEM) + estimate_tokens("Ana: Hello.")
    assert reason_of(chunks) == {"kind": "stop"}


async def test_the_pace_is_the_one_that_was_chosen() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    words = len(texts(await stream(request("Ana: Hello.", max_tokens=12), pace=100)))
    assert loop.time() - began >= words / 100 * 0.9


@pytest.mark.parametrize("limit", [1, 5, 10])
async def test_max_tokens_cuts_between_words(limit: int) -> None:
    whole = text_of(await stream(request("Ana: Hello.", max_tokens=10_000)))
    chunks = await stream(request("Ana: Hello.", max_tokens=limit))
    said = text_of(chunks)
    assert reason_of(chunks) == {"kind": "max-tokens"}
    assert whole.startswith(said)
    assert estimate_tokens(said) <= limit


async def test_a_stop_string_ends_the_answer_before_it() -> None:
    whole = await say("Ana: Hello.")
    stop = whole[20:26]
    chunks = await stream(request("Ana: Hello.", stop=("never there", stop)))
    assert text_of(chunks) == whole[: whole.index(stop)]
    assert reason_of(chunks) == {"kind": "stop"}


async def test_a_stop_string_that_leaves_nothing_is_an_empty_answer() -> None:
    first = (await say("Ana: Hello."))[0]
    chunks = await stream(request("Ana: Hello.", stop=(first,)))
    assert reason_of(chunks)["failure"]["code"] == "EMPTY_RESPONSE"


@pytest.mark.parametrize("pace", [0, 0.5])
async def test_a_stop_takes_effect_at_once_at_any_pace(pace: float) -> None:
    token = CancelToken()
    loop = asyncio.get_running_loop()
    loop.call_soon(loop.call_soon, token.cancel, CancelCause("user"))
    began = loop.time()
    chunks = await stream(request("Ana: Hello."), token, pace)
    assert loop.time() - began < 1
    assert reason_of(chunks)["kind"] == "aborted"
    assert len(texts(chunks)) < 10


async def test_there_is_one_model_and_its_name_is_honest() -> None:
    chunks = await stream(request("Ana: Hello.", model="gpt-4.1"))
    assert reason_of(chunks)["failure"]["code"] == "INVALID_REQUEST"
    assert "offline" in reason_of(chunks)["failure"]["message"]


# -- dice ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "expression"),
    [
        ("Ana: I roll 2d6+3 to climb.", "2d6+3"),
        ("Ana: d20 please", "d20"),
        ("Ana: /roll 4D6KH3", "4d6kh3"),
        ("Ana: 1d20 - 1", "1d20-1"),
        ("Ana: d20adv + 5, then", "d20adv+5"),
        ("Ana: d% now", "d%"),
        ("小安：我掷2d6看看。", "2d6"),
    ],
)
async def test_it_rolls_when_somebody_asks_and_the_tool_is_there(said: str, expression: str) -> None:
    chunks = await stream(request(said, tools=(DICE,)))
    block = next(chunk["block"] for chunk in chunks if chunk["type"] == "block-end")
    assert (block["type"], block["name"]) == ("tool-call", "dice")
    assert block["arguments"] == f'{{"expression":"{expression}"}}'
    assert reason_of(chunks) == {"kind": "tool-calls"}


async def test_the_result_is_told_and_not_rolled_again() -> None:
    called = {
        **message("assistant", ""),
        "content": [{"type": "tool-call", "id": "c", "name": "dice", "arguments": "{}"}],
    }
    result = message("tool", "2d6+3 = 11", toolCallId="c")
    chunks = await stream(request("Ana: I roll 2d6+3 to climb.", called, result, tools=(DICE,)))
    assert reason_of(chunks) == {"kind": "stop"}
    assert "2d6+3 = 11" in text_of(chunks)


async def test_an_error_is_no_roll_and_facts_that_nobody_said_ask_for_none() -> None:
    result = message("tool", "Error: too many dice", toolCallId="c", isError=True)
    facts = message("user", "It is night. d20.", source={"kind": "runtime-context"})
    chunks = await stream(request("Ana: I roll 2d6.", result, facts, tools=(DICE,)))
    assert reason_of(chunks) == {"kind": "stop"}
    assert "too many dice" not in text_of(chunks)


@pytest.mark.parametrize(
    ("said", "tools"),
    [
        ("Ana: I roll 2d6.", ()),
        ("Ana: I roll 2d6.", ({**DICE, "name": "recall"},)),
        ("Ana: The third of 12days.", (DICE,)),
        ("Ana: Model r2d2 is here.", (DICE,)),
    ],
)
async def test_it_does_not_roll_otherwise(said: str, tools: Any) -> None:
    assert reason_of(await stream(request(said, tools=tools))) == {"kind": "stop"}


async def test_the_argument_is_named_as_the_tool_names_it() -> None:
    tool = {
        "name": "dice",
        "parameters": {"properties": {"times": {"type": "integer"}, "formula": {"type": "string"}}},
    }
    chunks = await stream(request("Ana: 2d6", tools=(tool,)))
    assert next(c["block"] for c in chunks if c["type"] == "block-end")["arguments"] == '{"formula":"2d6"}'


# -- what it reads -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "name"),
    [
        ("Character: Mara", "Mara"),
        ("You play.\n  Character:  Mara Voss \nScenario: a lamp", "Mara Voss"),
        ("Character: Mara\nIn the card: \nCharacter: Impostor", "Mara"),
        ("Characters: many", "The narrator"),
        ("", "The narrator"),
    ],
)
def test_the_character_is_named_in_a_line_of_the_system_text(system: str, name: str) -> None:
    assert read_scene(request("Ana: Hi.", system=system)).character == name


@pytest.mark.parametrize(
    ("text", "speaker", "said"),
    [
        ("Ana: Hello.", "Ana", "Hello."),
        ("小安：你好。", "小安", "你好。"),
        ("Ana Maria: one: two", "Ana Maria", "one: two"),
        ("Hello.", "", "Hello."),
        ('*smiles*: "so"', "", '*smiles*: "so"'),
        ("first line\nAna: second", "", "first line\nAna: second"),
    ],
)
def test_a_message_is_its_speakers_label_and_the_words(text: str, speaker: str, said: str) -> None:
    line = read_scene(request(text)).last
    assert (line.speaker, line.text) == (speaker, said)


# -- notes on a story ----------------------------------------------------------------------------


def told(turns: int) -> list[Any]:
    """Exchanges of Ana and Mara that are long enough to be worth notes."""
    lines: list[Any] = []
    for turn in range(1, turns + 1):
        lines.append(f"Ana: I light lamp {turn} on the stairs. " + "The wind is loud tonight. " * 8)
        lines.append(
            message("assistant", f"*Mara counts step {turn}.* " + "She does not look at the sea. " * 8)
        )
    return lines


async def notes(*said: Any, **options: Any) -> list[Chunk]:
    asking = message("user", "Write the notes that the next writer needs.") | {
        "source": {"kind": "compaction"}
    }
    return await stream(replace(request(*said, asking, **options), purpose="compaction"))


async def test_asked_for_notes_it_quotes_the_story() -> None:
    story = told(12)
    written = text_of(await notes(*story))
    assert written.startswith("## Cast\n")
    assert written.splitlines()[1] == "Ana, Mara Voss"
    # the newest words are always there, and all of them were said
    assert written.splitlines()[-1] == "- Mara Voss: *Mara counts step 12."
    said = " ".join(item if isinstance(item, str) else item["content"][0]["text"] for item in story)
    quotes = [line for line in written.splitlines() if line.startswith("- ")]
    assert len(quotes) >= 3
    assert all(quote.partition(": ")[2] in said for quote in quotes)
    assert len(written) < len(said) / 6
    assert "next writer" not in written


async def test_notes_take_over_what_earlier_notes_quote() -> None:
    earlier = message("user", "<story>\n- Ana: The bell is under the third stone.\n</story>")
    earlier |= {"source": {"kind": "compact-checkpoint"}}
    written = text_of(await notes(earlier, *told(1)))
    assert "- Ana: The bell is under the third stone." in written


async def test_earlier_notes_are_not_told_as_lore() -> None:
    earlier = message("user", "The Salt Gate was opened by Ana with a stolen key.")
    earlier |= {"source": {"kind": "compact-checkpoint"}}
    for session in range(10):
        answer = await say(earlier, "Ana: What of the Salt Gate?", session=f"s_{session}")
        assert "stolen key" not in answer


async def test_notes_of_a_chinese_story_have_chinese_headings() -> None:
    story = ["小安: 我在沙滩上捡到这口铜钟。" + "今夜的风很大。" * 20, message("assistant", "*她看着海。*")]
    assert "## 说过的话" in text_of(await notes(*story))


async def test_asked_for_notes_it_rolls_no_dice() -> None:
    chunks = await notes(*told(3), "Ana: I roll 2d6.", tools=[DICE])
    assert reason_of(chunks)["kind"] == "stop"


async def test_of_a_story_in_which_nobody_spoke_there_are_no_notes() -> None:
    assert reason_of(await notes())["failure"]["code"] == "EMPTY_RESPONSE"


async def test_notes_name_what_was_shown() -> None:
    said = [attached("map.png", said="Ana: Here is the map."), message("assistant", "I keep it.")]
    written = text_of(await notes(*said, attached("key.png", "lock.png", said="Ben:")))
    assert written.splitlines()[-1] == "- Ben: [key.png] [lock.png]"
    assert "- Ana: Here is the map. [map.png]" in text_of(await notes(*said))
