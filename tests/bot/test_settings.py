"""Settings: sources and their order, the one clear line, and the commented default file."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.settings import Settings, SettingsError, keys, load

DEFAULT = (resources.files("config") / "default.toml").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refusal(config: Path | None = None) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        load(config)
    return caught.value.problems


# --- default.toml and the classes are in step


def test_the_default_file_says_what_the_classes_say() -> None:
    assert Settings.model_validate(tomllib.loads(DEFAULT)) == Settings()


@pytest.mark.parametrize("path", [path for path, _ in keys()], ids=".".join)
def test_every_key_stands_in_the_default_file_under_a_comment(path: tuple[str, str]) -> None:
    section, key = path
    body = DEFAULT.split(f"\n[{section}]\n", 1)[1].split("\n[", 1)[0].splitlines()

    found = [number for number, line in enumerate(body) if re.match(rf"(# )?{key} = ", line)]
    assert len(found) == 1
    # The comment is above it, or above the lines that it shares one comment with.
    above = body[found[0] - 1]
    while re.match(r"(# )?\w+ = ", above):
        above = body[body.index(above) - 1]
    assert above.startswith("# ")


def test_the_default_file_has_no_key_that_is_no_setting() -> None:
    section = ""
    for line in DEFAULT.splitlines():
        if header := re.fullmatch(r"\[(\w+)\]", line):
            section = header[1]
        elif entry := re.match(r"(?:# )?(\w+) = ", line):
            assert (section, entry[1]) in [path for path, _ in keys()]


# --- sources


def test_nothing_given_is_the_defaults() -> None:
    assert load() == Settings()


def test_the_environment_beats_the_file_and_the_command_line_beats_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('[play]\nstream = "off"\ncatch_up_minutes = 3\n[sandbox]\nport = 1\n')
    monkeypatch.setenv("INGLENOOK_PLAY__CATCH_UP_MINUTES", "4")
    monkeypatch.setenv("INGLENOOK_SANDBOX__PORT", "2")

    settings = load(own, {"sandbox": {"port": 3}})

    assert settings.play.stream == "off"
    assert settings.play.catch_up_minutes == 4
    assert settings.sandbox.port == 3
    assert settings.play.max_waiting == 32


def test_the_users_file_is_found_by_its_usual_name(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/local.toml").write_text('[logs]\nlevel = "debug"\n')

    assert load().logs.level == "debug"


def test_the_users_file_is_found_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere.toml").write_text('[logs]\nlevel = "error"\n')
    monkeypatch.setenv("INGLENOOK_CONFIG", str(tmp_path / "elsewhere.toml"))

    assert load().logs.level == "error"


def test_a_secret_can_be_a_file_and_loses_its_line_break(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/discord.token").write_text("abc.def\n")

    assert load().discord.token == SecretStr("abc.def")


def test_the_folder_of_secrets_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/model.api_key").write_text("k-1")
    monkeypatch.setenv("INGLENOOK_SECRETS", str(tmp_path / "run"))

    assert load().model.api_key == SecretStr("k-1")


def test_an_empty_variable_counts_as_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGLENOOK_DISCORD__TOKEN", "")

    assert load().discord.token is None


def test_secrets_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGLENOOK_DISCORD__TOKEN", "very-secret")

    assert "very-secret" not in repr(load())


# --- the one clear line


@pytest.mark.parametrize(
    ("variable", "value", "line"),
    [
        (
            "INGLENOOK_LOGS__LEVEL",
            "loud",
            "logs.level: must be one of 'debug', 'info', 'warning' or 'error'",
        ),
        (
            "INGLENOOK_SANDBOX__PORT",
            "http",
            "sandbox.port: must be a whole number",
        ),
        (
            "INGLENOOK_SANDBOX__PORT",
            "70000",
            "sandbox.port: must be a number of at most 65535",
        ),
        (
            "INGLENOOK_PLAY__EDIT_INTERVAL",
            "soon",
            "play.edit_interval: must be a number",
        ),
        (
            "INGLENOOK_DISCORD__SYNC_COMMANDS",
            "perhaps",
            "discord.sync_commands: must be true or false",
        ),
        (
            "INGLENOOK_DISCORD__TOKN",
            "x",
            "discord.tokn: there is no such setting; did you mean discord.token?",
        ),
        (
            "INGLENOOK_DISCORD_TOKEN",
            "x",
            "discord_token: there is no such setting; did you mean discord.token?",
        ),
        (
            "INGLENOOK_WEATHER",
            "x",
            "weather: there is no such setting",
        ),
        (
            "INGLENOOK_PLAY",
            '{"stream": "off"}',
            "play: is a section with keys of its own, not a value",
        ),
        (
            "INGLENOOK_MODEL__BASE_URL",
            "localhost:8080",
            "model.base_url: must be an address such as https://example.com",
        ),
        (
            "INGLENOOK_MODEL__IDLE_TIMEOUT",
            "0",
            "model.idle_timeout: must be a number greater than 0",
        ),
    ],
)
def test_a_wrong_variable_is_one_line(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, line: str
) -> None:
    monkeypatch.setenv(variable, value)

    assert refusal() == (f"{line} (from {variable})",)


def test_a_wrong_key_in_a_file_names_the_file(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text("[storage]\npath = 5\n")

    assert refusal(own) == (f"storage.path: must be a path (from {own})",)


def test_two_wrong_settings_are_two_lines(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('[play]\nmax_waiting = "many"\n[logs]\nformat = "xml"\n')

    assert [line.split(":")[0] for line in refusal(own)] == ["play.max_waiting", "logs.format"]


def test_a_value_is_never_repeated_as_it_may_be_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGLENOOK_DISCORD__MESSAGE_CONTENT", "MTA5.secret.token")

    assert "secret" not in refusal()[0]


def test_a_file_that_is_no_toml_is_one_line(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text("[play\n")

    (line,) = refusal(own)
    assert line.startswith(f"{own} is not valid TOML: ")
    assert "line 1" in line


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.toml") == (f"the settings file {tmp_path / 'none.toml'} does not exist",)


def test_a_model_server_needs_the_name_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGLENOOK_MODEL__PROVIDER", "ollama")

    assert refusal() == ('model.model: is needed when model.provider is "ollama"',)


def test_a_forgotten_address_does_not_send_stories_to_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGLENOOK_MODEL__PROVIDER", "openai")
    monkeypatch.setenv("INGLENOOK_MODEL__MODEL", "my-mistral")

    assert refusal() == (
        'model.base_url: is needed when model.provider is "openai", unless there is an api_key',
    )


@pytest.mark.parametrize("provider", ["deepseek", "anthropic", "openrouter"])
def test_a_service_needs_its_key(monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    monkeypatch.setenv("INGLENOOK_MODEL__PROVIDER", provider)
    monkeypatch.setenv("INGLENOOK_MODEL__MODEL", "m")

    assert refusal() == (f'model.api_key: is needed when model.provider is "{provider}"',)

    # an address of one's own may ask for none
    monkeypatch.setenv("INGLENOOK_MODEL__BASE_URL", "http://gateway.lan/v1")
    assert load().model.base_url == "http://gateway.lan/v1"


@pytest.mark.parametrize(
    ("provider", "address"),
    [
        ("openai", "https://api.openai.com/v1"),
        ("deepseek", "https://api.deepseek.com/v1"),
        ("anthropic", "https://api.anthropic.com/v1"),
        ("openrouter", "https://openrouter.ai/api/v1"),
        ("llama.cpp", "http://127.0.0.1:8080/v1"),
        ("koboldcpp", "http://127.0.0.1:5001/v1"),
        ("vllm", "http://127.0.0.1:8000/v1"),
        ("ollama", "http://127.0.0.1:11434/v1"),
    ],
)
def test_every_provider_is_where_it_usually_is(
    monkeypatch: pytest.MonkeyPatch, provider: str, address: str
) -> None:
    monkeypatch.setenv("INGLENOOK_MODEL__PROVIDER", provider)
    monkeypatch.setenv("INGLENOOK_MODEL__MODEL", "m")
    monkeypatch.setenv("INGLENOOK_MODEL__API_KEY", "key-1")

    assert load().model.base_url == address


@pytest.mark.parametrize("provider", ["llama.cpp", "koboldcpp", "vllm", "ollama"])
def test_a_program_at_home_needs_no_key(monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    monkeypatch.setenv("INGLENOOK_MODEL__PROVIDER", provider)
    monkeypatch.setenv("INGLENOOK_MODEL__MODEL", "m")

    assert load().model.api_key is None


def test_the_narrator_has_no_address() -> None:
    assert load().model.base_url is None


def test_a_token_is_not_sent_in_the_clear_beyond_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGLENOOK_DISCORD__API_BASE", "http://discord.example/api/v10")
    monkeypatch.setenv("INGLENOOK_DISCORD__GATEWAY_URL", "ws://127.0.0.1:1/gateway")
    monkeypatch.setenv("INGLENOOK_DISCORD__CDN_BASE", "http://127.0.0.1:1/cdn")

    assert refusal() == (
        "discord.api_base: must be an encrypted address (https://…) unless it is on this machine"
        " (from INGLENOOK_DISCORD__API_BASE)",
    )


@pytest.mark.parametrize(
    "host", ["127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.1@evil.example"]
)
def test_an_address_that_only_looks_like_this_machine_is_not(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setenv("INGLENOOK_DISCORD__API_BASE", f"http://{host}/api/v10")

    assert "must be an encrypted address" in refusal()[0]


def test_another_discord_is_given_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGLENOOK_DISCORD__API_BASE", "http://127.0.0.1:1/api/v10")

    assert refusal() == (
        "discord.api_base: must be given together with the other two of api_base, gateway_url and cdn_base"
        " (from INGLENOOK_DISCORD__API_BASE)",
    )


# --- hosts from which files are fetched


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("Files.Example.com", ("files.example.com",)),
        ("a.example, b.example.", ("a.example", "b.example")),
        (",", ()),
    ],
)
def test_hosts_can_be_named_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, text: str, hosts: tuple[str, ...]
) -> None:
    monkeypatch.setenv("INGLENOOK_IMPORTS__HOSTS", text)
    assert load().imports.hosts == hosts


@pytest.mark.parametrize("text", ["https://a.example", "a.example/x", "*.example", "a b"])
def test_what_is_no_host_is_refused_by_its_key(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("INGLENOOK_IMPORTS__HOSTS", text)
    with pytest.raises(SettingsError) as caught:
        load()
    assert caught.value.problems[0].startswith("imports.hosts: must be names of hosts")
