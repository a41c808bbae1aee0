/** Puts the page together and lets the two lines to the sandbox feed it. */

import { watchMessages } from './actions.js';
import { Composer } from './composer.js';
import { button, fill, h, narrow } from './dom.js';
import { Feed } from './feed.js';
import { forumView } from './forum.js';
import { channelHeader, memberList, topBar } from './header.js';
import { icon } from './icons.js';
import './modal.js';
import { Link, me } from './net.js';
import { closePopover } from './popover.js';
import { sidebar } from './sidebar.js';
import { FORUM_TYPES, applyEvent, applyHello, historyOf, on, say, store } from './store.js';
import { toolsDrawer } from './tools.js';

const LOG_LINES = 400;

const feed = new Feed();
const composer = new Composer();
const forum = forumView();
const tools = toolsDrawer();
const left = sidebar();
const members = memberList();
const scrim = button({ class: 'scrim', 'aria-label': 'Close the channel list', on: { click: () => drawer(false) } });
const jump = button({ class: 'jump', hidden: true, on: { click: () => feed.jumpToEnd() } });
const notices = h('div', { class: 'notices', role: 'alert' });
const toast = h('div', { class: 'toast', role: 'status', hidden: true });
const chat = h('div', { class: 'chat' }, feed.scroller, jump, notices, composer.el);
const app = document.getElementById('app');

fill(app, topBar(), h('div', { class: 'columns' }, left, scrim,
  h('main', { class: 'middle' }, channelHeader(), h('div', { class: 'under-header' }, chat, forum, members)), tools), feed.voice, toast);
watchMessages(feed.list);
if (matchMedia('(min-width: 1180px)').matches && localStorage.getItem('inglenook.members') !== 'off') app.classList.add('with-members');

function drawer(shown) {
  app.classList.toggle('drawer-open', shown);
  // What is off the screen must not be reached by the Tab key.
  left.inert = narrow() && !shown;
  if (shown) left.querySelector('.here')?.focus();
}

on('drawer', drawer);
on('tools-shown', (shown) => app.classList.toggle('with-tools', shown));
on('members', () => {
  const shown = app.classList.toggle('with-members');
  localStorage.setItem('inglenook.members', shown ? 'on' : 'off');
});
matchMedia('(max-width: 720px)').addEventListener('change', () => drawer(false));

// A thread that was just made may be asked for before the news of it has come.
let awaited = '';

on('open', (id) => {
  const channel = store.channels.get(id);
  awaited = channel ? '' : id;
  if (!channel) return;
  closePopover();
  store.open = id;
  history.replaceState(null, '', `#/${id}`);
  const isForum = FORUM_TYPES.has(channel.type);
  chat.hidden = isForum;
  forum.hidden = !isForum;
  say('opened', id);
  jump.hidden = true;
  fill(notices);
  if (isForum) forum.show(id);
  else feed.open(id);
  drawer(false);
});

on('hello', () => {
  const wanted = location.hash.slice(2);
  const known = (id) => store.channels.has(id) && id;
  const first = [...store.channels.values()].filter((c) => c.type === 0).sort((a, b) => (a.position ?? 0) - (b.position ?? 0))[0];
  const id = known(store.open) || known(wanted) || first?.id;
  if (id) say('open', id);
});

on('become', (id) => { me.id = id; feed.channel = ''; link.open(); });
on('jump', ({ channel, id }) => { if (!id) return; if (channel !== store.open) say('open', channel); feed.jump(id); });
on('jump-end', () => feed.jumpToEnd());
on('channels', () => { if (store.channels.has(awaited)) say('open', awaited); });
on('channels', () => { if (store.open && !store.channels.has(store.open)) { store.open = ''; say('hello'); } });

const showJump = () => {
  jump.hidden = feed.stuck;
  fill(jump, jump.dataset.news ? 'New messages' : 'Jump to present', icon('down', 16));
};
on('stuck', showJump);
on('behind', (channel) => { if (channel) jump.dataset.news = '1'; else delete jump.dataset.news; showJump(); });

on('notice', ({ channel, text, bad }) => {
  if (channel && channel !== store.open) return;
  const line = h('div', { class: `notice${bad ? ' bad' : ''}` }, icon(bad ? 'warn' : 'eye', 16), h('span', { text }), button({ class: 'ghost', 'aria-label': 'Dismiss', on: { click: () => line.remove() } }, icon('close', 14)));
  notices.append(line);
  setTimeout(() => line.remove(), 12_000);
});

let toastTimer = 0;
on('toast', (text) => {
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { toast.hidden = true; }, 4000);
});

const FRAMES = {
  hello(f) { if (f.you.id !== me.id) me.id = f.you.id; applyHello(f); },
  event: (f) => applyEvent(f.event, f.data),
  commands(f) { store.commands = f.commands; },
  interaction(f) { if (f.state === 'modal' && f.unasked) say('modal', f); },
  stats(f) { store.stats = f; say('stats', f); },
  bot(f) { store.bot = f.bot ?? { online: f.online, pid: f.pid, state: f.state }; say('bot'); },
  log(f) { store.logs.push(...f.lines); store.logs.splice(0, Math.max(0, store.logs.length - LOG_LINES)); say('log'); },
};

const link = new Link((frame) => FRAMES[frame.t]?.(frame), (connected) => { store.connected = connected; say('connection'); });
document.addEventListener('visibilitychange', () => { if (document.visibilityState === 'visible' && feed.stuck) feed.seen(); });
link.open();

// For the browser tests and for the curious.
window.sandbox = { store, historyOf, link };
