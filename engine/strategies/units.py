"""UTF-16 units, in which evidence counts where words stand. Source: assembler spec 6; decision 33."""

from __future__ import annotations

__all__ = ["Units", "utf16"]


def utf16(text: str) -> int:
    """How many units a text has."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class Units:
    """A text that is cut at units: a character of two may come apart, as it does where the units are from."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode("utf-16-le", "surrogatepass")

    def __len__(self) -> int:
        return len(self._bytes) // 2

    def cut(self, start: int, end: int) -> str:
        """The words from one unit to another."""
        return self._bytes[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")
