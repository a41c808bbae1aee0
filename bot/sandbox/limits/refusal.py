"""Discord's errors: HTTP status, JSON code, text and the tree of field errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.sandbox.store import Record

__all__ = ["Form", "Refusal", "refuse"]

_TABLE: Mapping[int, tuple[int, str]] = {
    10003: (404, "Unknown Channel"),
    10004: (404, "Unknown Guild"),
    10007: (404, "Unknown Member"),
    10008: (404, "Unknown Message"),
    10009: (404, "Unknown Overwrite"),
    10011: (404, "Unknown Role"),
    10013: (404, "Unknown User"),
    10014: (400, "Unknown Emoji"),
    10015: (404, "Unknown Webhook"),
    10062: (404, "Unknown interaction"),
    10063: (404, "Unknown application command"),
    20016: (429, "This action cannot be performed due to slowmode rate limit"),
    30003: (400, "Maximum number of pins reached (250)"),
    30007: (400, "Maximum number of webhooks reached (15)"),
    30010: (400, "Maximum number of reactions reached (20)"),
    30013: (400, "Maximum number of guild channels reached (500)"),
    30015: (400, "Maximum number of attachments in a message reached (10)"),
    30032: (400, "Maximum number of application commands reached (100)"),
    30046: (400, "Maximum number of edits to messages older than 1 hour reached. Try again later"),
    40001: (401, "Unauthorized"),
    40005: (413, "Request entity too large"),
    40060: (400, "Interaction has already been acknowledged."),
    40062: (429, "Service resource is being rate limited."),
    50001: (403, "Missing Access"),
    50003: (400, "Cannot execute action on a DM channel"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50008: (400, "Cannot send messages in a non-text channel"),
    50013: (403, "Missing Permissions"),
    50016: (400, "Provided too few or too many messages to delete. Must provide at least 2 and at most 100"),
    50019: (400, "A message can only be pinned to the channel it was sent in"),
    50021: (403, "Cannot execute action on a system message"),
    50024: (400, "Cannot execute action on this channel type"),
    50027: (401, "Invalid Webhook Token"),
    50034: (400, "You can only bulk delete messages that are under 14 days old."),
    50083: (400, "Thread is archived"),
    50109: (400, "The request body contains invalid JSON."),
    160002: (403, "Cannot reply without permission to read message history"),
    160004: (400, "A thread has already been created for this message"),
    160005: (400, "Thread is locked"),
    160006: (400, "Maximum number of active threads reached"),
    220001: (400, "Webhooks posted to forum channels must have a thread_name or thread_id"),
    220002: (400, "Webhooks posted to forum channels cannot have both a thread_name and thread_id"),
    220003: (400, "Webhooks can only create threads in forum channels"),
}


class Refusal(Exception):
    """A request that Discord answers with an error."""

    def __init__(self, status: int, code: int, message: str, errors: Record | None = None) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.errors = errors

    def body(self) -> Record:
        """The JSON that Discord sends."""
        body: Record = {"message": self.message, "code": self.code}
        if self.errors:
            body["errors"] = self.errors
        return body


def refuse(code: int) -> Refusal:
    """The refusal of a known JSON error code, to be raised."""
    status, message = _TABLE[code]
    return Refusal(status, code, message)


class Form:
    """Collects field errors; `close` raises them together as 50035, the way Discord reports a body."""

    def __init__(self) -> None:
        self._errors: Record = {}

    def flag(self, path: str, code: str, message: str) -> None:
        """Note an error at a dotted path such as `embeds.0.title`."""
        place = self._errors
        for part in path.split("."):
            place = place.setdefault(part, {})
        place.setdefault("_errors", []).append({"code": code, "message": message})

    def text(self, path: str, value: Any, *, least: int = 0, most: int) -> bool:
        """Check a string's length in code points; True when it is good."""
        if not isinstance(value, str):
            self.flag(path, "STRING_TYPE_CONVERT", "Could not interpret value as string.")
        elif len(value) < least and not value:
            self.flag(path, "BASE_TYPE_REQUIRED", "This field is required")
        elif not least <= len(value) <= most:
            if least:
                text = f"Must be between {least} and {most} in length."
                self.flag(path, "BASE_TYPE_BAD_LENGTH", text)
            else:
                self.flag(path, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.")
        else:
            return True
        return False

    def number(self, path: str, value: Any, *, least: int, most: int) -> bool:
        """Check an integer's range; True when it is good."""
        if isinstance(value, bool) or not isinstance(value, int):
            self.flag(path, "NUMBER_TYPE_COERCE", f'Value "{value}" is not int.')
        elif value < least:
            self.flag(path, "NUMBER_TYPE_MIN", f"int value should be greater than or equal to {least}.")
        elif value > most:
            self.flag(path, "NUMBER_TYPE_MAX", f"int value should be less than or equal to {most}.")
        else:
            return True
        return False

    def items(self, path: str, value: Any, *, least: int = 0, most: int) -> bool:
        """Check a list's length; True when it is good."""
        if not isinstance(value, list):
            self.flag(path, "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
        elif not least <= len(value) <= most:
            if least:
                text = f"Must be between {least} and {most} in length."
                self.flag(path, "BASE_TYPE_BAD_LENGTH", text)
            else:
                self.flag(path, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.")
        else:
            return True
        return False

    def close(self) -> None:
        """Raise what was found. Does nothing when the body is good."""
        if self._errors:
            raise Refusal(400, 50035, "Invalid Form Body", self._errors)
