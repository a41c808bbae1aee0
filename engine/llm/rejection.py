"""Whether a model call failed because of one parameter: what preset fallback asks (spec agent-loop 5.4)."""

from __future__ import annotations

import re
from collections.abc import Collection

from engine.llm.failure import Failure

__all__ = ["rejected_parameter"]

_CODES = frozenset(
    {
        "INVALID_REQUEST",
        "UNSUPPORTED_PARAMETER",
        "INVALID_PARAMETER",
        "UNSUPPORTED_REASONING_EFFORT",
        "HTTP_400",
        "HTTP_422",
    }
)
# With one of these the status says nothing: such calls fail for another reason whatever they ask for.
_OTHER_CODES = frozenset(
    {
        "AUTH",
        "QUOTA",
        "RATE_LIMIT",
        "CONTEXT_WINDOW_EXCEEDED",
        "UNSUPPORTED_CONTENT",
        "ABORTED",
        "TIMEOUT",
        "TRANSPORT",
        "SERVER",
    }
)
_STATUSES = (400, 422)

# How servers name the parameters. `stop` and `effort` are words of plain language, too: they must
# look like a name, in quotes or before a colon.
_NAMES = {
    "temperature": r"\btemperature\b",
    "maxTokens": r"\b(?:max_(?:completion_|output_|new_)?tokens|max(?:Output)?Tokens|num_predict)\b",
    "reasoningEffort": r"\breasoning[_. ]effort\b|\breasoningEffort\b|\bbudget_tokens\b|\benable_thinking\b"
    r"|\boutput_config\b|(?<!\w)['\"`](?:thinking|effort|reasoning)['\"`]|\b(?:thinking|effort)[.:]",
    "stop": r"\bstop_?[sS]equences?\b|(?<!\w)['\"`]stop['\"`]|\bstop ?(?::|\[)"
    r"|\b(?:parameter|field|argument):? stop\b",
}
_PATTERNS = {field: re.compile(pattern) for field, pattern in _NAMES.items()}
_WRONG = re.compile(
    r"unsupported|not supported|n[o']t support|invalid|not valid|not allowed|not permitted|unrecogni[sz]ed"
    r"|unknown|unexpected|deprecated|forbidden|out of range|range:|\bmust\b|\bshould\b"
    r"|too (?:large|small|many|high|low|long)|at (?:most|least)|(?:less|greater|more) than|maximum|minimum"
    r"|exceed|[<>]=? ?\d|only the default|expected",
    re.IGNORECASE,
)


def rejected_parameter(failure: Failure, fields: Collection[str]) -> str | None:
    """The one of `fields` (recorded names, as `maxTokens`) that the server or we explicitly refused.

    None for any other failure, also when the text is not sure. A text that names several refuses
    the one that it names first.
    """
    if failure.code in _OTHER_CODES:
        return None
    if failure.code not in _CODES and failure.status not in _STATUSES:
        return None
    if failure.code == "UNSUPPORTED_REASONING_EFFORT":
        return "reasoningEffort" if "reasoningEffort" in fields else None
    if not _WRONG.search(failure.message):
        return None
    named = {
        found.start(): field
        for field in fields
        if field in _PATTERNS and (found := _PATTERNS[field].search(failure.message))
    }
    return named[min(named)] if named else None
