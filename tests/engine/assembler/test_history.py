"""The history policy: documents, what the standard back end replaces, and the advanced filter."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.assembler import (
    DEFAULT_POLICY,
    Fragment,
    HistoryPolicy,
    check_standard_policy,
    filter_history,
    is_tombstone,
    read_policy,
    standard_changes,
    tombstone_source,
)
from engine.assembler.fragments import passages, without
from engine.errors import AssemblyError
from engine.session import (
    Message,
    assistant_message,
    developer_message,
    reasoning_block,
    text_block,
    tool_message,
    user_message,
)
from tests.engine.assembler.stage import said, strategy, system

ON = HistoryPolicy(enabled=True)
OURS = {"kind": "dsh-prompt-assembler"}


def injected(name: str, kind: str = "dsh-prompt-assembler") -> Message:
    return user_message(name, name, {"kind": kind})


def reply(name: str, *texts: str) -> Message:
    return assistant_message(name, [text_block(words) for words in texts], provider="p", model="m")


def kept(messages: list[Message], policy: HistoryPolicy = ON, **more: Any) -> list[str]:
    seqs = {message["id"]: number for number, message in enumerate(messages)}
    return [message["id"] for message in filter_history(messages, seqs, policy, **more).messages]


def reasons(messages: list[Message], policy: HistoryPolicy = ON, **more: Any) -> dict[str, list[str]]:
    seqs = {message["id"]: number for number, message in enumerate(messages)}
    return {it["messageId"]: it["reasons"] for it in filter_history(messages, seqs, policy, **more).decisions}


# Documents


def test_a_policy_is_off_unless_chosen_and_reads_what_it_writes() -> None:
    assert not DEFAULT_POLICY.enabled
    assert read_policy(DEFAULT_POLICY.to_wire()) == DEFAULT_POLICY


def test_a_strategy_carries_its_policy() -> None:
    how = strategy("history", "input", historyPolicy=ON.to_wire())
    assert how.history_policy == ON
    assert strategy("history", "input").revision != how.revision


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"enabled": 1},
        {"x": 1},
        {"contentTypes": {"text": True}},
        {"contentTypes": {"text": True, "image": True, "reasoning": 1}},
        {"sources": [{"kind": "a", "include": False}] * 2},
        {"sources": [{"kind": f"k{n}", "include": False} for n in range(101)]},
        {"sources": [{"kind": "a", "include": False, "x": 1}]},
        {
            "fragments": [
                {"id": "f", "sourceKind": "model", "start": "a", "end": "a", "mode": "lines", "enabled": True}
            ]
        },
        {
            "fragments": [
                {
                    "id": "f",
                    "sourceKind": "model",
                    "start": "a\n",
                    "end": "b",
                    "mode": "lines",
                    "enabled": True,
                }
            ]
        },
        {
            "fragments": [
                {"id": "f", "sourceKind": "model", "start": "a", "end": "b", "mode": "any", "enabled": True}
            ]
        },
    ],
)
def test_another_shape_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(AssemblyError) as caught:
        read_policy({**DEFAULT_POLICY.to_wire(), **change})
    assert (caught.value.error_code, caught.value.status) == ("HISTORY_POLICY_INVALID", 400)


# Standard: case 63


def test_old_injections_become_tombstones_and_come_back() -> None:
    messages = [injected("p1"), said("p2"), injected("p3")]
    nodes = list(enumerate(messages))
    changes = standard_changes(nodes, ON, step_seq=2)
    assert [(it.seq, it.action) for it in changes] == [(0, "remove")]
    grave = developer_message("g", [], tombstone_source(messages[0], ON))
    assert is_tombstone(grave)
    buried = [(0, grave), *nodes[1:]]
    assert standard_changes(buried, ON, step_seq=2) == []
    back = standard_changes(buried, DEFAULT_POLICY, step_seq=2)
    assert [(it.action, it.message) for it in back] == [("restore", messages[0])]
    assert standard_changes(buried, None, step_seq=2) == back


def test_the_facts_in_force_stay_and_so_does_what_people_said() -> None:
    everybody = HistoryPolicy(enabled=True, sources={"user": False, "runtime-context": False})
    nodes = list(enumerate([injected("c1", "runtime-context"), said("u"), injected("c2", "runtime-context")]))
    assert [it.seq for it in standard_changes(nodes, everybody, step_seq=9)] == [0]


@pytest.mark.parametrize(
    "policy",
    [
        HistoryPolicy(enabled=True, text=False),
        HistoryPolicy(enabled=True, image=False),
        HistoryPolicy(enabled=True, fragments=(Fragment("f", "model", "a", "b", "lines"),)),
    ],
)
def test_the_standard_back_end_cuts_nothing_out_of_messages(policy: HistoryPolicy) -> None:
    with pytest.raises(AssemblyError) as caught:
        check_standard_policy(policy)
    assert caught.value.error_code == "HISTORY_ADVANCED_REQUIRED"
    check_standard_policy(HistoryPolicy(text=False))


# Advanced


def test_only_what_is_old_goes() -> None:
    messages = [injected("p1"), said("u"), injected("p2")]
    assert kept(messages, step_seq=2) == ["u", "p2"]
    assert reasons(messages, step_seq=2)["p2"] == ["CURRENT_OR_ASSEMBLED_CONTENT"]


def test_text_like_an_injection_that_a_person_wrote_stays() -> None:
    assert kept([injected("same"), user_message("u", "same")]) == ["u"]


def test_unknown_kinds_stay_with_a_warning() -> None:
    assert reasons([injected("x", "vendor.x")])["x"] == ["UNKNOWN_SOURCE_RETAINED"]


def test_protocol_messages_and_the_current_system_text_stay() -> None:
    messages = [system("s1"), system("s2"), tool_message("t", "c", "done"), said("u")]
    told = reasons(messages)
    assert told["s1"] == ["SOURCE_EXCLUDED"]
    assert told["s2"] == ["CURRENT_SYSTEM_PROMPT"]
    assert told["t"] == ["PROTECTED_PROTOCOL_MESSAGE"]


def test_a_message_of_which_nothing_is_left_goes() -> None:
    policy = HistoryPolicy(enabled=True, text=False)
    assert reasons([said("u"), user_message("i", [{"type": "image"}])], policy)["u"] == ["EMPTY_AFTER_FILTER"]


def test_an_excluded_reply_that_the_provider_wants_back_stays() -> None:
    policy = HistoryPolicy(enabled=True, sources={"model": False})
    state = {"response": {"kind": "deepseek-messages"}, "blocks": [{}]}
    replayed = assistant_message("a", "A", provider="p", model="m", replay_state=state)
    thought = assistant_message("b", [reasoning_block("hm"), text_block("B")], provider="p", model="m")
    told = reasons([said("u"), replayed, thought, reply("c", "C")], policy)
    assert told["a"] == ["SOURCE_REPLAY_RETAINED"]
    assert told["b"] == ["SOURCE_REQUIRED_REASONING_RETAINED"]
    assert told["c"] == ["SOURCE_EXCLUDED"]


# Fragments: case 64

LINES = Fragment("f", "model", "<P>", "</P>", "lines")
LITERAL = Fragment("g", "model", "<P>", "</P>", "literal")


@pytest.mark.parametrize(
    ("fragment", "text", "rest", "reason"),
    [
        (LINES, "a\n<P>\nx\n</P>\nb", "a\nb", []),
        (LINES, "a <P>x</P> b", "a <P>x</P> b", []),
        (LINES, "```\n<P>\nx\n</P>\n```", "```\n<P>\nx\n</P>\n```", []),
        (LINES, "<P>\nx", "<P>\nx", ["UNCLOSED_FRAGMENT"]),
        (LINES, "<P>\n<P>\n</P>\n</P>", "<P>\n<P>\n</P>\n</P>", ["AMBIGUOUS_FRAGMENT"]),
        (LINES, "a\u2028<P>\x0cb\n<P>\r\nx\r\n</P>\r\nc", "a\u2028<P>\x0cb\nc", []),
        (LITERAL, "a<P>x</P>b<P>y</P>", "ab", []),
        (LITERAL, "a</P>b", "a</P>b", ["AMBIGUOUS_FRAGMENT"]),
    ],
)
def test_passages(fragment: Fragment, text: str, rest: str, reason: list[str]) -> None:
    cuts, found = passages(text, [fragment])
    assert without(text, cuts) == rest
    assert found == reason


def test_overlapping_passages_are_cut_as_one() -> None:
    other = Fragment("h", "model", "x", "y", "literal")
    cuts, _ = passages("a<P>x</P>by", [LITERAL, other])
    assert [(it.start, it.end, it.rule_ids) for it in cuts] == [(1, 11, ("g", "h"))]


PARTS = st.lists(st.sampled_from(["<P>", "</P>", "a", "😀", "\n", "```"]), max_size=12).map("".join)


@given(PARTS, st.sampled_from([LINES, LITERAL]))
def test_cuts_are_in_order_apart_and_whole(text: str, fragment: Fragment) -> None:
    cuts, found = passages(text, [fragment])
    assert not (cuts and found)
    assert all(first.end <= second.start for first, second in pairwise(cuts))
    for cut in cuts:
        inside = text[cut.start : cut.end].strip()
        assert inside.startswith("<P>") and inside.endswith("</P>")
