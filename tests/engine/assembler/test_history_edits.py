"""What people say of the history."""

from __future__ import annotations

import pytest

from engine.assembler.history_edits import (
    add_fragment,
    advanced_history,
    change_fragment,
    leave_out_content,
    policy_of,
    remove_fragment,
    switch_tidying,
    take_out,
    without_advanced_history,
)
from engine.assembler.history_policy import DEFAULT_POLICY, Fragment, check_standard_policy
from engine.errors import AssemblyError
from tests.engine.assembler.stage import SLOTS


def test_tidying_is_switched_on_and_off() -> None:
    on = switch_tidying(SLOTS, on=True)
    assert policy_of(on).excludes("dsh-prompt-assembler")
    assert switch_tidying(on, on=False) == SLOTS
    assert policy_of(SLOTS) == DEFAULT_POLICY


def test_kinds_are_taken_out_and_stay() -> None:
    changed = take_out(switch_tidying(SLOTS, on=True), {"runtime-context": False, "example.memory": True})
    policy = policy_of(changed)
    assert not policy.excludes("runtime-context")
    assert policy.excludes("example.memory") and policy.excludes("dsh-prompt-assembler")
    # nothing is said of others
    assert not policy.excludes("example.other")


def test_kinds_of_content_need_the_advanced_back_end() -> None:
    on = switch_tidying(SLOTS, on=True)
    check_standard_policy(policy_of(on))
    without = leave_out_content(on, text=False, image=True, reasoning=True)
    policy = policy_of(without)
    assert (policy.text, policy.image, policy.reasoning) == (True, False, False)
    assert advanced_history(without) and not advanced_history(on)
    with pytest.raises(AssemblyError) as caught:
        check_standard_policy(policy)
    assert caught.value.error_code == "HISTORY_ADVANCED_REQUIRED"
    assert without_advanced_history(without) == on


def test_passages_are_added_changed_switched_off_and_removed() -> None:
    added, fragment_id = add_fragment(SLOTS, "model", "<status>", "</status>", "lines")
    assert policy_of(added).fragments == (Fragment(fragment_id, "model", "<status>", "</status>", "lines"),)
    changed = change_fragment(added, fragment_id, {"start": "[[", "end": "]]", "mode": "literal"})
    assert policy_of(changed).fragments[0].mode == "literal"
    plain = without_advanced_history(changed)
    assert not advanced_history(plain)
    # switched off, it is not lost
    assert change_fragment(plain, fragment_id, {"enabled": True}) == changed
    assert remove_fragment(changed, fragment_id) == SLOTS


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ({"start": "x", "end": "x"}, "HISTORY_POLICY_INVALID"),
        ({"start": "two\nlines"}, "HISTORY_POLICY_INVALID"),
        ({"start": " "}, "HISTORY_POLICY_INVALID"),
        ({"end": "x" * 257}, "HISTORY_POLICY_INVALID"),
        ({"mode": "words"}, "HISTORY_POLICY_INVALID"),
        ({"source_kind": ""}, "HISTORY_POLICY_INVALID"),
    ],
)
def test_a_passage_that_cannot_be_is_refused(patch: dict[str, object], code: str) -> None:
    added, fragment_id = add_fragment(SLOTS, "model", "<a>", "</a>", "literal")
    with pytest.raises(AssemblyError) as caught:
        change_fragment(added, fragment_id, patch)
    assert caught.value.error_code == code


def test_a_passage_that_is_gone_is_not_changed() -> None:
    for change in (lambda: change_fragment(SLOTS, "x", {}), lambda: remove_fragment(SLOTS, "x")):
        with pytest.raises(AssemblyError) as caught:
            change()
        assert caught.value.error_code == "HISTORY_FRAGMENT_NOT_FOUND"


def test_there_is_room_for_a_hundred() -> None:
    full = SLOTS
    for number in range(100):
        full, _ = add_fragment(full, "model", f"<{number}>", "</>", "literal")
    with pytest.raises(AssemblyError) as caught:
        add_fragment(full, "model", "<a>", "</a>", "literal")
    assert caught.value.error_code == "HISTORY_POLICY_INVALID"
    with pytest.raises(AssemblyError) as caught:
        take_out(SLOTS, {f"kind{number}": True for number in range(100)})
    assert caught.value.error_code == "HISTORY_POLICY_INVALID"
