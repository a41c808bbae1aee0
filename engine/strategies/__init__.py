"""Strategies at work: what a session has applied places the sources of each of its steps."""

from engine.strategies.actual import ActualRequest, ActualRequests
from engine.strategies.comparison import TRUNCATED, Comparisons
from engine.strategies.history import REPEATED, HistoryPolicies, foreseen
from engine.strategies.preview import Preview, PreviewBlock, PreviewMessage, Previews
from engine.strategies.privacy import description_hash, telling
from engine.strategies.provenance import CALLED
from engine.strategies.sentsteps import REQUEST_RECORD, Missing, SentStep
from engine.strategies.service import APPLIED, LastAssembly, Strategies, Wanted

__all__ = [
    "APPLIED",
    "CALLED",
    "REPEATED",
    "REQUEST_RECORD",
    "TRUNCATED",
    "ActualRequest",
    "ActualRequests",
    "Comparisons",
    "HistoryPolicies",
    "LastAssembly",
    "Missing",
    "Preview",
    "PreviewBlock",
    "PreviewMessage",
    "Previews",
    "SentStep",
    "Strategies",
    "Wanted",
    "description_hash",
    "foreseen",
    "telling",
]
