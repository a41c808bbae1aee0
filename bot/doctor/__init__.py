"""`python -m bot doctor`: what is wrong with this installation, and how to mend it."""

from bot.doctor.checkup import run
from bot.doctor.finding import Finding, bad, good, note

__all__ = ["Finding", "bad", "good", "note", "run"]
