"""REST: the bot's answers to interactions."""

from __future__ import annotations

from bot.sandbox.store import Record
from bot.sandbox.wire.rest.call import Call, Reply, Routes
from bot.sandbox.world import payloads
from bot.sandbox.world.interactions import Interaction

__all__ = ["ROUTES", "delete_response", "edit_response", "follow_up", "get_response"]

ROUTES = Routes()


@ROUTES.add("POST", "/interactions/{interaction}/{token}/callback", open=True, free=True)
def respond(call: Call) -> Reply:
    """The first answer; `with_response` tells what it made."""
    interactions = call.services.interactions
    body = call.fields
    message = interactions.respond(call.params["interaction"], call.params["token"], body, call.files)
    if not call.flag("with_response"):
        return Reply(status=204)
    made = interactions.get(call.params["interaction"])
    about: Record = {"id": made.id, "type": made.kind}
    shown: Record = {"interaction": about}
    if message is not None:
        about |= {
            "response_message_id": message["id"],
            "response_message_loading": made.state == "deferred",
            "response_message_ephemeral": message["only_for"] is not None,
        }
        shown["resource"] = {"type": body["type"], "message": payloads.message(call.world, message)}
    return Reply(shown)


# Follow-ups share their paths with webhooks: the "webhook" is the application, the token the interaction's.
# `webhooks` hands them over.


def _made(call: Call) -> Interaction:
    return call.services.interactions.by_token(call.params["token"])


def follow_up(call: Call) -> Reply:
    """A further message."""
    message = call.services.interactions.follow_up(_made(call), call.fields, call.files)
    return Reply(payloads.message(call.world, message))


def get_response(call: Call) -> Reply:
    """A message of the interaction."""
    message = call.services.interactions.response(_made(call), call.params["message"])
    return Reply(payloads.message(call.world, message))


def edit_response(call: Call) -> Reply:
    """Change a message of the interaction."""
    message = call.services.interactions.edit(_made(call), call.params["message"], call.fields, call.files)
    return Reply(payloads.message(call.world, message))


def delete_response(call: Call) -> Reply:
    """Delete a message of the interaction."""
    call.services.interactions.delete(_made(call), call.params["message"])
    return Reply(status=204)
