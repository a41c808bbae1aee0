"""Splitting a box of keys."""

from engine.resources import split_keys
from tests.conformance.compare import agree
from tests.conformance.vectors import Vector


def run(vector: Vector) -> None:
    # Decided in the specification: empty keys and leading commas of the recording are dropped.
    expected = [key for recorded in vector.body["expected"] if (key := recorded.lstrip(", "))]
    agree("keys", expected, list(split_keys(vector.body["input"])))
