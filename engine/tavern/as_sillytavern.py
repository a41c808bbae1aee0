"""A story's request as SillyTavern itself would build it: for authors who want to compare.

The same preset, card, persona, active lore and conversation, put together by SillyTavern's rules with all
its behaviours. Three things are told as it knows them: the greeting is the first message of the chat; the
bound persona is the user, and everybody else plays under a persona of their own; the window is the model's
where the preset says nothing of one. Source: sillytavern spec 3.3, 3.4.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, Literal, cast

from engine.lore import Places, place
from engine.macros import MacroContext, Value, VariableWrite
from engine.prompting import (
    SILLYTAVERN,
    Built,
    Cast,
    ChatLine,
    Extension,
    PromptMessage,
    Settings,
    Story,
    build,
    post_process,
    settings_of,
)
from engine.resources import Preset
from engine.session import Message, estimate_tokens
from engine.tavern.compilation import Compilation
from engine.tavern.conversation import words_of
from engine.tavern.profile import ProfileRequest

__all__ = ["AUTHORS_NOTE", "DEPTH_LORE", "DEPTH_PROMPT", "as_sillytavern"]

AUTHORS_NOTE: Final = "2_floating_prompt"
"""The key of the author's note. There is none here, but lore may stand around it."""
DEPTH_PROMPT: Final = "DEPTH_PROMPT"
"""The key of a card's note at a depth."""
DEPTH_LORE: Final = "customDepthWI"
"""How the keys of lore at a depth begin."""

_ROLES: Final = ("system", "user", "assistant")
_NOTE_DEPTH: Final = 4  # where SillyTavern's settings have a note that nobody has moved
_NO_LIMIT: Final = 2**31


def as_sillytavern(made: Compilation, messages: Sequence[Message], greeting: str = "") -> Built:
    """The messages that SillyTavern would send. `made` is a compilation that was not rendered, `messages`
    what was said with what is about to be, and `greeting` the one that was chosen, as it is shown.

    The lines of the chat are the greeting (if there is one), then the messages. What the preset wants done
    for a provider's sake is done.
    """
    request = made.request
    preset = request.preset or Preset("", (), {})
    settings = _settings(preset, request)
    built = build(
        preset,
        _story(made),
        _chat(made, messages, greeting),
        count_tokens=_estimate,
        settings=settings,
        quirks=SILLYTAVERN,
    )
    cast_of = Cast(made.profile.user, made.profile.character)
    return replace(built, messages=post_process(built.messages, settings.post_processing, cast_of))


def _estimate(message: PromptMessage) -> int:
    return estimate_tokens(message.content) + (estimate_tokens(message.name) if message.name else 0)


def _settings(preset: Preset, request: ProfileRequest) -> Settings:
    settings = settings_of(preset.raw)
    if preset.raw.get("openai_max_context") is None:
        settings = replace(settings, context=request.window or _NO_LIMIT)
    if preset.raw.get("openai_max_tokens") is None:
        settings = replace(settings, response=request.max_response or 0)
    return settings


def _story(made: Compilation) -> Story:
    request, card = made.request, made.request.card
    places = place(made.active_lore)
    return Story(
        macros=_macros(made),
        type=request.trigger,
        lore_before=places.before_text,
        lore_after=places.after_text,
        # SillyTavern puts them in front one by one, so that the first comes to stand last
        examples_before=tuple(_examples(places, "top"))[::-1],
        examples_after=tuple(_examples(places, "bottom")),
        extensions=tuple(_extensions(made, places)),
        system_prompt=card.system_prompt if card and request.prefer_system else "",
        post_history=card.post_history_instructions if card and request.prefer_post_history else "",
        final=True,
    )


def _examples(places: Places, side: Literal["top", "bottom"]) -> Iterator[str]:
    return (example.piece.text for example in places.examples if example.side == side)


def _extensions(made: Compilation, places: Places) -> Iterator[Extension]:
    note = places.note("")
    if note:
        yield Extension(AUTHORS_NOTE, note, "chat", _NOTE_DEPTH)
    prompt = made.request.card.depth_prompt if made.request.card else None
    text = made.profile.macros.char_depth_prompt
    if prompt is not None and text:
        yield Extension(DEPTH_PROMPT, text, "chat", prompt.depth, _role(prompt.role))
    for block in places.depths:
        role = _role(block.role)
        yield Extension(
            f"{DEPTH_LORE}_{block.depth}_{_ROLES.index(role)}", block.text, "chat", block.depth, role
        )


def _role(role: str) -> Literal["system", "user", "assistant"]:
    return cast("Literal['system', 'user', 'assistant']", role if role in _ROLES else "system")


def _macros(made: Compilation) -> MacroContext:
    """As those of the profile, with what its texts wrote, and every field as often as it is asked for."""
    request = made.request
    return replace(
        made.profile.macros,
        local_variables=_written(request.local_variables, made.profile.written, "local"),
        global_variables=_written(request.global_variables, made.profile.written, "global"),
        once=False,
        rng=random.Random(f"{request.seed}:{request.turn}:sillytavern"),
    )


def _written(
    given: object, writes: Sequence[VariableWrite], store: Literal["local", "global"]
) -> dict[str, Value]:
    found = dict(cast("dict[str, Value]", given))
    for write in writes:
        if write.store != store:
            continue
        if write.value is None:
            found.pop(write.name, None)
        else:
            found[write.name] = write.value
    return found


def _chat(made: Compilation, messages: Sequence[Message], greeting: str) -> list[ChatLine]:
    profile = made.profile
    lines = [ChatLine(profile.character, greeting)] if greeting else []
    for message in messages:
        if message["role"] == "user":
            name = str(message["source"].get("persona") or profile.user)
            lines.append(ChatLine(name, words_of(message), is_user=True, labelled=True))
        else:
            lines.append(ChatLine(profile.character, words_of(message)))
    return lines
