"""English for the narrator: words for its templates, pronouns, and who is called what."""

from __future__ import annotations

import random
import re

from engine.llm.narrator import phrases
from engine.llm.narrator.composition import Language
from engine.llm.narrator.grammar import capital
from engine.llm.narrator.scene import NARRATOR, Scene, plain
from engine.llm.narrator.stock import load

__all__ = ["ENGLISH"]

_STOCK = load("english")
_TITLES = _STOCK.words["titles"]
_PRONOUNS = {
    "she": ("she", "her", "her", "herself"),
    "he": ("he", "him", "his", "himself"),
    "they": ("they", "them", "their", "themself"),
}
_NOT_THE_WORLD = re.compile(r"(?:she|he|her|his|they|their|it|its)\b", re.IGNORECASE)


def _slots(scene: Scene, rng: random.Random) -> dict[str, str]:
    they, them, their, themself = _PRONOUNS[_pronoun(scene)]
    name = "the narrator" if scene.character == NARRATOR else _short(scene.character)
    user = scene.last.speaker or "the visitor"
    said = scene.last.text
    done = phrases.deed(said, user, name)
    # A deed is told, not said back; and what somebody only handles is not what they speak of.
    mirrored = "" if done and not phrases.actions(said) else phrases.mirror(said)
    pointed = phrases.thing(phrases.speech(said) or said)
    memory = _memory(scene, pointed, rng)
    lore = next((line for line in map(phrases.to_speech, scene.lore) if _is_news(line, scene)), "")
    others = [line.speaker for line in scene.lines[-6:] if line.speaker not in ("", scene.last.speaker)]
    return {
        "name": name,
        "user": user,
        "they": they,
        "They": capital(they),
        "them": them,
        "their": their,
        "themself": themself,
        "deed": done,
        "mirror": mirrored,
        "mirror_cap": capital(mirrored),
        "thing": pointed,
        "thing_cap": capital(pointed),
        "quote": phrases.quote(said),
        "memory": memory,
        "lore": lore,
        "lore_cap": capital(lore),
        "other": others[-1] if others else "",
        "self_says": _self(scene, rng),
        "shown": f"`{scene.shown}`" if scene.shown else "",
        "roll": " ".join((scene.result or "").replace("*", "×").split())[:200],
    }


def _short(name: str) -> str:
    """The name as it is called in a sentence: the first of several, unless that is a title."""
    first = name.split()[0]
    return name if first.lower().strip(".") in _TITLES else first


def _pronoun(scene: Scene) -> str:
    """By the lines of the prompt that name the character: the pronoun that is clearly more frequent."""
    name = _short(scene.character)
    about = [line for line in scene.prompt.splitlines() if name in line]
    text = " ".join(about)
    female = len(re.findall(r"\b(?:she|hers?|herself|woman|girl)\b", text, re.IGNORECASE))
    male = len(re.findall(r"\b(?:he|him|his|himself|man|boy)\b", text, re.IGNORECASE))
    if female == male:
        return "they"
    return "she" if female > male else "he"


def _self(scene: Scene, rng: random.Random) -> str:
    """What the card says that the character is, in the character's own words."""
    name = re.escape(_short(scene.character))
    pattern = rf"\b{name}\b[^.\n]{{0,40}}? is (an? [^.,;:\n(]{{3,60}}?)(?= who | that | which |[.,;:\n(]|$)"
    found = re.search(pattern, scene.prompt, re.MULTILINE)
    if found is None:
        return ""
    what = capital(found.group(1).strip())
    tail = rng.choice((", if you need a word for it.", ", for my sins.", "; it fills the days."))
    return what + tail


def _memory(scene: Scene, current: str, rng: random.Random) -> str:
    """A thing that the same person spoke of earlier."""
    earlier = [line for line in scene.lines[:-1] if line.speaker == scene.last.speaker][-8:]
    things = [pointed for line in earlier if (pointed := phrases.thing(line.text)) and pointed != current]
    return rng.choice(things) if things else ""


def _is_news(lore: str, scene: Scene) -> bool:
    """Whether it was not told lately, and is about the world rather than about who speaks."""
    if _short(scene.character) in lore or _NOT_THE_WORLD.match(lore):
        return False
    told = plain(lore)
    return not any(told in sentence for sentence in scene.spoken)


def _told(line: str) -> str:
    return f"*{capital(line)}*" if line else ""


def _spoken(line: str) -> str:
    return f'"{capital(line)}"' if line else ""


def _aside(line: str) -> str:
    return f"(({line}))"


def _finish(text: str) -> str:
    """Large letters where slots began a sentence, and no doubled stops where they ended one."""
    text = re.sub(
        r"([.!?…]['’]?\s+)(the (?:narrator|visitor))\b",
        lambda match: match.group(1) + capital(match.group(2)),
        text,
    )
    return re.sub(r"([.!?…])\.(?!\.)", r"\1", text)


ENGLISH = Language(
    stock=_STOCK,
    slots=_slots,
    plural=lambda scene: _pronoun(scene) == "they",
    speech=phrases.speech,
    told=_told,
    spoken=_spoken,
    aside=_aside,
    between=" ",
    finish=_finish,
)
