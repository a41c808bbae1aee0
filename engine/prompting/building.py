"""A preset, a story and its chat become the messages of one request. Pure.

With `SILLYTAVERN` they are those of SillyTavern's own prompt manager; without quirks nothing is lost silently
and what cannot fit is refused. Source: sillytavern spec 3.3 and 12, decisions 14, 18, 22.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.errors import AssemblyError
from engine.prompting.collection import Collection, collect
from engine.prompting.completion import Completion, Exceeded
from engine.prompting.examples import Cast, example_blocks
from engine.prompting.filling import PRIMING, fill
from engine.prompting.history import items_of
from engine.prompting.job import Job
from engine.prompting.message import CountTokens, PromptMessage
from engine.prompting.overrides import override
from engine.prompting.quirks import OURS, Quirk
from engine.prompting.settings import Settings, settings_of
from engine.prompting.sources import early_texts, mend_places, place_sources
from engine.prompting.squash import squash
from engine.prompting.story import ChatLine, Story
from engine.prompting.words import Words
from engine.resources import Diagnostic, Diagnostics, Preset

__all__ = ["EXCEEDED", "Built", "build"]

EXCEEDED = "Mandatory prompts exceed the context size."
"""What SillyTavern tells its user when it sends a request that is not whole."""


@dataclass(frozen=True, slots=True)
class Built:
    """The messages of a request, and how they came to be.

    `errors` are what SillyTavern would show its user. `tokens` is what each source costs, `total` all of it
    with what begins the answer, of `budget`. `dropped_lines` are the numbers of chat lines that are not sent,
    `dropped_examples` counts blocks, `dropped_injected` messages that were to stand between the lines.
    """

    messages: tuple[PromptMessage, ...]
    budget: int
    total: int
    tokens: Mapping[str, int]
    errors: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    dropped_lines: tuple[int, ...] = ()
    dropped_examples: int = 0
    dropped_injected: int = 0


def build(
    preset: Preset,
    story: Story,
    chat: Sequence[ChatLine] = (),
    *,
    count_tokens: CountTokens,
    settings: Settings | None = None,
    budget: int | None = None,
    quirks: frozenset[Quirk] = OURS,
) -> Built:
    """The messages that the preset makes of a story and its chat (oldest line first).

    `settings` are the preset's own unless given; `budget` is the tokens that the prompt may have, else what
    they leave it. Equal arguments give equal messages, as far as no macro throws dice.

    Raises AssemblyError PROMPT_BUDGET_EXCEEDED (data: needed, budget, missing, sources) when what must be
    there does not fit, unless `TRUNCATES` is among the quirks.
    """
    settings = settings_of(preset.raw) if settings is None else settings
    limit = settings.budget if budget is None else budget
    notes = Diagnostics()
    words = Words(story)
    blocks = _blocks(story, words, quirks)
    collection = _collection(preset, story, settings, words, quirks, notes, bool(blocks))
    completion = Completion(limit, count_tokens, stops=Quirk.TRUNCATES in quirks)
    job = Job(story, settings, words, quirks, collection, completion)
    user, group = words.context.user, bool(story.group)
    items = items_of(chat, settings, user=user, group=group, quirks=quirks)
    continued = story.continued
    if continued is None:
        continued = next((line.text for line in reversed(chat) if not line.hidden), "")
    errors: tuple[str, ...] = ()
    try:
        fill(job, items, blocks, continued)
    except Exceeded:
        errors = (EXCEEDED,)
    if completion.left < 0 and Quirk.TRUNCATES not in quirks:
        raise _refusal(completion, limit, count_tokens)
    messages = _finished(completion, settings, limit, quirks, notes)
    return _built(messages, job, chat, limit, errors, notes)


def _blocks(story: Story, words: Words, quirks: frozenset[Quirk]) -> list[tuple[PromptMessage, ...]]:
    """The example dialogue: lore's before the card's, the card's, lore's behind it."""
    cast = Cast(words.context.user, words.context.char, story.group)
    texts = [
        *map(words.told, story.examples_before),
        words.context.mes_examples,
        *map(words.told, story.examples_after),
    ]
    return [block for text in texts for block in example_blocks(text, cast, quirks)]


def _collection(
    preset: Preset,
    story: Story,
    settings: Settings,
    words: Words,
    quirks: frozenset[Quirk],
    notes: Diagnostics,
    examples: bool,
) -> Collection:
    early = early_texts(story, settings, words)
    collection = collect(preset, story.type, words, quirks)
    place_sources(collection, early, story, settings, words, quirks, notes)
    noted = any(note.place in ("start", "end") and note.text for note in story.extensions)
    missing = Quirk.MISSING_AT_END not in quirks
    mend_places(
        collection,
        history=missing,
        examples=missing and examples,
        noted=noted and Quirk.NOTES_NEED_MAIN not in quirks,
        notes=notes,
    )
    override(collection, story, words)
    return collection


def _finished(
    completion: Completion,
    settings: Settings,
    limit: int,
    quirks: frozenset[Quirk],
    notes: Diagnostics,
) -> tuple[PromptMessage, ...]:
    plain = completion.messages
    if not settings.squash:
        return tuple(message for message in plain if message.content)
    joined = [message for message in squash(plain) if message.content]
    if Quirk.SQUASH_UNCOUNTED not in quirks and PRIMING + completion.cost(*joined) > limit:
        notes.warn("squash-too-large", "System messages stay apart: joined they would pass the budget.")
        return tuple(message for message in plain if message.content)
    return tuple(joined)


def _refusal(completion: Completion, limit: int, count: CountTokens) -> AssemblyError:
    needed = limit - completion.left
    return AssemblyError(
        f"What must be in the request needs {needed:,} tokens, and it may have {limit:,}.",
        code="PROMPT_BUDGET_EXCEEDED",
        needed=needed,
        budget=limit,
        missing=-completion.left,
        sources=_by_source(completion.messages, count),
    )


def _by_source(messages: Sequence[PromptMessage], count: CountTokens) -> dict[str, int]:
    found: Counter[str] = Counter()
    for message in messages:
        if message.content:
            found[message.source] += count(message)
    return dict(found)


def _built(
    messages: tuple[PromptMessage, ...],
    job: Job,
    chat: Sequence[ChatLine],
    limit: int,
    errors: tuple[str, ...],
    notes: Diagnostics,
) -> Built:
    unplaced, completion = job.unplaced, job.completion
    sent = {line for message in messages for line in message.lines}
    lines = [at for at, line in enumerate(chat) if line.text and not line.hidden and at not in sent]
    if lines or unplaced.injected:
        count = len(lines) + unplaced.injected
        notes.info("history-dropped", "{n} messages of the chat are not sent.", n=count)
    if unplaced.examples:
        notes.info("examples-dropped", "{n} blocks of examples are not sent.", n=unplaced.examples)
    return Built(
        messages=messages,
        budget=limit,
        total=PRIMING + completion.cost(*messages),
        tokens=_by_source(completion.messages, completion.count),
        errors=errors,
        diagnostics=notes.all(),
        dropped_lines=tuple(lines),
        dropped_examples=unplaced.examples,
        dropped_injected=unplaced.injected,
    )
