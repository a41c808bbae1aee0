"""English words turned round: what somebody said, made fit to be said back or told about.

Plain rules over small word lists. Where they are not sure they return an empty string, and
the narrator says something else.
"""

from __future__ import annotations

import re

from engine.llm.narrator.stock import load

__all__ = [
    "actions",
    "deed",
    "mirror",
    "quote",
    "speech",
    "thing",
    "to_speech",
]

# Longer pieces sound like a parrot.
MIRROR_WORDS = 14
DEED_WORDS = 12
QUOTE_WORDS = 8

_ACTION = re.compile(r"\*+([^*\n]+?)\*+")
_WORD = re.compile(r"[\w'’-]+|[^\w\s]", re.UNICODE)
_CLAUSE = re.compile(r"[^.!?…;\n]+")
_QUESTION = re.compile(r"([^.!?…;\n]+)\?")
_QUOTES = re.compile(r"[\"“”]")

_TURN = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "am": "are",
    "i'm": "you're", "i've": "you've", "i'll": "you'll", "i'd": "you'd",
    "your": "my", "yours": "mine", "yourself": "myself",
    "you're": "I'm", "you've": "I've", "you'll": "I'll", "you'd": "I'd",
}  # fmt: skip
_WORDS = load("english").words
_DETERMINERS, _STOPS = _WORDS["determiners"], _WORDS["stops"]
_NOT_DEEDS = _DETERMINERS | _STOPS


def speech(text: str) -> str:
    """The words without the actions between asterisks and without quotation marks."""
    return " ".join(_QUOTES.sub("", _ACTION.sub(" ", text)).split())


def actions(text: str) -> list[str]:
    """What stands between asterisks."""
    return [found.strip() for found in _ACTION.findall(text) if found.strip()]


def deed(text: str, who: str, other: str) -> str:
    """What `who` does to `other`, as a clause of the third person: "Ana opens the door". Empty if unsure.

    It knows *opens the door*, *I open the door*, *Ana opens the door* and, without asterisks,
    "I open the door" for verbs that are deeds.
    """
    told = actions(text)
    for action in told or [speech(text)]:
        clause = next(iter(_CLAUSE.findall(action)), "").strip(" ,")
        words = clause.split()
        if len(words) < 2:
            continue
        first, second = words[0].lower(), words[1].lower()
        if first == "i" and (told or second in _WORDS["deeds"]):
            # Only the first verb gets its ending, so the clause ends before a second one.
            clause = _third_person(
                re.split(r",|\b(?:and|then|but|while)\b", clause[1:], maxsplit=1)[0].split(), who
            )
        elif told and who.lower().startswith(first):
            clause = _of_third(clause)
        elif told and first.endswith("s") and not first.endswith("ss") and first not in _NOT_DEEDS:
            clause = _of_third(f"{who} {first} {' '.join(words[1:])}")
        else:
            continue
        clause = re.sub(r"\byour\b", f"{other}'s", clause, flags=re.IGNORECASE)
        clause = re.sub(r"\byou\b", other, clause, flags=re.IGNORECASE)
        if len(clause.split()) > DEED_WORDS or "," in clause:
            clause = re.split(r",| and ", clause, maxsplit=1)[0]
        if 2 < len(clause.split()) <= DEED_WORDS:
            return clause
    return ""


def mirror(text: str) -> str:
    """A statement turned to the other side: "I lost your ring" gives "you lost my ring". Empty if unsure."""
    clauses = [clause.strip(" ,'") for clause in _CLAUSE.findall(speech(text))]
    fitting = [clause for clause in clauses if 3 <= len(clause.split()) <= MIRROR_WORDS]
    # A clause about the speaker is the one worth saying back.
    about = [clause for clause in fitting if re.match(r"i\b|i'|my\b|we\b|you\b", clause, re.IGNORECASE)]
    if not about or "?" in text.split(about[0])[-1][:1]:
        return ""
    return _turned(about[0])


def thing(text: str) -> str:
    """The thing that matters most, as the listener would point at it: "your sword". Empty if none."""
    words = _WORD.findall(_QUOTES.sub("", text.replace("*", " ")))
    best: tuple[str, ...] = ()
    for start, word in enumerate(words):
        if word.lower() not in _DETERMINERS:
            continue
        run: list[str] = []
        for following in words[start + 1 : start + 5]:
            lower = following.lower()
            if lower in _STOPS or lower in _DETERMINERS or not following[0].isalpha() or lower.endswith("ly"):
                break
            run.append(following)
        if len(run) == 4:
            run = run[:2]  # no name is that long: a verb must be among them
        if not run or run[-1].lower() in _WORDS["empty_nouns"] or len("".join(run)) < 3:
            continue
        if sum(map(len, run)) > sum(map(len, best[1:])):
            best = (word.lower(), *run)
    if not best:
        return ""
    owner = {"my": "your", "your": "my", "our": "our"}.get(best[0])
    pointed = best[0] if best[0] in ("this", "that", "these", "those", "his", "her", "their") else "the"
    return f"{owner or pointed} {' '.join(best[1:])}"


def to_speech(sentence: str) -> str:
    """A sentence of the world made fit to follow other words: no full stop, a small first letter."""
    text = sentence.strip().rstrip(".!。！ ").strip("-*• ")
    first = text.split(" ", 1)[0]
    small = first.lower() in _DETERMINERS | _STOPS | {
        "no",
        "most",
        "many",
        "few",
        "all",
        "nobody",
        "everyone",
    }
    return text[:1].lower() + text[1:] if small and first != "I" else text


def quote(text: str) -> str:
    """The question, else the first words, of what was said, as they were said; a long one breaks off."""
    said = speech(text)
    clauses = [found.strip(" ,") for found in (*_QUESTION.findall(said), *_CLAUSE.findall(said))]
    words = next((clause for clause in clauses if clause), "").split()
    if len(words) <= QUOTE_WORDS:
        return " ".join(words)
    return " ".join(words[: QUOTE_WORDS - 2]).rstrip(",") + "…"


def _turned(clause: str) -> str:
    words = clause.replace("’", "'").split()
    turned: list[str] = []
    for place, word in enumerate(words):
        core = word.strip(",;:()").lower()
        before = words[place - 1].strip(",;:()").lower() if place else ""
        after = words[place + 1].strip(",;:()").lower() if place + 1 < len(words) else ""
        if core == "you":
            other = "me" if before in _WORDS["governs"] or (place and not after) else "I"
        elif core == "are" and (before == "you" or after == "you"):
            other = "am"
        elif core == "was" and (before == "i" or after == "i"):
            other = "were"
        elif core == "were" and before == "you":
            other = "was"
        else:
            other = _TURN.get(core, "")
        turned.append(re.sub(re.escape(core), other, word, flags=re.IGNORECASE) if other else word)
    text = " ".join(turned)
    return text if text.startswith(("I ", "I'")) else text[:1].lower() + text[1:]


def _third_person(words: list[str], who: str) -> str:
    verb = words[0].lower() if words else ""
    if verb in _STOPS or verb.endswith(("ed", "ly")) or "'" in verb or not verb.isalpha():
        return ""
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        verb += "es"
    elif verb.endswith("y") and verb[-2:-1] not in "aeiou":
        verb = verb[:-1] + "ies"
    else:
        verb += "s"
    return _of_third(" ".join([who, verb, *words[1:]]))


def _of_third(clause: str) -> str:
    """First-person words inside somebody's action, told from outside."""
    for first, third in (("my", "their"), ("myself", "themself"), ("me", "them"), ("mine", "theirs")):
        clause = re.sub(rf"\b{first}\b", third, clause, flags=re.IGNORECASE)
    return "" if re.search(r"\b(?:i|i'm|i'll|i've)\b", clause, re.IGNORECASE) else clause
