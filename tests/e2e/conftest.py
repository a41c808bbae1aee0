"""The fixtures of the end-to-end tests."""

from tests.e2e.table import human, wire, world

__all__ = ["human", "wire", "world"]
