/** The slim bar that says what this is, the channel's header, the member list and the card of a person. */

import { button, fill, h } from './dom.js';
import { icon } from './icons.js';
import { channelIcon, isNsfw } from './intro.js';
import { inlineMarkdown, plainText } from './markdown-dom.js';
import { avatar, nameOf, roleColour } from './people.js';
import { menu, popover } from './popover.js';
import { THREAD_TYPES, on, say, store } from './store.js';

/** "sandbox · offline narrator", the bot's state, and who acts. */
export function topBar() {
  const what = h('p', { class: 'top-what' });
  const bot = h('span', { class: 'top-bot', role: 'status' });
  const you = button({ class: 'top-you', 'aria-haspopup': 'menu', on: { click: (e) => say('switch', e.currentTarget) } });
  const tools = button({ class: 'top-tools', 'aria-label': 'Tools', title: 'Requests, rate limits, faults, the bot', 'aria-pressed': 'false', on: { click: () => say('tools') } }, icon('tools', 16), h('span', { class: 'wide-only', text: 'Tools' }));
  const draw = () => {
    fill(what, h('strong', { text: 'sandbox' }), ' · ', store.model?.name ?? '');
    what.title = store.model?.offline ? 'Nothing leaves this machine. The answers are written by a small program, not by a model.' : `Answers come from ${store.model?.name}`;
    fill(bot, h('i', { class: `lamp ${store.connected ? (store.bot.online ? 'on' : 'off') : 'lost'}` }),
      h('span', { class: 'top-bot-text', text: !store.connected ? 'sandbox not reachable' : store.bot.online ? 'bot online' : botState() }));
    if (store.you) fill(you, avatar(store.you, { size: 20, className: 'avatar tiny' }), h('span', null, h('span', { class: 'wide-only', text: 'you are ' }), nameOf(store.you)), icon('chevron', 14));
  };
  ['hello', 'bot', 'connection'].forEach((t) => on(t, draw));
  on('tools-shown', (shown) => tools.setAttribute('aria-pressed', String(shown)));
  draw();
  return h('div', { class: 'top', role: 'banner' }, what, bot, h('span', { class: 'grow' }), you, tools);
}

const botState = () => ({ starting: 'bot starting…', stopped: 'bot stopped', crashed: 'bot crashed', external: 'bot not connected' }[store.bot.state] ?? 'bot offline');

/** The menu of people to act as. */
on('switch', (anchor) => {
  const people = [...store.users.values()].filter((u) => !u.bot && !u.system && store.members.has(u.id));
  menu(anchor, people.map((u) => ({
    label: nameOf(u), note: u.id === store.you.id ? 'you' : '', face: avatar(u, { size: 24 }),
    iconNode: u.id === store.you.id ? icon('check', 18) : null, run: () => u.id !== store.you.id && say('become', u.id),
  })), { side: 'end' });
});

/** The line above the messages. */
export function channelHeader() {
  const title = h('div', { class: 'channel-title' });
  const el = h('header', { class: 'channel-header' },
    button({ class: 'ghost menu-button', 'aria-label': 'Channels', 'aria-controls': 'channel-drawer', on: { click: () => say('drawer', true) } }, icon('menu', 24)),
    title, h('span', { class: 'grow' }),
    button({ class: 'ghost members-button', 'aria-label': 'Members', title: 'Members', on: { click: () => say('members') } }, icon('people', 22)));
  const draw = () => {
    const c = store.channels.get(store.open);
    if (!c) { fill(title); return; }
    const parent = THREAD_TYPES.has(c.type) ? store.channels.get(c.parent_id) : null;
    fill(title,
      parent && [button({ class: 'crumb', on: { click: () => say('open', parent.id) } }, icon(channelIcon(parent), 20), parent.name), h('span', { class: 'crumb-sep', 'aria-hidden': 'true' }, icon('right', 14))],
      icon(channelIcon(c), 24), h('h2', { text: c.name }), isNsfw(c) && h('span', { class: 'nsfw', text: 'NSFW', title: 'Age-restricted' }),
      c.topic && [h('i', { class: 'topic-line' }), h('p', { class: 'topic', title: plainText(c.topic) }, inlineMarkdown(c.topic))]);
    document.title = `${THREAD_TYPES.has(c.type) ? '' : '#'}${c.name} · ${store.guild?.name ?? ''} (sandbox)`;
  };
  ['hello', 'channels', 'opened'].forEach((t) => on(t, () => queueMicrotask(draw)));
  return el;
}

/** Who is here. */
export function memberList() {
  const el = h('aside', { class: 'members', 'aria-label': 'Members' });
  const draw = () => {
    const all = [...store.members.values()].map((m) => store.users.get(m.user.id) ?? m.user);
    const people = all.filter((u) => !u.bot);
    const bots = all.filter((u) => u.bot);
    fill(el, group('Players', people), group(store.bot.online ? 'Apps' : 'Apps, offline', bots));
  };
  ['hello', 'bot', 'channels'].forEach((t) => on(t, draw));
  return el;
}

function group(name, users) {
  if (!users.length) return null;
  return [h('h3', { text: `${name} — ${users.length}` }), h('ul', null, users.map((u) => h('li', null,
    button({ class: `member${u.bot && !store.bot.online ? ' away' : ''}`, on: { click: (e) => say('profile', { user: u, name: nameOf(u), anchor: e.currentTarget }) } },
      h('span', { class: 'status-face' }, avatar(u, { size: 32 }), h('i', { class: `status ${u.bot && !store.bot.online ? 'offline' : 'online'}` })),
      h('span', { class: 'member-name', text: nameOf(u), style: { color: roleColour(u) ?? 'inherit' } }), u.bot && h('span', { class: 'tag', text: 'APP' })))))];
}

on('profile', ({ user, name, anchor, webhook }) => {
  if (!user) return;
  const real = !webhook && store.members.has(user.id);
  const roles = (store.members.get(user.id)?.roles ?? []).map((id) => store.roles.get(id)).filter(Boolean);
  const card = h('div', { class: 'profile', role: 'dialog', 'aria-label': name, tabindex: '-1', style: { '--banner': roleColour(user) ?? 'var(--brand)' } },
    h('div', { class: 'profile-banner' }), h('div', { class: 'profile-face' }, avatar(user, { size: 80, name })),
    h('div', { class: 'profile-body' }, h('h3', null, name, (user.bot || webhook) && h('span', { class: 'tag', text: 'APP' })),
      h('p', { class: 'muted', text: webhook ? 'Speaks through a webhook of this channel' : user.username }),
      !webhook && roles.length > 0 && h('div', { class: 'roles' }, roles.map((r) => h('span', { class: 'role', style: { '--dot': r.color ? `#${r.color.toString(16).padStart(6, '0')}` : '#99aab5' }, text: r.name }))),
      real && !user.bot && user.id !== store.you?.id && button({ class: 'btn primary', on: { click: () => { pop.close(); say('become', user.id); } } }, `Act as ${name}`)));
  const pop = popover(anchor, card, { className: 'profiles', side: 'right' });
  card.focus();
});
