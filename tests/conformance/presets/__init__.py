"""Runners of the preset vectors."""

from tests.conformance.presets.builds import run as builds

RUNNERS = {"presets/prompt_build": builds}
