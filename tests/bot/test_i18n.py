"""The texts: two languages in step, every key that the code uses, and a translator that never raises."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import discord
import pytest
from discord import app_commands

from bot.i18n import LANGUAGES, CommandTranslator, by_code, catalogue, label, language, t

ROOT = Path(__file__).parents[2]
ENGLISH = catalogue("en")
OTHERS = [name for name in LANGUAGES if name != "en"]


def forms(text: object) -> list[str]:
    return list(text.values()) if isinstance(text, dict) else [str(text)]


def placeholders(text: object) -> set[str]:
    return {name for form in forms(text) for name in re.findall(r"{(\w+)}", form)}


# --- the catalogues


@pytest.mark.parametrize("name", OTHERS)
def test_every_language_has_the_same_keys(name: str) -> None:
    assert catalogue(name).keys() == ENGLISH.keys()


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_command_that_a_text_names_exists(name: str) -> None:
    named = {
        command.strip()
        for text in catalogue(name).values()
        for form in forms(text)
        for command in re.findall(r"`/([a-z][a-z -]*)", form)
    }
    assert "strategy preview" in named
    assert sorted(it for it in named if f"commands.{it.replace(' ', '.')}.name" not in ENGLISH) == []


@pytest.mark.parametrize("name", OTHERS)
def test_every_text_is_filled_with_the_same_facts(name: str) -> None:
    differing = [
        key for key, text in catalogue(name).items() if placeholders(text) != placeholders(ENGLISH[key])
    ]
    assert differing == []


@pytest.mark.parametrize("name", LANGUAGES)
def test_no_text_is_blank(name: str) -> None:
    assert [
        key for key, text in catalogue(name).items() if not all(form.strip() for form in forms(text))
    ] == []


@pytest.mark.parametrize("name", LANGUAGES)
def test_commands_keep_discords_limits(name: str) -> None:
    for key, text in catalogue(name).items():
        if not key.startswith("commands.") or key.startswith("commands.menu."):
            continue
        assert isinstance(text, str)
        if key.endswith(".name"):
            assert re.fullmatch(r"[-_\w]{1,32}", text), key
            assert text == text.lower(), key
        else:
            assert 1 <= len(text) <= 100, key


@pytest.mark.parametrize("name", LANGUAGES)
def test_buttons_and_menus_fit_on_a_phone(name: str) -> None:
    for key, text in catalogue(name).items():
        if key.startswith(("button.", "commands.menu.")):
            assert len(str(text)) <= 12, key  # one word or two short ones: four buttons in a row


# --- the code and the catalogues


def used_keys() -> Iterator[tuple[str, str]]:
    """The literal keys that bot and cogs ask for, each with its place."""
    for package in ("bot", "cogs"):
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and (key := _key(node)) is not None:
                    yield key, f"{file.relative_to(ROOT)}:{node.lineno}"


def _key(call: ast.Call) -> str | None:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
    position = {"t": 1, "by_code": 1, "label": 0}.get(str(name))
    if position is None or len(call.args) <= position:
        return None
    argument = call.args[position]
    if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
        return None
    return f"{argument.value}.OTHER" if name == "by_code" else argument.value


def test_every_key_that_the_code_names_exists() -> None:
    assert [f"{place}: {key}" for key, place in used_keys() if key not in ENGLISH] == []


# --- looking up


@pytest.mark.parametrize(
    ("locale", "expected"),
    [
        (discord.Locale.chinese, "zh-CN"),
        (discord.Locale.taiwan_chinese, "zh-CN"),
        ("zh", "zh-CN"),
        (discord.Locale.american_english, "en"),
        (discord.Locale.french, "en"),
        (None, "en"),
    ],
)
def test_everybody_gets_a_language(locale: discord.Locale | str | None, expected: str) -> None:
    assert language(locale) == expected


def test_a_text_is_filled_in() -> None:
    assert t("en", "card.bound", name="Mira") == "New stories here start with **Mira**."
    assert t("zh-CN", "card.bound", name="Mira") == "这里的新故事将默认使用 **Mira**。"


def test_numbers_choose_the_form() -> None:
    assert t("en", "card.greetings", n=1) == "1 greeting"
    assert t("en", "card.greetings", n=3) == "3 greetings"
    assert t("zh-CN", "card.greetings", n=1) == "1 个开场白"


def test_braces_in_what_is_filled_in_are_left_alone() -> None:
    assert t("en", "play.info_title", title="{user} {0} {{x}}") == "{user} {0} {{x}}"


def test_a_missing_fact_does_not_take_the_message_down() -> None:
    assert t("en", "card.bound") == "New stories here start with **{name}**."


def test_a_missing_text_is_its_key() -> None:
    assert t("zh-CN", "no.such.text") == "no.such.text"


def test_a_code_without_a_text_gets_the_general_one() -> None:
    assert by_code("en", "failure", "AUTH") == ENGLISH["failure.AUTH"]
    assert by_code("en", "failure", "HTTP_418") == ENGLISH["failure.OTHER"]


# --- commands


class Somewhere:
    """The translator may be called with any context; it must not look."""


async def translated(string: app_commands.locale_str, locale: discord.Locale) -> str | None:
    return await CommandTranslator().translate(string, locale, Somewhere())  # type: ignore[arg-type]


async def test_a_label_is_english_in_the_code_and_chinese_for_chinese_readers() -> None:
    name = label("commands.card.import.name")

    assert name.message == "import"
    assert await translated(name, discord.Locale.chinese) == "导入"
    assert await translated(name, discord.Locale.taiwan_chinese) == "导入"
    assert await translated(name, discord.Locale.german) is None


async def test_the_translator_never_raises() -> None:
    for string in (
        app_commands.locale_str("no key"),
        app_commands.locale_str("unknown", key="commands.none"),
        app_commands.locale_str("wrong kind", key=5),
        app_commands.locale_str("plural", key="card.greetings"),
    ):
        assert await translated(string, discord.Locale.chinese) is None
