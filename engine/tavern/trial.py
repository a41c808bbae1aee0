"""What a text would wake: the loader's own request, asked for its lore alone. Nothing is written.

In a story the words come as if they were said now, in its turn and with its chance, so what is
shown here is what the next answer would read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from engine.errors import ResourceError
from engine.lore import Activation, ActiveEntry, Book, Origin, Reason
from engine.resources import Card, Diagnostic, Diagnostics
from engine.session import Journal, Message
from engine.tavern.books import own_book
from engine.tavern.loader import ProfileLoader, unwatched
from engine.tavern.profile import Profile, ProfileRequest
from engine.tavern.renderer import compile_profile, lore_of

__all__ = ["LoreTrial", "LoreTrials"]

LORE_LIMITED = "TAVERN_PROFILE_LORE_LIMITED"
_SEED = "trial"  # chance outside a story: always the same


@dataclass(frozen=True, slots=True)
class LoreTrial:
    """`activation` has a verdict for each entry of `books`, which are in the order in which they are read.

    `origins` says by which ways each book came, by id. `unsaid` are entries that are active and yet not in
    the prompt, by qualified id; how many more had no room there is one of the `remarks`. `before` is how many
    messages before the text are searched, where neither a book nor an entry says otherwise.
    """

    activation: Activation
    books: tuple[Book, ...]
    origins: Mapping[str, tuple[Origin, ...]] = field(default_factory=dict)
    unsaid: Mapping[str, Reason] = field(default_factory=dict)
    remarks: tuple[Diagnostic, ...] = ()
    missing: tuple[str, ...] = ()
    before: int = 0


class LoreTrials:
    """Tries texts out."""

    def __init__(self, journal: Journal, profiles: ProfileLoader) -> None:
        self._journal = journal
        self._profiles = profiles

    async def in_session(self, session_id: str, message: Message, *, history: bool = True) -> LoreTrial:
        """What the message would wake if it were said in the session now; without `history` by itself,
        though still in its place in the story. Raises NotFound, SessionCorrupt."""
        session = await self._journal.look(session_id)
        request = await self._profiles.request(session, [message])
        return await _tried(request if history else replace(request, messages=request.messages[-1:]))

    async def book(self, book: Book, text: str) -> LoreTrial:
        """What a text would wake in one book alone, outside any story."""
        return await _tried(ProfileRequest(books=(book,), messages=(text,), seed=_SEED))

    async def card(self, card_id: str, card: Card, text: str) -> LoreTrial:
        """What a text would wake in a card's own book, outside any story."""
        return await _tried(ProfileRequest(card=card, card_id=card_id, messages=(text,), seed=_SEED))


async def _tried(request: ProfileRequest) -> LoreTrial:
    activation, profile = await asyncio.to_thread(_compiled, request)
    own = own_book(request.card_id, request.card)
    origins = dict(request.order.origins)
    if own is not None:
        origins[own.id] = ("character",)
    remarks = Diagnostics()
    remarks.extend(activation.diagnostics)
    unsaid: dict[str, Reason] = {}
    if profile is not None:
        remarks.extend(tuple(note for note in profile.diagnostics if note.code == LORE_LIMITED))
        said = {entry.id for entry in profile.lore}
        unsaid = {entry.id: why for entry in profile.active if entry.id not in said and (why := _why(entry))}
    return LoreTrial(
        activation=activation,
        books=(*request.books,) if own is None else (*request.books, own),
        origins=origins,
        unsaid=unsaid,
        remarks=remarks.all(),
        missing=request.missing,
        before=max(0, min(len(request.messages), request.lore.scan_depth) - 1),
    )


def _compiled(request: ProfileRequest) -> tuple[Activation, Profile | None]:
    """The activation with its verdicts, and what of it reaches the prompt; None when the texts of the preset
    and the card alone are too large for any."""
    activation = lore_of(unwatched(request))
    try:
        return activation, compile_profile(unwatched(request))
    except ResourceError:
        return activation, None


def _why(entry: ActiveEntry) -> Reason | None:
    """Why an active entry is not in the prompt; None when there was no room for it."""
    if not entry.text.strip():
        return Reason.EMPTY
    if entry.entry.position != "outlet":
        return None
    return Reason.OUTLET_UNUSED if entry.entry.outlet else Reason.OUTLET_UNNAMED
