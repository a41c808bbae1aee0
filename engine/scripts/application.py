"""Scripts applied to a text, one after the other, in bounded time.

A pure function: it may run on a thread (`asyncio.to_thread`). Both engines let other threads run while they
search, so the event loop goes on. Source: spec sillytavern 5, decision 17.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from engine.errors import PatternRefused, PatternTimeout
from engine.patterns import Pattern, Watch, compile_pattern, parse_slashed
from engine.resources import Diagnostic, Diagnostics, RegexScript
from engine.scripts.limits import script_limits
from engine.scripts.macros import Macros, NoMacros
from engine.scripts.occasion import Occasion, applies
from engine.scripts.replacement import Replacement

__all__ = ["Applied", "Problem", "apply_scripts", "check_script", "find_pattern"]

SCRIPT_SECONDS = 0.05  # of one script on one text: spec sillytavern 5
TOTAL_SECONDS = 0.3  # of all scripts on one text
MAX_OUTPUT = 64 * 1024  # characters that one script may put into one text


@dataclass(frozen=True, slots=True)
class Problem:
    """A script that did not run, and left the text as it was.

    `code`: PATTERN_INVALID, PATTERN_TOO_LONG, PATTERN_FLAGS, PATTERN_TIMEOUT, SCRIPT_OUTPUT_TOO_LONG,
    SCRIPT_NO_TIME (the scripts before it used all the time up). `disables`: with this timeout the watch has
    given it up, the moment to tell its owner.
    """

    script: RegexScript
    code: str
    message: str
    disables: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """The text, the scripts that changed it, and those that failed."""

    text: str
    changed: tuple[RegexScript, ...] = ()
    problems: tuple[Problem, ...] = ()


def apply_scripts(
    text: str,
    scripts: Iterable[RegexScript],
    occasion: Occasion,
    *,
    macros: Macros | None = None,
    watch: Watch | None = None,
    script_seconds: float = SCRIPT_SECONDS,
    total_seconds: float = TOTAL_SECONDS,
) -> Applied:
    """The text as the scripts that are meant for the occasion make it, in their order.

    Never raises on any script or text. `watch` skips patterns that timed out too often.
    """
    macros = macros or NoMacros()
    deadline = time.monotonic() + total_seconds
    changed: list[RegexScript] = []
    problems: list[Problem] = []
    for script in scripts:
        if not text or not applies(script, occasion):
            continue
        now = time.monotonic()
        if now >= deadline:
            problems.append(Problem(script, "SCRIPT_NO_TIME", "The scripts before this one took too long."))
            continue
        pattern: Pattern | None = None
        try:
            pattern = find_pattern(script, macros)
            if watch is not None and not watch.allows(pattern):
                continue
            # The limits are for running it: the first pattern of its kind takes longer to read than that.
            begun = time.monotonic()
            deadline += begun - now
            made = _replaced(text, pattern, script, macros, min(deadline, begun + script_seconds))
        except PatternTimeout as error:
            gone = watch is not None and pattern is not None and watch.late(pattern)
            problems.append(Problem(script, error.error_code, error.message, gone))
        except PatternRefused as error:
            problems.append(Problem(script, error.error_code, error.message))
        except _TooLong:
            problems.append(
                Problem(script, "SCRIPT_OUTPUT_TOO_LONG", f"It makes more than {MAX_OUTPUT:,} characters.")
            )
        else:
            if made != text:
                changed.append(script)
                text = made
    return Applied(text, tuple(changed), tuple(problems))


def find_pattern(script: RegexScript, macros: Macros | None = None) -> Pattern:
    """The pattern of a script's find string. Raises PatternRefused."""
    find = script.find
    if script.substitute and macros is not None:
        find = macros.pattern(find, escape=script.substitute == 2)
    source, flags = parse_slashed(find, "script") or (find, "")
    return compile_pattern(source, flags, timeout_s=SCRIPT_SECONDS)


def check_script(script: RegexScript) -> tuple[Diagnostic, ...]:
    """What its author should know before it runs. Macros in the find string are taken as they stand."""
    notes = Diagnostics()
    parts = parse_slashed(script.find, "script")
    if not script.find:
        notes.warn("nothing-to-find", "This script looks for nothing and does nothing.", script.name)
    if not script.placements:
        notes.warn("no-placement", "This script is meant for no place and never runs.", script.name)
    if script.find.startswith("/") and parts is None and script.find.count("/") > 1:
        notes.warn(
            "flags-unknown",
            "The letters after the last slash are no flags, so all of it is taken as the pattern.",
            script.name,
        )
    if parts is not None and "\n" in parts[0]:
        notes.info(
            "pattern-line-break",
            "The pattern has a line break. SillyTavern would cut it off there; here it is used whole.",
            script.name,
        )
    least, greatest = script.min_depth, script.max_depth
    if least is not None and greatest is not None and least > greatest:
        notes.warn("depth-order", "The least depth is greater than the greatest; it never runs.", script.name)
    if script.find:
        try:
            find_pattern(script)
        except PatternRefused as error:
            notes.warn("invalid-pattern", error.message, script.name)
    notes.extend(script_limits(script))
    return notes.all()


class _TooLong(Exception):
    pass


def _replaced(text: str, pattern: Pattern, script: RegexScript, macros: Macros, deadline: float) -> str:
    replacement: Replacement | None = None
    parts: list[str] = []
    at = put = 0
    for match in pattern.finditer(text, deadline=deadline):
        if replacement is None:
            replacement = Replacement(script.replacement, script.trim, macros)
        made = replacement.of(match)
        put += len(made)
        if put > MAX_OUTPUT:
            raise _TooLong
        parts += [text[at : match.start], made]
        at = match.end
        if "g" not in pattern.flags:
            break
    return "".join([*parts, text[at:]]) if parts else text
