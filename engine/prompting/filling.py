"""Fills a request: prompts in their places, notes beside the main prompt, then history and examples as far as
there is room, and the control prompts last. Source: sillytavern spec 3.3.4 to 3.3.12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from engine.macros.numerals import BLANK
from engine.prompting.collection import Side, Slot
from engine.prompting.completion import Bundle
from engine.prompting.defaults import EXAMPLES
from engine.prompting.history import Item
from engine.prompting.injection import inject
from engine.prompting.job import Job, message_of
from engine.prompting.message import GROUP_NUDGE, HISTORY, NEW_EXAMPLE, PromptMessage, one
from engine.prompting.names import field_name
from engine.prompting.quirks import Quirk
from engine.prompting.sources import BIAS, IMPERSONATE, NOTES, QUIET
from engine.prompting.talk import Talk

__all__ = ["fill"]

PRIMING: Final = 3  # tokens that begin every answer
_FIRST: Final = (
    "worldInfoBefore", "main", "worldInfoAfter", "charDescription", "charPersonality", "scenario",
    "personaDescription",
)  # fmt: skip
_OWN: Final = ("nsfw", "jailbreak")
_LATER: Final = "enhanceDefinitions"
_OTHERWISE: Final = frozenset({HISTORY, EXAMPLES, IMPERSONATE, QUIET, GROUP_NUDGE, BIAS, *NOTES})


def fill(job: Job, items: list[Item], blocks: Sequence[Sequence[PromptMessage]], continued: str = "") -> None:
    """Write everything into the job's completion. `items` are the chat, newest first; `blocks` the example
    dialogue; `continued` the text that a continuation goes on with. Raises Exceeded where the completion
    stops."""
    completion = job.completion
    job.unplaced.examples = len(blocks)
    completion.reserve(PRIMING)
    for identifier in _FIRST:
        _place(job, identifier)
    control = _control_prompts(job)
    for identifier in (*_OWN, *_authored(job), _LATER):
        _place(job, identifier)
    if job.story.bias.strip(BLANK):
        _place(job, BIAS)
    in_chat = [slot for slot in job.collection if slot.in_chat]
    _notes(job, in_chat)
    _take_prefilled(job, items, control)
    items = inject(items, in_chat, job.story.extensions, job.words, job.quirks)
    job.unplaced.injected = sum(item.injected for item in items)
    talk = Talk(job, items, continued)
    if not job.on(Quirk.RESERVES_LATE):
        talk.reserve()
    if job.settings.pin_examples:
        _examples(job, blocks)
        talk.fill()
    else:
        talk.fill()
        _examples(job, blocks)
    completion.free(completion.cost(*control.messages))
    if control.messages:
        completion.add(control)


def _place(job: Job, identifier: str) -> None:
    """Add a prompt at its place, unless it is off or in the chat."""
    slot = job.collection.get(identifier)
    if slot is None or slot.in_chat or (identifier != "main" and job.collection.disabled(identifier)):
        return
    job.completion.add(Bundle(identifier, [message_of(slot)]), job.collection.index(identifier))


def _authored(job: Job) -> list[str]:
    """The prompts that the preset's author made, in their order."""
    relative = [slot for slot in job.collection if not slot.in_chat]
    if job.on(Quirk.UNFLAGGED_LOST):
        return [slot.identifier for slot in relative if slot.system_prompt is False]
    taken = {*_FIRST, *_OWN, _LATER, *_OTHERWISE}
    return [slot.identifier for slot in relative if slot.identifier not in taken and not slot.extension]


def _control_prompts(job: Job) -> Bundle:
    """What is said last: the words for writing as the user, then the quiet prompt. Room is kept for them."""
    control = Bundle("controlPrompts")
    for identifier, wanted in ((IMPERSONATE, job.story.type == "impersonate"), (QUIET, True)):
        slot = job.collection.get(identifier)
        if wanted and slot is not None and slot.content:
            control.messages.append(message_of(slot))
    job.completion.reserve(job.completion.cost(*control.messages))
    return control


def _notes(job: Job, in_chat: list[Slot]) -> None:
    """Put the notes beside the main prompt; where that is in the chat, they join it there."""
    known = (job.collection.get(identifier) for identifier in NOTES)
    others = [slot for slot in job.collection if slot.extension]
    for slot in (*known, *others):
        if slot is not None and slot.side is not None:
            _beside_main(job, slot, slot.side, in_chat)


def _beside_main(job: Job, slot: Slot, side: Side, in_chat: list[Slot]) -> None:
    if job.completion.has("main"):
        job.completion.insert(message_of(slot), "main", start=side == "start")
        return
    at = next((at for at, other in enumerate(in_chat) if other.identifier == "main"), None)
    if at is not None:
        main = in_chat[at]
        copy = replace(slot, in_chat=True, depth=main.depth, order=main.order)
        in_chat.insert(at if side == "start" else at + 1, copy)


def _take_prefilled(job: Job, items: list[Item], control: Bundle) -> None:
    """Where an answer is continued in its own words, these are the last message of all."""
    settings = job.settings
    if job.story.type != "continue" or not settings.continue_prefill or not items:
        return
    newest = items.pop(0)
    begun = ""
    if newest.role == "assistant" and settings.provider == "claude":
        begun = job.words.authored(settings.assistant_prefill)
    text = "\n\n".join(part for part in (begun, newest.content) if part)
    name = field_name(newest.name) if settings.names == 1 else ""
    message = replace(
        one(newest.role, text, HISTORY, name), lines=() if newest.line is None else (newest.line,)
    )
    control.messages.append(message)
    job.completion.reserve(job.completion.cost(message))


def _examples(job: Job, blocks: Sequence[Sequence[PromptMessage]]) -> None:
    """Whole blocks, from the first, as long as there is room."""
    completion = job.completion
    if EXAMPLES not in job.collection:
        return
    completion.add(Bundle(EXAMPLES), job.collection.index(EXAMPLES))
    if not blocks:
        return
    header = one("system", job.words.authored(job.settings.new_example_chat), NEW_EXAMPLE)
    for block in blocks:
        if not completion.affords(header, *block):
            return
        for message in (header, *block):
            completion.insert(message, EXAMPLES)
        job.unplaced.examples -= 1
