/** What a person may do with a message: the toolbar that appears on it, and its menu. */

import { button, coarse, h } from './dom.js';
import { pickEmoji } from './emoji.js';
import { icon } from './icons.js';
import { invoke } from './interactions.js';
import { authorName, startEdit } from './message.js';
import { api } from './net.js';
import { menu } from './popover.js';
import { dismiss, historyOf, on, say, store } from './store.js';

const MESSAGE_COMMAND = 3;
const LONG_PRESS_MS = 450;
const EPHEMERAL = 64;

const find = (el) => {
  const li = el.closest?.('.message');
  return li && historyOf(store.open).byId.get(li.dataset.id);
};

const mine = (m) => m.author?.id === store.you?.id && !m.webhook_id && [0, 19].includes(m.type ?? 0);
const mayDelete = (m) => mine(m) || store.guild?.owner_id === store.you?.id;

async function attempt(channel, work) {
  try { await work(); } catch (error) { say('notice', { channel, text: error.message, bad: true }); }
}

function appItems(m) {
  return store.commands.filter((c) => c.type === MESSAGE_COMMAND).map((c) => ({
    label: c.name,
    run: () => invoke('menu', { channel: m.channel_id, message: m.id, name: c.name }, [], c.name),
  }));
}

function items(m, anchor) {
  if (m.flags & EPHEMERAL) {
    return [copy(m), { label: 'Dismiss Message', iconNode: icon('close', 18), run: () => dismiss(m.channel_id, m.id) }];
  }
  const apps = appItems(m);
  return [
    { label: 'Add Reaction', iconNode: icon('smile', 18), run: () => pickEmoji(anchor, (emoji) => say('react', { message: m, emoji })) },
    { label: 'Reply', iconNode: icon('reply', 18), run: () => say('reply', m) },
    mine(m) && { label: 'Edit Message', iconNode: icon('pencil', 18), run: () => startEdit(m) },
    copy(m),
    { label: 'Apps', items: apps.length ? apps : [{ label: 'No apps offer anything here', disabled: true }] },
    null,
    { label: 'Copy Message ID', iconNode: icon('id', 18), run: () => navigator.clipboard?.writeText(m.id) },
    mayDelete(m) && { label: 'Delete Message', danger: true, iconNode: icon('trash', 18), run: () => say('delete', m) },
  ].filter((i) => i !== false);
}

const copy = (m) => ({ label: 'Copy Text', iconNode: icon('copy', 18), run: () => navigator.clipboard?.writeText(m.content ?? '') });

function openMenu(m, point, anchor) {
  const li = document.getElementById(`m-${m.id}`);
  li?.classList.add('menu-open');
  menu(point, items(m, anchor ?? point), { onClose: () => li?.classList.remove('menu-open') });
}

function toolbar(m) {
  const tool = (label, name, run) => button({ class: 'tool', 'aria-label': label, title: label, on: { click: (e) => run(e.currentTarget) } }, icon(name));
  const hidden = m.flags & EPHEMERAL;
  return h('div', { class: 'toolbar', role: 'toolbar', 'aria-label': `Actions for the message of ${authorName(m)}` },
    !hidden && tool('Add reaction', 'smile', (el) => pickEmoji(el, (emoji) => say('react', { message: m, emoji }))),
    !hidden && (mine(m) ? tool('Edit', 'pencil', () => startEdit(m)) : tool('Reply', 'reply', () => say('reply', m))),
    !hidden && appItems(m).length > 0 && tool('Apps', 'apps', (el) => menu(el, appItems(m), { side: 'end' })),
    !hidden && mayDelete(m) && tool('Delete', 'trash', (el) => confirmDelete(m, el)),
    tool('More', 'dots', (el) => openMenu(m, el, el)));
}

function confirmDelete(m, el) {
  menu(el, [{ label: 'Delete this message', danger: true, iconNode: icon('trash', 18), run: () => say('delete', m) }, { label: 'Keep it' }], { side: 'end' });
}

/** Wires a feed: hover and focus bring the toolbar; right click, long press and the menu key bring the menu. */
export function watchMessages(list) {
  let bar = null;
  let barOf = '';
  const showOn = (target) => {
    const li = target.closest?.('.message');
    const m = li && find(li);
    if (!m || (bar?.isConnected && barOf === m.id && li.contains(bar))) return;
    bar?.remove();
    if (m.pending) return;
    barOf = m.id;
    bar = toolbar(m);
    li.append(bar);
  };
  const hide = () => { if (!document.querySelector('.popover')) { bar?.remove(); bar = null; } };
  if (!coarse()) {
    list.addEventListener('pointerover', (e) => { if (!document.querySelector('.popover')) showOn(e.target); });
    list.addEventListener('pointerleave', hide);
  }
  list.addEventListener('focusin', (e) => { if (e.target.matches(':focus-visible')) showOn(e.target); });
  list.addEventListener('focusout', (e) => { if (!list.contains(e.relatedTarget)) hide(); });
  list.addEventListener('contextmenu', (e) => {
    const m = find(e.target);
    if (!m || e.target.closest('a, textarea, input') || String(getSelection()).length) return;
    e.preventDefault();
    const keyboard = e.button !== 2;
    const box = e.target.getBoundingClientRect();
    openMenu(m, keyboard ? { x: box.left + 80, y: box.top + 20 } : { x: e.clientX, y: e.clientY });
  });
  longPress(list);
}

function longPress(list) {
  let timer = 0;
  let start = null;
  list.addEventListener('pointerdown', (e) => {
    if (e.pointerType !== 'touch') return;
    start = { x: e.clientX, y: e.clientY };
    const m = find(e.target);
    if (m) timer = setTimeout(() => { navigator.vibrate?.(10); openMenu(m, start); }, LONG_PRESS_MS);
  });
  const cancel = (e) => {
    if (e.type === 'pointermove' && start && Math.hypot(e.clientX - start.x, e.clientY - start.y) < 10) return;
    clearTimeout(timer);
  };
  ['pointermove', 'pointerup', 'pointercancel'].forEach((name) => list.addEventListener(name, cancel));
}

on('react', ({ message, emoji, remove = false }) => attempt(message.channel_id, () => api('react', { channel: message.channel_id, message: message.id, emoji, remove })));
on('pick', ({ message, anchor }) => pickEmoji(anchor, (emoji) => say('react', { message, emoji })));
on('edit', ({ message, content }) => attempt(message.channel_id, () => api('edit', { channel: message.channel_id, message: message.id, content })));
on('delete', (message) => attempt(message.channel_id, () => api('delete', { channel: message.channel_id, message: message.id })));
