"""What a panel tells of a card before anybody plays it: sizes, counts, what will not work here.

Source: spec tavern 1.3 (the compatibility block), sillytavern 1.1 and 1.4.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.resources.card import Card
from engine.resources.diagnostic import Diagnostic, Diagnostics

__all__ = ["CardFacts", "Compatibility", "card_facts", "compatibility"]

_INIT_VAR = "[initvar]"  # in a world book entry's comment, in any case: MagVarUpdate's starting values
_MACRO = re.compile(r"\{\{(?!\s*//)\s*[#/!?~>.$]*\s*([A-Za-z_][\w-]*)")  # `{{//` begins a comment
_UNKNOWN = 100  # unknown macro names that are told
_READ = {
    "talkativeness",
    "fav",
    "world",
    "depth_prompt",
    "regex_scripts",
    "tavern_helper",
    "TavernHelper_scripts",
    "risuai",
}


@dataclass(frozen=True, slots=True)
class CardFacts:
    """`tokens` are pairs of a part and its size, none empty: description, personality, scenario,
    greeting (the first), examples, instructions (with the note at a depth), book (what is switched on).

    `variables` are the entries that set variables to begin with; `scripts` SillyTavern's regex scripts,
    `helper_scripts` those of the Tavern Helper extension, `risu_scripts` RisuAI's.
    """

    tokens: tuple[tuple[str, int], ...]
    greetings: int
    group_greetings: int
    entries: int
    entries_on: int
    variables: tuple[str, ...]
    scripts: int
    helper_scripts: int
    risu_scripts: int
    assets: Mapping[str, int]
    warnings: int


@dataclass(frozen=True, slots=True)
class Compatibility:
    """What is kept but does not act here, and which macros are unknown."""

    warnings: tuple[Diagnostic, ...] = ()
    unsupported: tuple[str, ...] = ()
    unknown_macros: tuple[str, ...] = field(default=())


def card_facts(card: Card, estimate: Callable[[str], int]) -> CardFacts:
    """The facts of a card. `estimate` says how many tokens a text takes."""
    book = card.book.entries if card.book else ()
    note = card.depth_prompt.prompt if card.depth_prompt is not None else ""
    texts = {
        "description": card.description,
        "personality": card.personality,
        "scenario": card.scenario,
        "greeting": card.greetings[0] if card.greetings else "",
        "examples": card.mes_example,
        "instructions": card.system_prompt + card.post_history_instructions + note,
        "book": "".join(entry.content for entry in book if entry.enabled),
    }
    counts = ((part, estimate(text)) for part, text in texts.items() if text)
    extensions = card.extensions or {}
    return CardFacts(
        tokens=tuple((part, count) for part, count in counts if count),
        greetings=len(card.greetings),
        group_greetings=len(card.group_greetings) - len(card.greetings),
        entries=len(book),
        entries_on=sum(entry.enabled for entry in book),
        variables=tuple(entry.label for entry in book if _INIT_VAR in entry.comment.lower()),
        scripts=len(_list(extensions.get("regex_scripts"))),
        helper_scripts=_helper_scripts(extensions),
        risu_scripts=_risu_scripts(extensions),
        assets=Counter(asset.category for asset in card.assets),
        warnings=sum(remark.severity == "warning" for remark in card.warnings),
    )


def compatibility(card: Card, knows_macro: Callable[[str], bool] | None = None) -> Compatibility:
    """The import's remarks and the features that pass through. `knows_macro` is asked lower-cased names."""
    notes = Diagnostics()
    notes.extend(card.warnings)
    extensions = card.extensions or {}
    if card.spec == "v3" and card.assets:
        notes.info(
            "v3-assets-pass-through",
            "The card brings {count} files along; those that cannot be shown are kept for export.",
            "data.assets",
            count=len(card.assets),
        )
    unread = sorted(key for key in extensions if key not in _READ)
    if unread:
        notes.info(
            "extensions-pass-through",
            "What extensions stored in the card is kept for export ({names}).",
            "data.extensions",
            names=", ".join(unread),
        )
    if card.book is not None:
        notes.info(
            "embedded-character-book-pass-through",
            "The card brings its own world book of {count} entries.",
            "data.character_book",
            count=len(card.book.entries),
        )
    if card.post_history_instructions.strip():
        notes.info(
            "post-history-runtime-required",
            "The card has instructions that stand after the conversation.",
            "data.post_history_instructions",
        )
    if card.depth_prompt is not None:
        notes.info(
            "depth-prompt-runtime-required",
            "The card has a note that stands {depth} messages before the end.",
            "data.extensions.depth_prompt",
            depth=card.depth_prompt.depth,
        )
    unsupported = tuple(
        name
        for name, count in (
            ("risu-scripts", _risu_scripts(extensions)),
            ("tavern-helper-scripts", _helper_scripts(extensions)),
        )
        if count
    )
    unknown = _unknown_macros(card, knows_macro) if knows_macro else ()
    return Compatibility(notes.all(), unsupported, unknown)


def _unknown_macros(card: Card, knows: Callable[[str], bool]) -> tuple[str, ...]:
    names = dict.fromkeys(match[1].lower() for text in _texts(card) for match in _MACRO.finditer(text))
    return tuple(name for name in names if not knows(name))[:_UNKNOWN]


def _texts(card: Card) -> Iterator[str]:
    yield from (card.description, card.personality, card.scenario, card.mes_example)
    yield from (card.system_prompt, card.post_history_instructions)
    yield from card.group_greetings
    yield from (entry.content for entry in (card.book.entries if card.book else ()))


def _helper_scripts(extensions: Mapping[str, Any]) -> int:
    """Scripts of the Tavern Helper: a list of its own, or under `scripts` of an object or of pairs."""
    helper = extensions.get("tavern_helper")
    if isinstance(helper, list):
        helper = {pair[0]: pair[1] for pair in helper if isinstance(pair, list) and len(pair) == 2
                  and isinstance(pair[0], str)}  # fmt: skip
    inner = _list(helper.get("scripts")) if isinstance(helper, Mapping) else []
    return len(_list(extensions.get("TavernHelper_scripts"))) + len(inner)


def _risu_scripts(extensions: Mapping[str, Any]) -> int:
    risu = extensions.get("risuai")
    if not isinstance(risu, Mapping):
        return 0
    return len(_list(risu.get("customScripts"))) + len(_list(risu.get("triggerscript")))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
