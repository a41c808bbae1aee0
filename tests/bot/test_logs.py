"""Logs: two formats, one redaction for ours and everybody else's lines."""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr, ValidationError

from bot import logs
from bot.settings import LogSettings

TOKEN = SecretStr("MTA5.GxYz.very-secret-token")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    logging.captureWarnings(False)
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in logs.FLOORS:
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.fixture
def stream() -> io.StringIO:
    """JSON logs at debug level, with the token known."""
    out = io.StringIO()
    logs.configure(LogSettings(level="debug", format="json"), secrets=[TOKEN, None], stream=out)
    return out


def lines(out: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


# --- formats


def test_json_elsewhere_and_readable_on_a_terminal() -> None:
    pipe, terminal = io.StringIO(), Terminal()

    logs.configure(LogSettings(), stream=pipe)
    structlog.get_logger("bot.outbox").info("outbox.sent", parts=2)
    logs.configure(LogSettings(), stream=terminal)
    structlog.get_logger("bot.outbox").info("outbox.sent", parts=2)

    (line,) = lines(pipe)
    assert (line["event"], line["parts"], line["level"], line["logger"]) == (
        "outbox.sent",
        2,
        "info",
        "bot.outbox",
    )
    assert "outbox.sent" in terminal.getvalue()
    assert not terminal.getvalue().startswith("{")


def test_lines_below_the_level_are_left_out() -> None:
    out = io.StringIO()
    logs.configure(LogSettings(level="warning", format="json"), stream=out)

    structlog.get_logger().info("small")
    logging.getLogger("library").info("small too")
    structlog.get_logger().warning("big")

    assert [line["event"] for line in lines(out)] == ["big"]


def test_the_standard_library_leaves_by_the_same_door(stream: io.StringIO) -> None:
    logging.getLogger("discord.client").warning("Shard %s is slow", 3)

    (line,) = lines(stream)
    assert (line["event"], line["logger"], line["level"]) == (
        "Shard 3 is slow",
        "discord.client",
        "warning",
    )


def test_lines_say_what_they_are_about(stream: io.StringIO) -> None:
    with logs.about(play="p_1", session="s_1", channel=42):
        structlog.get_logger().info("inside")
        logging.getLogger("library").info("inside too")
    structlog.get_logger().info("outside")

    first, second, third = lines(stream)
    assert (first["play"], first["session"], first["channel"]) == ("p_1", "s_1", 42)
    assert second["play"] == "p_1"
    assert "play" not in third


def test_a_warning_becomes_a_line(stream: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old thing", DeprecationWarning, stacklevel=1)

    assert "old thing" in str(lines(stream)[0]["event"])


def test_an_exception_is_shown_with_its_way(stream: io.StringIO) -> None:
    try:
        raise RuntimeError("the pipe broke")
    except RuntimeError:
        structlog.get_logger().exception("failed")

    assert "RuntimeError: the pipe broke" in str(lines(stream)[0]["exception"])


# --- nothing secret, nothing that people wrote


@pytest.mark.parametrize("field", ["token", "api_key", "bot_token", "Authorization", "password", "secret"])
def test_fields_with_secret_names_are_hidden(stream: io.StringIO, field: str) -> None:
    structlog.get_logger().info("x", **{field: "abc"})

    assert lines(stream)[0][field] == "[hidden]"


def test_secrets_are_hidden_in_nested_values(stream: io.StringIO) -> None:
    structlog.get_logger().info("x", headers={"authorization": "abc", "accept": "json"}, all=[{"token": "t"}])

    (line,) = lines(stream)
    assert line["headers"] == {"authorization": "[hidden]", "accept": "json"}
    assert line["all"] == [{"token": "[hidden]"}]


def test_sizes_are_no_secrets(stream: io.StringIO) -> None:
    structlog.get_logger().info("x", max_tokens=1200, tokens=5, token=7)

    (line,) = lines(stream)
    assert (line["max_tokens"], line["tokens"], line["token"]) == (1200, 5, 7)


@pytest.mark.parametrize("field", ["content", "text", "body", "prompt", "user_text", "messages", "greeting"])
def test_what_people_wrote_shows_only_its_length(stream: io.StringIO, field: str) -> None:
    structlog.get_logger().info("x", **{field: "I love you"})

    assert lines(stream)[0][field] == "[10 long]"


@pytest.mark.parametrize(
    "message",
    [
        "POST /webhooks/1234/aW50ZXJhY3Rpb246 failed",
        "POST /interactions/1234/aW50ZXJhY3Rpb246/callback",
        "header Bearer aW50ZXJhY3Rpb246",
        "header Bot aW50ZXJhY3Rpb246",
        "key sk-aW50ZXJhY3Rpb246",
    ],
)
def test_the_shapes_of_secrets_are_found_in_other_peoples_lines(stream: io.StringIO, message: str) -> None:
    logging.getLogger("library").info("%s", message)

    assert "aW50ZXJhY3Rpb246" not in stream.getvalue()
    assert "[hidden]" in stream.getvalue()


def test_the_token_is_hidden_even_in_a_traceback(stream: io.StringIO) -> None:
    try:
        raise RuntimeError(f"cannot log in with {TOKEN.get_secret_value()}")
    except RuntimeError:
        structlog.get_logger().exception("failed")

    assert "very-secret-token" not in stream.getvalue()


def test_a_refused_value_is_hidden_in_a_validation_error(stream: io.StringIO) -> None:
    class Card(BaseModel):
        name: int

    diary = "my " + "dear diary"
    try:
        Card.model_validate({"name": diary})
    except ValidationError:
        structlog.get_logger().exception("failed")

    assert "ValidationError" in stream.getvalue()
    assert "my dear diary" not in stream.getvalue()


def test_libraries_that_print_bodies_are_kept_above_it(stream: io.StringIO) -> None:
    logging.getLogger("discord.http").debug("POST with {'content': 'my dear diary'}")
    logging.getLogger("aiosqlite").debug("executing INSERT 'my dear diary'")
    logging.getLogger("httpcore").debug("send_request_body")

    assert stream.getvalue() == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(value=JSON, name=st.text(min_size=1).filter(lambda name: not name.startswith("_")))
def test_wherever_the_token_stands_it_never_leaves(value: object, name: str) -> None:
    secret = TOKEN.get_secret_value()
    event = {"event": f"a {secret} b", name: [value, {"deep": f"x{secret}y", secret: 1}]}

    redacted = logs.Redaction([TOKEN])(None, "info", event)

    assert secret not in repr(redacted)
