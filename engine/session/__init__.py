"""The session engine: an append-only log, the history derived from it, and its durable journal."""

from engine.session.blocks import BlockAssembler
from engine.session.compaction import (
    Price,
    Rewrite,
    Span,
    is_pressed,
    oversized_results,
    retained_tokens,
    select,
    span_between,
)
from engine.session.compactor import (
    Compacted,
    Summarise,
    Summary,
    compact,
    is_compacting,
    prune,
    summary_request,
)
from engine.session.companion import Companion
from engine.session.event import Event, Header, SurfaceOp
from engine.session.following import Following, FrameSource, LiveFrame
from engine.session.frozen import NULL, FrozenDict, freeze, thaw
from engine.session.journal import Journal
from engine.session.log import Clock, Observer, Session, Validator, ValidatorFactory, now_ms
from engine.session.memory import MemoryEventStore
from engine.session.messages import (
    HUMAN,
    Message,
    assistant_message,
    developer_message,
    message_text,
    reasoning_block,
    system_message,
    text_block,
    tool_call_block,
    tool_message,
    user_message,
)
from engine.session.paging import Page, TurnWindow, page
from engine.session.pairing import Balance, balance
from engine.session.payloads import parse
from engine.session.projections import History, Interpreter, Projections, offload_images
from engine.session.query import (
    EventTrace,
    EventWindow,
    Inspection,
    Query,
    SessionEntry,
    SessionTrace,
    SurfaceReading,
    Tagged,
)
from engine.session.registry import Sessions
from engine.session.repair import closers, fork_seed, recovery_results
from engine.session.store import EventStore, StoredEvent, StoredHead, StoredSession
from engine.session.stored import StoredLog, check_log, read_log
from engine.session.streams import StreamRecorder, expand, joined_text, record
from engine.session.strict import StrictValidator
from engine.session.surface import Surface, is_append_event, is_replacement_event, is_surface_event
from engine.session.tokens import Calibration, estimate_tokens, history_tokens, message_tokens
from engine.session.transcript import transcript
from engine.session.vocabulary import FORMAT_VERSION, Chunk

__all__ = [
    "FORMAT_VERSION",
    "HUMAN",
    "NULL",
    "Balance",
    "BlockAssembler",
    "Calibration",
    "Chunk",
    "Clock",
    "Compacted",
    "Companion",
    "Event",
    "EventStore",
    "EventTrace",
    "EventWindow",
    "Following",
    "FrameSource",
    "FrozenDict",
    "Header",
    "History",
    "Inspection",
    "Interpreter",
    "Journal",
    "LiveFrame",
    "MemoryEventStore",
    "Message",
    "Observer",
    "Page",
    "Price",
    "Projections",
    "Query",
    "Rewrite",
    "Session",
    "SessionEntry",
    "SessionTrace",
    "Sessions",
    "Span",
    "StoredEvent",
    "StoredHead",
    "StoredLog",
    "StoredSession",
    "StreamRecorder",
    "StrictValidator",
    "Summarise",
    "Summary",
    "Surface",
    "SurfaceOp",
    "SurfaceReading",
    "Tagged",
    "TurnWindow",
    "Validator",
    "ValidatorFactory",
    "assistant_message",
    "balance",
    "check_log",
    "closers",
    "compact",
    "developer_message",
    "estimate_tokens",
    "expand",
    "fork_seed",
    "freeze",
    "history_tokens",
    "is_append_event",
    "is_compacting",
    "is_pressed",
    "is_replacement_event",
    "is_surface_event",
    "joined_text",
    "message_text",
    "message_tokens",
    "now_ms",
    "offload_images",
    "oversized_results",
    "page",
    "parse",
    "prune",
    "read_log",
    "reasoning_block",
    "record",
    "recovery_results",
    "retained_tokens",
    "select",
    "span_between",
    "summary_request",
    "system_message",
    "text_block",
    "thaw",
    "tool_call_block",
    "tool_message",
    "transcript",
    "user_message",
]
