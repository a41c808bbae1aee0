"""How an answer is built: a reaction, perhaps lore or a memory and the place, and the story handed back.

The shape is the same in every language; a `Language` brings sentences and grammar.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.llm.narrator.grammar import Composer
from engine.llm.narrator.scene import Scene
from engine.llm.narrator.stock import Stock

__all__ = ["Language", "compose"]

PARAGRAPHS = 4
"""A Discord message holds more, but nobody's turn should have to wait for a fifth."""

_QUESTIONS = frozenset({"identity", "why", "where", "who", "when", "how", "what", "yesno"})


@dataclass(frozen=True, slots=True)
class Language:
    """What differs between languages.

    `slots` gives the words for templates, `plural` whether the character's pronoun takes a
    plural verb, `speech` the spoken part of a message; `told` and `spoken` dress a line as
    *action* or "speech"; `between` joins sentences; `finish` mends the whole text.
    """

    stock: Stock
    slots: Callable[[Scene, random.Random], Mapping[str, str]]
    plural: Callable[[Scene], bool]
    speech: Callable[[str], str]
    told: Callable[[str], str]
    spoken: Callable[[str], str]
    aside: Callable[[str], str]
    between: str
    finish: Callable[[str], str]


def compose(scene: Scene, language: Language) -> str:
    """The answer in one to four paragraphs, never empty. Equal scenes give equal answers."""
    rng = random.Random(scene.seed)
    composer = Composer(rng, language.slots(scene, rng), scene.spoken, plural=language.plural(scene))
    lines = language.stock.lines
    if scene.out_of_character:
        return language.aside(composer.line(lines["asides"]) or lines["label"][0])
    kind = _kind(scene, composer, language)
    paragraphs = [_reaction(composer, scene, kind, language)]
    if composer.has("lore") and (kind in _QUESTIONS or composer.chance(0.8)):
        paragraphs.append(language.spoken(composer.line(lines["lore"])))
    elif kind != "farewell" and composer.has("memory") and composer.chance(0.45):
        paragraphs.append(language.spoken(composer.line(lines["memories"])))
    if composer.chance(0.55):
        place = _place(composer, scene, language.stock)
        paragraphs.append(language.told(composer.line(place, language.stock.places[""])))
    if len(paragraphs) < 2 or kind != "farewell":
        paragraphs.append(_ending(composer, language))
    kept = [paragraph for paragraph in paragraphs if paragraph]
    return language.finish("\n\n".join(kept[:PARAGRAPHS])) or language.aside(lines["label"][0])


def _kind(scene: Scene, composer: Composer, language: Language) -> str:
    said = scene.last.text
    kind = language.stock.intent(said)
    if kind is not None:
        return kind
    only_done = composer.has("deed") and not composer.has("mirror")
    return "action" if only_done or not language.speech(said) else "statement"


def _reaction(composer: Composer, scene: Scene, kind: str, language: Language) -> str:
    """What the character does and says at once; it takes up something that the person said or did."""
    lines, echoes, answers = language.stock.lines, language.stock.echoes, language.stock.answers
    told = composer.line(lines["rolls"]) if scene.result is not None else ""
    if not told and (scene.picture or scene.shown):
        told = composer.line(lines["shown"], lines["pictures"] if scene.picture else ())
    if not told and composer.has("deed"):
        told = composer.line(lines["deeds"])
    if not told and composer.has("other") and composer.chance(0.3):
        told = composer.line(lines["others"])
    told = told or composer.line(lines["attention"])
    group = kind if kind in echoes else "question" if kind in _QUESTIONS else "statement"
    said = [
        composer.line(lines["openings"]) if composer.chance(0.3) else "",
        composer.line(echoes[group], echoes["statement"]),
        composer.line(answers[kind], answers["statement"]),
    ]
    parts = [language.told(told), language.spoken(language.between.join(filter(None, said)))]
    if scene.result is None and composer.chance(0.25):
        parts.reverse()
    return " ".join(filter(None, parts))


def _ending(composer: Composer, language: Language) -> str:
    """The story is handed back with a gesture, a question, or both."""
    shape = composer.pick(("gesture", "question", "both", "both"))
    lines = language.stock.lines
    told = "" if shape == "question" else language.told(composer.line(lines["closing"]))
    said = "" if shape == "gesture" else language.spoken(composer.line(lines["questions"]))
    return " ".join(filter(None, (told, said)))


def _place(composer: Composer, scene: Scene, stock: Stock) -> tuple[str, ...]:
    """Lines about the place: where the last words were, else where the prompt is."""
    for text in (scene.last.text, scene.prompt):
        fitting = [stock.places[name] for name, pattern in stock.settings if pattern.search(text)]
        if fitting:
            return composer.pick(fitting)
    return stock.places[""]
