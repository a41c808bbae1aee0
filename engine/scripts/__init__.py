"""Regex scripts at work: which of them a text meets, and what they make of it. No I/O."""

from engine.scripts.application import Applied, Problem, apply_scripts, check_script, find_pattern
from engine.scripts.limits import script_limits
from engine.scripts.macros import ContextMacros, Macros, NoMacros, escape_for_pattern
from engine.scripts.occasion import Occasion, ScriptBook, applies

__all__ = [
    "Applied",
    "ContextMacros",
    "Macros",
    "NoMacros",
    "Occasion",
    "Problem",
    "ScriptBook",
    "applies",
    "apply_scripts",
    "check_script",
    "escape_for_pattern",
    "find_pattern",
    "script_limits",
]
