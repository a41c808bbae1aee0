"""A second activation, written from SillyTavern's rules alone: slow, plain, with all its defects.

It looks at every entry in every pass, searches the joined text for every key, and removes entries from
lists as SillyTavern does. What the engine does under `SILLYTAVERN` must equal it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from engine.resources import Entry

ASCII_WORD = r"[A-Za-z0-9_]"


def matches(key: str, text: str, *, sensitive: bool, whole: bool) -> bool:
    """One key, trimmed, against one text."""
    slashed = re.fullmatch(r"/(.+?)/([gimsuy]*)", key, re.DOTALL)
    if slashed and not re.search(r"(^|[^\\])/", slashed[1]):
        flags = re.ASCII | (re.IGNORECASE if "i" in slashed[2] else 0)
        try:
            return re.search(slashed[1], text, flags) is not None
        except re.error:
            pass
    if not sensitive:
        key, text = key.lower(), text.lower()
    if whole and len(re.split(r"\s+", key)) == 1:
        return re.search(rf"(?<!{ASCII_WORD}){re.escape(key)}(?!{ASCII_WORD})", text) is not None
    return key in text


@dataclass
class Oracle:
    """One scan. `messages` are newest first."""

    books: Sequence[tuple[str, Sequence[Entry]]]
    messages: Sequence[str]
    roll: Callable[[], float]
    depth: int = 2
    whole: bool = False
    sensitive: bool = False
    recursive: bool = False
    max_steps: int = 0
    least: int = 0
    deepest: int = 0
    scoring: bool = False
    budget: int | None = None
    sources: dict[str, str] = field(default_factory=dict)
    sticky: set[str] = field(default_factory=set)
    cooldown: set[str] = field(default_factory=set)

    def run(self) -> list[str]:
        entries = [(f"{name}:{entry.uid}", entry) for name, book in self.books for entry in book]
        self.all = sorted(entries, key=lambda one: -one[1].order)
        levels = sorted({e.delay_until_recursion for _, e in self.all if e.delay_until_recursion})
        self.level = levels.pop(0) if levels else 0
        self.active: dict[str, Entry] = {}
        self.buffer: list[str] = []
        failed: set[str] = set()
        state, count, skew, overflow, before = "initial", 0, 0, False, 0
        while state:
            if self.max_steps and self.max_steps <= count:
                break
            count += 1
            self.state, self.skew = state, skew
            new = [
                one
                for one in self.all
                if one[0] not in failed and one[0] not in self.active and self.takes(*one)
            ]
            new.sort(key=lambda one: one[0] not in self.sticky)
            self.groups(new)
            running = 0
            lost: set[str] = set()
            for name, entry in new:
                if overflow and not entry.ignore_budget:
                    continue
                chancy = entry.use_probability and entry.probability != 100 and name not in self.sticky
                if chancy and self.roll() * 100 > entry.probability:
                    failed.add(name)
                    lost.add(name)
                    continue
                running += len(entry.content.split())
                if not entry.ignore_budget and self.budget is not None and before + running >= self.budget:
                    overflow = True
                    continue
                self.active[name] = entry
            written = [e.content for name, e in new if name not in lost and not e.prevent_recursion]
            following = ""
            if self.recursive and not overflow and (written or (state == "minimum" and self.buffer)):
                following = "recursion"
            if not following and not overflow and len(self.active) < self.least:
                depth = self.depth + skew
                if not ((self.deepest and depth > self.deepest) or depth > len(self.messages)):
                    following, skew = "minimum", skew + 1
            if not following and levels:
                following, self.level = "recursion", levels.pop(0)
            if following:
                self.buffer.append("\n".join(written))
                before += len(" ".join(written).split())
            state = following
        return list(self.active)

    def takes(self, name: str, e: Entry) -> bool:
        sticky = name in self.sticky
        if not e.enabled or (name in self.cooldown and not sticky):
            return False
        late = self.state != "recursion" or e.delay_until_recursion > self.level
        if e.delay_until_recursion and not sticky and late:
            return False
        if self.state == "recursion" and self.recursive and e.exclude_recursion and not sticky:
            return False
        if e.constant or sticky:
            return True
        text = self.text(e)
        if not any(self.hit(key, text, e) for key in e.keys):
            return False
        if not (e.selective and e.secondary_keys):
            return True
        hits = [self.hit(key, text, e) for key in e.secondary_keys]
        wanted = {
            "and_any": any(hits), "not_all": not all(hits), "not_any": not any(hits), "and_all": all(hits)
        }  # fmt: skip
        return wanted[e.logic]

    def text(self, e: Entry) -> str:
        depth = self.depth + self.skew if e.scan_depth is None else e.scan_depth
        if depth <= 0:
            return ""
        parts = ["\x01" + "\n\x01".join(message.strip() for message in self.messages[:depth])]
        parts += [text for name, text in self.sources.items() if name in e.match_sources]
        parts += self.buffer if self.state != "minimum" else []
        return "\n\x01".join(parts)

    def hit(self, key: str, text: str, e: Entry) -> bool:
        sensitive = self.sensitive if e.case_sensitive is None else e.case_sensitive
        whole = self.whole if e.whole_words is None else e.whole_words
        return key != "" and matches(key.strip(), text, sensitive=sensitive, whole=whole)

    def score(self, e: Entry) -> int:
        text = self.text(e)

        def raw(keys: Sequence[str]) -> int:
            sensitive = self.sensitive if e.case_sensitive is None else e.case_sensitive
            whole = self.whole if e.whole_words is None else e.whole_words
            return sum(matches(key, text, sensitive=sensitive, whole=whole) for key in keys)

        first, second = raw(e.keys), raw(e.secondary_keys)
        if not e.keys:
            return 0
        if e.secondary_keys and e.logic == "and_any":
            return first + second
        if e.secondary_keys and e.logic == "and_all" and second == len(e.secondary_keys):
            return first + second
        return first

    def groups(self, new: list[tuple[str, Entry]]) -> None:
        grouped: dict[str, list[tuple[str, Entry]]] = {}
        for one in new:
            for group in filter(None, re.split(r",\s*", one[1].group)):
                grouped.setdefault(group, []).append(one)
        names = sorted((g for g in grouped if re.fullmatch("0|[1-9][0-9]{0,8}", g)), key=int)
        grouped = {g: grouped[g] for g in [*names, *(g for g in grouped if g not in names)]}
        held = {group for group, members in grouped.items() if self.timed(members, new)}
        for group, members in grouped.items():
            if group not in held and (self.scoring or any(e.group_scoring for _, e in members)):
                self.scores(members, new)
        for group, members in grouped.items():
            if group not in held:
                self.one(group, members, new)

    def remove(self, new: list[tuple[str, Entry]], one: tuple[str, Entry]) -> None:
        # JavaScript: splice(indexOf(one), 1), which takes the last one when it is not there
        if one in new:
            new.remove(one)
        elif new:
            new.pop()

    def timed(self, members: list[tuple[str, Entry]], new: list[tuple[str, Entry]]) -> bool:
        stay = [one for one in members if one[0] in self.sticky]
        for one in members if stay else ():
            if one not in stay:
                self.remove(new, one)
        for one in members:
            if one[0] in self.cooldown:
                self.remove(new, one)
        return bool(stay)

    def scores(self, members: list[tuple[str, Entry]], new: list[tuple[str, Entry]]) -> None:
        scores = {name: self.score(e) for name, e in members}
        most = max(scores.values())
        for one in list(members):
            counted = self.scoring if one[1].group_scoring is None else one[1].group_scoring
            if counted and scores[one[0]] < most:
                self.remove(new, one)
                members.remove(one)

    def one(self, group: str, members: list[tuple[str, Entry]], new: list[tuple[str, Entry]]) -> None:
        if any(e.group == group for e in self.active.values()):
            for one in members:
                self.remove(new, one)
            return
        if len(members) <= 1:
            return
        preferred = [one for one in members if one[1].group_override]
        winner = sorted(preferred, key=lambda one: -one[1].order)[0] if preferred else self.drawn(members)
        for one in members:
            if winner is not None and one is not winner:
                self.remove(new, one)

    def drawn(self, members: list[tuple[str, Entry]]) -> tuple[str, Entry] | None:
        aim = self.roll() * sum(e.group_weight for _, e in members)
        reached = 0
        for one in members:
            reached += one[1].group_weight
            if aim <= reached:
                return one
        return None
