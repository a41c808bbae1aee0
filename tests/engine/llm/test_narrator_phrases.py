"""Words turned round: what somebody said, made fit to be said back or told about."""

from __future__ import annotations

import pytest

from engine.llm.narrator import chinese, phrases


@pytest.mark.parametrize(
    ("said", "back"),
    [
        ("I lost your ring.", "you lost my ring"),
        ("You should trust me", "I should trust you"),
        ("I was with you yesterday.", "you were with me yesterday"),
        ("Well. I'm sure you are right.", "you're sure I am right"),
        ("My brother gave you the key.", "your brother gave me the key"),
        ("*nods* I told you.", "you told me"),
        ("You were there, and you knew.", "I was there, and I knew"),
        ("Where were you?", ""),
        ("The gate is shut.", ""),
        ("Yes.", ""),
    ],
)
def test_a_statement_said_back(said: str, back: str) -> None:
    assert phrases.mirror(said) == back


@pytest.mark.parametrize(
    ("said", "clause"),
    [
        ("*opens the door slowly*", "Ana opens the door slowly"),
        ("*I carry the box to you*", "Ana carries the box to Mara"),
        ("*Ana takes your hand*", "Ana takes Mara's hand"),
        ("*puts my sword down* There.", "Ana puts their sword down"),
        ("I push the door and go in.", "Ana pushes the door"),
        ("I think it is late.", ""),
        ("*I slowly turn away*", ""),
        ("*I can't move*", ""),
        ("*quietly*", ""),
        ("*his voice*", ""),
        ("Open the door.", ""),
    ],
)
def test_a_deed_told_from_outside(said: str, clause: str) -> None:
    assert phrases.deed(said, "Ana", "Mara") == clause


@pytest.mark.parametrize(
    ("said", "thing"),
    [
        ("I take the old lantern and walk to the cellar", "the old lantern"),
        ("Is this your sword?", "my sword"),
        ("She hid the small brass lantern.", "the small brass lantern"),
        ("The lamp light flickers everywhere now.", "the lamp light"),
        ("My brother is here.", "your brother"),
        ("Do you know that song?", "that song"),
        ("I have an idea.", "the idea"),
        ("Hello there.", ""),
        ("Some things are lost.", ""),
    ],
)
def test_the_thing_that_was_spoken_of(said: str, thing: str) -> None:
    assert phrases.thing(said) == thing


def test_a_quotation_breaks_off_when_it_is_long() -> None:
    assert phrases.quote('*sighs* "Not now." Later.') == "Not now"
    assert phrases.quote("I walked all the way from the city to see you.") == "I walked all the way from…"
    assert phrases.quote("*sighs*") == ""


def test_of_a_question_the_question_is_quoted() -> None:
    assert phrases.quote("I heard of a ferry. Who runs it? Tell me.") == "Who runs it"
    assert chinese.quote("我听说有条渡船，谁在撑船？告诉我。") == "谁在撑船"
    assert chinese.quote("我在沙滩上捡到这口铜钟，上面有名字。") == "我在沙滩上捡到这口铜……"


def test_a_sentence_of_the_world_follows_other_words() -> None:
    assert phrases.to_speech("The gate is shut.") == "the gate is shut"
    assert phrases.to_speech("- Hask lies north.") == "Hask lies north"


@pytest.mark.parametrize(
    ("said", "back"),
    [
        ("我丢了你的戒指。", "你丢了我的戒指"),
        ("我们一起走，我带路", "我们一起走，你带路"),
        ("你是谁？", ""),
        ("请帮我把门打开。", ""),
        ("门关着。", ""),
    ],
)
def test_a_chinese_statement_said_back(said: str, back: str) -> None:
    assert chinese.mirror(said) == back


@pytest.mark.parametrize(
    ("said", "clause"),
    [
        ("*推开门*", "小安推开门"),
        ("*我把剑递给你*", "小安把剑递给林月"),
        ("（小安坐下来）", "小安坐下来"),
        ("我推开门。", ""),
    ],
)
def test_a_chinese_deed_told_from_outside(said: str, clause: str) -> None:
    assert chinese.deed(said, "小安", "林月") == clause


@pytest.mark.parametrize(
    ("said", "thing"),
    [
        ("我捡到这口铜钟。", "那口铜钟"),
        ("这是我的剑。", "你的剑"),
        ("你的灯灭了", "我的灯"),
        ("你好。", ""),
    ],
)
def test_the_chinese_thing_that_was_spoken_of(said: str, thing: str) -> None:
    assert chinese.thing(said) == thing
