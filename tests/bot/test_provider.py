"""From settings to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot import provider
from bot.settings import Settings
from engine.errors import InputError
from engine.llm import AnthropicAdapter, CallConfig, Dialect, Narrator, OpenAiAdapter


def asking(**model: Any) -> Settings:
    return Settings.model_validate(
        {
            "model": {
                "provider": "openai",
                "base_url": "http://127.0.0.1:1/v1",
                "model": "gpt-4.1-mini",
                **model,
            }
        }
    )


async def test_without_a_word_it_is_the_narrator() -> None:
    assert isinstance(provider.adapter(Settings()), Narrator)
    assert provider.call_config(Settings()) == CallConfig("narrator", "offline")


async def test_the_settings_are_what_is_asked_for() -> None:
    assert provider.call_config(
        asking(temperature=0.5, max_tokens=300, reasoning_effort="low")
    ) == CallConfig("openai", "gpt-4.1-mini", temperature=0.5, max_tokens=300, reasoning_effort="low")


@pytest.mark.parametrize(
    ("name", "kind", "address"),
    [
        ("openai", OpenAiAdapter, "http://127.0.0.1:1/v1/chat/completions"),
        ("deepseek", OpenAiAdapter, "http://127.0.0.1:1/v1/chat/completions"),
        ("openrouter", OpenAiAdapter, "http://127.0.0.1:1/v1/chat/completions"),
        ("llama.cpp", OpenAiAdapter, "http://127.0.0.1:1/v1/chat/completions"),
        ("ollama", OpenAiAdapter, "http://127.0.0.1:1/v1/chat/completions"),
        ("anthropic", AnthropicAdapter, "http://127.0.0.1:1/v1/messages"),
    ],
)
async def test_every_provider_has_its_adapter_under_its_own_name(name: str, kind: type, address: str) -> None:
    adapter = provider.adapter(asking(provider=name))

    assert isinstance(adapter, kind)
    assert adapter.provider == name
    assert address in repr(adapter)
    await adapter.aclose()


async def test_the_dialect_comes_from_the_catalogue() -> None:
    adapter = provider.adapter(asking(provider="deepseek", model="deepseek-v9"))

    assert adapter.model_info("deepseek-v9").dialect == Dialect(
        effort="thinking", reasoning_history=True, stop_limit=16
    )
    await adapter.aclose()


async def test_the_shipped_catalogue_knows_the_window() -> None:
    adapter = provider.adapter(asking())

    assert adapter.model_info("gpt-4.1-mini").context_window == 1_047_576
    await adapter.aclose()


async def test_a_window_in_the_settings_replaces_only_the_window() -> None:
    adapter = provider.adapter(asking(context_window=4096))

    info = adapter.model_info("gpt-4.1-mini")
    assert info.context_window == 4096
    assert info.modalities == {"text", "image"}
    await adapter.aclose()


async def test_the_users_catalogue_goes_first(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[[model]]\nmodel = "gpt-4.1-mini"\ncontext_window = 2048\n')
    adapter = provider.adapter(asking(catalogue=tmp_path / "mine.toml"))

    assert adapter.model_info("gpt-4.1-mini").context_window == 2048
    await adapter.aclose()


async def test_a_catalogue_that_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml"):
        provider.adapter(asking(catalogue=tmp_path / "none.toml"))
