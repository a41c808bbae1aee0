"""Chats of other programs become SillyTavern's lines."""

import json
from typing import Any

from engine.resources import read_chats
from tests.conformance.compare import agree
from tests.conformance.vectors import Vector

NOW = "2024-03-05T14:07:09.000Z"  # the recording's frozen clock
# Recorded with a fault of the tested tree that made it throw; its README says what was meant.
MEANT = {
    "cai": [
        [
            {"chat_metadata": {}, "user_name": "unused", "character_name": "unused"},
            {"name": "Bob", "is_user": True, "send_date": NOW, "mes": "Hi", "extra": {}},
            {"name": "Alice", "is_user": False, "send_date": NOW, "mes": "Hey", "extra": {}},
        ]
    ]
}


def run(vector: Vector) -> None:
    recorded = vector.body["recorded"]
    if "inputLines" in recorded:
        agree("lines", recorded["expected"], _written("\n".join(recorded["inputLines"]).encode())[0])
        return
    expected: Any = recorded["expected"]
    if "throws" in expected:
        expected = MEANT[vector.name]
    agree("chats", expected, _written(json.dumps(recorded["input"]).encode()))


def _written(data: bytes) -> list[list[Any]]:
    chats = read_chats(data, user="Bob", character="Alice", now=NOW)
    return [[chat.header, *(line.raw for line in chat.lines)] for chat in chats]
