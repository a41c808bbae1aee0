"""Hashes, seeded numbers and dice, number for number."""

from engine.macros import SeededRandom, parse_dice, string_hash
from tests.conformance.compare import agree
from tests.conformance.vectors import Vector


def run(vector: Vector) -> None:
    body = vector.body
    if "hash" in body:
        agree("hash", body["hash"], string_hash(body["input"]))
    elif "doubles" in body:
        source = SeededRandom(body["seed"])
        agree("doubles", body["doubles"], [source.random() for _ in body["doubles"]])
    else:
        _dice(body["formula"], body["parsed"])


def _dice(formula: str, expected: dict[str, int] | None) -> None:
    dice = parse_dice(formula)
    found = dice and {
        "numDice": dice.count,
        "numSides": dice.sides,
        "modifier": dice.modifier,
        "min": dice.least,
        "max": dice.most,
    }
    agree("dice", expected, found)
