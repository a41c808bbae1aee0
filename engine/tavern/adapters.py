"""Who gives a profile its character, its user and its books: one adapter of each kind.

An adapter hands out models that are read already, and remarks; it never writes, and it does not listen to
the session: what it may know of the conversation is in its query. A second one of a kind is refused, so that
no order of loading decides who is asked. Source: seed 003, "Adapter boundary".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from engine.errors import ResourceError
from engine.hooks import Disposer, Scope
from engine.library import Selection
from engine.lore import ActivationContext
from engine.resources import Card, Diagnostic, Persona
from engine.tavern.books import StoryBooks

__all__ = [
    "Adapters",
    "CharacterAdapter",
    "CharacterFound",
    "Query",
    "Slot",
    "Speaker",
    "UserAdapter",
    "UserFound",
    "WorldBookAdapter",
    "WorldBooksFound",
]

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Speaker:
    """Somebody who has spoken in the story: the name they spoke as, and who they are."""

    name: str
    author_id: str = ""


@dataclass(frozen=True, slots=True)
class CharacterFound:
    """The character under the id of its resource; no card for none."""

    card: Card | None = None
    id: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class UserFound:
    """Whom `{{user}}` names, with the id of a stored persona, and all at the table in a stable order."""

    user: Persona | None = None
    id: str | None = None
    players: tuple[Persona, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class WorldBooksFound:
    """The books in the order in which they are read. Which of their entries are active is decided when the
    profile is rendered."""

    books: StoryBooks = field(default_factory=StoryBooks)
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """What an adapter is asked for. The character and the user are there when books are asked for."""

    session_id: str
    selection: Selection
    activation: ActivationContext
    speakers: Sequence[Speaker] = ()
    character: CharacterFound = field(default_factory=CharacterFound)
    user: UserFound = field(default_factory=UserFound)

    @property
    def conversation_text(self) -> str:
        """What was said, as far as it is scanned."""
        return self.activation.text


class CharacterAdapter(Protocol):
    """Finds the character."""

    async def character(self, query: Query) -> CharacterFound:
        """A selection whose character is not there gives none and a remark; the turn goes on."""


class UserAdapter(Protocol):
    """Finds the people."""

    async def user(self, query: Query) -> UserFound:
        """As for a character."""


class WorldBookAdapter(Protocol):
    """Finds the books."""

    async def world_books(self, query: Query) -> WorldBooksFound:
        """As for a character."""


class Slot(Generic[A]):
    """The place of one adapter."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.adapter: A | None = None

    def register(self, adapter: A, *, owner: Scope) -> Disposer:
        """Take the place. The disposer, which the owner's end calls as well, frees it only while this
        very registration stands. Raises ResourceError ADAPTER_REGISTERED while another has it."""
        if self.adapter is not None:
            raise ResourceError(f"There is a {self.kind} adapter already.", code="ADAPTER_REGISTERED")
        self.adapter = adapter
        return owner.effect(self._freeing())

    def _freeing(self) -> Disposer:
        standing = True

        def free() -> None:
            nonlocal standing
            if standing:
                standing = False
                self.adapter = None

        return free


class Adapters:
    """The three places."""

    def __init__(self) -> None:
        self.character: Slot[CharacterAdapter] = Slot("character")
        self.user: Slot[UserAdapter] = Slot("user")
        self.world_book: Slot[WorldBookAdapter] = Slot("world book")
