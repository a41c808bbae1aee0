"""Chinese for the narrator: words for its templates, and first and second person turned round."""

from __future__ import annotations

import random
import re

from engine.llm.narrator.composition import Language
from engine.llm.narrator.scene import NARRATOR, Scene, is_cjk, plain
from engine.llm.narrator.stock import load

__all__ = ["CHINESE", "deed", "mirror", "quote", "thing"]

# Longer pieces sound like a parrot.
QUOTE_CHARACTERS = 14
MIRROR_CHARACTERS = 22
DEED_CHARACTERS = 24

_ACTION = re.compile(r"\*+([^*\n]+?)\*+|（([^（）\n]+)）")
_CLAUSE = re.compile(r"[^。！？!?…；;\n]+")
_QUESTION = re.compile(r"([^。！？!?…；;，,\n]+)[？?]")
_QUOTES = re.compile(r"[\"“”「」『』]")
_MEASURES = "把扇盏本封座间只条张件位个口枚块幅艘匹朵段场"
_THING = re.compile(
    rf"(?:([这那一])(?=[{_MEASURES}])|(我的|你的))([{_MEASURES}])?((?:(?!的)[\u4e00-\u9fff]){{1,4}}?)"
    r"(?=[，。！？、；…\s]|[的了在是有被把上里下和跟吗呢吧死去来没不也就都要会能灭坏丢断碎响亮掉]|$)"
)
_ENDING_WORDS = "么样些里边个种时儿"

_STOCK = load("chinese")
# Questions, requests and courtesies sound odd when they are said back.
_NOT_SAID_BACK = frozenset({"identity", "why", "where", "who", "when", "how", "what", "yesno", "request"}) | {
    "greeting",
    "farewell",
    "thanks",
    "apology",
}


def deed(text: str, who: str, other: str) -> str:
    """What `who` does to `other`, as a clause: 安娜推开门. Empty if nothing is marked as done."""
    for match in _ACTION.finditer(text):
        action = (match.group(1) or match.group(2)).strip(" 。，,")
        action = re.sub(rf"^(?:我|{re.escape(who)})", "", action)
        action = re.sub("你(?!们)|您", other, re.sub("我(?!们)", "自己", action))
        if is_cjk(action) and len(action) <= DEED_CHARACTERS:
            return who + action
    return ""


def mirror(text: str) -> str:
    """A statement turned to the other side: 我丢了你的戒指 gives 你丢了我的戒指. Empty if unsure."""
    for clause in _CLAUSE.findall(_speech(text)):
        clause = clause.strip(" ，,")
        if (
            "我" in clause
            and 3 <= len(clause) <= MIRROR_CHARACTERS
            and _STOCK.intent(clause) not in _NOT_SAID_BACK
        ):
            return re.sub(
                "我们|你们|咱们|我|你|您",
                lambda match: {"我": "你", "你": "我", "您": "我"}.get(match.group(), match.group()),
                clause,
            )
    return ""


def quote(text: str) -> str:
    """The question, else the first words, of what was said, as they were said; a long one breaks off."""
    said = _speech(text)
    clauses = [found.strip(" ，,") for found in (*_QUESTION.findall(said), *_CLAUSE.findall(said))]
    clause = next((clause for clause in clauses if clause), "")
    return clause if len(clause) <= QUOTE_CHARACTERS else clause[: QUOTE_CHARACTERS - 4] + "……"


def thing(text: str) -> str:
    """A thing that was pointed at, as the listener would: 我的剑 gives 你的剑. Empty if there is none."""
    for match in _THING.finditer(text):
        owner, measure, noun = match.group(2), match.group(3) or "", match.group(4)
        if noun[-1] not in _ENDING_WORDS:
            return {"我的": "你的", "你的": "我的"}.get(owner, "那") + measure + noun
    return ""


def _slots(scene: Scene, rng: random.Random) -> dict[str, str]:
    said = scene.last.text
    name = "叙述者" if scene.character == NARRATOR else scene.character
    user = scene.last.speaker or "来客"
    earlier = [thing(line.text) for line in scene.lines[:-1] if line.speaker == scene.last.speaker][-8:]
    things = [pointed for pointed in earlier if pointed and pointed != thing(said)]
    others = [line.speaker for line in scene.lines[-6:] if line.speaker not in ("", scene.last.speaker)]
    lore = [line.strip(" 。.!！") for line in scene.lore if is_cjk(line) and scene.character not in line]
    return {
        "name": name,
        "user": user,
        "deed": deed(said, user, name),
        "mirror": mirror(said),
        "thing": thing(_speech(said) or said),
        "quote": quote(said),
        "memory": rng.choice(things) if things else "",
        "lore": next((line for line in lore if not any(plain(line) in told for told in scene.spoken)), ""),
        "other": others[-1] if others else "",
        "shown": f"`{scene.shown}`" if scene.shown else "",
        "roll": " ".join((scene.result or "").replace("*", "×").split())[:200],
    }


def _speech(text: str) -> str:
    return " ".join(_QUOTES.sub("", _ACTION.sub(" ", text)).split())


def _told(line: str) -> str:
    return f"*{line}*" if line else ""


def _spoken(line: str) -> str:
    # The outer quotation marks take the double form, so inner ones become single.
    return f"“{line.replace('“', '‘').replace('”', '’')}”" if line else ""


def _aside(line: str) -> str:
    return f"（（{line}））"


def _finish(text: str) -> str:
    return re.sub(r"([。！？…])。", r"\1", text)


CHINESE = Language(
    stock=_STOCK,
    slots=_slots,
    plural=lambda scene: False,
    speech=_speech,
    told=_told,
    spoken=_spoken,
    aside=_aside,
    between="",
    finish=_finish,
)
