"""A story's next request as SillyTavern would send it, shown as previews are.

Made of the same compilation as a preview, and of nothing else: no strategy and no part of the program has a
say in it. Nothing is written and no model is called. Source: sillytavern spec 3.3; `ux.md` 6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from engine.codec import JsonObject
from engine.prompting import Built, Part, PromptMessage
from engine.session import Journal, Message, Session, estimate_tokens
from engine.strategies.assets import remark_of
from engine.strategies.preview import Preview
from engine.strategies.shown import PreviewBlock, PreviewMessage, prompt_name
from engine.tavern import (
    Compilation,
    ModelFacts,
    PresetParameters,
    ProfileLoader,
    ScriptRunner,
)
from engine.tavern.as_sillytavern import AUTHORS_NOTE, DEPTH_LORE, DEPTH_PROMPT, as_sillytavern
from engine.tavern.conversation import conversation

__all__ = ["TRUNCATED", "Comparisons"]

TRUNCATED: Final = "SILLYTAVERN_TRUNCATED"
"""SillyTavern would send a request that is not whole, and show an error."""

_FIELDS: Final[Mapping[str, tuple[str, str]]] = {
    "charDescription": ("character", "description"),
    "charPersonality": ("character", "personality"),
    "scenario": ("character", "scenario"),
    "dialogueExamples": ("character", "examples"),
    DEPTH_PROMPT: ("character", "depth_prompt"),
    "personaDescription": ("persona", ""),
    "worldInfoBefore": ("worldbook", ""),
    "worldInfoAfter": ("worldbook", ""),
    AUTHORS_NOTE: ("worldbook", ""),
    "chatHistory": ("history", ""),
}
_SETTINGS: Final[Mapping[str, str]] = {
    "newMainChat": "new_chat_prompt",
    "newChat": "new_example_chat_prompt",
    "continueNudge": "continue_nudge_prompt",
    "emptyUserMessageReplacement": "send_if_empty",
}
"""Which of a preset's settings a message is made of, as its author knows it."""


class Comparisons:
    """Makes them for one engine."""

    def __init__(
        self,
        journal: Journal,
        profiles: ProfileLoader,
        parameters: PresetParameters,
        scripts: ScriptRunner,
        model: Callable[[], ModelFacts],
    ) -> None:
        self._journal = journal
        self._profiles = profiles
        self._parameters = parameters
        self._scripts = scripts
        self._model = model

    async def of(self, session_id: str, said: Sequence[Message] = ()) -> Preview:
        """What SillyTavern would send if `said` were said in the session now.

        Raises ResourceError where the step would end with it, NotFound, SessionCorrupt.
        """
        session = await self._journal.look(session_id)
        claimed = await self._scripts.admitted(session, said)
        made = await self._profiles.compile(session, said, resolve_only=True, tried=True)
        messages, greeting = await self._chat(session, claimed, made)
        built = await asyncio.to_thread(as_sillytavern, made, messages, greeting)
        new = {message["id"] for message in claimed}
        first = 1 if greeting else 0
        fresh = {at for at, message in enumerate(messages, first) if message["id"] in new}
        shown = tuple(_shown(message, made, fresh) for message in built.messages)
        return Preview(
            strategy=None,
            messages=shown,
            contexts=(),
            parameters=self._parameters.proposed(made.call_config),
            diagnostics=tuple(_remarks(built)),
            tokens=sum(message.tokens for message in shown),
            window=self._model().window,
            max_response=made.request.max_response,
            added_bytes=sum(len(m.text.encode()) for m in shown if m.source == "system"),
            max_bytes=made.profile.budget.max_bytes,
        )

    async def _chat(
        self, session: Session, claimed: Sequence[Message], made: Compilation
    ) -> tuple[Sequence[Message], str]:
        """All that people saw, and the greeting, as regex scripts make them for the prompt."""
        talk = conversation(session, claimed)
        said = [*(message for message, _ in talk.said), *talk.claimed]
        return await self._scripts.for_prompt(session, said, made.greeting)


def _shown(message: PromptMessage, made: Compilation, fresh: set[int]) -> PreviewMessage:
    said = message.source == "chatHistory"
    source = "input" if fresh.intersection(message.lines) else "history" if said else "system"
    blocks = tuple(_block(part, made, message) for part in message.parts)
    return PreviewMessage(message.role, message.content, estimate_tokens(message.content), source, blocks)


def _block(part: Part, made: Compilation, message: PromptMessage) -> PreviewBlock:
    module, label = _FIELDS.get(part.source, ("", ""))
    if not module:
        lore = part.source.startswith(DEPTH_LORE)
        module, label = ("worldbook", "") if lore else ("preset", _name(part.source, made))
    if module == "history":
        label = message.role
    return PreviewBlock(label, part.text, estimate_tokens(part.text), module=module)


def _name(identifier: str, made: Compilation) -> str:
    """What the author of the preset calls a prompt."""
    return prompt_name(made, identifier) or _SETTINGS.get(identifier, identifier)


def _remarks(built: Built) -> Sequence[JsonObject]:
    found: list[JsonObject] = [{**note.data, **remark_of(note)} for note in built.diagnostics]
    cut: JsonObject = {"code": TRUNCATED, "severity": "warning", "message": "; ".join(built.errors)}
    return [cut, *found] if built.errors else found
