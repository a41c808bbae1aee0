"""The card's instructions in the place of the preset's. Source: sillytavern spec 3.3.3."""

from __future__ import annotations

from dataclasses import replace

from engine.prompting.collection import Collection
from engine.prompting.story import Story
from engine.prompting.words import Words

__all__ = ["override"]


def override(collection: Collection, story: Story, words: Words) -> None:
    """Replace `main` by the card's system prompt and `jailbreak` by its post-history instructions, where they
    are there, switched on and do not forbid it. `{{original}}` is what is replaced, at its first use."""
    for identifier, text in (("main", story.system_prompt), ("jailbreak", story.post_history)):
        slot = collection.get(identifier)
        if not text or slot is None or slot.forbid_overrides or collection.disabled(identifier):
            continue
        collection.put(replace(slot, content=words.authored(text, original=slot.content)))
