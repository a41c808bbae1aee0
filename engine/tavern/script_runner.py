"""Regex scripts in stories: which run where, and what they do to what people say.

* What the model wrote stands in the log as it came. Scripts for answers and greetings act on what people
  are shown: first those that SillyTavern would apply to the stored text (neither “only”), then the
  ones for display. The same log and the same scripts always show the same.
* What a person says is changed when the model first reads it: the logged content is what the scripts
  for stored text and then those for the prompt made of it, while the message's source keeps the
  words as they were said. Words that were edited while they waited meet, of the first kind, only scripts
  that run on edits. A script that leaves nothing of a message does not take it away.
* World info meets the scripts for the prompt when it is written into the profile.
* A request that is put together anew (an advanced strategy) has the model's earlier answers as the scripts
  for the prompt make them. What a provider wants back exactly as it came stays so.

Source: spec sillytavern 5, tavern 10; decision 34.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from engine.agent import Decision, PreStep
from engine.errors import NotFound
from engine.hooks import Hooks, Next, Scope
from engine.library import Library, Selection
from engine.macros import MacroContext
from engine.resources import RegexScript
from engine.session import Message, Session, text_block
from engine.tavern.scripts import story_scripts
from engine.tavern.story_runner import LoreScripts, PromptText, Rewritten, StoryRunner
from engine.tavern.watches import Watches

__all__ = ["EDITED", "SCRIPTS_RECORD", "ScriptRunner", "labelled"]

SCRIPTS_RECORD: Final = "plugin:tavern/scripts"
"""What scripts did to the words of a step, beside the words themselves:
`{messages: [{id, scripts}], problems: [{script, code}], ms}`."""

EDITED: Final = "edited"
"""In a message's source: its words were changed while they waited."""

_GREETING: Final = "greeting"
_ADMITTED = 256  # messages whose scripted form is remembered between the profile and the admission


def labelled(name: str, text: str) -> str:
    """What somebody said, as the model reads it (decision 34)."""
    return f"{name}: {text}" if text else f"{name}:"


@dataclass(frozen=True, slots=True)
class _Admitted:
    """What was made of a message, and of what."""

    text: str
    edited: bool
    depth: int
    scripts: tuple[RegexScript, ...]
    made: Rewritten


class ScriptRunner:
    """Finds out which scripts run where, and lets them act on what people say."""

    def __init__(self, library: Library, hooks: Hooks, watches: Watches, owner: Scope) -> None:
        self._library = library
        self._watches = watches
        self._admitted: OrderedDict[tuple[str, str], _Admitted] = OrderedDict()
        hooks.on("agent/pre-step", self._pre_step, owner=owner)

    async def of(self, selection: Selection, session_id: str) -> StoryRunner:
        """The scripts of a selection: its own lists, then those of its preset and card that its library
        allows. `session_id` is where a pattern that is given up is told of."""
        owner = await self._owner(selection)
        found = await story_scripts(self._library, selection, owner)
        held = [(list_id, script) for list_id, scripts in found.lists for script in scripts]
        if found.book.preset_allowed:
            held += [(selection.preset_id or "", script) for script in found.book.preset]
        if found.book.character_allowed:
            held += [(selection.card_id or "", script) for script in found.book.character]
        names = await self._names(selection) if held else None
        return StoryRunner(self._watches, session_id, owner, held, names)

    async def lore(self, selection: Selection, session_id: str) -> LoreScripts | None:
        """What acts on a selection's world info; None when nothing does."""
        return (await self.of(selection, session_id)).lore()

    async def of_session(self, session: Session) -> StoryRunner:
        """As `of`, for what the session uses."""
        selection = await self._library.selections.get(session.id) or Selection()
        return await self.of(selection, session.id)

    async def admitted(self, session: Session, messages: Sequence[Message]) -> list[Message]:
        """The messages as they will be logged: people's words as the scripts make them, all else as it is.

        Asked twice for one step (by the profile, whose lore must read what the model reads, and by the
        admission) it answers the same, and the scripts run once.
        """
        return (await self._rewritten(session, messages))[0]

    async def for_prompt(
        self, session: Session, messages: Sequence[Message], greeting: str = ""
    ) -> tuple[Sequence[Message], str]:
        """The model's answers in a history, and the greeting, as a request has them. One of which nothing is
        left is not in it."""
        chat = [message["id"] for message in messages if _is_said(message) or message["role"] == "assistant"]
        back = {message_id: len(chat) - 1 - at for at, message_id in enumerate(chat)}
        answers = [message for message in messages if _is_plain_answer(message)]
        texts = [PromptText(_GREETING, greeting, len(chat))] if greeting else []
        for message in answers:
            texts += [
                PromptText(f"{message['id']}:{at}", block["text"], back[message["id"]])
                for at, block in enumerate(message["content"])
                if block["type"] == "text"
            ]
        runner = await self.of_session(session)
        made = await runner.for_prompt(texts)
        if not made:
            return messages, greeting
        changed = {message["id"]: _with_answer(message, made) for message in answers}
        kept = (changed.get(message["id"], message) for message in messages)
        return [message for message in kept if message is not None], made.get(_GREETING, greeting)

    async def _rewritten(
        self, session: Session, messages: Sequence[Message]
    ) -> tuple[list[Message], Mapping[str, Rewritten]]:
        """The messages, and by their ids what was done to those whom scripts met."""
        said = [message["id"] for message in messages if _is_said(message)]
        if not said:
            return list(messages), {}
        runner = await self.of_session(session)
        done: dict[str, Rewritten] = {}
        made: list[Message] = []
        for message in messages:
            if not _is_said(message):
                made.append(message)
                continue
            depth = len(said) - 1 - said.index(message["id"])
            rewritten = done[message["id"]] = await self._once(runner, session.id, message, depth)
            made.append(_with_words(message, rewritten.text))
        return made, done

    async def _once(self, runner: StoryRunner, session_id: str, message: Message, depth: int) -> Rewritten:
        source = message["source"]
        text, edited = source["text"], source.get(EDITED) is True
        slot = (session_id, message["id"])
        known = self._admitted.get(slot)
        if known is not None and (known.text, known.edited, known.depth, known.scripts) == (
            text,
            edited,
            depth,
            runner.scripts,
        ):
            return known.made
        key = source.get("key", message["id"])
        made = await runner.admit(text, key=key, depth=depth, user=source["persona"], edited=edited)
        self._admitted[slot] = _Admitted(text, edited, depth, runner.scripts, made)
        while len(self._admitted) > _ADMITTED:
            self._admitted.popitem(last=False)
        return made

    async def _pre_step(self, step: PreStep, proceed: Next) -> Decision:
        decision: Decision = await proceed()
        if decision.kind != "enter":
            return decision
        messages, done = await self._rewritten(step.session, decision.messages)
        step.token.check()
        if (record := _record(done)) is not None:
            step.session.append(SCRIPTS_RECORD, record, ignorable=True)
        return replace(decision, messages=messages)

    async def _owner(self, selection: Selection) -> str:
        """Whose library a story plays from: its card's."""
        try:
            return await self._library.owner_of(selection.card_id or "")
        except NotFound:
            return ""

    async def _names(self, selection: Selection) -> MacroContext:
        """Who is who; `user` is empty when nobody is bound to the story."""
        try:
            char = (await self._library.card(selection.card_id or "")).speaker
        except NotFound:
            char = "Assistant"
        bound = selection.persona_id
        stored = await self._library.personas.find(bound) if bound is not None else None
        user = selection.user_name if stored is None else stored.persona.name
        return MacroContext(user=user, char=char, group=(char,), seed=selection.seed)


def _is_plain_answer(message: Message) -> bool:
    """Whether the model wrote it, and its provider does not want it back exactly as it came."""
    return message["role"] == "assistant" and message["source"].get("replayState") is None


def _with_answer(message: Message, made: Mapping[str, str]) -> Message | None:
    """The answer with other texts; None when nothing of it is left."""
    content: list[Any] = []
    for at, block in enumerate(message["content"]):
        text = made.get(f"{message['id']}:{at}")
        if text is None:
            content.append(block)
        elif text.strip():
            content.append(text_block(text))
    if list(message["content"]) == content:
        return message
    return dict(message) | {"content": content} if content else None


def _is_said(message: Message) -> bool:
    """Whether these are words of a person at the table, with the raw text beside them."""
    source = message["source"]
    return bool(
        message["role"] == "user"
        and source.get("kind") == "user"
        and isinstance(source.get("text"), str)
        and source.get("persona")
        and message["content"]
        and message["content"][0]["type"] == "text"
    )


def _with_words(message: Message, text: str) -> Message:
    """The message saying something else; its source keeps what was said."""
    said = labelled(message["source"]["persona"], text)
    first, *rest = message["content"]
    return message if first["text"] == said else dict(message) | {"content": [text_block(said), *rest]}


def _record(done: Mapping[str, Rewritten]) -> dict[str, Any] | None:
    met = {message_id: made for message_id, made in done.items() if made.changed or made.problems}
    if not met:
        return None
    return {
        "messages": [{"id": message_id, "scripts": list(made.changed)} for message_id, made in met.items()],
        "problems": [
            {"script": problem.script.name, "code": problem.code}
            for made in met.values()
            for problem in made.problems
        ],
        "ms": round(sum(made.seconds for made in met.values()) * 1000),
    }
