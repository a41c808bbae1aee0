"""How a relation says no: one exception inside the validator, turned into a refusal at its border."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["Objection", "object_to"]


class Objection(Exception):
    """The event does not fit the log; the message says why."""


def object_to(why: str) -> NoReturn:
    raise Objection(why)
