"""When a script runs: where the text stands, what it is made for, how far back it is.

Source: spec sillytavern 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.resources import RegexScript

__all__ = ["Occasion", "ScriptBook", "applies"]


@dataclass(frozen=True, slots=True)
class Occasion:
    """What a text is made ready for.

    `placement` is SillyTavern's number (1 what a person wrote, 2 what the model wrote, 3 command, 5 world
    info, 6 reasoning). With neither `display` nor `prompt` the text is being stored, as it was made or, with
    `edit`, edited. `depth` counts from the last message (0), −1 is one that is being continued; None: the
    text has no such place.
    """

    placement: int
    display: bool = False
    prompt: bool = False
    edit: bool = False
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class ScriptBook:
    """The scripts of all three origins. Those of a preset or character run only with its owner's consent."""

    everywhere: tuple[RegexScript, ...] = ()
    preset: tuple[RegexScript, ...] = ()
    character: tuple[RegexScript, ...] = ()
    preset_allowed: bool = False
    character_allowed: bool = False

    def __iter__(self) -> Iterator[RegexScript]:
        """Those that may run, in the order in which they run."""
        yield from self.everywhere
        if self.preset_allowed:
            yield from self.preset
        if self.character_allowed:
            yield from self.character


def applies(script: RegexScript, occasion: Occasion) -> bool:
    """Whether a script is meant for an occasion.

    One with neither “only” runs on what is stored, never on what is shown or sent: there it has run before.
    """
    if script.disabled or not script.find or occasion.placement not in script.placements:
        return False
    stored = not occasion.display and not occasion.prompt
    meant = (
        (script.display_only and occasion.display)
        or (script.prompt_only and occasion.prompt)
        or (stored and not script.display_only and not script.prompt_only)
    )
    if not meant or (occasion.edit and not script.run_on_edit):
        return False
    return occasion.depth is None or _in_depth(script, occasion.depth)


def _in_depth(script: RegexScript, depth: int) -> bool:
    if script.min_depth is not None and depth < script.min_depth:
        return False
    return script.max_depth is None or depth <= script.max_depth
