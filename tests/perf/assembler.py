"""Assembler rows: a profile of 512 KiB with 100 rules and 400 lore entries, and an ordinary one.

All that a step does after matching: asking the sources, placing, delivering.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TypeAlias

from engine.assembler import (
    AssemblyRequest,
    Assets,
    CharacterAsset,
    LoreAsset,
    PersonaAsset,
    PresetAsset,
    PromptAsset,
    Sources,
    Strategy,
    built_in_strategies,
    deliver_advanced,
    deliver_standard,
    native_sources,
    read_strategy,
    story_sources,
)
from engine.session import assistant_message, freeze, user_message
from tests.perf.measure import Row

__all__ = ["measure"]

PROFILE = 512 * 1024
RULES = 100
ENTRIES = 400
PROMPTS = 40
MESSAGES = 200
ALLOWED = 0.005  # seconds, without matching and counting tokens
ALLOWED_PROTECTED = 0.0075  # half as much again: each of these texts is a value that nothing may change
ALLOWED_RECORDED = 0.015  # the advanced back end also hashes each text and writes down what came of it
ALLOWED_ORDINARY = 0.001
WARM = 5
ROUNDS = 25


async def measure() -> list[Row]:
    """All assembler rows."""
    kinds = built_in_strategies()
    slots, core = kinds["builtin-native-slots"], kinds["builtin-st"]
    registry = Sources()
    registry.register_all((*native_sources(), *story_sources()))
    sources = registry.capture()
    large = _request(random.Random(1))
    woken = replace(large, assets=replace(large.assets, lore=tuple(map(_expanded, large.assets.lore))))
    small = replace(large, assets=_little(large.assets), native=large.native[-20:])
    size = f"{RULES} rules, {ENTRIES} entries, {PROFILE // 1024} KiB"

    def standard(request: AssemblyRequest, strategy: Strategy) -> Work:
        return lambda: deliver_standard(request, strategy, sources)

    def advanced(request: AssemblyRequest, strategy: Strategy) -> Work:
        return lambda: deliver_advanced(request, strategy, sources, in_history=True)

    rows: list[tuple[str, Work, float]] = [
        (f"assembler, {size}", standard(large, _ruled(slots, RULES)), ALLOWED),
        ("assembler, lore with braces", standard(woken, _ruled(slots, RULES)), ALLOWED_PROTECTED),
        ("assembler, advanced", advanced(large, _ruled(core, RULES)), ALLOWED_RECORDED),
        ("assembler, an ordinary one", standard(small, _ruled(slots, 10)), ALLOWED_ORDINARY),
    ]
    return [
        Row(name, await _timed(work), f"the goal of {allowed * 1e3:g} ms", allowed, 1.0)
        for name, work, allowed in rows
    ]


Work: TypeAlias = Callable[[], Coroutine[object, object, object]]


async def _timed(work: Work) -> float:
    """Seconds of this thread's own work: what else the machine does is not counted."""
    for _ in range(WARM):
        await work()
    times = []
    for _ in range(ROUNDS):
        begin = time.thread_time()
        await work()
        times.append(time.thread_time() - begin)
    return statistics.median(times)


def _ruled(base: Strategy, count: int) -> Strategy:
    """The strategy with texts of its own, so many rules in all."""
    custom = [
        {"id": f"c{n}", "kind": "custom", "role": "user", "text": f"Remark {n} for {{{{user}}}}."}
        for n in range(count - len(base.rules))
    ]
    wire = base.to_wire()
    return read_strategy({**wire, "name": "Large", "rules": [*wire["rules"], *custom]})


def _expanded(entry: LoreAsset) -> LoreAsset:
    """As a turn hands in what has braces after its macros were expanded: they are never read again."""
    return replace(entry, content="{{active_lore_text}}", literals={"active_lore_text": entry.content})


def _little(assets: Assets) -> Assets:
    preset = assets.preset
    assert preset is not None
    return replace(assets, lore=assets.lore[:12], preset=replace(preset, prompts=preset.prompts[10:34]))


def _request(rng: random.Random) -> AssemblyRequest:
    size = PROFILE // (ENTRIES + PROMPTS) + 1  # what follows is more than the profile by itself
    places = ("before_character_definition", "after_character_definition", "at_depth", "before_author_note")
    lore = tuple(
        LoreAsset(
            f"e{n}", _text(rng, size), name=f"Entry {n}", position=places[n % 4], depth=4, role="system"
        )
        for n in range(ENTRIES)
    )
    prompts = [PromptAsset(f"p{n}", _text(rng, size), name=f"Prompt {n}") for n in range(PROMPTS)]
    half = len(prompts) // 2
    markers = [
        PromptAsset(name, marker=True) for name in ("worldInfoBefore", "charDescription", "worldInfoAfter")
    ]
    spine = (*prompts[:half], *markers, PromptAsset("chatHistory", marker=True), *prompts[half:])
    native = [_message(n) for n in range(MESSAGES)]
    return AssemblyRequest(
        session_id="perf",
        native=tuple(freeze(dict(message)) for message in native),  # type: ignore[misc]
        input_ids=frozenset({str(native[-1]["id"])}),
        assets=Assets(
            preset=PresetAsset("preset", tuple(spine)),
            character=CharacterAsset("card", "Maren", description=_text(rng, 2000), personality="calm"),
            persona=PersonaAsset("me", "Ada", "A traveller."),
            lore=lore,
        ),
        turn=100,
        step=1,
        max_bytes=2 * 1024 * 1024,
    )


def _message(n: int) -> dict[str, object]:
    if n % 2:
        return dict(user_message(f"u{n}", f"What I say, number {n}."))
    return dict(assistant_message(f"a{n}", f"What she answers, number {n}.", provider="p", model="m"))


def _text(rng: random.Random, size: int) -> str:
    """Prose with a macro in every eighth text, which is about how authors write them."""
    words = " ".join(rng.choice(("river", "lantern", "quiet", "harbour", "storm")) for _ in range(size // 6))
    return (words if rng.random() < 0.875 else f"{{{{char}}}} and {{{{user}}}}: {words}")[:size].ljust(
        size, "."
    )
