"""Storage: named SQL over SQLite, group commit, blobs, and the durable event log."""

from engine.storage.events import EventTable
from engine.storage.store import Store
from engine.storage.writes import Row, Write, blob_write

__all__ = ["EventTable", "Row", "Store", "Write", "blob_write"]
