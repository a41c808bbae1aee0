"""The macros of a build's texts, expanded once each and with one set of variables.

The order in which texts are asked for is SillyTavern's: what one prompt sets, the next can read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from engine.macros import Authored, MacroContext, Variables, expand
from engine.prompting.story import Story

__all__ = ["Words"]

_FIELDS: Final = ("persona", "description", "personality", "scenario", "mes_examples")


class Words:
    """Expands for one build. `context` has the fields of card and persona with their macros expanded; `final`
    says that those of the story's other texts were expanded too."""

    def __init__(self, story: Story) -> None:
        given = story.macros
        if story.group and not given.group:
            given = replace(given, group=story.group)
        self.context: MacroContext = given
        self.final = story.final
        self._variables = Variables(given.local_variables, given.global_variables)
        if not story.final:
            texts = {field: self.authored(getattr(given, field)) for field in _FIELDS}
            self.context = replace(
                given,
                persona=texts["persona"],
                description=texts["description"],
                personality=texts["personality"],
                scenario=texts["scenario"],
                mes_examples=texts["mes_examples"],
            )

    def authored(self, text: str, *, original: str | None = None, **extra: str) -> str:
        """A text of the preset or the card. `original` is what it takes the place of; `extra` are macros."""
        context = self.context
        if original is not None:
            context = replace(context, original=original)
        if extra:
            context = replace(context, extra={**context.extra, **extra})
        return expand(Authored(text), context, variables=self._variables)

    def told(self, text: str) -> str:
        """A text of the story, which may have been expanded before."""
        return text if self.final else self.authored(text)
