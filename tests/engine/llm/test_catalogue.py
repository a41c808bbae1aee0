"""The model catalogue: the shipped one, and what users write."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from engine.errors import InputError
from engine.llm import Catalogue, Dialect, ModelInfo, Price

SHIPPED = Path(__file__).parents[3] / "config" / "models.toml"


def test_the_shipped_catalogue_reads_and_knows_its_models() -> None:
    catalogue = Catalogue.load(SHIPPED)
    deepseek = catalogue.find("openai", "deepseek-chat")
    assert deepseek.dialect == Dialect(reasoning_history=True, thinking_switch=True)
    assert deepseek.reasoning_efforts == ("off", "low", "high", "max")
    assert deepseek.context_window == 131_072
    assert catalogue.find("openai", "gpt-5-mini").dialect.max_tokens_field == "max_completion_tokens"
    assert catalogue.find("openai", "gpt-4.1-mini").price == Price(input=0.4, output=1.6, cached_input=0.1)
    assert catalogue.find("openai", "gpt-4.1").modalities == {"text", "image"}


def test_no_shipped_model_takes_system_messages_in_mid_history() -> None:
    tables = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))["model"]
    assert [table["system_prompt_update"] for table in tables] == ["none"] * len(Catalogue.load(SHIPPED))


def test_an_unknown_model_is_an_empty_record() -> None:
    assert Catalogue.load(SHIPPED).find("home", "my-llama") == ModelInfo("home", "my-llama")


def test_the_first_entry_that_fits_counts_and_case_does_not() -> None:
    catalogue = Catalogue.parse(
        '[[model]]\nmodel = "a-mini*"\ncontext_window = 1\n'
        '[[model]]\nprovider = "p"\nmodel = "a-*"\ncontext_window = 2\n'
    )
    assert catalogue.find("p", "A-Mini-2").context_window == 1
    assert catalogue.find("P", "a-large").context_window == 2
    assert catalogue.find("q", "a-large").context_window is None


def test_a_users_entries_go_first() -> None:
    shipped = Catalogue.parse('[[model]]\nmodel = "a"\ncontext_window = 1\nmax_output = 5')
    user = Catalogue.parse('[[model]]\nmodel = "a"\ncontext_window = 2')
    found = shipped.extended(user).find("p", "a")
    assert (found.context_window, found.max_output) == (2, None)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[[model]", "not TOML"),
        ("[models]\na = 1", "only \\[\\[model\\]\\]"),
        ("model = 3", "only \\[\\[model\\]\\]"),
        ("[[model]]\ncontext_window = 1", "number 1, key model"),
        ('[[model]]\nmodel = "a"\n[[model]]\nmodel = "b"\ncontext_windw = 1', "number 2, key context_windw"),
        ('[[model]]\nmodel = "a"\ncontext_window = -1', "key context_window"),
        ('[[model]]\nmodel = "a"\nprice = { input = 1 }', "key price.output"),
        ('[[model]]\nmodel = "a"\ndialect = { max_tokens_field = "x" }', "key dialect.max_tokens_field"),
        ('[[model]]\nmodel = "a"\ndialect = { thinkin_switch = true }', "key dialect.thinkin_switch"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, named: str) -> None:
    with pytest.raises(InputError, match=named) as caught:
        Catalogue.parse(text, name="mine.toml")
    assert caught.value.error_code == "LLM_CATALOGUE"
    assert "mine.toml" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Catalogue.load(tmp_path / "none.toml")
