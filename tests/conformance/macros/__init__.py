"""Runners of the macro vectors, and of the assembler's text macros."""

from tests.conformance.macros.assembly import run as assembly
from tests.conformance.macros.chance import run as chance
from tests.conformance.macros.texts import derived, recorded

RUNNERS = {
    "macros/macros_115": recorded,
    "macros/macros_116_derived": derived,
    "macros/prng_hash_dice": chance,
    "assembler/macros": assembly,
}
