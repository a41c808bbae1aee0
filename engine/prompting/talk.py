"""The history within its budget: the newest first, as far as there is room.

Source: sillytavern spec 3.3.8, 3.3.10.
"""

from __future__ import annotations

from engine.macros.numerals import BLANK
from engine.prompting.completion import Bundle
from engine.prompting.history import Item
from engine.prompting.job import Job, message_of
from engine.prompting.message import GROUP_NUDGE, HISTORY, NEW_CHAT, PromptMessage, one
from engine.prompting.quirks import Quirk

__all__ = ["EMPTY_REPLY", "Talk"]

EMPTY_REPLY = "emptyUserMessageReplacement"
"""The source of what is said for a person who says nothing."""


class Talk:
    """The chat of one request. `items` are it with all that was put into it, newest first.

    `reserve` keeps room for what surrounds it and, mended, for the newest words of a person. `fill` then says
    all that fits. `continued` is the text that the answer goes on with, empty where none is.
    """

    def __init__(self, job: Job, items: list[Item], continued: str) -> None:
        self._job = job
        self._items = items
        self._goes_on = continued.strip(BLANK) if continued else ""
        self._continues = bool(continued)
        self._header = one("system", "", NEW_CHAT)
        self._nudge: PromptMessage | None = None
        self._rest: Bundle | None = None
        self._asked: tuple[Item, PromptMessage] | None = None

    def reserve(self) -> None:
        """Keep room for the header, the nudges and what is continued."""
        job, completion = self._job, self._job.completion
        if HISTORY not in job.collection:
            return
        settings, group = job.settings, bool(job.story.group)
        wanted = settings.new_group_chat if group else settings.new_chat
        self._header = one("system", job.words.authored(wanted), NEW_CHAT)
        completion.reserve(completion.cost(self._header))
        nudge = job.collection.get(GROUP_NUDGE)
        if group and nudge is not None and job.story.type != "impersonate":
            self._nudge = message_of(nudge)
            completion.reserve(completion.cost(self._nudge))
        if job.story.type == "continue" and self._continues and not settings.continue_prefill:
            self._rest = self._continuation()
            completion.reserve(completion.cost(*self._rest.messages))
        if not job.on(Quirk.RESERVES_LATE):
            said = (item for item in self._items if item.line is not None and item.role == "user")
            asked = next(said, None)
            if asked is not None:
                self._asked = asked, job.spoken(asked)
                completion.reserve(completion.cost(self._asked[1]))

    def fill(self) -> None:
        """Say the newest of it."""
        job, completion = self._job, self._job.completion
        if HISTORY not in job.collection:
            return
        completion.add(Bundle(HISTORY), job.collection.index(HISTORY))
        if job.on(Quirk.RESERVES_LATE):
            self.reserve()
        self._empty_reply()
        self._newest()
        self._surround()

    def _continuation(self) -> Bundle:
        """The newest message, moved behind everything, and the words that ask to go on with it."""
        job = self._job
        bundle = Bundle("continueNudge")
        newest = next((at for at, item in enumerate(self._items) if item.line is not None), None)
        if newest is not None:
            bundle.messages.append(job.spoken(self._items.pop(newest), named=False))
        nudge = job.words.authored(job.settings.continue_nudge, lastChatMessage=self._goes_on)
        bundle.messages.append(one("system", nudge, bundle.identifier))
        return bundle

    def _empty_reply(self) -> None:
        job = self._job
        text = job.settings.send_if_empty
        if not text or not self._items or self._items[0].role != "assistant":
            return
        if not job.on(Quirk.RAW_SEND_IF_EMPTY):
            text = job.words.authored(text)
        message = one("user", text, EMPTY_REPLY)
        if job.completion.affords(message):
            job.completion.insert(message, HISTORY)

    def _newest(self) -> None:
        """Newest to oldest until one does not fit; the words that room was kept for come in any case."""
        job, completion = self._job, self._job.completion
        full = False
        for item in self._items:
            if self._asked is not None and item is self._asked[0]:
                completion.free(completion.cost(self._asked[1]))
                completion.insert(self._asked[1], HISTORY, start=True)
                continue
            if not full:
                message = job.spoken(item)
                full = not completion.affords(message)
            if not full:
                completion.insert(message, HISTORY, start=True)
                job.unplaced.injected -= item.injected

    def _surround(self) -> None:
        completion = self._job.completion
        completion.free(completion.cost(self._header))
        completion.insert(self._header, HISTORY, start=True)
        if self._nudge is not None:
            completion.free(completion.cost(self._nudge))
            completion.insert(self._nudge, HISTORY)
        if self._rest is not None:
            completion.free(completion.cost(*self._rest.messages))
            completion.add(self._rest)
