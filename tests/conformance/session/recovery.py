"""Placeholders for the recovery wording, which is each implementation's own."""

from typing import Any

from engine.session.repair import RECOVERY_TEXT

_WORDING = {
    f"<{cause}:{'started' if started else 'not-started'}>": text
    for (cause, started), text in RECOVERY_TEXT.items()
}


def worded(value: Any) -> Any:
    """The value with placeholders such as `<interrupted:started>` replaced by our text."""
    if isinstance(value, dict):
        return {key: worded(member) for key, member in value.items()}
    if isinstance(value, list):
        return [worded(item) for item in value]
    return _WORDING.get(value, value) if isinstance(value, str) else value
