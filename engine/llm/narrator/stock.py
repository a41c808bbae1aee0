"""The narrator's stock of sentences: one TOML file for each language, beside this module."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["Stock", "load"]


@dataclass(frozen=True, slots=True)
class Stock:
    """Templates by what they are for, and the patterns and word lists that choose among them.

    `settings` finds the places that a text speaks of, `intents` the kind of a turn, the first
    that fits.
    """

    lines: Mapping[str, tuple[str, ...]]
    echoes: Mapping[str, tuple[str, ...]]
    answers: Mapping[str, tuple[str, ...]]
    places: Mapping[str, tuple[str, ...]]
    settings: tuple[tuple[str, re.Pattern[str]], ...]
    intents: tuple[tuple[str, re.Pattern[str]], ...]
    words: Mapping[str, frozenset[str]]

    def intent(self, text: str) -> str | None:
        """The first kind of turn that fits."""
        return next((name for name, pattern in self.intents if pattern.search(text)), None)


@cache
def load(language: str) -> Stock:
    """`english` or `chinese`."""
    data: dict[str, Any] = tomllib.loads(
        files("engine.llm.narrator").joinpath(f"{language}.toml").read_text(encoding="utf-8")
    )
    pools = {
        group: {name: tuple(lines) for name, lines in data[group].items()}
        for group in ("lines", "echoes", "answers", "places")
    }
    return Stock(
        **pools,
        settings=tuple((name, _pattern(name)) for name in data["places"] if name),
        intents=tuple((name, _pattern(text)) for name, text in data["intents"].items()),
        words={name: frozenset(text.split()) for name, text in data.get("words", {}).items()},
    )


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)
