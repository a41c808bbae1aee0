/** What the acting person has read, per channel; kept in the browser, for the sandbox has no accounts. */

import { pings } from './people.js';
import { on, say, store } from './store.js';
import { olderFirst } from './time.js';

const mentions = new Map();
const key = () => `inglenook.read.${store.guild?.id}.${store.you?.id}`;

let read = {};
let readOf = '';

function table() {
  if (readOf !== key()) {
    readOf = key();
    try { read = JSON.parse(localStorage.getItem(readOf) ?? '{}'); } catch { read = {}; }
  }
  return read;
}

/** The id of the newest message read there, or ''. */
export const lastRead = (channel) => table()[channel] ?? '';

/** Marks everything in the channel as read. */
export function markRead(channel) {
  const last = store.channels.get(channel)?.last_message_id;
  const had = mentions.delete(channel);
  if (!last || lastRead(channel) === last) { if (had) say('unread', channel); return; }
  table()[channel] = last;
  try { localStorage.setItem(key(), JSON.stringify(read)); } catch { /* private mode: remembered until reload */ }
  say('unread', channel);
}

/** True when something newer than the last reading is there. */
export function isUnread(channel) {
  const last = channel.last_message_id;
  return !!last && olderFirst(last, lastRead(channel.id) || '0') > 0;
}

/** How often the person was pinged there since. */
export const mentionsIn = (id) => mentions.get(id) ?? 0;

on('hello', () => mentions.clear());
on('messages', ({ what, channel, message }) => {
  if (what !== 'create') return;
  if (message.author?.id === store.you?.id) markRead(channel);
  else if (channel !== store.open && pings(message)) mentions.set(channel, mentionsIn(channel) + 1);
});
