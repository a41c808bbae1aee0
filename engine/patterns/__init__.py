"""JavaScript's regular expressions with JavaScript's meaning, in bounded time. No I/O."""

from engine.errors import PatternRefused, PatternTimeout
from engine.patterns.pattern import Match, Pattern, compile_pattern
from engine.patterns.pattern_set import PatternSet, SetResult
from engine.patterns.slashed import key_pattern, parse_slashed
from engine.patterns.watch import Watch

__all__ = [
    "Match",
    "Pattern",
    "PatternRefused",
    "PatternSet",
    "PatternTimeout",
    "SetResult",
    "Watch",
    "compile_pattern",
    "key_pattern",
    "parse_slashed",
]
