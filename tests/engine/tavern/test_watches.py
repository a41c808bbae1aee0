"""Patterns that take too long: counted for each library, and told."""

import asyncio

from engine.hooks import Hooks, Scope
from engine.lore import embedded_id
from engine.patterns import compile_pattern
from engine.resources import Diagnostic
from engine.tavern import PATTERN_STOPPED, PatternStopped, Watches

PATTERN = compile_pattern("a+b", "i")


def test_each_library_counts_for_itself_and_can_forgive() -> None:
    watches = Watches(Hooks())
    for _ in range(3):
        watches.of("guild:1").late(PATTERN)
    assert watches.stopped("guild:1") == ("/a+b/i",)
    assert not watches.of("guild:1").allows(PATTERN)
    assert watches.of("guild:2").allows(PATTERN)
    assert watches.stopped("guild:2") == ()

    watches.pardon("guild:1", [("a+b", "i"), ("(", "")])

    assert watches.stopped("guild:1") == ()
    assert watches.of("guild:1").allows(PATTERN)


async def test_a_stopped_key_is_told_of_under_the_resource_that_has_it() -> None:
    hooks = Hooks()
    told: list[PatternStopped] = []
    hooks.on(PATTERN_STOPPED, told.append, owner=Scope("test"))
    remarks = [
        Diagnostic("WORLD_BOOK_REGEX_TIMEOUT", "slow", where="w_1:/a/"),
        Diagnostic("WORLD_BOOK_REGEX_STOPPED", "stopped", where="w_1:/a:/b/i"),
        Diagnostic("WORLD_BOOK_REGEX_STOPPED", "stopped", where=f"{embedded_id('c_9')}:/c/"),
    ]

    Watches(hooks).tell_of("guild:1", "s1", remarks)
    await asyncio.sleep(0)

    assert told == [
        PatternStopped("guild:1", "w_1", "/a:/b/i", "s1"),
        PatternStopped("guild:1", "c_9", "/c/", "s1"),
    ]
