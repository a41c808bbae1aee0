"""Strategies at work: what a session has applied places the sources of each of its steps."""

from engine.strategies.actual import REQUEST_RECORD, ActualRequest, ActualRequests
from engine.strategies.preview import Preview, PreviewBlock, PreviewMessage, Previews
from engine.strategies.service import APPLIED, LastAssembly, Strategies, Wanted

__all__ = [
    "APPLIED",
    "REQUEST_RECORD",
    "ActualRequest",
    "ActualRequests",
    "LastAssembly",
    "Preview",
    "PreviewBlock",
    "PreviewMessage",
    "Previews",
    "Strategies",
    "Wanted",
]
