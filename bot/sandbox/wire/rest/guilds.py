"""REST: the bot itself, its application, guilds, members and roles."""

from __future__ import annotations

from bot.sandbox.limits import Form, refuse
from bot.sandbox.store import Record
from bot.sandbox.wire.rest.call import Call, Reply, Routes, read_image
from bot.sandbox.world import payloads
from bot.sandbox.world.permissions import Permission as P
from bot.sandbox.world.permissions import require_guild

__all__ = ["ROUTES"]

ROUTES = Routes()


@ROUTES.add("GET", "/users/@me")
def get_me(call: Call) -> Reply:
    """The bot's user."""
    private = {"mfa_enabled": False, "locale": "en-US", "verified": True, "email": None, "flags": 0}
    return Reply({**payloads.user(call.world.bot), **private})


@ROUTES.add("PATCH", "/users/@me")
def edit_me(call: Call) -> Reply:
    """Change the bot's name or picture."""
    form = Form()
    bot = call.world.bot
    if "username" in call.fields:
        form.text("username", call.fields["username"], least=2, most=32)
    picture = read_image(form, "avatar", call.fields.get("avatar"))
    form.close()
    bot["username"] = call.fields.get("username", bot["username"])
    if picture is not None:
        bot["avatar"] = call.services.pictures.keep(picture)
    call.world.users.put(bot)
    return Reply(payloads.user(bot))


@ROUTES.add("GET", "/users/@me/guilds")
def my_guilds(call: Call) -> Reply:
    """The guilds the bot is in."""
    mine = [m["guild_id"] for m in call.world.members.where(user_id=call.me)]
    return Reply([payloads.guild(call.world, call.world.guilds[g]) for g in sorted(mine, key=int)])


@ROUTES.add("POST", "/users/@me/channels")
def open_direct(call: Call) -> Reply:
    """The direct channel with a user."""
    user = call.world.user(str(call.fields.get("recipient_id")))
    if user["id"] == call.me:
        raise refuse(50007)
    return Reply(payloads.channel(call.world, call.world.direct(user)))


@ROUTES.add("GET", "/users/{user}")
def get_user(call: Call) -> Reply:
    """Any user."""
    found = call.world.users.get(call.params["user"])
    if found is None:
        raise refuse(10013)
    return Reply(payloads.user(found))


@ROUTES.add("GET", "/oauth2/applications/@me")
@ROUTES.add("GET", "/applications/@me")
def get_application(call: Call) -> Reply:
    """The bot's application."""
    return Reply(payloads.application(call.world))


@ROUTES.add("GET", "/applications/{application}/emojis")
def application_emojis(call: Call) -> Reply:
    """The application's own emojis: none here."""
    return Reply({"items": []})


@ROUTES.add("GET", "/gateway")
def gateway(call: Call) -> Reply:
    """Where the gateway is."""
    return Reply({"url": call.services.urls.gateway})


@ROUTES.add("GET", "/gateway/bot")
def gateway_bot(call: Call) -> Reply:
    """Where the gateway is, and how often the bot may identify."""
    limit = {"total": 1000, "remaining": 1000, "reset_after": 86_400_000, "max_concurrency": 1}
    return Reply({"url": call.services.urls.gateway, "shards": 1, "session_start_limit": limit})


# --- guilds ------------------------------------------------------------------------


@ROUTES.add("GET", "/guilds/{guild}")
def get_guild(call: Call) -> Reply:
    """One guild."""
    guild = call.guild()
    require_guild(call.world, guild, call.me)
    shown = payloads.guild(call.world, guild)
    if call.flag("with_counts"):
        count = len(call.world.members.where(guild_id=guild["id"]))
        shown |= {"approximate_member_count": count, "approximate_presence_count": count}
    return Reply(shown)


@ROUTES.add("GET", "/guilds/{guild}/channels")
def list_channels(call: Call) -> Reply:
    """The guild's channels without threads."""
    guild = call.guild()
    require_guild(call.world, guild, call.me)
    here = call.world.channels.where(guild_id=guild["id"])
    return Reply([payloads.channel(call.world, c) for c in here if not call.world.is_thread(c)])


@ROUTES.add("GET", "/guilds/{guild}/roles")
def list_roles(call: Call) -> Reply:
    """The guild's roles."""
    guild = call.guild()
    require_guild(call.world, guild, call.me)
    return Reply([payloads.role(r) for r in guild["roles"]])


@ROUTES.add("GET", "/guilds/{guild}/emojis")
@ROUTES.add("GET", "/guilds/{guild}/stickers")
def list_nothing(call: Call) -> Reply:
    """Guilds here have no emojis and stickers of their own."""
    require_guild(call.world, call.guild(), call.me)
    return Reply([])


def _member(call: Call) -> Record:
    guild = call.guild()
    require_guild(call.world, guild, call.me)
    user = call.me if call.params["user"] == "@me" else call.params["user"]
    if user not in call.world.users:
        raise refuse(10013)
    found = call.world.members.get(f"{guild['id']}:{user}")
    if found is None:
        raise refuse(10007)
    return found


@ROUTES.add("GET", "/guilds/{guild}/members")
def list_members(call: Call) -> Reply:
    """The guild's members by user id."""
    guild = call.guild()
    require_guild(call.world, guild, call.me)
    limit = call.number("limit", 1, least=1, most=1000)
    after = call.snowflake("after")
    members = sorted(call.world.members.where(guild_id=guild["id"]), key=lambda m: int(m["user_id"]))
    chosen = [m for m in members if int(m["user_id"]) > after][:limit]
    return Reply([payloads.member(call.world, m) for m in chosen])


@ROUTES.add("GET", "/guilds/{guild}/members/search")
def search_members(call: Call) -> Reply:
    """Members whose name begins with the query."""
    guild = call.guild()
    require_guild(call.world, guild, call.me)
    query = call.query.get("query", "").lower()
    limit = call.number("limit", 1, least=1, most=1000)
    found = []
    for member in call.world.members.where(guild_id=guild["id"]):
        user = call.world.users[member["user_id"]]
        names = (user["username"], user["global_name"] or "", member["nick"] or "")
        if any(name.lower().startswith(query) for name in names):
            found.append(payloads.member(call.world, member))
    return Reply(found[:limit])


@ROUTES.add("GET", "/guilds/{guild}/members/{user}")
def get_member(call: Call) -> Reply:
    """One member."""
    return Reply(payloads.member(call.world, _member(call)))


@ROUTES.add("PATCH", "/guilds/{guild}/members/{user}")
def edit_member(call: Call) -> Reply:
    """Change a nickname or roles."""
    member = _member(call)
    mine = member["user_id"] == call.me
    needed = 0
    if "nick" in call.fields:
        needed |= P.CHANGE_NICKNAME if mine else P.MANAGE_NICKNAMES
        form = Form()
        form.text("nick", call.fields["nick"] or "", most=32)
        form.close()
    if "roles" in call.fields:
        needed |= P.MANAGE_ROLES
    require_guild(call.world, call.guild(), call.me, needed)
    call.world.set_member(member, **{k: v for k, v in call.fields.items() if k in ("nick", "roles")})
    return Reply(payloads.member(call.world, member))


@ROUTES.add("PUT", "/guilds/{guild}/members/{user}/roles/{role}")
def add_member_role(call: Call) -> Reply:
    """Give a role."""
    member = _member(call)
    require_guild(call.world, call.guild(), call.me, P.MANAGE_ROLES)
    if call.params["role"] not in {r["id"] for r in call.guild()["roles"]}:
        raise refuse(10011)
    call.world.set_member(member, roles=list({*member["roles"], call.params["role"]}))
    return Reply(status=204)


@ROUTES.add("DELETE", "/guilds/{guild}/members/{user}/roles/{role}")
def drop_member_role(call: Call) -> Reply:
    """Take a role."""
    member = _member(call)
    require_guild(call.world, call.guild(), call.me, P.MANAGE_ROLES)
    call.world.set_member(member, roles=[r for r in member["roles"] if r != call.params["role"]])
    return Reply(status=204)
