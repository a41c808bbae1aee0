"""Runners of the world-info vectors."""

from tests.conformance.worldinfo.activation import run as activation
from tests.conformance.worldinfo.key_split import run as key_split

RUNNERS = {"worldinfo/checkworldinfo": activation, "worldinfo/key_split": key_split}
