"""What is wrong with a setting, in one line that names the key, what is expected, and who said it.

The line never repeats the value: a token pasted under the wrong key must not end up in a log.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import ValidationError

__all__ = ["Wrong", "explain", "nearest"]

Path = tuple[str, ...]


class Wrong(ValueError):
    """Raised by a section's own check: `key` within the section is wrong, and why."""

    def __init__(self, key: str, why: str) -> None:
        self.key = key
        self.why = why
        super().__init__(why)


def explain(
    error: ValidationError, known: Iterable[Path], origin: Callable[[Path], str | None]
) -> tuple[str, ...]:
    """One line for each wrong setting.

    `known` are all paths that exist; `origin` names the source of a path, or None for a default.
    """
    known = list(known)
    lines = []
    for problem in error.errors(include_url=False, include_input=False):
        path: Path = tuple(str(part) for part in problem["loc"])
        context: dict[str, Any] = problem.get("ctx", {})
        cause = context.get("error")
        if isinstance(cause, Wrong):
            path = (*path, cause.key)
            text = cause.why
        elif isinstance(cause, ValueError):
            text = str(cause)
        elif problem["type"] == "extra_forbidden":
            text = "there is no such setting"
            if near := nearest(path, known):
                text += f"; did you mean {near}?"
        else:
            text = expected(problem["type"], context) or problem["msg"].lower()
        source = origin(path)
        lines.append(f"{'.'.join(path)}: {text}" + (f" (from {source})" if source else ""))
    return tuple(lines)


def expected(kind: str, context: dict[str, Any]) -> str | None:
    """The kind of value that was expected, by pydantic's error type; None for a type without words here."""
    match kind:
        case "literal_error":
            return f"must be one of {context['expected']}"
        case "bool_parsing" | "bool_type":
            return "must be true or false"
        case "int_parsing" | "int_type" | "int_from_float":
            return "must be a whole number"
        case "float_parsing" | "float_type" | "finite_number":
            return "must be a number"
        case "string_type":
            return "must be text"
        case "string_too_short":
            return "must not be empty"
        case "path_type":
            return "must be a path"
        case "model_type" | "model_attributes_type":
            return "is a section with keys of its own, not a value"
        case "greater_than_equal":
            return f"must be a number of at least {context['ge']:g}"
        case "greater_than":
            return f"must be a number greater than {context['gt']:g}"
        case "less_than_equal":
            return f"must be a number of at most {context['le']:g}"
    return None


def nearest(path: Path, known: Iterable[Path]) -> str | None:
    """The existing key that looks most like `path`, if any does."""
    # The separators count for nothing: `discord_token` is nearly `discord.token`.
    names = {"_".join(candidate): ".".join(candidate) for candidate in known}
    # 0.75: one or two slips in a word still match, another word does not.
    found = difflib.get_close_matches("_".join(path), names, n=1, cutoff=0.75)
    return names[found[0]] if found else None
