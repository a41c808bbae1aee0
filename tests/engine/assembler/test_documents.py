"""The fine print of strategy documents: where JSON and Python disagree about what a value is."""

from __future__ import annotations

from typing import Any

import pytest

from engine.assembler import read_policy, read_strategy, strategy_from_bytes
from engine.errors import AssemblyError

LAYOUT = {"version": 1, "source": "manual", "identity": "preserve", "fallback": "error", "overrides": []}


def document(rule: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    head = {"format": "dsh-tavern-request-assembly", "version": 1, "name": "Test"}
    return {**head, "rules": [{"id": "a", "kind": "persona", **(rule or {})}], **fields}


@pytest.mark.parametrize(
    "given",
    [
        document(version=True),
        document(version="1"),
        document(layout={**LAYOUT, "version": True}),
        document({"depth": True}),
        document({"depth": float("inf")}),
        document({"depth": "1"}),
        document({"id": "a\n"}),
        document({"id": "ä"}),
        document({"kind": "persona\n"}),
        document({"role": []}),
        document({"text": "half \ud83d"}),
        document({"name": "half \ud83d"}),
        document(name="half \ud83d"),
        document(name="\ufeff \u3000"),
    ],
)
def test_what_only_looks_like_a_document_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(AssemblyError) as caught:
        read_strategy(given)
    assert (caught.value.error_code, caught.value.status) == ("STRATEGY_INVALID", 400)


def test_a_policy_of_version_true_is_refused() -> None:
    wire = {**read_strategy(document(historyPolicy=POLICY)).to_wire()["historyPolicy"], "version": True}
    with pytest.raises(AssemblyError) as caught:
        read_policy(wire)
    assert caught.value.error_code == "HISTORY_POLICY_INVALID"


POLICY = {
    "version": 1,
    "enabled": False,
    "sources": [],
    "contentTypes": {"text": True, "image": True, "reasoning": False},
    "fragments": [],
}


def test_only_false_switches_off_and_whole_numbers_are_whole_however_they_are_written() -> None:
    values = (0, None, "", "false", False)
    on = [read_strategy(document({"enabled": value})).rules[0].enabled for value in values]
    assert on == [True, True, True, True, False]
    depths = [read_strategy(document({"depth": value})).rules[0].depth for value in (2.0, -0.0, 10_000)]
    assert depths == [2, 0, 10_000] and all(type(depth) is int for depth in depths)


def test_a_name_loses_the_blanks_around_it_that_javascript_knows() -> None:
    assert read_strategy(document(name="\ufeff Tea \u2028")).name == "Tea"


def test_a_file_may_begin_with_the_mark_of_its_editor() -> None:
    how = read_strategy(document())
    assert strategy_from_bytes(b"\xef\xbb\xbf" + how.to_bytes()) == how
    assert strategy_from_bytes("\ufeff" + how.to_bytes().decode()) == how


def test_of_two_members_of_one_name_the_last_holds() -> None:
    body = b'{"format":"dsh-tavern-request-assembly","version":1,"name":"A","name":"B","rules":[]}'
    assert strategy_from_bytes(body).name == "B"
