"""A text that patterns are run on, and its UTF-8 form for RE2, made once for many patterns."""

from __future__ import annotations

from functools import cached_property

__all__ = ["Subject", "subject_of"]


class Subject:
    """`data` is None for a text with half characters, which UTF-8 cannot hold."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._mark = (0, 0)  # a byte offset and its character: places are asked for from left to right

    @cached_property
    def data(self) -> bytes | None:
        """The text in UTF-8."""
        try:
            return self.text.encode()
        except UnicodeEncodeError:
            return None

    def byte_at(self, place: int) -> int:
        """The byte offset of a character."""
        data = self.data
        assert data is not None
        if len(data) == len(self.text):
            return place
        mark = self._mark  # another thread may move it
        byte, char = mark if mark[1] <= place else (0, 0)
        return byte + len(self.text[char:place].encode())

    def chars_at(self, places: set[int]) -> dict[int, int]:
        """The characters of byte offsets."""
        data = self.data
        assert data is not None
        if len(data) == len(self.text):
            return {place: place for place in places}
        found: dict[int, int] = {}
        mark = self._mark
        byte, char = mark if mark[0] <= min(places) else (0, 0)
        for place in sorted(places):
            char += len(data[byte:place].decode())
            byte = place
            found[place] = char
        self._mark = (byte, char)
        return found


def subject_of(text: str) -> Subject:
    """The prepared text; the last one is kept, since patterns come in crowds."""
    global _last
    subject = _last  # another thread may put its own there at any time
    if subject.text is not text:
        subject = _last = Subject(text)
    return subject


_last = Subject("")
