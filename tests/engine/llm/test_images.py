"""Which pictures a model gets to see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.llm import CallConfig, ImageLimits, LlmRequest, ModelInfo, has_pictures, wanted_pictures
from engine.llm.images import media_type, visible_pictures
from tests.engine.llm.server import message

PNG = b"\x89PNG\r\n\x1a\n" + bytes(92)  # 100 bytes
EYES = ModelInfo("p", "m", modalities=frozenset({"text", "image"}))


def image(key: str, width: int = 640, height: int = 480, **fields: Any) -> dict[str, Any]:
    attachment = {"attachmentId": key, "mediaType": "image/png", "bytes": 100, "width": width}
    return {"type": "image", "attachment": attachment | {"height": height}, **fields}


def spoken(*blocks: dict[str, Any], role: str = "user") -> dict[str, Any]:
    return {**message(role, ""), "content": list(blocks)}


def seen(*messages: Any, info: ModelInfo = EYES, **images: bytes) -> set[str]:
    request = LlmRequest(CallConfig("p", "m"), messages, images=images)
    pictures = visible_pictures(request, info)
    blocks = [block for message in messages for block in message["content"]]
    return {block["attachment"]["attachmentId"] for block in blocks if pictures.of(block)}


def limited(**limits: Any) -> ModelInfo:
    return replace(EYES, images=ImageLimits(**limits))


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF87a.", "image/gif"),
        (b"GIF89a.", "image/gif"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\x00\x00\x00WAVEfmt ", ""),
        (b"BM6\x00", "image/bmp"),
        (b"<svg/>", ""),
        (b"", ""),
    ],
)
def test_bytes_say_what_they_are(data: bytes, kind: str) -> None:
    assert media_type(data) == kind


def test_a_model_with_eyes_sees_what_users_send() -> None:
    assert seen(spoken(image("a"), image("b")), spoken(image("c")), a=PNG, c=PNG) == {"a", "c"}


def test_a_model_without_eyes_sees_nothing() -> None:
    assert seen(spoken(image("a")), info=ModelInfo("p", "m"), a=PNG) == set()


def test_offloaded_pictures_and_those_of_others_than_users_are_not_sent() -> None:
    assert seen(spoken(image("a", offloaded=True)), spoken(image("b"), role="tool"), a=PNG, b=PNG) == set()


def test_a_format_that_the_model_does_not_take_is_not_sent() -> None:
    info = limited(formats=frozenset({"image/jpeg"}))
    assert seen(spoken(image("a"), image("b")), info=info, a=PNG, b=b"\xff\xd8\xff") == {"b"}
    assert seen(spoken(image("a")), a=b"<svg/>") == set()


@pytest.mark.parametrize(("size", "sent"), [(99, {"a"}), (100, {"a"}), (101, set())])
def test_a_picture_that_is_too_heavy_is_not_sent(size: int, sent: set[str]) -> None:
    assert seen(spoken(image("a")), info=limited(max_bytes=100), a=PNG[:8] + bytes(size - 8)) == sent


def test_a_picture_that_is_too_long_is_not_sent() -> None:
    info = limited(max_side=1000)
    assert seen(spoken(image("a", 1000, 1), image("b", 1, 1001)), info=info, a=PNG, b=PNG) == {"a"}


def test_of_too_many_the_newest_are_sent() -> None:
    messages = [spoken(image("a"), image("b")), spoken(image("c"))]
    assert seen(*messages, info=limited(max_count=2), a=PNG, b=PNG, c=PNG) == {"b", "c"}


def test_a_picture_that_breaks_the_total_leaves_room_for_smaller_ones() -> None:
    messages = [spoken(image("a")), spoken(image("b")), spoken(image("c"))]
    pictures = {"a": PNG[:50], "b": PNG, "c": PNG}
    assert seen(*messages, info=limited(max_total_bytes=160), **pictures) == {"a", "c"}


def test_one_picture_shown_twice_is_counted_once() -> None:
    assert seen(spoken(image("a")), spoken(image("a")), info=limited(max_count=1), a=PNG) == {"a"}


@given(
    st.lists(st.integers(8, 60), max_size=8),
    st.integers(0, 60),
    st.integers(0, 120),
    st.integers(0, 5),
)
def test_the_limits_always_hold(sizes: list[int], each: int, total: int, count: int) -> None:
    images = {str(n): PNG[:8] + bytes(size - 8) for n, size in enumerate(sizes)}
    info = limited(max_bytes=each, max_total_bytes=total, max_count=count)
    sent = seen(*(spoken(image(key)) for key in images), info=info, **images)
    assert len(sent) <= count
    assert all(len(images[key]) <= each for key in sent)
    assert sum(len(images[key]) for key in sent) <= total


@given(
    st.lists(st.tuples(st.integers(8, 60), st.sampled_from(("user", "tool")), st.booleans()), max_size=8),
    st.integers(0, 60),
    st.integers(0, 120),
    st.integers(0, 5),
)
def test_the_bytes_that_are_fetched_are_those_that_are_sent(
    pictures: list[tuple[int, str, bool]], each: int, total: int, count: int
) -> None:
    info = limited(max_bytes=each, max_total_bytes=total, max_count=count)
    messages, images = [], {}
    for n, (size, role, offloaded) in enumerate(pictures):
        block = image(str(n), offloaded=True) if offloaded else image(str(n))
        messages.append(spoken(block | {"attachment": block["attachment"] | {"bytes": size}}, role=role))
        images[str(n)] = PNG[:8] + bytes(size - 8)
    assert set(wanted_pictures(messages, info)) == seen(*messages, info=info, **images)
    assert wanted_pictures(messages, ModelInfo("p", "m")) == ()


def test_pictures_of_users_are_noticed() -> None:
    assert has_pictures([spoken(image("a")), message("user", "Hello.")])
    assert not has_pictures([message("user", "Hello."), spoken(image("a"), role="tool")])
    assert not has_pictures([spoken(image("a", offloaded=True))])
