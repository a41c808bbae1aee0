"""Discord's limits on message bodies, names and files (spec discord B1, B4, B8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.sandbox.limits import component_rules
from bot.sandbox.limits.refusal import Form, refuse
from bot.sandbox.store import Record

__all__ = [
    "REQUEST_BYTES",
    "V2",
    "Upload",
    "check_files",
    "check_message",
    "check_name",
    "check_webhook_name",
]

CONTENT = 2000
FILE_BYTES = 10 * 1024 * 1024  # per file in an unboosted guild
REQUEST_BYTES = 25 * 1024 * 1024
FILES = 10
EMBEDS, EMBED_CHARS = 10, 6000
V2 = 1 << 15  # the message flag of Components V2


@dataclass(frozen=True, slots=True)
class Upload:
    """A file on its way in."""

    name: str
    body: bytes
    content_type: str | None = None
    description: str | None = None


def check_files(files: Sequence[Upload], *, kept: int = 0) -> None:
    """Refuse too many or too large files; `kept` counts those the message already has."""
    if len(files) + kept > FILES:
        raise refuse(30015)
    if any(len(f.body) > FILE_BYTES for f in files) or sum(len(f.body) for f in files) > REQUEST_BYTES:
        raise refuse(40005)


def check_message(body: Record, *, empty_ok: bool = False) -> None:
    """Refuse a message body that Discord would refuse. `body` is the message as it would stand
    (content, embeds, components, flags, attachments as a count of files, poll)."""
    form = Form()
    content = body.get("content") or ""
    form.text("content", content, most=CONTENT)
    embeds = body.get("embeds") or []
    _check_embeds(form, embeds)
    components = body.get("components") or []
    if body.get("flags", 0) & V2:
        for field in ("content", "embeds", "poll", "sticker_ids"):
            if body.get(field):
                text = f"The '{field}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2"
                form.flag(field, "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", text)
        component_rules.check_v2(form, components)
    else:
        component_rules.check_plain(form, components)
    if body.get("poll"):
        _check_poll(form, body["poll"])
    _check_mentions(form, body.get("allowed_mentions") or {})
    form.close()
    blank = not (isinstance(content, str) and content.strip())
    shown = (
        embeds or components or body.get("attachments") or body.get("poll") or body.get("message_snapshots")
    )
    if blank and not shown and not empty_ok:
        raise refuse(50006)


def _check_embeds(form: Form, embeds: Any) -> None:
    if not form.items("embeds", embeds, most=EMBEDS):
        return
    total = 0
    for index, embed in enumerate(embeds):
        path = f"embeds.{index}"
        for key, most in (("title", 256), ("description", 4096)):
            total += _embed_text(form, f"{path}.{key}", embed.get(key), most)
        total += _embed_text(form, f"{path}.footer.text", (embed.get("footer") or {}).get("text"), 2048)
        total += _embed_text(form, f"{path}.author.name", (embed.get("author") or {}).get("name"), 256)
        fields = embed.get("fields") or []
        form.items(f"{path}.fields", fields, most=25)
        for number, field in enumerate(fields):
            for key, most in (("name", 256), ("value", 1024)):
                here = f"{path}.fields.{number}.{key}"
                if form.text(here, field.get(key), least=1, most=most):
                    total += len(field[key])
    if total > EMBED_CHARS:
        text = f"Embed size exceeds maximum size of {EMBED_CHARS}"
        form.flag("embeds", "MAX_EMBED_SIZE_EXCEEDED", text)


def _embed_text(form: Form, path: str, value: Any, most: int) -> int:
    if value is None:
        return 0
    return len(value) if form.text(path, value, most=most) else 0


def _check_poll(form: Form, poll: Record) -> None:
    form.text("poll.question.text", (poll.get("question") or {}).get("text"), least=1, most=300)
    if form.items("poll.answers", poll.get("answers"), least=1, most=10):
        for index, answer in enumerate(poll["answers"]):
            text = (answer.get("poll_media") or {}).get("text")
            form.text(f"poll.answers.{index}.poll_media.text", text, least=1, most=55)
    form.number("poll.duration", poll.get("duration", 24), least=1, most=32 * 24)


def _check_mentions(form: Form, allowed: Record) -> None:
    parse = allowed.get("parse") or []
    for index, kind in enumerate(parse):
        if kind not in ("users", "roles", "everyone"):
            text = "Value must be one of ('users', 'roles', 'everyone')."
            form.flag(f"allowed_mentions.parse.{index}", "BASE_TYPE_CHOICES", text)
    for kind in ("users", "roles"):
        if kind in parse and allowed.get(kind):
            text = f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.'
            form.flag("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", text)
        form.items(f"allowed_mentions.{kind}", allowed.get(kind) or [], most=100)


def check_name(form: Form, path: str, name: Any) -> None:
    """Names of channels, threads and forum posts: 1 to 100 characters."""
    form.text(path, name, least=1, most=100)


def check_webhook_name(form: Form, path: str, name: Any) -> None:
    """Names of webhooks and of who they speak as."""
    if not form.text(path, name, least=1, most=80):
        return
    low = name.lower()
    for word in ("clyde", "discord"):
        if word in low:
            form.flag(path, "USERNAME_INVALID_CONTAINS", f'Username cannot contain "{word}"')
    if low in ("everyone", "here") or "```" in name:
        form.flag(path, "USERNAME_INVALID", "Username is invalid")
    elif len(name.strip()) < 2:
        form.flag(path, "BASE_TYPE_BAD_LENGTH", "Must be between 2 and 80 in length.")
