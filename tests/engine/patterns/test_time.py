"""No text makes a pattern run for long, and while it runs the event loop goes on."""

import asyncio
import time

import pytest

from engine.errors import InputError, PatternTimeout
from engine.patterns import compile_pattern
from engine.patterns.pattern import MAX_TEXT
from tests.engine.patterns.processor import processor_time

EVIL = [
    (r"(a|aa)+$(?=b)|^(?:(a|aa)+)\1$", "", "a" * 30_000 + "!"),
    (r"(?:(?=[^]*q)x|a|b)*(?=c)", "", "ab" * 30_000),
    (r"(\w*)*\1c(?<=d)", "", "a" * 30_000),
    ("a" * 4_000 + "(?=b)", "", "a" * 60_000),
    (r"\b" * 150 + "(?=x)y", "", "ab" * 30_000),
    (r"((a|b|x|y)*)a(a|b|x|y){400}q", "", "abxy" * 15_000),
    (r"(?:(?:a{0,1000}){0,1000}){0,1000}(?=x)", "", "a" * 60_000),
]


@pytest.mark.parametrize(("source", "flags", "text"), EVIL, ids=range(len(EVIL)))
def test_a_search_ends_in_its_time(source: str, flags: str, text: str) -> None:
    pattern = compile_pattern(source, flags)
    pattern.search("warm")

    with processor_time() as taken:
        try:
            pattern.search(text)
        except PatternTimeout as late:
            assert isinstance(late, InputError)
            assert late.error_code == "PATTERN_TIMEOUT"
            assert late.data == {"pattern": source}
    # twice the limit, since the machine may be busy in processor time too
    assert taken.seconds < 0.1


def test_a_search_that_runs_into_its_limit_raises() -> None:
    with pytest.raises(PatternTimeout):
        compile_pattern(*EVIL[0][:2]).search(EVIL[0][2])
    with pytest.raises(PatternTimeout):
        compile_pattern(*EVIL[0][:2]).matches(EVIL[0][2])


def test_all_matches_together_have_one_limit() -> None:
    # each search alone is quick, but each looks through the rest of the text
    pattern = compile_pattern(r"a[^]*b|a", "g")

    with processor_time() as taken, pytest.raises(PatternTimeout):
        list(pattern.finditer("a" * 250_000))
    assert taken.seconds < 0.15


def test_the_caller_may_set_the_end() -> None:
    pattern = compile_pattern("a", "g")

    assert len(list(pattern.finditer("aaa", deadline=time.monotonic() + 5))) == 3
    with pytest.raises(PatternTimeout):
        list(pattern.finditer("aaa", deadline=time.monotonic()))


def test_a_text_that_is_too_long_is_not_searched() -> None:
    pattern = compile_pattern("b")

    assert not pattern.matches("a" * MAX_TEXT)
    with pytest.raises(PatternTimeout):
        pattern.matches("a" * (MAX_TEXT + 1))


async def test_the_event_loop_goes_on_while_a_thread_searches() -> None:
    pattern = compile_pattern(*EVIL[0][:2], timeout_s=0.5)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    ticking = asyncio.create_task(tick())
    with pytest.raises(PatternTimeout):
        await asyncio.to_thread(pattern.search, EVIL[0][2])
    ticking.cancel()

    # 60 without a disturbance; if the search held the interpreter it would be none
    assert ticks > 10
