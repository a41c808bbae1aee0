"""Every setting of the bot: its shape, where it comes from, and one clear line when it is wrong.

The strongest source first: command line, environment (`INGLENOOK_SECTION__KEY`), secret files,
the user's own TOML file, `config/default.toml`. What each key is for stands in `default.toml`;
a test keeps that file and these classes in step.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from bot.complaints import Wrong, explain

__all__ = [
    "ENV_PREFIX",
    "STEERING",
    "AssemblySettings",
    "AttachmentSettings",
    "DiscordSettings",
    "ImportSettings",
    "LimitSettings",
    "LogSettings",
    "ModelSettings",
    "NarratorSettings",
    "PlaySettings",
    "SandboxSettings",
    "Settings",
    "SettingsError",
    "StorageSettings",
    "keys",
    "load",
]

ENV_PREFIX = "INGLENOOK_"
ENVIRONMENT = "the environment"
SECRET_FILE = "secret file"
# Variables with our prefix that steer the loading itself and are no settings.
STEERING = {"INGLENOOK_CONFIG", "INGLENOOK_SECRETS"}

Values: TypeAlias = dict[str, Any]

_LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d+)?(/\S*)?")


def _address(scheme: str, *, plain: bool) -> Callable[[str], str]:
    """A check for addresses; unencrypted ones that leave this machine pass only if `plain`."""

    def check(value: str) -> str:
        name, _, rest = value.partition("://")
        if name not in (scheme, scheme + "s") or not re.fullmatch(r"[^\s/]+(/\S*)?", rest):
            raise ValueError(f"must be an address such as {scheme}s://example.com")
        if name == scheme and not plain and not _LOOPBACK.fullmatch(rest):
            raise ValueError(f"must be an encrypted address ({scheme}s://…) unless it is on this machine")
        return value.rstrip("/")

    return check


# A token must not cross a network in the clear; on this machine it may.
HttpAddress = Annotated[str, AfterValidator(_address("http", plain=False))]
SocketAddress = Annotated[str, AfterValidator(_address("ws", plain=False))]
# A model server in one's own house often has no certificate; that is its owner's choice.
ModelAddress = Annotated[str, AfterValidator(_address("http", plain=True))]


def _stripped(value: object) -> object:
    # Secrets are pasted, and files end with a line break.
    return value.strip() if isinstance(value, str) else value


Secret = Annotated[SecretStr, BeforeValidator(_stripped), Field(min_length=1)]


class SettingsError(Exception):
    """The settings cannot be used. One line per wrong setting, fit to be shown as it is."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DiscordSettings(_Section):
    """How to reach Discord, or something that speaks its protocol."""

    token: Secret | None = None
    sync_commands: bool = True
    message_content: bool = True
    api_base: HttpAddress | None = None
    gateway_url: SocketAddress | None = None
    cdn_base: HttpAddress | None = None

    @model_validator(mode="after")
    def _all_or_none(self) -> DiscordSettings:
        # Half of it would send the token of one service to another.
        given = [name for name in ("api_base", "gateway_url", "cdn_base") if getattr(self, name)]
        if given and len(given) < 3:
            raise Wrong(
                given[0], "must be given together with the other two of api_base, gateway_url and cdn_base"
            )
        return self


class StorageSettings(_Section):
    """Where the database is."""

    path: Path = Path("data/inglenook.db")


# Where a provider is unless the settings say otherwise: the service's own address, or this machine
# and the port that the program takes by itself.
_MODEL_ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "koboldcpp": "http://127.0.0.1:5001/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "ollama": "http://127.0.0.1:11434/v1",
}


class ModelSettings(_Section):
    """Who writes the answers. Times in seconds, sizes in tokens; a known `base_url` is filled in."""

    provider: Literal[
        "narrator",
        "openai",
        "deepseek",
        "anthropic",
        "openrouter",
        "llama.cpp",
        "koboldcpp",
        "vllm",
        "ollama",
    ] = "narrator"
    base_url: ModelAddress | None = None
    model: str | None = Field(default=None, min_length=1)
    api_key: Secret | None = None
    context_window: int | None = Field(default=None, ge=1024)
    catalogue: Path | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    reasoning_effort: str | None = Field(default=None, min_length=1)
    connect_timeout: float = Field(default=10.0, gt=0)
    idle_timeout: float = Field(default=90.0, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _usual_address(cls, values: object) -> object:
        if isinstance(values, dict) and values.get("base_url") is None:
            address = _MODEL_ADDRESSES.get(str(values.get("provider")))
            return values if address is None else {**values, "base_url": address}
        return values

    @model_validator(mode="after")
    def _reachable(self) -> ModelSettings:
        if self.provider == "narrator":
            return self
        if self.model is None:
            raise Wrong("model", f'is needed when model.provider is "{self.provider}"')
        usual = _MODEL_ADDRESSES[self.provider]
        if self.base_url == usual and usual.startswith("https://") and self.api_key is None:
            # Else a forgotten address would send a story to a service that nobody meant.
            if self.provider == "openai":
                raise Wrong(
                    "base_url", 'is needed when model.provider is "openai", unless there is an api_key'
                )
            raise Wrong("api_key", f'is needed when model.provider is "{self.provider}"')
        return self


class NarratorSettings(_Section):
    """The offline model."""

    words_per_second: float = Field(default=20.0, ge=0)


class PlaySettings(_Section):
    """How a story is played. `edit_interval` in seconds, `max_message_length` in characters."""

    stream: Literal["edit", "sentence", "off"] = "edit"
    edit_interval: float = Field(default=1.2, ge=0)
    max_message_length: int = Field(default=4000, ge=1)
    max_waiting: int = Field(default=32, ge=1)
    catch_up_minutes: int = Field(default=15, ge=0)
    samples: bool = False
    first_story: str | None = Field(default=None, min_length=1)


class LimitSettings(_Section):
    """What may be imported; sizes in bytes."""

    card_bytes: int = Field(default=32 * 1024 * 1024, ge=1)
    preset_bytes: int = Field(default=2 * 1024 * 1024, ge=1)
    book_bytes: int = Field(default=4 * 1024 * 1024, ge=1)
    cards_per_server: int = Field(default=1000, ge=1)
    presets_per_server: int = Field(default=200, ge=1)
    bytes_per_server: int = Field(default=512 * 1024 * 1024, ge=1)
    stories_per_server: int = Field(default=2_048, ge=1, le=4_096)


_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


def _split(value: object) -> object:
    # A variable of the environment is one text: "files.example.com, cards.example.com".
    return [part for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _hosts(values: tuple[str, ...]) -> tuple[str, ...]:
    hosts = tuple(value.strip().lower().rstrip(".") for value in values)
    if not all(_HOST.fullmatch(host) for host in hosts):
        raise ValueError('must be names of hosts, such as "files.example.com"')
    return hosts


class ImportSettings(_Section):
    """From where files may be fetched by their address; `seconds` for all of it.

    `loopback` is for tests: this machine may be asked, without encryption, at any port.
    """

    hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split), AfterValidator(_hosts)] = (
        "avatars.charhub.io",
        "cdn.discordapp.com",
        "files.catbox.moe",
        "raw.githubusercontent.com",
    )
    seconds: float = Field(default=30.0, gt=0)
    loopback: bool = False


class AttachmentSettings(_Section):
    """What people may show in a story; sizes in bytes, `seconds` for all files of one message."""

    count: int = Field(default=10, ge=0)
    picture_bytes: int = Field(default=16 * 1024 * 1024, ge=1)
    text_bytes: int = Field(default=32 * 1024, ge=1)
    seconds: float = Field(default=20.0, gt=0)
    bytes_per_server: int = Field(default=1024 * 1024 * 1024, ge=1)


class AssemblySettings(_Section):
    """How requests may be put together."""

    advanced: bool = False


class LogSettings(_Section):
    """What is logged and how it looks."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "console", "json"] = "auto"


class SandboxSettings(_Section):
    """The whole bot on one machine without Discord."""

    port: int = Field(default=8700, ge=0, le=65535)
    data_dir: Path = Path("data/sandbox")


class Settings(BaseSettings):
    """All settings, frozen. `Settings()` is the defaults and reads nothing; `load()` reads the sources."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix=ENV_PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,  # `TOKEN=` in a compose file means "not given"
    )

    discord: DiscordSettings = DiscordSettings()
    storage: StorageSettings = StorageSettings()
    model: ModelSettings = ModelSettings()
    narrator: NarratorSettings = NarratorSettings()
    play: PlaySettings = PlaySettings()
    attachments: AttachmentSettings = AttachmentSettings()
    imports: ImportSettings = ImportSettings()
    limits: LimitSettings = LimitSettings()
    assembly: AssemblySettings = AssemblySettings()
    logs: LogSettings = LogSettings()
    sandbox: SandboxSettings = SandboxSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)  # `load` lays the sources over each other, to know who said what


def load(config: Path | None = None, overrides: Mapping[str, Any] | None = None) -> Settings:
    """The settings of this process, from all sources.

    `config` is the user's own file; without it INGLENOOK_CONFIG names one, else `config/local.toml`
    is read if it is there. `overrides` are nested values from the command line.
    Raises SettingsError.
    """
    layers = [
        ("the command line", dict(overrides or {})),
        (ENVIRONMENT, _environment()),
        (SECRET_FILE, _secrets()),
    ]
    if (own := _own_file(config)) is not None:
        layers.append((str(own), _toml(own.read_bytes, str(own))))
    default = resources.files("config") / "default.toml"
    layers.append(("config/default.toml", _toml(default.read_bytes, "config/default.toml")))

    merged: Values = {}
    for _, values in reversed(layers):
        merged = _over(merged, values)
    try:
        return Settings(**merged)
    except ValidationError as error:
        problems = explain(error, [path for path, _ in keys()], lambda path: _origin(layers, path))
        raise SettingsError(*problems) from None


def keys() -> Iterator[tuple[tuple[str, str], FieldInfo]]:
    """Every setting as (section, key), with its field."""
    for section, outer in Settings.model_fields.items():
        assert isinstance(outer.annotation, type) and issubclass(outer.annotation, BaseModel)
        for key, field in outer.annotation.model_fields.items():
            yield (section, key), field


def _environment() -> Values:
    given = {name.upper() for name, value in os.environ.items() if value}
    for section in Settings.model_fields:
        # pydantic-settings would take a whole section as JSON; one way to say a thing is enough.
        if ENV_PREFIX + section.upper() in given:
            source = _named(ENVIRONMENT, (section,))
            raise SettingsError(f"{section}: is a section with keys of its own, not a value (from {source})")
    values: Values = EnvSettingsSource(Settings)()
    # The source overlooks variables outside any section; a mistyped one must not be silently nothing.
    for name in given - STEERING:
        first = name.removeprefix(ENV_PREFIX).lower().split("__")[0]
        if name.startswith(ENV_PREFIX) and first not in Settings.model_fields:
            values[first] = None
    return values


def _secrets() -> Values:
    values: Values = {}
    for (section, key), field in keys():
        file = _secrets_folder() / f"{section}.{key}"
        if "SecretStr" in str(field.annotation) and file.is_file():
            try:
                values.setdefault(section, {})[key] = file.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise SettingsError(
                    f"{section}.{key}: the secret file {file} cannot be read: {error}"
                ) from None
    return values


def _secrets_folder() -> Path:
    return Path(os.environ.get("INGLENOOK_SECRETS", "secrets"))


def _own_file(config: Path | None) -> Path | None:
    if config is None and (named := os.environ.get("INGLENOOK_CONFIG")):
        config = Path(named)
    if config is None:
        usual = Path("config/local.toml")
        return usual if usual.is_file() else None
    if not config.is_file():
        raise SettingsError(f"the settings file {config} does not exist")
    return config


def _toml(read: Callable[[], bytes], label: str) -> Values:
    try:
        return tomllib.loads(read().decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{label} is not valid TOML: {error}") from None
    except OSError as error:
        raise SettingsError(f"{label} cannot be read: {error.strerror}") from None


def _over(under: Values, values: Values) -> Values:
    merged = dict(under)
    for key, value in values.items():
        below = merged.get(key)
        merged[key] = _over(below, value) if isinstance(value, dict) and isinstance(below, dict) else value
    return merged


def _origin(layers: Sequence[tuple[str, Values]], path: tuple[str, ...]) -> str | None:
    """The strongest source that says anything about `path`; None when it is a default."""
    for label, values in layers:
        found: object = values
        for part in path:
            if not isinstance(found, dict) or part not in found:
                break
            found = found[part]
        else:
            return _named(label, path)
    return None


def _named(label: str, path: tuple[str, ...]) -> str:
    """The source's name, as exact as a person needs it to find the place."""
    if label == ENVIRONMENT:
        return ENV_PREFIX + "__".join(path).upper()
    if label == SECRET_FILE:
        return f"the secret file {_secrets_folder() / '.'.join(path)}"
    return label
