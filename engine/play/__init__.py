"""Stories: catalog, timeline, swipe, rewind, and what a restart finds (spec tavern 6)."""

from engine.play.model import (
    ExchangeEnded,
    ExchangeStarted,
    ExchangeText,
    Head,
    Node,
    Playthrough,
    Receipt,
    Recovered,
    Rewound,
    Swiped,
    Timeline,
    UserText,
    Utterance,
    Variant,
)
from engine.play.plays import Plays
from engine.play.reconcile import Reconciler

__all__ = [
    "ExchangeEnded",
    "ExchangeStarted",
    "ExchangeText",
    "Head",
    "Node",
    "Plays",
    "Playthrough",
    "Receipt",
    "Reconciler",
    "Recovered",
    "Rewound",
    "Swiped",
    "Timeline",
    "UserText",
    "Utterance",
    "Variant",
]
