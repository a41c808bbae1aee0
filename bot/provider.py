"""The model of the settings: its adapter and the call config that names it."""

from __future__ import annotations

from importlib import resources

from bot.settings import ModelSettings, Settings
from engine.llm import (
    Adapter,
    AnthropicAdapter,
    CallConfig,
    Catalogue,
    Narrator,
    OpenAiAdapter,
    ServerSettings,
)

__all__ = ["adapter", "call_config"]

NARRATOR_MODEL = "offline"


def adapter(settings: Settings) -> Adapter:
    """A new adapter; whoever asked for it closes it. Raises InputError for settings that cannot work."""
    model = settings.model
    if model.provider == "narrator":
        return Narrator(words_per_second=settings.narrator.words_per_second)
    assert model.base_url is not None  # the settings fill it in
    server = ServerSettings(
        base_url=model.base_url,
        api_key=model.api_key.get_secret_value() if model.api_key else None,
        connect_timeout_s=model.connect_timeout,
        idle_timeout_s=model.idle_timeout,
    )
    # The others speak one protocol; how they differ stands in the catalogue under their names.
    kind = AnthropicAdapter if model.provider == "anthropic" else OpenAiAdapter
    return kind(model.provider, server, _catalogue(model))


def call_config(settings: Settings) -> CallConfig:
    """What is asked of the model when neither preset nor story says otherwise."""
    model = settings.model
    return CallConfig(
        provider=model.provider,
        model=model.model or NARRATOR_MODEL,
        temperature=model.temperature,
        max_tokens=model.max_tokens,
        reasoning_effort=model.reasoning_effort,
    )


def _catalogue(model: ModelSettings) -> Catalogue:
    """The shipped catalogue, under the user's own, under the window that the settings name."""
    shipped = resources.files("config") / "models.toml"
    catalogue = Catalogue.parse(shipped.read_text(encoding="utf-8"), name="config/models.toml")
    if model.catalogue is not None:
        catalogue = catalogue.extended(Catalogue.load(model.catalogue))
    if model.context_window is not None:
        window = f'[[model]]\nmodel = "*"\ncontext_window = {model.context_window}\n'
        catalogue = catalogue.extended(Catalogue.parse(window))
    return catalogue
