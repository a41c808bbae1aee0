"""Runners for the regex-script family."""

from collections.abc import Callable

from tests.conformance.regex import regex_scripts
from tests.conformance.vectors import Vector

RUNNERS: dict[str, Callable[[Vector], None]] = {"regex/regex_scripts": regex_scripts.run}
