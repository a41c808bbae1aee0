"""A library, sessions and a loader, without an agent: a step is what is compiled and then admitted."""

from __future__ import annotations

import json
from typing import Any

from engine.agent import AssembleContext, Assembly, Section, SystemPrompt
from engine.cancel import CancelToken
from engine.hooks import Hooks, Scope
from engine.library import Library, Selection
from engine.resources import Preset, Prompt
from engine.session import Message, Session, Sessions, assistant_message, user_message
from engine.tavern import CallParameters, Compilation, ProfileLoader, ProfileSection

__all__ = ["OWNER", "Stage", "said"]

OWNER = "guild:1"
BUILTIN = Preset("Built in", (Prompt("main", content="BUILTIN MAIN"),), {}, temperature=0.7)


def said(text: str, message_id: str = "", who: str = "Mira") -> Message:
    """A person's words as they are logged."""
    source = {"kind": "user", "persona": who, "authorId": f"id-{who}", "text": text}
    return user_message(message_id or f"m-{text}", f"{who}: {text}", source)


class Parameters:
    """Keeps what the last rendering asks of the model."""

    def __init__(self) -> None:
        self.kept: dict[str, CallParameters] = {}

    def keep(self, session_id: str, parameters: CallParameters) -> None:
        self.kept[session_id] = parameters


class Stage:
    """Everything around a loader."""

    def __init__(self, library: Library, **settings: Any) -> None:
        self.library = library
        self.owner = Scope("stage")
        self.hooks = Hooks()
        self.prompt = SystemPrompt(self.hooks)
        self.parameters = Parameters()
        self.sessions = Sessions(clock=lambda: 1_700_000_000_000)
        self.loader = ProfileLoader(library, BUILTIN, self.owner, **settings)
        parameters: Any = self.parameters
        self.section = ProfileSection(
            self.loader, self.hooks, self.prompt, parameters, library.variables, self.owner
        )

    # -- content ---------------------------------------------------------------------------------------

    async def card(self, book: list[dict[str, Any]] | None = None, **data: Any) -> str:
        data = {"name": "Ada", "description": "A smith.", "first_mes": "Come in.", **data}
        if book is not None:
            data["character_book"] = {"name": "Ada's book", "entries": book}
        wire = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
        return (await self.library.import_card(OWNER, _bytes(wire), "ada.json", "ana")).id

    async def book(self, name: str, *entries: dict[str, Any]) -> str:
        wire = {"name": name, "entries": {str(uid): {"uid": uid, **each} for uid, each in enumerate(entries)}}
        return (await self.library.import_book(OWNER, _bytes(wire), f"{name}.json", "ana")).id

    async def preset(self, *prompts: dict[str, Any], **fields: Any) -> str:
        wire = {"prompts": [{"enabled": True, **each} for each in prompts], **fields}
        name = f"preset{len(_bytes(wire))}.json"
        return (await self.library.import_preset(OWNER, _bytes(wire), name, "ana")).id

    async def story(self, session_id: str = "s1", **selection: Any) -> Session:
        """A session that uses something."""
        session = self.sessions.create(session_id)
        await self.library.selections.set(session_id, Selection(**{"seed": "story", **selection}))
        return session

    # -- steps -----------------------------------------------------------------------------------------

    async def compiled(self, session: Session, *words: str, **options: Any) -> Compilation:
        """What a step that claims these words says. Nothing is written."""
        return await self.loader.compile(session, [said(each) for each in words], **options)

    def context(self, session: Session, *words: str, preview: bool = False) -> AssembleContext:
        claimed = [said(each, f"m{session.seq}-{number}") for number, each in enumerate(words)]
        return AssembleContext(session, claimed, CancelToken(), None if preview else self.owner)

    async def assembled(self, context: AssembleContext) -> Assembly:
        return await self.prompt.assemble(context)

    def admit(self, context: AssembleContext) -> None:
        """As the loop does it: the words are in the history, and whoever keeps records is told."""
        for message in context.claimed:
            context.session.append("user/message", message, surface_op="append")
        self.hooks.emit("agent/admitted", context.session, 1, 1, context)

    async def step(self, session: Session, *words: str) -> str:
        """A whole step with these words: its system text, once it is admitted."""
        context = self.context(session, *words)
        text = (await self.assembled(context)).system_text
        self.admit(context)
        return text

    @staticmethod
    def answer(session: Session, text: str) -> None:
        """The model's words."""
        message = assistant_message(f"a{session.seq}", text, provider="p", model="m")
        session.append("assistant/message", {"turn": 1, "step": 1, "message": message}, surface_op="append")

    def other_section(self, name: str, order: float, text: str) -> None:
        """A section of another part of the program."""
        self.prompt.section(Section(name, order, text), owner=self.owner)


def _bytes(wire: Any) -> bytes:
    return json.dumps(wire).encode()
