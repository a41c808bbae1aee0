"""What the author of a text is told about its macros."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["SENTENCES", "MacroNote"]

SENTENCES: Mapping[str, str] = {
    "UNKNOWN_MACRO": "{{{{{name}}}}} is not known.",
    "MACRO_ARGUMENTS": "{{{{{name}}}}} does not take {count} arguments.",
    "MACRO_VALUE": "{{{{{name}}}}} cannot do anything with what stands in it.",
    "MACRO_SCOPE": "{{{{{name}}}}} and {{{{/{name}}}}} do not belong together here.",
    "MACRO_TOO_MANY_BLANKS": "{{{{{name}}}}} asks for {count} times; it is done {most} times.",
    "MACRO_VARIABLE_TOO_LONG": "The variable “{variable}” has become too long; it keeps its old value.",
    "MACRO_TOO_DEEP": "Macros are nested more than {most} deep; what is deeper stays as written.",
    "MACRO_TOO_MANY": "There are more than {most} macros; those that come later stay as written.",
    "MACRO_TOO_LONG": "The macros yield more than {most} characters; what comes later is left out.",
}
"""By code. The catalogues have the same sentences as `macro.CODE`."""

ERRORS = frozenset({"MACRO_TOO_DEEP", "MACRO_TOO_MANY", "MACRO_TOO_LONG"})
_FACT = 80  # characters of a fact: it may quote a hostile text


@dataclass(frozen=True, slots=True)
class MacroNote:
    """A remark on [start, end) of the source. `data` holds the facts that its sentence names.

    Of severity `error` are the three limits of a whole text: what comes after is not as it was meant.
    """

    code: str
    start: int
    end: int
    data: Mapping[str, str | int] = field(default_factory=dict)

    @classmethod
    def of(cls, code: str, name: str, start: int, end: int, **facts: str | int) -> MacroNote:
        """A remark about the macro of that name."""
        data = {key: fact[:_FACT] if isinstance(fact, str) else fact for key, fact in facts.items()}
        return cls(code, start, end, {"name": name[:_FACT], **data})

    @property
    def name(self) -> str:
        """The macro's name, lower-case; empty when it is about the whole text."""
        return str(self.data["name"])

    @property
    def severity(self) -> Literal["warning", "error"]:
        """How bad it is."""
        return "error" if self.code in ERRORS else "warning"

    @property
    def message(self) -> str:
        """One English sentence."""
        return SENTENCES[self.code].format_map(self.data)
