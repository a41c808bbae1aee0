"""When a server refuses pictures, the story goes on with their names.

A picture stays in the history, so one that a server does not take would fail every request after it. It is
marked as offloaded in the log: from then on the model is told its name (session spec 1.4, `image/offload`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import structlog

from engine.agent.step import RequestFailure
from engine.hooks import Hooks, Next, Scope
from engine.llm import Failure
from engine.session import Session

__all__ = ["OFFLOADED", "PictureFallback"]

log = structlog.get_logger(__name__)

OFFLOADED: Final = "image/offload"

_NO_EYES: Final = "UNSUPPORTED_CONTENT"
_TOO_LARGE: Final = 413
_REFUSALS: Final = frozenset({"INVALID_REQUEST", "HTTP_422"})
_PICTURE: Final = re.compile(r"\bimages?\b|image_url|\bpictures?\b|\bvision\b", re.IGNORECASE)


class PictureFallback:
    """Answers `agent/request-error`; emits `agent/pictures-unseen` (session id) for what it took away.

    A picture that the server does not like is most likely among the newest: those go first, and all the
    others when that did not help. A server without eyes loses all at once.
    """

    def __init__(self, hooks: Hooks, owner: Scope) -> None:
        self._hooks = hooks
        self._tried: dict[str, tuple[int, int]] = {}
        hooks.on("agent/request-error", self._refused, owner=owner)
        hooks.on("agent/disposed", self._disposed, owner=owner)

    async def _refused(self, failed: RequestFailure, proceed: Next) -> str | None:
        failure, session = failed.outcome.failure, failed.session
        if failure is not None and not failed.token.cancelled and "image" in failed.call.modalities:
            targets = _shown(session) if _about_pictures(failure) else []
            if targets:
                where = (failed.turn, failed.step)
                if failure.code in _REFUSALS and self._tried.get(session.id) != where:
                    self._tried[session.id] = where
                    targets = targets[-1:]
                session.append(OFFLOADED, {"targets": targets})
                log.warning("pictures.refused", session=session.id, code=failure.code, messages=len(targets))
                self._hooks.emit("agent/pictures-unseen", session.id)
                return "retry"
        decision: str | None = await proceed()
        return decision

    def _disposed(self, session_id: str) -> None:
        self._tried.pop(session_id, None)


def _about_pictures(failure: Failure) -> bool:
    if failure.code == _NO_EYES or failure.status == _TOO_LARGE:
        return True
    return failure.code in _REFUSALS and _PICTURE.search(failure.message) is not None


def _shown(session: Session) -> Sequence[dict[str, Any]]:
    """The pictures that people's messages still show, as targets of `image/offload`, oldest first."""
    targets = []
    for seq in session.surface.nodes:
        message = session.derive_event(seq)
        if message is None or message["role"] != "user":
            continue
        images = [block for block in message["content"] if block["type"] == "image"]
        indexes = [index for index, block in enumerate(images) if not block.get("offloaded")]
        if indexes:
            targets.append({"seq": seq, "imageIndexes": indexes})
    return targets
