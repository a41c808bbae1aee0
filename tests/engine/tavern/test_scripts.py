"""Regex scripts in a story: which run, what the model reads, what people are shown, what the log keeps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from engine.codec import dumps
from engine.hooks import Hooks, Scope
from engine.play.exchange import spoken_message
from engine.resources import Diagnostics, RegexScript, parse_scripts, with_scripts
from engine.scripts import script_limits
from engine.session import message_text
from engine.tavern import (
    AI_OUTPUT,
    PATTERN_STOPPED,
    SCRIPTS_RECORD,
    USER_INPUT,
    PatternStopped,
    StoryRunner,
    Watches,
)
from tests.engine.play.conftest import table
from tests.engine.play.table import OWNER, Table, says, utterance

__all__ = ["table"]

# No literal that a text could lack, no form that RE2 knows, and exponential: it has to run into the deadline.
EVIL = r"/^(?:(a|aa)+)\1$/g"
EVIL_TEXT = "a" * 30_000 + "!"


def raw(name: str, find: str, put: str = "", *places: int, **fields: Any) -> dict[str, Any]:
    """A script as SillyTavern keeps it; for answers unless places are given."""
    return {
        "id": name,
        "scriptName": name,
        "findRegex": find,
        "replaceString": put,
        "placement": list(places or (AI_OUTPUT,)),
        **fields,
    }


async def listed(table: Table, *scripts: dict[str, Any], name: str = "list") -> str:
    row = await table.engine.library.import_regex(OWNER, dumps(list(scripts)), f"{name}.json", "ana")
    return row.id


async def carded(table: Table, *scripts: dict[str, Any], name: str = "Mira", **data: Any) -> str:
    body = {
        "spec": "chara_card_v2",
        "spec_version": "2.0",
        "data": {"name": name, "first_mes": "Hi.", "extensions": {"regex_scripts": list(scripts)}, **data},
    }
    return (await table.engine.library.import_card(OWNER, dumps(body), f"{name}.json", "ana")).id


async def runner(table: Table, play_id: str) -> StoryRunner:
    head = await table.head(play_id)
    return await table.engine.scripts.of(await table.plays.selection(play_id), head.session_id)


async def shown(table: Table, play_id: str, text: str, placement: int = AI_OUTPUT, **where: Any) -> str:
    made = await (await runner(table, play_id)).show(text, placement, **{"key": "k"} | where)
    return made.text


async def said(table: Table, play_id: str) -> list[tuple[str, str]]:
    """What was logged of people's words: the model's form, and the raw one."""
    view = await table.engine.journal.read((await table.head(play_id)).session_id)
    return [
        (message_text(event.data), event.data["source"]["text"])
        for event in view.events
        if event.type == "user/message" and event.data["source"]["kind"] == "user"
    ]


async def records(table: Table, play_id: str) -> Sequence[Any]:
    view = await table.engine.journal.read((await table.head(play_id)).session_id)
    return [event.data for event in view.events if event.type == SCRIPTS_RECORD]


# -- which run ------------------------------------------------------------------------------------


async def test_a_story_s_lists_run_first_then_its_preset_s_then_its_card_s(table: Table) -> None:
    library = table.engine.library
    one = await listed(table, raw("one", "/$/", "1"), name="one")
    two = await listed(table, raw("two", "/$/", "2"), raw("off", "/$/", "x", disabled=True), name="two")
    preset = await library.import_preset(
        OWNER,
        dumps(
            {"prompts": [], "prompt_order": [], "extensions": {"regex_scripts": [raw("three", "/$/", "3")]}}
        ),
        "p.json",
        "ana",
    )
    card = await carded(table, raw("four", "/$/", "4"))
    play = await table.begin(card_id=card, preset_id=preset.id, regex_ids=(two, one))
    # nobody was asked about what the preset and the card bring along (case 113)
    assert await shown(table, play, "") == ""
    assert await shown(table, play, "x") == "x21"
    await library.consents.give(OWNER, card, True, "ana")
    assert await shown(table, play, "x") == "x214"
    await library.consents.give(OWNER, preset.id, True, "ana")
    assert await shown(table, play, "x") == "x2134"
    # consent of another library is none of this one's
    await library.consents.give(OWNER, card, False, "ana")
    await library.consents.give("guild-2", card, True, "ben")
    assert await shown(table, play, "x") == "x213"


async def test_a_changed_script_acts_from_then_on(table: Table) -> None:
    library = table.engine.library
    list_id = await listed(table, raw("one", "/cat/g", "dog"))
    play = await table.begin(regex_ids=(list_id,))
    assert await shown(table, play, "cat") == "dog"

    def change(document: Any) -> Any:
        return with_scripts(document, parse_scripts([raw("one", "/cat/g", "cow")], Diagnostics()))

    row = await library.get(list_id)
    await library.edit(list_id, change, expected_revision=row.revision)
    assert await shown(table, play, "cat") == "cow"
    # a deleted list is taken out of the story
    await library.delete(list_id)
    assert await shown(table, play, "cat") == "cat"


async def test_a_story_of_a_deleted_card_keeps_its_scripts(table: Table) -> None:
    card = await carded(table, raw("one", "/cat/g", "dog"))
    await table.engine.library.consents.give(OWNER, card, True, "ana")
    play = await table.begin(card_id=card)
    await table.engine.library.delete(card, release=False)
    assert await shown(table, play, "cat") == "dog"


# -- what is shown ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "depth", "expected"),
    [
        ({}, 0, "dog"),
        ({"markdownOnly": True}, 0, "dog"),
        ({"markdownOnly": True, "promptOnly": True}, 0, "dog"),
        ({"promptOnly": True}, 0, "cat"),
        ({"markdownOnly": True, "minDepth": 1}, 0, "cat"),
        ({"markdownOnly": True, "minDepth": 1}, 1, "dog"),
        ({"markdownOnly": True, "maxDepth": 1}, 2, "cat"),
        # what SillyTavern stores has no depth
        ({"minDepth": 1}, 0, "dog"),
    ],
)
async def test_answers_are_shown_as_stored_and_display_scripts_make_them(
    table: Table, flags: dict[str, Any], depth: int, expected: str
) -> None:
    play = await table.begin(regex_ids=(await listed(table, raw("one", "/cat/g", "dog", **flags)),))
    assert await shown(table, play, "cat", depth=depth) == expected
    assert await shown(table, play, "cat", USER_INPUT, depth=depth) == "cat"


async def test_stored_scripts_go_before_those_for_display(table: Table) -> None:
    scripts = (raw("a", "/b/", "c", markdownOnly=True), raw("b", "/a/", "b"))
    play = await table.begin(regex_ids=(await listed(table, *scripts),))
    assert await shown(table, play, "a") == "c"


async def test_macros_say_the_same_each_time(table: Table) -> None:
    roll = raw("one", "/dice/g", "{{char}} {{user}} {{roll:1d1000000}} {{random::a::b::c}} {{time}}")
    play = await table.begin(regex_ids=(await listed(table, roll),), user_name="Ana")
    first = await shown(table, play, "dice", key="v1", at=60_000)
    assert first.startswith("Maren Ana ")
    assert await shown(table, play, "dice", key="v1", at=60_000) == first
    assert await shown(table, play, "dice", key="v2", at=60_000) != first
    # what was captured is somebody's words, never a macro
    play = await table.begin(regex_ids=(await listed(table, raw("two", r"/<(.*)>/", "$1"), name="two"),))
    assert await shown(table, play, "<{{char}}>") == "{{char}}"


async def test_the_model_reads_its_answers_as_it_wrote_them(table: Table) -> None:
    # case 134
    rules = (
        raw("one", "/a/g", "b"),
        raw("two", "/a/g", "c", markdownOnly=True),
        raw("three", "/a/g", "d", promptOnly=True),
    )
    play = await table.begin(regex_ids=(await listed(table, *rules),))
    table.voice.will(says("aha"))
    await table.tell(play, "x", "y")
    assert table.voice.heard() == ["Ana: x", "aha", "Ana: y"]
    assert (await table.path(play))[0] == (["x"], "aha")
    assert await shown(table, play, "aha") == "bhb"


async def test_a_bad_rule_among_three_leaves_the_others_at_work(table: Table) -> None:
    # case 135
    rules = (raw("one", "/a/g", "1"), raw("bad", "/(/g", "x"), raw("two", "/b/g", "2"))
    play = await table.begin(regex_ids=(await listed(table, *rules),))
    made = await (await runner(table, play)).show("ab", AI_OUTPUT, key="k")
    assert (made.text, made.changed) == ("12", ("one", "two"))
    assert {problem.code for problem in made.problems} == {"PATTERN_INVALID"}


# -- what the model reads ---------------------------------------------------------------------------


async def test_words_are_logged_as_scripts_make_them_and_kept_as_they_were_said(table: Table) -> None:
    rules = (
        raw("stored", "/cat/g", "dog", USER_INPUT),
        raw("prompt", "/$/", " [now]", USER_INPUT, promptOnly=True),
        raw("display", "/cat|dog/g", "COW", USER_INPUT, markdownOnly=True),
        raw("answers", "/cat/g", "no", AI_OUTPUT),
    )
    play = await table.begin(regex_ids=(await listed(table, *rules),))
    await table.tell(play, "a cat")
    assert await said(table, play) == [("Ana: a dog [now]", "a cat")]
    assert table.voice.heard() == ["Ana: a dog [now]"]
    # people are shown their own words, which the bot tells again with display scripts
    assert (await table.path(play))[0][0] == ["a cat"]
    assert await shown(table, play, "a cat", USER_INPUT) == "a COW"
    (record,) = await records(table, play)
    assert [item["scripts"] for item in record["messages"]] == [("stored", "prompt")]
    assert record["ms"] >= 0
    # then a swipe, whose words are queued again, does not change them a second time
    await table.swipe(play)
    assert table.voice.heard() == ["Ana: a dog [now]"]
    # and neither does a restart
    await table.restart()
    await table.tell(play, "b")
    assert [logged for logged, _ in await said(table, play)] == ["Ana: a dog [now]", "Ana: b [now]"]


async def test_words_that_are_answered_again_meet_the_scripts_of_now(table: Table) -> None:
    play = await table.begin(regex_ids=(await listed(table, raw("one", "/cat/g", "dog", USER_INPUT)),))
    await table.tell(play, "a cat")
    assert table.voice.heard() == ["Ana: a dog"]
    await table.plays.select(play, lambda chosen: replace(chosen, regex_ids=()))
    await table.swipe(play)
    assert table.voice.heard() == ["Ana: a cat"]


async def test_a_script_that_empties_words_does_not_lose_them(table: Table) -> None:
    rules = (raw("fine", "/a/", "b", USER_INPUT), raw("greedy", "/[^]*/", "", USER_INPUT))
    play = await table.begin(regex_ids=(await listed(table, *rules),))
    await table.tell(play, "a secret")
    assert await said(table, play) == [("Ana: a secret", "a secret")]
    (record,) = await records(table, play)
    assert [(problem["script"], problem["code"]) for problem in record["problems"]] == [
        ("greedy", "SCRIPT_EMPTIED")
    ]


async def test_depth_in_a_batch_counts_from_its_last_message(table: Table) -> None:
    rules = (
        raw("last", "/$/", " <last>", USER_INPUT, promptOnly=True, maxDepth=0),
        raw("before", "/$/", " <before>", USER_INPUT, promptOnly=True, minDepth=1),
    )
    play = await table.begin(regex_ids=(await listed(table, *rules),))
    await table.say(play, "one", answer=False)
    await table.tell(play, "two")
    assert table.voice.heard() == ["Ana: one <before>", "Ana: two <last>"]


async def test_edited_words_meet_only_scripts_that_run_on_edits(table: Table) -> None:
    rules = (
        raw("made", "/$/", " made", USER_INPUT),
        raw("edited", "/$/", " edited", USER_INPUT, runOnEdit=True),
        raw("prompt", "/$/", " sent", USER_INPUT, promptOnly=True),
    )
    play = await table.begin(regex_ids=(await listed(table, *rules),))
    held = table.hold_assembly()
    await table.say(play, "one")
    await asyncio.wait_for(held.reached.wait(), 5)
    await table.say(play, "two")
    await table.say(play, "three")
    key = utterance("two").key
    assert await table.plays.amend(play, key, utterance("twice", key))
    # the same words again are no edit
    assert await table.plays.amend(play, utterance("three").key, utterance("three"))
    held.opened.set()
    await table.settle(play)
    assert [logged for logged, _ in await said(table, play)] == [
        "Ana: one made edited sent",
        "Ana: twice edited sent",
        "Ana: three made edited sent",
    ]


async def test_lore_reads_what_the_model_reads_and_meets_the_scripts_for_world_info(table: Table) -> None:
    entries = {
        "0": {"uid": 0, "key": ["moggy"], "content": "A MOGGY IS A CAT", "position": 0},
        "1": {"uid": 1, "key": ["moggy"], "content": "A DEEP CAT", "position": 4, "depth": 4},
    }
    book = await table.engine.library.import_book(
        OWNER, dumps({"name": "B", "entries": entries}), "b.json", "ana"
    )
    rules = (
        raw("words", "/kitty/g", "moggy", USER_INPUT),
        raw("lore", "/CAT/g", "FELINE", 5, promptOnly=True),
        raw("deep", "/DEEP/g", "DROWNED", 5, promptOnly=True, minDepth=4),
        # an unticked script does not run on world info, whatever SillyTavern's pages say
        raw("unticked", "/MOGGY/g", "NO", 5),
    )
    play = await table.begin(regex_ids=(await listed(table, *rules),), book_ids=(book.id,))
    await table.tell(play, "kitty")
    system = message_text(table.voice.requests[0].messages[0])
    assert "A MOGGY IS A FELINE" in system
    assert "A DROWNED FELINE" in system


async def test_scripts_leave_alone_what_no_person_said(table: Table) -> None:
    play = await table.begin(
        regex_ids=(await listed(table, raw("all", "/[^]+/", "ZZZ", USER_INPUT, AI_OUTPUT)),)
    )
    await table.tell(play, "x")
    assert table.voice.heard() == ["Ana: ZZZ"]
    assert "ZZZ" not in message_text(table.voice.requests[0].messages[0])


# -- patterns that take too long -----------------------------------------------------------------------


async def test_a_catastrophic_pattern_is_stopped_and_its_owner_told_once(table: Table) -> None:
    # case 134
    told: list[PatternStopped] = []
    table.engine.hooks.on(PATTERN_STOPPED, told.append, owner=Scope("test"))
    list_id = await listed(table, raw("evil", EVIL, "x"), raw("fine", "/!/", "?"))
    play = await table.begin(regex_ids=(list_id,))
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    ticking = asyncio.create_task(tick())
    for number in range(5):
        begun = time.monotonic()
        made = await (await runner(table, play)).show(EVIL_TEXT, AI_OUTPUT, key=str(number))
        # then the text is shown as the other script makes it, in time, and the loop went on
        assert made.text == EVIL_TEXT[:-1] + "?"
        assert time.monotonic() - begun < 2
        late = [problem.script.name for problem in made.problems]
        assert late == (["evil"] if number < 3 else [])
    ticking.cancel()
    assert ticks > 5
    head = await table.head(play)
    assert told == [PatternStopped(OWNER, list_id, EVIL, head.session_id, script=True)]
    # and a catastrophe in words costs the story nothing either
    assert table.engine.watches.stopped(OWNER) == (EVIL,)


async def test_words_that_run_into_the_deadline_are_sent_as_they_are(table: Table) -> None:
    play = await table.begin(regex_ids=(await listed(table, raw("evil", EVIL, "x", USER_INPUT)),))
    await table.tell(play, EVIL_TEXT)
    assert table.voice.heard() == [f"Ana: {EVIL_TEXT}"]
    (record,) = await records(table, play)
    # it ran once, for the profile and the admission together
    assert [problem["code"] for problem in record["problems"]] == ["PATTERN_TIMEOUT"]
    await table.tell(play, EVIL_TEXT + "!")
    assert len(await records(table, play)) == 2


# -- what a script cannot do here -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        ({"promptOnly": True}, ["script-request-only"]),
        ({"promptOnly": True, "markdownOnly": True}, ["script-request-only"]),
        ({"promptOnly": True, "disabled": True}, []),
        ({"markdownOnly": True}, []),
        ({}, []),
        ({"promptOnly": True, "placement": [1]}, []),
        ({"promptOnly": True, "placement": [1], "minDepth": 0}, []),
        ({"promptOnly": True, "placement": [1], "minDepth": 2}, ["script-depth-fixed"]),
        (
            {"promptOnly": True, "placement": [1, 2], "maxDepth": 0},
            ["script-request-only", "script-depth-fixed"],
        ),
    ],
)
def test_a_script_says_what_it_cannot_do(fields: dict[str, Any], codes: list[str]) -> None:
    (script,) = parse_scripts([raw("one", "a", "b") | fields], Diagnostics())
    assert [remark.code for remark in script_limits(script)] == codes


def test_a_story_without_scripts_shows_nothing_anew() -> None:
    assert not _bare().shows(AI_OUTPUT)
    assert not _bare(RegexScript("a", "a", "x", prompt_only=True)).shows(AI_OUTPUT)
    assert _bare(RegexScript("a", "a", "x", min_depth=3)).shows(AI_OUTPUT)
    assert not _bare(RegexScript("a", "a", "x", min_depth=3)).minds_depth(AI_OUTPUT)
    assert _bare(RegexScript("a", "a", "x", display_only=True, min_depth=3)).minds_depth(AI_OUTPUT)


def _bare(*scripts: RegexScript) -> StoryRunner:
    return StoryRunner(Watches(Hooks()), "s", OWNER, [("list", script) for script in scripts])


async def test_lore_that_is_only_tried_gives_nobody_a_strike(table: Table) -> None:
    entries = {"0": {"uid": 0, "key": ["x"], "content": EVIL_TEXT}}
    book = await table.engine.library.import_book(
        OWNER, dumps({"name": "B", "entries": entries}), "b.json", "ana"
    )
    list_id = await listed(table, raw("evil", EVIL, "y", 5, promptOnly=True))
    play = await table.begin(regex_ids=(list_id,), book_ids=(book.id,))
    head = await table.head(play)
    message = spoken_message(utterance("x"), "k")
    for _ in range(4):
        await table.engine.trials.in_session(head.session_id, message)
    assert table.engine.watches.stopped(OWNER) == ()
    # but three real requests do
    await table.tell(play, "x", "x x", "x x x")
    assert table.engine.watches.stopped(OWNER) == (EVIL,)
