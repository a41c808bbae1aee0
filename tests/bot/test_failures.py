"""What people are told when a turn ended without an answer."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import engine.assembler
from bot.failures import unanswered
from bot.i18n import catalogue

ASSEMBLER = Path(engine.assembler.__file__).parent
AT_START = {"SOURCE_INVALID", "SOURCE_DUPLICATE"}
"""Raised when sources are registered, before anybody can ask for anything."""
NEVER_HERE = {"ASSEMBLY_SYSTEM_NOT_TEXT", "STRATEGY_ID", "STRATEGY_SESSION_ID"}
"""Of what our sessions never hold, and of ids that people never write."""


def refusals() -> set[str]:
    """The codes with which the assembler refuses, as its source names them."""
    found = {"SOURCE_OUTPUT_INVALID"}  # what `source_invalid` says without being told
    for path in ASSEMBLER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            place = {"refuse": 0, "source_invalid": 1}.get(node.func.id)
            if place is None or len(node.args) <= place:
                continue
            code = node.args[place]
            if isinstance(code, ast.Constant) and isinstance(code.value, str):
                found.add(code.value)
    return found


def test_every_refusal_of_the_assembler_has_its_text_in_both_languages() -> None:
    wanted = refusals() - AT_START - NEVER_HERE
    assert {"POSITION_STRATEGY_INVALID", "SOURCE_CYCLE", "NATIVE_MESSAGE_NOT_ONCE"} <= wanted
    for locale in ("en", "zh-CN"):
        texts = catalogue(locale)
        assert [
            code for code in sorted(wanted) if not {f"failure.{code}", f"error.{code}"} & set(texts)
        ] == []


@pytest.mark.parametrize("code", ["POSITION_STRATEGY_UNAVAILABLE", "SOURCE_RULE_DUPLICATE", "SOURCE_CYCLE"])
def test_a_strategy_that_cannot_be_carried_out_is_not_said_to_be_the_models_fault(code: str) -> None:
    for locale in ("en", "zh-CN"):
        line = unanswered(locale, code)
        assert catalogue(locale)[f"error.{code}"] in line
        assert line != unanswered(locale, "HTTP_418")


def test_what_has_a_line_of_its_own_keeps_it() -> None:
    assert unanswered("en", "SOURCE_FAILED") == catalogue("en")["failure.SOURCE_FAILED"]
    assert unanswered("en", "HTTP_418") == "The model could not answer. Your message is kept."
