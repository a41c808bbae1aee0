"""Stories: catalog, timeline, swipe, rewind, and what a restart finds (spec tavern 6)."""

from engine.play.attachments import Attachment, Attachments, Kept, Named, ShownImage, TextFile
from engine.play.inheritance import Inheritance
from engine.play.model import (
    ExchangeEnded,
    ExchangeStarted,
    ExchangeText,
    Head,
    Node,
    Piece,
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
from engine.play.notes import SummedUp, sum_up
from engine.play.plays import Plays
from engine.play.reconcile import Reconciler

__all__ = [
    "Attachment",
    "Attachments",
    "ExchangeEnded",
    "ExchangeStarted",
    "ExchangeText",
    "Head",
    "Inheritance",
    "Kept",
    "Named",
    "Node",
    "Piece",
    "Plays",
    "Playthrough",
    "Receipt",
    "Reconciler",
    "Recovered",
    "Rewound",
    "ShownImage",
    "SummedUp",
    "Swiped",
    "TextFile",
    "Timeline",
    "UserText",
    "Utterance",
    "Variant",
    "sum_up",
]
