"""The runners of the assembler's vectors, by file. Those of its macros are with the macro engine."""

from collections.abc import Callable

from tests.conformance.assembler import assembling, documents, policies, store
from tests.conformance.vectors import Vector

RUNNERS: dict[str, Callable[[Vector], None]] = {
    "assembler/core-modules": assembling.run,
    "assembler/core-st": assembling.run,
    "assembler/history-policy": policies.run,
    "assembler/layout": assembling.run,
    "assembler/normalize": documents.normalize,
    "assembler/register": documents.register,
    "assembler/snapshots": assembling.run,
    "assembler/sources": assembling.run,
    "assembler/standard-modules": assembling.run,
    "assembler/standard-roles": assembling.run,
    "assembler/standard-slots": assembling.run,
    "assembler/store": store.run,
    "assembler/system-projection": assembling.run,
    "assembler/tools": assembling.run,
    "assembler/validate-native": documents.validate_native,
}

__all__ = ["RUNNERS"]
