"""A request as people are shown it: messages, and the parts that each is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from engine.agent import Part
from engine.tavern import Compilation
from engine.tavern.compilation import PART

__all__ = ["UNRECORDED", "PreviewBlock", "PreviewMessage", "labelled_part", "prompt_name"]

UNRECORDED: Final = "source-unrecorded"
"""The module of words that nobody claims, where somebody should."""

_MODULES: Final = {"lore": "worldbook", "user": "persona"}
"""What the compiler calls a part, where the source that it is from has another name."""


@dataclass(frozen=True, slots=True)
class PreviewBlock:
    """A part of a message. `label` is what people call it: the entry's own name, or that of a section;
    `module` the source that it is from; `changed_role` the one that its author gave it, if it was changed."""

    label: str
    text: str
    tokens: int
    module: str = ""
    node_id: str | None = None
    changed_role: str | None = None


@dataclass(frozen=True, slots=True)
class PreviewMessage:
    """`source` is `system`, `history`, `input`, `pre-step` or `context`."""

    role: str
    text: str
    tokens: int
    source: str
    blocks: tuple[PreviewBlock, ...]


def prompt_name(made: Compilation, identifier: str) -> str:
    """What the author of the preset calls a prompt; empty where they gave it no name."""
    prompts = made.request.preset.prompts if made.request.preset is not None else ()
    return next((prompt.name for prompt in prompts if prompt.identifier == identifier), "")


def labelled_part(part: Part, made: Compilation | None = None) -> tuple[str, str]:
    """(name, source) of a part that no strategy placed; `made` is the compilation that it is of."""
    if not part.name.startswith(f"{PART}:"):
        return part.name, "native-system"
    _, _, _, module, label = part.name.split(":", 4)
    if module == "preset" and made is not None:
        label = prompt_name(made, label) or label
    return label, _MODULES.get(module, module)
