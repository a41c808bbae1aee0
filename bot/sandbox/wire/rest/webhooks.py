"""REST: webhooks, and the messages they write (spec discord B4)."""

from __future__ import annotations

import secrets

from bot.sandbox.limits import Form, check_name, check_webhook_name, refuse
from bot.sandbox.limits.component_rules import interactive
from bot.sandbox.store import Record
from bot.sandbox.wire.buckets import EXECUTE, HOOK_EDIT
from bot.sandbox.wire.rest.call import Call, Reply, Routes, read_image
from bot.sandbox.wire.rest.interactions import delete_response, edit_response, follow_up, get_response
from bot.sandbox.world import payloads, posts, threads
from bot.sandbox.world.permissions import Permission as P
from bot.sandbox.world.permissions import require, require_guild

__all__ = ["ROUTES"]

ROUTES = Routes()
_CAP = 15  # webhooks of a channel


@ROUTES.add("POST", "/channels/{channel}/webhooks")
def create_webhook(call: Call) -> Reply:
    """Make a webhook that belongs to the bot's application."""
    channel = call.channel()
    if channel["type"] not in (0, 5, 15):
        raise refuse(50024)
    require(call.world, channel, call.me, P.MANAGE_WEBHOOKS)
    form = Form()
    check_webhook_name(form, "name", call.fields.get("name"))
    picture = read_image(form, "avatar", call.fields.get("avatar"))
    form.close()
    if len(call.world.webhooks.where(channel_id=channel["id"])) >= _CAP:
        raise refuse(30007)
    hook = call.world.webhooks.put(
        {
            "id": call.world.ids.new(),
            "guild_id": channel["guild_id"],
            "channel_id": channel["id"],
            "name": call.fields["name"],
            "avatar": None if picture is None else call.services.pictures.keep(picture),
            "application_id": call.me,
            "creator_id": call.me,
            "token": secrets.token_urlsafe(50),
        }
    )
    _changed(call, hook)
    return Reply(payloads.webhook(call.world, hook))


def _changed(call: Call, hook: Record) -> None:
    call.world.emit("WEBHOOKS_UPDATE", {"guild_id": hook["guild_id"], "channel_id": hook["channel_id"]})


@ROUTES.add("GET", "/channels/{channel}/webhooks")
def list_channel_webhooks(call: Call) -> Reply:
    """The webhooks of a channel."""
    channel = call.channel()
    require(call.world, channel, call.me, P.MANAGE_WEBHOOKS)
    return _list(call, call.world.webhooks.where(channel_id=channel["id"]))


@ROUTES.add("GET", "/guilds/{guild}/webhooks")
def list_guild_webhooks(call: Call) -> Reply:
    """The webhooks of a guild."""
    guild = call.guild()
    require_guild(call.world, guild, call.me, P.MANAGE_WEBHOOKS)
    return _list(call, call.world.webhooks.where(guild_id=guild["id"]))


def _list(call: Call, hooks: list[Record]) -> Reply:
    # The token of another application's hook stays hidden.
    return Reply(
        [payloads.webhook(call.world, h, with_token=h["application_id"] in (None, call.me)) for h in hooks]
    )


def _managed(call: Call) -> Record:
    hook = call.world.webhooks.get(call.params["webhook"])
    if hook is None:
        raise refuse(10015)
    require(call.world, call.world.channels[hook["channel_id"]], call.me, P.MANAGE_WEBHOOKS)
    return hook


@ROUTES.add("GET", "/webhooks/{webhook}")
def get_webhook(call: Call) -> Reply:
    """A webhook, as the bot."""
    return Reply(payloads.webhook(call.world, _managed(call)))


@ROUTES.add("PATCH", "/webhooks/{webhook}")
def edit_webhook(call: Call) -> Reply:
    """Change a webhook, also its channel."""
    return _edit(call, _managed(call))


@ROUTES.add("DELETE", "/webhooks/{webhook}")
def delete_webhook(call: Call) -> Reply:
    """Delete a webhook."""
    return _delete(call, _managed(call))


def _edit(call: Call, hook: Record) -> Reply:
    form = Form()
    if "name" in call.fields:
        check_webhook_name(form, "name", call.fields["name"])
    picture = read_image(form, "avatar", call.fields.get("avatar"))
    form.close()
    hook["name"] = call.fields.get("name", hook["name"])
    if "avatar" in call.fields:
        hook["avatar"] = None if picture is None else call.services.pictures.keep(picture)
    if call.fields.get("channel_id") is not None:
        channel = call.world.channels.get(str(call.fields["channel_id"]))
        if channel is None:
            raise refuse(10003)
        require(call.world, channel, call.me, P.MANAGE_WEBHOOKS)
        hook["channel_id"] = channel["id"]
    call.world.webhooks.put(hook)
    _changed(call, hook)
    return Reply(payloads.webhook(call.world, hook))


def _delete(call: Call, hook: Record) -> Reply:
    call.world.webhooks.drop(hook["id"])
    _changed(call, hook)
    return Reply(status=204)


# --- with the token: no bot needed ---------------------------------------------------

_HOOK = "/webhooks/{webhook}/{token}"


def _hook(call: Call) -> Record:
    hook = call.world.webhooks.get(call.params["webhook"])
    if hook is None:
        raise refuse(10015)
    if not secrets.compare_digest(hook["token"], call.params["token"]):
        raise refuse(50027)
    return hook


def _of_interaction(call: Call) -> bool:
    return call.params["webhook"] == call.me


@ROUTES.add("GET", _HOOK, open=True)
def get_webhook_by_token(call: Call) -> Reply:
    """A webhook, by its token."""
    return Reply(payloads.webhook(call.world, _hook(call)))


@ROUTES.add("PATCH", _HOOK, open=True)
def edit_webhook_by_token(call: Call) -> Reply:
    """Change a webhook's name or picture."""
    hook = _hook(call)
    call.fields.pop("channel_id", None)
    return _edit(call, hook)


@ROUTES.add("DELETE", _HOOK, open=True)
def delete_webhook_by_token(call: Call) -> Reply:
    """Delete a webhook."""
    return _delete(call, _hook(call))


@ROUTES.add("POST", _HOOK, EXECUTE, open=True)
def execute(call: Call) -> Reply:
    """Write as somebody; in a thread with `thread_id`, as a new forum post with `thread_name`."""
    if _of_interaction(call):
        return follow_up(call)
    hook = _hook(call)
    writer = posts.Writer(
        hook["id"],
        persona=_persona(call, hook),
        webhook_id=hook["id"],
        application_id=hook["application_id"],
    )
    body = call.fields
    if interactive(body.get("components") or []) and hook["application_id"] is None:
        form = Form()
        form.flag("components", "WEBHOOK_COMPONENTS_FORBIDDEN", "Only application webhooks may send these.")
        form.close()
    place = _place(call, hook)
    if place is None:
        post = {"name": body["thread_name"], "applied_tags": body.get("applied_tags"), "message": body}
        forum = call.world.channels[hook["channel_id"]]
        message = threads.in_forum(call.world, forum, writer, post, call.files)[1]
    else:
        message = posts.create(call.world, place, writer, body, call.files)
    if not call.flag("wait"):
        return Reply(status=204)
    return Reply(payloads.message(call.world, message))


def _persona(call: Call, hook: Record) -> Record:
    form = Form()
    name = call.fields.get("username")
    if name is not None:
        check_webhook_name(form, "username", name)
    avatar = hook["avatar"]
    url = call.fields.get("avatar_url")
    if url:
        if not str(url).startswith(("http://", "https://")):
            form.flag("avatar_url", "URL_TYPE_INVALID_SCHEME", 'Scheme must be one of ("http", "https").')
        else:
            avatar = call.services.pictures.from_url(str(url))
    form.close()
    return {"username": name or hook["name"], "avatar": avatar}


def _place(call: Call, hook: Record) -> Record | None:
    # Where a message of the hook goes; None: a new forum post.
    parent = call.world.channels.get(hook["channel_id"])
    if parent is None:
        raise refuse(10003)
    thread_id = call.query.get("thread_id")
    name = call.fields.get("thread_name")
    if parent["type"] != 15 and name is not None:
        raise refuse(220003)
    if thread_id is not None:
        if name is not None:
            raise refuse(220002)
        thread = call.world.channels.get(thread_id)
        if thread is None or thread.get("parent_id") != parent["id"] or not call.world.is_thread(thread):
            raise refuse(10003)
        return thread
    if parent["type"] != 15:
        return parent
    if name is None:
        raise refuse(220001)
    form = Form()
    check_name(form, "thread_name", name)
    form.close()
    return None


def _written(call: Call) -> Record:
    # A hook finds its own messages only, and in a thread only when the thread is named.
    hook = _hook(call)
    place = call.query.get("thread_id", hook["channel_id"])
    record = call.world.messages.get(call.params["message"])
    if record is None or record["webhook_id"] != hook["id"] or record["channel_id"] != place:
        raise refuse(10008)
    return record


@ROUTES.add("GET", _HOOK + "/messages/{message}", open=True)
def get_webhook_message(call: Call) -> Reply:
    """A message of the hook."""
    if _of_interaction(call):
        return get_response(call)
    return Reply(payloads.message(call.world, _written(call)))


@ROUTES.add("PATCH", _HOOK + "/messages/{message}", HOOK_EDIT, open=True)
def edit_webhook_message(call: Call) -> Reply:
    """Change a message of the hook."""
    if _of_interaction(call):
        return edit_response(call)
    record = _written(call)
    posts.spend_old_edit(call.world, call.services.old_edits, record)
    return Reply(payloads.message(call.world, posts.edit(call.world, record, call.fields, call.files)))


@ROUTES.add("DELETE", _HOOK + "/messages/{message}", open=True)
def delete_webhook_message(call: Call) -> Reply:
    """Delete a message of the hook."""
    if _of_interaction(call):
        return delete_response(call)
    record = _written(call)
    thread = call.world.channels[record["channel_id"]]
    if call.world.is_thread(thread) and thread["archived"]:
        raise refuse(50083)
    posts.delete(call.world, record)
    return Reply(status=204)
