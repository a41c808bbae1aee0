/** The left side: the rail with the server's sign, channels with their threads, and who acts. */

import { button, fill, h } from './dom.js';
import { icon } from './icons.js';
import { channelIcon, isNsfw } from './intro.js';
import { avatar, nameOf } from './people.js';
import { FORUM_TYPES, THREAD_TYPES, on, say, store } from './store.js';
import { olderFirst } from './time.js';
import { isUnread, mentionsIn } from './unread.js';

const CATEGORY = 4;
const DIRECT = 1;
const collapsed = new Set(JSON.parse(localStorage.getItem('inglenook.collapsed') ?? '[]'));

function toggle(id) {
  if (!collapsed.delete(id)) collapsed.add(id);
  localStorage.setItem('inglenook.collapsed', JSON.stringify([...collapsed]));
  say('channels', id);
}

/** The whole left side; draws itself again when channels or reading change. */
export function sidebar() {
  const rail = h('nav', { class: 'rail', 'aria-label': 'Servers' });
  const title = h('h1', { class: 'server-name' });
  const channels = h('ul', { class: 'channels' });
  const user = h('div', { class: 'user-panel' });
  const el = h('aside', { class: 'left', id: 'channel-drawer' }, rail,
    h('div', { class: 'side' },
      h('header', { class: 'server-header' }, title, icon('chevron', 18)),
      h('nav', { class: 'channel-scroll', 'aria-label': 'Channels' }, channels), user));
  const draw = () => {
    if (!store.guild) return;
    title.textContent = store.guild.name;
    fill(rail, railItem('home'), h('div', { class: 'rail-line' }), railItem('server'));
    fill(channels, tree());
    fill(user, button({ class: 'user-card', 'aria-haspopup': 'menu', 'aria-label': `You are ${nameOf(store.you)}. Act as somebody else`, on: { click: (e) => say('switch', e.currentTarget) } },
      h('span', { class: 'status-face' }, avatar(store.you, { size: 32 }), h('i', { class: 'status online' })),
      h('span', { class: 'user-text' }, h('strong', { text: nameOf(store.you) }), h('small', { text: 'acting in the sandbox' }))),
    button({ class: 'ghost', 'aria-label': 'Tools', title: 'Tools', on: { click: () => say('tools') } }, icon('tools')));
  };
  ['hello', 'channels', 'unread', 'opened'].forEach((topic) => on(topic, () => queueMicrotask(draw)));
  return el;
}

function railItem(kind) {
  if (kind === 'home') return h('span', { class: 'rail-item home', 'aria-hidden': 'true' }, h('img', { src: '/static/icon.svg', alt: '', width: 48, height: 48 }));
  const letters = store.guild.name.split(/\s+/).map((w) => w[0]).join('').slice(0, 3);
  return h('span', { class: 'rail-item active', title: store.guild.name, 'aria-hidden': 'true', text: letters });
}

const byPosition = (a, b) => (a.position ?? 0) - (b.position ?? 0) || olderFirst(a.id, b.id);

function tree() {
  const all = [...store.channels.values()].filter((c) => !THREAD_TYPES.has(c.type) && c.type !== DIRECT);
  const direct = [...store.channels.values()].filter((c) => c.type === DIRECT);
  const categories = all.filter((c) => c.type === CATEGORY).sort(byPosition);
  const under = (id) => all.filter((c) => c.type !== CATEGORY && (c.parent_id ?? null) === id).sort(byPosition);
  return [under(null).map(channel), categories.map((cat) => h('li', { class: 'category' },
    button({ class: 'category-name', 'aria-expanded': String(!collapsed.has(cat.id)), on: { click: () => toggle(cat.id) } }, icon('chevron', 12), cat.name),
    h('ul', null, under(cat.id).filter((c) => !collapsed.has(cat.id) || isUnread(c) || c.id === store.open).map(channel)))),
  direct.length > 0 && h('li', { class: 'category' }, h('span', { class: 'category-name', text: 'Direct messages' }), h('ul', null, direct.map(channel)))];
}

const active = (t) => !t.thread_metadata?.archived || t.id === store.open;

function channel(c) {
  const threads = [...store.channels.values()].filter((t) => THREAD_TYPES.has(t.type) && t.parent_id === c.id && active(t))
    .sort((a, b) => olderFirst(b.id, a.id));
  const shut = collapsed.has(c.id);
  return h('li', { class: 'channel' },
    h('div', { class: 'channel-line' }, link(c),
      threads.length > 0 && button({
        class: 'fold', 'aria-expanded': String(!shut), 'aria-label': `${shut ? 'Show' : 'Hide'} the threads of ${c.name}`, on: { click: () => toggle(c.id) },
      }, icon('chevron', 14))),
    threads.length > 0 && h('ul', { class: 'threads' }, threads.filter((t) => !shut || t.id === store.open || isUnread(t))
      .map((t) => h('li', null, link(t)))));
}

function link(c) {
  const here = c.id === store.open;
  const unread = !here && isUnread(c);
  const count = mentionsIn(c.id);
  const words = [c.name, THREAD_TYPES.has(c.type) ? 'thread' : FORUM_TYPES.has(c.type) ? 'forum' : 'channel', isNsfw(c) && 'age-restricted', unread && 'unread'];
  return button({
    class: `channel-link${here ? ' here' : ''}${unread ? ' unread' : ''}`, 'aria-current': here ? 'page' : null, dataset: { channel: c.id },
    'aria-label': words.filter(Boolean).join(', '), on: { click: () => say('open', c.id) },
  }, THREAD_TYPES.has(c.type) ? h('span', { class: 'spine' }) : h('span', { class: 'channel-icon' }, icon(channelIcon(c)), isNsfw(c) && h('i', { class: 'restricted' })),
  h('span', { class: 'channel-name', text: c.name }), count > 0 && h('span', { class: 'badge', text: count }));
}
