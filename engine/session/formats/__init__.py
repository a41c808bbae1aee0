"""Older formats of a session log, and the chain of pure steps that reads them as the current one."""

from engine.session.formats.chain import Log, is_older, migrate
from engine.session.formats.physical import plain_header

__all__ = ["Log", "is_older", "migrate", "plain_header"]
