"""What a person can do on the page; each is one entry of `OPS`, done through `Human`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bot.sandbox.human import Human
from bot.sandbox.limits import Upload, refuse
from bot.sandbox.page_backstage import Backstage
from bot.sandbox.screen import InteractionResult
from bot.sandbox.store import Record
from bot.sandbox.world import CHANNEL_TYPES, payloads, posts, threads
from bot.sandbox.world.permissions import Permission, require

__all__ = ["OPS", "Ask", "Operation", "Trouble"]

_PAGE = 100  # messages of one history request, as Discord
_ANSWER_S = 30.0  # beyond any deadline of an interaction: it fails by itself before


class Trouble(Exception):
    """The page asked for something that cannot be done; the text is for the person."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request of the page: who asks, for what."""

    backstage: Backstage
    user: Record
    guild: Record
    body: Record
    files: Sequence[Upload]

    @property
    def human(self) -> Human:
        """The person's hands."""
        return Human(self.backstage.wire, self.user)

    def channel(self, needed: int = Permission.VIEW_CHANNEL) -> Record:
        """The named channel, if the person may see it (and do what is needed)."""
        channel = self.backstage.wire.world.channels.get(str(self.body["channel"]))
        if channel is None:
            raise refuse(10003)
        require(self.backstage.wire.world, channel, self.user["id"], needed)
        return channel

    def message(self) -> Record:
        """The named message of the channel; an ephemeral one only for its person."""
        world = self.backstage.wire.world
        channel = self.channel()
        message_id = str(self.body["message"])
        whispered = world.ephemeral.get(message_id)
        if whispered is not None and whispered["only_for"] == self.user["id"]:
            return whispered
        return world.message(channel["id"], message_id)


Operation: TypeAlias = Callable[[Ask], Awaitable[Record]]
OPS: dict[str, Operation] = {}


def _op(run: Operation) -> Operation:
    OPS[run.__name__] = run
    return run


# --- reading ------------------------------------------------------------------------


@_op
async def history(ask: Ask) -> Record:
    """Up to `limit` messages, oldest first: the newest, those `before` an id, or those `after` one."""
    channel = ask.channel(Permission.VIEW_CHANNEL | Permission.READ_HISTORY)
    world = ask.backstage.wire.world
    ids = world.history(channel["id"])
    limit = min(int(ask.body.get("limit") or 50), _PAGE)
    before, after = ask.body.get("before"), ask.body.get("after")
    if before is not None:
        ids = [i for i in ids if int(i) < int(before)][-limit:]
    elif after is not None:
        ids = [i for i in ids if int(i) > int(after)][:limit]
    else:
        ids = ids[-limit:]
    shown = [payloads.message(world, world.messages[i], viewer=ask.user["id"], news=True) for i in ids]
    return {"messages": shown}


# --- writing ------------------------------------------------------------------------


@_op
async def say(ask: Ask) -> Record:
    """Write a message, with files, as a reply to `reply`."""
    reply = ask.body.get("reply")
    content = str(ask.body.get("content") or "")
    made = await ask.human.say(
        ask.channel(), content, ask.files, reply_to=None if reply is None else str(reply)
    )
    return {"message": made.id}


@_op
async def edit(ask: Ask) -> Record:
    """Change an own message."""
    await ask.human.edit(ask.message(), str(ask.body["content"]))
    return {}


@_op
async def delete(ask: Ask) -> Record:
    """Delete an own message, or any one with the permission."""
    await ask.human.delete(ask.message())
    return {}


@_op
async def react(ask: Ask) -> Record:
    """Add or remove an own reaction."""
    given = ask.body["emoji"]
    emoji = f"{given['name']}:{given['id']}" if given.get("id") else str(given["name"])
    await ask.human.react(ask.message(), emoji, remove=bool(ask.body.get("remove")))
    return {}


@_op
async def typing(ask: Ask) -> Record:
    """Show the others that this person types."""
    await ask.human.typing(ask.channel())
    return {}


@_op
async def thread(ask: Ask) -> Record:
    """Start a thread: on `message`, as a forum post with `content`, or free-standing."""
    world = ask.backstage.wire.world
    body: Record = {"name": str(ask.body["name"]), "type": 11}
    if "message" in ask.body:
        ask.channel(Permission.CREATE_PUBLIC_THREADS)
        made = threads.from_message(world, ask.message(), ask.user["id"], body)
    elif (channel := ask.channel(Permission.SEND_MESSAGES))["type"] == CHANNEL_TYPES["forum"]:
        body["message"] = {"content": str(ask.body.get("content") or "")}
        made, _ = threads.in_forum(world, channel, posts.Writer(ask.user["id"]), body, ask.files)
    else:
        made = threads.standalone(world, ask.channel(Permission.CREATE_PUBLIC_THREADS), ask.user["id"], body)
    return {"thread": {"id": made["id"]}}


# --- interactions ---------------------------------------------------------------------


async def _became(made: InteractionResult) -> Record:
    """How the bot answered: at once, with "thinking…", with a modal, or not at all."""
    await made.until("deferred", "done", "modal", "failed", timeout=_ANSWER_S)
    shown: Record = {"id": made.id, "state": made.state}
    if made.state == "modal":
        shown["modal"] = made.modal
    return {"interaction": shown}


@_op
async def click(ask: Ask) -> Record:
    """Press a button."""
    return await _became(await ask.human.click(ask.message(), str(ask.body["custom_id"]), wait=False))


@_op
async def select(ask: Ask) -> Record:
    """Choose in a select menu."""
    values = [str(v) for v in ask.body["values"]]
    return await _became(
        await ask.human.select(ask.message(), str(ask.body["custom_id"]), *values, wait=False)
    )


@_op
async def slash(ask: Ask) -> Record:
    """Run a slash command; an attachment option is `{"$file": n}`, the n-th file of the form."""
    options = {name: _with_files(value, ask.files) for name, value in ask.body["options"].items()}
    return await _became(
        await ask.human.slash(ask.channel(), " ".join(ask.body["command"]), options, wait=False)
    )


@_op
async def autocomplete(ask: Ask) -> Record:
    """The choices for the option being typed."""
    focused = str(ask.body["focused"])
    options = {name: value for name, value in ask.body["options"].items() if not isinstance(value, dict)}
    typed = str(options.pop(focused, ""))
    choices = await ask.human.autocomplete(
        ask.channel(), " ".join(ask.body["command"]), focused, typed, options
    )
    return {"choices": choices}


@_op
async def menu(ask: Ask) -> Record:
    """Run a message command."""
    return await _became(await ask.human.menu(ask.message(), str(ask.body["name"]), wait=False))


@_op
async def modal(ask: Ask) -> Record:
    """Submit the modal that an interaction opened."""
    values: dict[str, Any] = {}
    for name, value in ask.body["values"].items():
        many = isinstance(value, list)
        values[name] = [_with_files(v, ask.files) for v in value] if many else value
    return await _became(await ask.human.submit(str(ask.body["interaction"]), values, wait=False))


def _with_files(value: Any, files: Sequence[Upload]) -> Any:
    if not isinstance(value, Mapping):
        return value
    try:
        return files[int(value["$file"])]
    except (KeyError, IndexError, ValueError, TypeError):
        raise Trouble("The file did not arrive.") from None


# --- behind the scenes ----------------------------------------------------------------


@_op
async def fault(ask: Ask) -> Record:
    """Break something: `drop`, `invalid_session`, `latency` (ms), `status` (status, n), or `clear` it all."""
    wire = ask.backstage.wire
    match ask.body["kind"]:
        case "drop":
            await wire.gateway.drop()
        case "invalid_session":
            await wire.gateway.invalidate_session()
        case "latency":
            wire.faults.latency_ms = max(0.0, min(10_000.0, float(ask.body["ms"])))
        case "status":
            times = max(1, min(100, int(ask.body.get("n") or 1)))
            wire.faults.fail(".*", "", int(ask.body["status"]), times=times)
        case "clear":
            wire.faults.clear()
        case other:
            raise Trouble(f"There is no fault named {other}.")
    return {}


@_op
async def bot(ask: Ask) -> Record:
    """`restart`, `kill` or `start` the bot's process."""
    control = ask.backstage.control
    if control is None:
        raise Trouble("This sandbox did not start the bot, so it cannot stop it.")
    actions = {"restart": control.restart, "kill": control.kill, "start": control.start}
    action = actions.get(str(ask.body["action"]))
    if action is None:
        raise Trouble("The bot can be restarted, killed or started.")
    await action()
    return {}
