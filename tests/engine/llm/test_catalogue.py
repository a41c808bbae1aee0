"""The model catalogue: the shipped one, and what users write."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from engine.errors import InputError
from engine.llm import Catalogue, Dialect, ImageLimits, ModelInfo, Price

SHIPPED = Path(__file__).parents[3] / "config" / "models.toml"


def test_the_shipped_catalogue_reads_and_knows_its_models() -> None:
    catalogue = Catalogue.load(SHIPPED)
    deepseek = catalogue.find("openai", "deepseek-chat")
    assert deepseek.dialect == Dialect(effort="thinking", reasoning_history=True, stop_limit=16)
    assert deepseek.reasoning_efforts == ("off", "low", "high", "max")
    assert deepseek.context_window == 131_072
    assert catalogue.find("openai", "gpt-5-mini").dialect.max_tokens_field == "max_completion_tokens"
    assert catalogue.find("openai", "gpt-4.1-mini").price == Price(input=0.4, output=1.6, cached_input=0.1)
    assert catalogue.find("openai", "gpt-4.1").modalities == {"text", "image"}


@pytest.mark.parametrize(
    ("model", "refuses", "thinking_refuses"),
    [
        ("o1", {"temperature", "stop"}, set()),
        ("o3-mini", {"temperature", "stop"}, set()),
        ("o4-mini-2025-04-16", {"temperature", "stop"}, set()),
        ("gpt-5", {"temperature", "stop"}, set()),
        ("gpt-5-nano", {"temperature", "stop"}, set()),
        ("gpt-5.2", {"stop"}, {"temperature"}),
        ("gpt-5-chat-latest", set(), set()),
    ],
)
def test_openais_reasoning_models_want_another_field_and_fewer_of_them(
    model: str, refuses: set[str], thinking_refuses: set[str]
) -> None:
    dialect = Catalogue.load(SHIPPED).find("openai", model).dialect
    assert dialect.max_tokens_field == "max_completion_tokens"
    assert (dialect.refuses, dialect.thinking_refuses) == (refuses, thinking_refuses)


def test_plain_openai_models_take_everything() -> None:
    assert Catalogue.load(SHIPPED).find("openai", "gpt-4.1").dialect == Dialect(stop_limit=4)


def test_what_all_models_of_a_provider_share_is_added_to_what_one_of_them_is() -> None:
    sonnet = Catalogue.load(SHIPPED).find("anthropic", "claude-sonnet-4-5")
    assert sonnet.price == Price(input=3.0, output=15.0, cached_input=0.3)
    assert sonnet.dialect.thinking_budgets == {"low": 2048, "medium": 8192, "high": 24_576}
    assert (sonnet.context_window, sonnet.default_max_tokens) == (200_000, 4096)
    assert sonnet.dialect.thinking_refuses == {"temperature"}
    newest = Catalogue.load(SHIPPED).find("anthropic", "claude-opus-4-7")
    assert newest.dialect == Dialect(thinking_refuses=frozenset({"temperature"}))


@pytest.mark.parametrize(
    ("provider", "dialect"),
    [
        ("deepseek", Dialect(effort="thinking", reasoning_history=True, stop_limit=16)),
        ("openrouter", Dialect(effort="reasoning", reasoning_details=True)),
        ("llama.cpp", Dialect(effort="template", reasoning_history=True)),
        ("koboldcpp", Dialect()),
        ("vllm", Dialect()),
        ("ollama", Dialect()),
    ],
)
def test_every_provider_has_its_dialect_whatever_the_model(provider: str, dialect: Dialect) -> None:
    assert Catalogue.load(SHIPPED).find(provider, "some/new-model:7b").dialect == dialect


def test_no_shipped_model_takes_system_messages_in_mid_history() -> None:
    tables = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))["model"]
    assert len(tables) == len(Catalogue.load(SHIPPED))
    assert {table.get("system_prompt_update", "none") for table in tables} == {"none"}


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


def test_a_users_entries_go_first_and_leave_the_rest_as_it_was() -> None:
    shipped = Catalogue.parse('[[model]]\nmodel = "a"\ncontext_window = 1\nmax_output = 5')
    user = Catalogue.parse('[[model]]\nmodel = "a"\ncontext_window = 2')
    found = shipped.extended(user).find("p", "a")
    assert (found.context_window, found.max_output) == (2, 5)


def test_a_dialect_is_put_together_key_by_key_and_a_price_is_not() -> None:
    catalogue = Catalogue.parse("""
        [[model]]
        model = "a"
        price = { input = 1.0, output = 2.0 }
        dialect = { prompt_cache = true }
        images = { max_count = 2 }
        [[model]]
        model = "*"
        price = { input = 9.0, output = 9.0, cached_input = 9.0 }
        dialect = { prompt_cache = false, stop_limit = 4 }
        images = { max_side = 100 }
    """)
    found = catalogue.find("p", "a")
    assert found.dialect == Dialect(prompt_cache=True, stop_limit=4)
    assert found.price == Price(input=1.0, output=2.0)
    assert found.images == ImageLimits(max_count=2, max_side=100)


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
        ('[[model]]\nmodel = "a"\ndialect = { refuses = ["top_p"] }', "key dialect.refuses"),
        ('[[model]]\nmodel = "a"\ndialect = { thinking_budgets = { low = 9 } }', "thinking_budgets.low"),
        ('[[model]]\nmodel = "a"\nimages = { max_cuont = 1 }', "key images.max_cuont"),
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


@pytest.mark.parametrize(
    ("provider", "model", "sees"),
    [
        ("openai", "gpt-4.1-mini", True),
        ("openai", "gpt-5.2", True),
        ("openai", "gpt-4o-mini", True),
        ("openai", "gpt-4o-audio-preview", False),
        ("openai", "o3", True),
        ("openai", "o4-mini", True),
        ("openai", "o3-mini", False),
        ("openai", "o1-preview", False),
        ("openai", "gpt-3.5-turbo", False),
        ("openai", "deepseek-chat", False),
        ("deepseek", "deepseek-chat", False),
        ("deepseek", "whatever-comes-next", False),
        ("anthropic", "claude-haiku-4-5", True),
        ("openrouter", "anthropic/claude-sonnet-4.5", True),
        ("openrouter", "google/gemini-2.5-flash", True),
        ("openrouter", "openai/gpt-4o", True),
        ("openrouter", "openai/gpt-4-turbo", True),
        ("openrouter", "openai/gpt-4.1", True),
        ("openrouter", "openai/gpt-4", False),
        ("openrouter", "openai/gpt-4-0314", False),
        ("openrouter", "openai/gpt-oss-120b", False),
        ("openrouter", "openai/o4-mini", True),
        ("openrouter", "openai/o3-mini", False),
        ("openrouter", "qwen/qwen2.5-vl-72b-instruct", True),
        ("openrouter", "deepseek/deepseek-chat", False),
        ("llama.cpp", "gemma-3-12b", False),
        ("nobody", "unheard-of", False),
    ],
)
def test_which_models_see(provider: str, model: str, sees: bool) -> None:
    assert ("image" in Catalogue.load(SHIPPED).find(provider, model).modalities) is sees


def test_users_say_what_their_own_model_is() -> None:
    own = Catalogue.parse(
        """
        [[model]]
        provider = "llama.cpp"
        model = "gemma-3*"
        context_window = 16_384
        modalities = ["text", "image"]
        images = { max_count = 2 }
        price = { input = 0.1, output = 0.2 }
        """
    )
    found = Catalogue.load(SHIPPED).extended(own).find("llama.cpp", "Gemma-3-12B-it")
    assert (found.context_window, found.modalities) == (16_384, {"text", "image"})
    assert found.price == Price(input=0.1, output=0.2)
    # what the program itself takes stays known
    assert found.images.max_count == 2
    assert "image/webp" not in found.images.formats
    assert found.dialect.effort == "template"


@pytest.mark.parametrize("wrong", ['["text", "images"]', '"image"', "[1]"])
def test_a_misspelt_modality_is_refused(wrong: str) -> None:
    with pytest.raises(InputError) as refused:
        Catalogue.parse(f'[[model]]\nmodel = "m"\nmodalities = {wrong}')
    assert "modalities" in refused.value.message
