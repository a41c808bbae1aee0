"""The regex scripts of one story at work on its texts.

Everything runs off the event loop, for 0.3 s a text at most (0.6 s for all the lore of a profile). A pattern
that is late three times is given up for its library, and that is told once (`Watches`).
Source: spec sillytavern 5, tavern 10; decision 17.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import structlog

from engine.errors import PatternRefused
from engine.macros import MacroContext
from engine.patterns import Watch
from engine.resources import RegexScript
from engine.scripts import ContextMacros, Macros, Occasion, Problem, applies, apply_scripts, find_pattern
from engine.tavern.watches import PatternStopped, Watches

__all__ = ["AI_OUTPUT", "USER_INPUT", "LoreScripts", "PromptText", "Rewritten", "StoryRunner"]

log = structlog.get_logger(__name__)

USER_INPUT, AI_OUTPUT, WORLD_INFO = 1, 2, 5

TEXT_SECONDS = 0.3  # of all scripts on one text: spec sillytavern 5
LORE_SECONDS = 0.6  # of all scripts on all lore of one profile: a step is waiting for it
PROMPT_SECONDS = 0.6  # of all scripts on all earlier answers of one request, for the same reason


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text, the names of the scripts that changed it, those that failed, and how long it took."""

    text: str
    changed: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PromptText:
    """A text of the model's on its way into a request. `key` names it, `depth` counts the messages of the
    story that came after it."""

    key: str
    text: str
    depth: int


class StoryRunner:
    """The scripts that run in one story now, and the macros that they may use."""

    def __init__(
        self,
        watches: Watches,
        session_id: str,
        owner: str,
        held: Sequence[tuple[str, RegexScript]] = (),
        names: MacroContext | None = None,
    ) -> None:
        """`held` are the scripts in their order, each with the resource that it stands in."""
        self.scripts = tuple(script for _, script in held)
        self._watches = watches
        self._session_id = session_id
        self._owner = owner
        self._held = held
        self._names = names or MacroContext()

    def shows(self, placement: int) -> bool:
        """Whether anything may change how such a text is shown."""
        return any(applies(script, each) for script in self.scripts for each in _shown(placement, None))

    def minds_depth(self, placement: int) -> bool:
        """Whether it matters for what is shown how far back such a text stands."""
        occasion = Occasion(placement, display=True)
        return any(
            (script.min_depth is not None or script.max_depth is not None) and applies(script, occasion)
            for script in self.scripts
        )

    async def show(
        self, text: str, placement: int, *, key: str, depth: int = 0, user: str = "", at: int | None = None
    ) -> Rewritten:
        """The text as people are shown it.

        `key` names the text: macros of chance fall the same way for it each time. `depth` counts the
        messages of the story that came after it. `user` is `{{user}}` where nobody is bound to the story,
        `at` the time of the text, epoch ms.
        """
        return await self._run(text, _shown(placement, depth), key, user, at)

    async def admit(self, text: str, *, key: str, depth: int, user: str, edited: bool = False) -> Rewritten:
        """A person's words as the model reads them. What scripts leave nothing of stays as it was."""
        occasions = (Occasion(USER_INPUT, edit=edited), Occasion(USER_INPUT, prompt=True, depth=depth))
        made = await self._run(text, occasions, key, user, None)
        if text.strip() and not made.text.strip():
            log.warning("scripts.emptied", session=self._session_id, message=key, scripts=list(made.changed))
            last = next(script for script in self.scripts if script.name == made.changed[-1])
            problem = Problem(last, "SCRIPT_EMPTIED", "It leaves nothing of the words, so they stay.")
            return replace(made, text=text, changed=(), problems=(*made.problems, problem))
        return made

    async def for_prompt(self, texts: Sequence[PromptText]) -> Mapping[str, str]:
        """What the scripts for the prompt make of the model's texts: those that they change, by key.

        The newest first: when the time for all of them is up, the older ones stay as they are.
        """
        meant = [
            text
            for text in texts
            if text.text
            and any(
                applies(script, Occasion(AI_OUTPUT, prompt=True, depth=text.depth)) for script in self.scripts
            )
        ]
        if not meant:
            return {}
        meant.sort(key=lambda text: text.depth)
        macros = {text.key: self._macros(text.key, "", None) for text in meant}
        done = await asyncio.to_thread(_all_applied, meant, self.scripts, macros, self.watch)
        self.conclude(_together(done.values()), f"placement {AI_OUTPUT}, prompt")
        return {key: made.text for key, made in done.items() if made.changed}

    def lore(self) -> LoreScripts | None:
        """What acts on world info; None when nothing does."""
        occasion = Occasion(WORLD_INFO, prompt=True)
        scripts = [script for script in self.scripts if applies(script, occasion)]
        return LoreScripts(self, scripts, self._macros("lore", "", None)) if scripts else None

    @property
    def watch(self) -> Watch:
        """The counts of the story's library."""
        return self._watches.of(self._owner)

    async def _run(
        self, text: str, occasions: Sequence[Occasion], key: str, user: str, at: int | None
    ) -> Rewritten:
        # Most stories have no script for most of their texts: no thread for those.
        if not text or not any(applies(script, each) for script in self.scripts for each in occasions):
            return Rewritten(text)
        macros = self._macros(key, user, at)
        made = await asyncio.to_thread(_applied, text, self.scripts, occasions, macros, self.watch)
        self.conclude(made, f"placement {occasions[0].placement}")
        return made

    def conclude(self, made: Rewritten, place: str) -> None:
        """Write down what was done, and tell of patterns that were given up. On the event loop."""
        if made.changed or made.problems:
            log.info(
                "scripts.applied",
                session=self._session_id,
                place=place,
                changed=len(made.changed),
                failed=sorted({problem.code for problem in made.problems}),
                ms=round(made.seconds * 1000, 1),
            )
        for problem in made.problems:
            if problem.disables:
                self._watches.tell(
                    PatternStopped(
                        self._owner,
                        self._holder(problem.script),
                        _pattern(problem.script),
                        self._session_id,
                        script=True,
                    )
                )

    def _holder(self, script: RegexScript) -> str:
        return next((resource_id for resource_id, each in self._held if each is script), "")

    def _macros(self, key: str, user: str, at: int | None) -> Macros:
        names = self._names
        return ContextMacros(
            replace(
                names,
                user=names.user or user or "User",
                now=datetime.now(UTC) if at is None else datetime.fromtimestamp(at / 1000, UTC),
                rng=random.Random(f"{names.seed}:scripts:{key}"),
            )
        )


class LoreScripts:
    """Acts on the lore of one profile. Called on a thread; `conclude` afterwards on the event loop."""

    def __init__(
        self, runner: StoryRunner, scripts: Sequence[RegexScript], macros: Macros, watch: Watch | None = None
    ) -> None:
        self._runner = runner
        self._watch = watch or runner.watch
        self._scripts = scripts
        self._macros = macros
        self._left = LORE_SECONDS
        self._done: list[Rewritten] = []

    def __call__(self, text: str, depth: int | None) -> str:
        """The text of an entry; `depth` is its place among the messages, where it has one."""
        occasion = (Occasion(WORLD_INFO, prompt=True, depth=depth),)
        seconds = min(self._left, TEXT_SECONDS)
        made = _applied(text, self._scripts, occasion, self._macros, self._watch, seconds)
        self._left -= made.seconds
        self._done.append(made)
        return made.text

    def tried(self) -> LoreScripts:
        """The same for a text that is only tried out: nobody gets a strike for it."""
        return LoreScripts(self._runner, self._scripts, self._macros, deepcopy(self._watch))

    def conclude(self) -> None:
        """As `StoryRunner.conclude`, for all entries together."""
        done, self._done = self._done, []
        self._runner.conclude(_together(done), "lore")


def _together(done: Iterable[Rewritten]) -> Rewritten:
    """What was done to several texts, as one deed without a text."""
    done = tuple(done)
    return Rewritten(
        "",
        tuple(name for made in done for name in made.changed),
        tuple(problem for made in done for problem in made.problems),
        sum(made.seconds for made in done),
    )


def _all_applied(
    texts: Sequence[PromptText], scripts: Sequence[RegexScript], macros: Mapping[str, Macros], watch: Watch
) -> dict[str, Rewritten]:
    done: dict[str, Rewritten] = {}
    left = PROMPT_SECONDS
    for text in texts:
        if left <= 0:
            break
        occasion = (Occasion(AI_OUTPUT, prompt=True, depth=text.depth),)
        seconds = min(left, TEXT_SECONDS)
        done[text.key] = made = _applied(text.text, scripts, occasion, macros[text.key], watch, seconds)
        left -= made.seconds
    return done


def _shown(placement: int, depth: int | None) -> tuple[Occasion, Occasion]:
    """A text on its way to the screen: first what SillyTavern would have stored, then the display."""
    return Occasion(placement), Occasion(placement, display=True, depth=depth)


def _applied(
    text: str,
    scripts: Iterable[RegexScript],
    occasions: Sequence[Occasion],
    macros: Macros,
    watch: Watch,
    seconds: float = TEXT_SECONDS,
) -> Rewritten:
    scripts = tuple(scripts)
    begun = time.monotonic()
    changed: list[str] = []
    problems: list[Problem] = []
    for occasion in occasions:
        left = seconds - (time.monotonic() - begun)
        made = apply_scripts(text, scripts, occasion, macros=macros, watch=watch, total_seconds=left)
        text = made.text
        changed += [script.name for script in made.changed]
        problems += made.problems
    return Rewritten(text, tuple(changed), tuple(problems), time.monotonic() - begun)


def _pattern(script: RegexScript) -> str:
    """What a person recognises it by."""
    try:
        pattern = find_pattern(script)
    except PatternRefused:  # it needs its macros, whose values are nobody's business
        return script.find
    return f"/{pattern.source}/{pattern.flags}"
