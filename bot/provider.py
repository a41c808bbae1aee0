"""The model of the settings: its adapter and the call config that names it."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources

from bot.settings import ModelSettings, Settings
from engine.llm import Adapter, CallConfig, Catalogue, ModelInfo, Narrator, OpenAiAdapter, ServerSettings

__all__ = ["adapter", "call_config"]

NARRATOR_MODEL = "offline"


def adapter(settings: Settings) -> Adapter:
    """A new adapter; whoever asked for it closes it. Raises InputError for settings that cannot work."""
    model = settings.model
    if model.provider == "narrator":
        return Narrator(words_per_second=settings.narrator.words_per_second)
    assert model.base_url is not None  # the settings refuse "openai" without it
    return OpenAiAdapter(
        model.provider,
        ServerSettings(
            base_url=model.base_url,
            api_key=model.api_key.get_secret_value() if model.api_key else None,
            connect_timeout_s=model.connect_timeout,
            idle_timeout_s=model.idle_timeout,
        ),
        _catalogue(model),
    )


def call_config(settings: Settings) -> CallConfig:
    """What is asked of the model when neither preset nor story says otherwise."""
    model = settings.model
    return CallConfig(
        provider=model.provider,
        model=model.model or NARRATOR_MODEL,
        temperature=model.temperature,
        max_tokens=model.max_tokens,
    )


def _catalogue(model: ModelSettings) -> Catalogue:
    """The shipped catalogue, under the user's own, under the window that the settings name."""
    shipped = resources.files("config") / "models.toml"
    catalogue = Catalogue.parse(shipped.read_text(encoding="utf-8"), name="config/models.toml")
    if model.catalogue is not None:
        catalogue = catalogue.extended(Catalogue.load(model.catalogue))
    return catalogue if model.context_window is None else _WithWindow(catalogue, model.context_window)


class _WithWindow(Catalogue):
    """What another catalogue knows, except for the context window."""

    def __init__(self, known: Catalogue, window: int) -> None:
        super().__init__()
        self._known = known
        self._window = window

    def __len__(self) -> int:
        return len(self._known)

    def find(self, provider: str, model: str) -> ModelInfo:
        return replace(self._known.find(provider, model), context_window=self._window)
