"""What is known of a strategy's rules before any source was asked."""

from __future__ import annotations

from typing import Any

import pytest

from engine.assembler import (
    Sources,
    built_in_strategies,
    check_rules,
    native_sources,
    read_strategy,
    story_sources,
)
from engine.errors import AssemblyError
from engine.hooks import Scope

WIRE = built_in_strategies()["builtin-st"].to_wire()


def checked(*rules: dict[str, Any]) -> None:
    sources = Sources()
    sources.register_all((*native_sources(), *story_sources()), owner=Scope("test"))
    check_rules(read_strategy({**WIRE, "rules": [*WIRE["rules"], *rules]}), sources.capture())


def test_a_rule_that_asks_what_its_source_cannot_do_is_refused() -> None:
    text = {"id": "mine", "kind": "tavern.text", "inputMode": "text", "role": "user", "text": "Hello."}
    checked(text)
    with pytest.raises(AssemblyError) as refused:
        checked({**text, "lifetime": "snapshot"})
    assert refused.value.error_code == "SOURCE_RULE_UNSUPPORTED"
    assert refused.value.data["rule_id"] == "mine"


def test_a_module_stands_in_a_strategy_once_and_texts_as_often_as_one_likes() -> None:
    checked(*({"id": f"t{n}", "kind": "custom", "role": "user", "text": "Hello."} for n in range(2)))
    with pytest.raises(AssemblyError) as refused:
        checked({"id": "again", "kind": "persona"})
    assert refused.value.error_code == "SOURCE_RULE_DUPLICATE"
    assert refused.value.data["rule_id"] == "again"


def test_what_is_switched_off_or_unknown_here_is_let_be() -> None:
    checked(
        {"id": "again", "kind": "persona", "enabled": False},
        {"id": "theirs", "kind": "some.plug-in", "lifetime": "snapshot"},
    )
