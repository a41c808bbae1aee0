"""What Discord takes and what it refuses: the rules on what is sent to it, pure and without a world.

`refusal` is how it says no; `component_rules`, `command_rules` and `message_rules` say when.
"""

from bot.sandbox.limits.message_rules import (
    REQUEST_BYTES,
    V2,
    Upload,
    check_files,
    check_message,
    check_name,
    check_webhook_name,
)
from bot.sandbox.limits.refusal import Form, Refusal, refuse

__all__ = [
    "REQUEST_BYTES",
    "V2",
    "Form",
    "Refusal",
    "Upload",
    "check_files",
    "check_message",
    "check_name",
    "check_webhook_name",
    "refuse",
]
