/**
 * What the page knows: the server's channels, people and commands, the messages seen so far.
 *
 * Only `apply*` functions change it, each then says so by a topic; views listen to topics
 * and read. Topics: `hello`, `channels`, `messages` (what, channel, id), `typing`, `bot`,
 * `stats`, `unread`, `open` (a channel is asked for), `opened`, `notice`.
 */

import { olderFirst } from './time.js';

export const THREAD_TYPES = new Set([10, 11, 12]);
export const FORUM_TYPES = new Set([15, 16]);
const TYPING_MS = 10_000; // how long Discord shows a typing line after one TYPING_START

export const store = {
  you: null, users: new Map(), members: new Map(), roles: new Map(), guild: null,
  channels: new Map(), commands: [], bot: { online: false }, model: {}, stats: null, logs: [],
  history: new Map(), typing: new Map(), open: '', connected: false, mode: {},
};

const listeners = new Map();

/** Calls `fn(detail)` for each thing said on the topic. */
export function on(topic, fn) {
  if (!listeners.has(topic)) listeners.set(topic, new Set());
  listeners.get(topic).add(fn);
  return () => listeners.get(topic).delete(fn);
}

/** Says something on a topic; one broken listener does not stop the others. */
export function say(topic, detail) {
  for (const fn of listeners.get(topic) ?? []) {
    try { fn(detail); } catch (error) { console.error(topic, error); }
  }
}

/** Messages of a channel in order; `complete`: nothing older exists; `loaded`: the newest page was read. */
export function historyOf(channel) {
  if (!store.history.has(channel)) {
    store.history.set(channel, { list: [], byId: new Map(), complete: false, loaded: false });
  }
  return store.history.get(channel);
}

/** Starts from a `hello` frame. History is dropped: another person may see other things. */
export function applyHello(frame) {
  const samePerson = store.you?.id === frame.you.id;
  store.you = frame.you;
  store.users = new Map((frame.users ?? []).map((u) => [u.id, u]));
  store.guild = frame.guild;
  store.members = new Map((frame.members ?? []).map((m) => [m.user.id, m]));
  for (const m of frame.members ?? []) if (!store.users.has(m.user.id)) store.users.set(m.user.id, m.user);
  store.roles = new Map((frame.guild.roles ?? []).map((r) => [r.id, r]));
  store.channels = new Map([...frame.guild.channels, ...(frame.guild.threads ?? [])].map((c) => [c.id, c]));
  store.commands = frame.commands ?? [];
  store.bot = frame.bot ?? store.bot;
  store.model = frame.model ?? { name: frame.narrator ? 'offline narrator' : 'model', offline: !!frame.narrator };
  store.connected = true;
  const kept = samePerson ? ephemerals() : [];
  store.history = new Map();
  store.typing = new Map();
  kept.forEach((message) => insert(message));
  say('hello', frame);
}

const ephemerals = () => [...store.history.values()].flatMap((h) => h.list.filter((m) => m.flags & 64));

/** Adds a page of history, oldest or newest first. */
export function applyHistory(channel, messages, limit) {
  const history = historyOf(channel);
  messages.forEach((message) => insert(message));
  history.loaded = true;
  if (messages.length < limit) history.complete = true;
}

/** Puts a message where its id belongs. True when it was not there before. */
export function insert(message) {
  remember(message);
  const history = historyOf(message.channel_id);
  const known = history.byId.get(message.id);
  history.byId.set(message.id, message);
  if (known) {
    history.list[history.list.indexOf(known)] = message;
    return false;
  }
  let at = history.list.length;
  while (at > 0 && olderFirst(history.list[at - 1].id, message.id) > 0) at -= 1;
  history.list.splice(at, 0, message);
  return true;
}

function remember(message) {
  const { author } = message;
  if (author && !message.webhook_id && !store.users.has(author.id)) store.users.set(author.id, author);
  for (const user of message.mentions ?? []) if (!store.users.has(user.id)) store.users.set(user.id, user);
}

function forget(channel, id) {
  const history = historyOf(channel);
  const known = history.byId.get(id);
  if (!known) return false;
  history.byId.delete(id);
  history.list.splice(history.list.indexOf(known), 1);
  return true;
}

const EVENTS = {
  MESSAGE_CREATE(m) {
    // the greyed message of the composer gives way to the real one, whichever news comes first
    const ghost = m.author?.id === store.you?.id && historyOf(m.channel_id).list.find((x) => x.pending && x.content === (m.content ?? ''));
    if (ghost) EVENTS.MESSAGE_DELETE(ghost);
    insert(m);
    const channel = store.channels.get(m.channel_id);
    if (channel && !(m.flags & 64)) {
      channel.last_message_id = m.id;
      if (THREAD_TYPES.has(channel.type)) channel.message_count = (channel.message_count ?? 0) + 1;
    }
    if (store.typing.get(m.channel_id)?.delete(m.author?.id)) say('typing', m.channel_id);
    say('messages', { what: 'create', channel: m.channel_id, id: m.id, message: m });
    say('unread', m.channel_id);
  },
  MESSAGE_UPDATE(m) {
    const known = historyOf(m.channel_id).byId.get(m.id);
    if (!known && !(m.flags & 64)) return; // outside of what was loaded: it comes with its page
    insert({ ...known, ...m });
    say('messages', { what: 'update', channel: m.channel_id, id: m.id });
  },
  MESSAGE_DELETE(m) {
    if (forget(m.channel_id, m.id)) say('messages', { what: 'delete', channel: m.channel_id, id: m.id });
  },
  MESSAGE_DELETE_BULK(d) {
    d.ids.forEach((id) => EVENTS.MESSAGE_DELETE({ channel_id: d.channel_id, id }));
  },
  MESSAGE_REACTION_ADD: (d) => react(d, +1),
  MESSAGE_REACTION_REMOVE: (d) => react(d, -1),
  MESSAGE_REACTION_REMOVE_ALL: (d) => change(d, (m) => { m.reactions = []; }),
  MESSAGE_REACTION_REMOVE_EMOJI: (d) => change(d, (m) => {
    m.reactions = (m.reactions ?? []).filter((r) => !sameEmoji(r.emoji, d.emoji));
  }),
  CHANNEL_CREATE: (c) => setChannel(c),
  CHANNEL_UPDATE: (c) => setChannel(c),
  CHANNEL_DELETE: (c) => dropChannel(c),
  THREAD_CREATE: (c) => setChannel(c),
  THREAD_UPDATE: (c) => setChannel(c),
  THREAD_DELETE: (c) => dropChannel(c),
  THREAD_LIST_SYNC: (d) => d.threads.forEach(setChannel),
  TYPING_START(d) {
    if (d.user_id === store.you?.id) return;
    const typing = store.typing.get(d.channel_id) ?? new Map();
    clearTimeout(typing.get(d.user_id));
    typing.set(d.user_id, setTimeout(() => {
      typing.delete(d.user_id);
      say('typing', d.channel_id);
    }, TYPING_MS));
    store.typing.set(d.channel_id, typing);
    say('typing', d.channel_id);
  },
  GUILD_UPDATE(g) { Object.assign(store.guild, g, { channels: store.guild.channels }); say('channels'); },
  GUILD_ROLE_CREATE({ role }) { store.roles.set(role.id, role); say('channels'); },
  GUILD_ROLE_UPDATE({ role }) { store.roles.set(role.id, role); say('channels'); },
  GUILD_ROLE_DELETE({ role_id: id }) { store.roles.delete(id); say('channels'); },
  GUILD_MEMBER_UPDATE(m) { store.members.set(m.user.id, { ...store.members.get(m.user.id), ...m }); say('channels'); },
  GUILD_MEMBER_ADD(m) { store.members.set(m.user.id, m); store.users.set(m.user.id, m.user); say('channels'); },
  GUILD_MEMBER_REMOVE(m) { store.members.delete(m.user.id); say('channels'); },
};

/** Takes one gateway event; unknown ones are nothing to a page. */
export function applyEvent(name, data) {
  EVENTS[name]?.(data);
}

function setChannel(c) {
  store.channels.set(c.id, { ...store.channels.get(c.id), ...c });
  say('channels', c.id);
}

function dropChannel(c) {
  store.channels.delete(c.id);
  for (const other of [...store.channels.values()]) if (other.parent_id === c.id) store.channels.delete(other.id);
  store.history.delete(c.id);
  say('channels', c.id);
}

export const sameEmoji = (a, b) => (a.id || b.id ? a.id === b.id : a.name === b.name);

function change(d, edit) {
  const message = historyOf(d.channel_id).byId.get(d.message_id);
  if (!message) return;
  edit(message);
  say('messages', { what: 'update', channel: d.channel_id, id: d.message_id });
}

function react(d, step) {
  change(d, (message) => {
    message.reactions ??= [];
    let one = message.reactions.find((r) => sameEmoji(r.emoji, d.emoji));
    if (!one) message.reactions.push(one = { emoji: d.emoji, count: 0, me: false });
    one.count += step;
    if (d.user_id === store.you?.id) one.me = step > 0;
    message.reactions = message.reactions.filter((r) => r.count > 0);
  });
}

/** Removes a message that only this page shows (an ephemeral one that was dismissed). */
export function dismiss(channel, id) {
  EVENTS.MESSAGE_DELETE({ channel_id: channel, id });
}
