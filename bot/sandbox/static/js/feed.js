/**
 * The list of messages of the open channel: draws what changed and nothing else, keeps the eye
 * where it was, loads older pages when the top comes near.
 */

import { h } from './dom.js';
import { api } from './net.js';
import { LOADING, continues, drawMessage, editing, spokenMessage } from './message.js';
import { channelIntro } from './intro.js';
import { applyHistory, historyOf, on, say, store } from './store.js';
import { dayName, olderFirst, sameDay } from './time.js';
import { lastRead, markRead } from './unread.js';

const PAGE = 50;
const NEAR_TOP = 600; // px from the top at which the next page is asked for
const NEAR_END = 60; // px from the end within which new messages pull the view along
const KEEP = 400; // messages kept in the page while reading at the end

export class Feed {
  constructor() {
    this.list = h('ol', { class: 'feed', role: 'log', 'aria-label': 'Messages', 'aria-live': 'off' });
    this.scroller = h('div', { class: 'scroller', tabindex: '-1' }, this.list);
    // `aria-live` sits on a line of its own: an answer that streams is re-drawn once a second and
    // would be read from the start each time. It is spoken when it has been quiet for a moment.
    this.voice = h('div', { class: 'sr-only', 'aria-live': 'polite', role: 'status' });
    this.spoken = new Map();
    this.channel = '';
    this.stuck = true;
    this.loading = false;
    this.newFrom = '';
    this.nodes = new Map();
    this.held = ''; // the message under a finger or a mouse button that is down
    this.late = new Set(); // messages that changed meanwhile
    this.list.addEventListener('pointerdown', (e) => { this.letGo(); this.held = e.target.closest('.message')?.dataset.id ?? ''; });
    // The click comes after the pointer is up, so the redrawing waits for it.
    ['pointerup', 'pointercancel'].forEach((name) => document.addEventListener(name, () => setTimeout(() => this.letGo())));
    this.scroller.addEventListener('scroll', () => this.scrolled(), { passive: true });
    this.list.addEventListener('keydown', (e) => this.arrows(e));
    new ResizeObserver(() => this.stuck && this.toEnd()).observe(this.list);
    new ResizeObserver(() => this.stuck && this.toEnd()).observe(this.scroller);
    this.list.addEventListener('load', () => this.stuck && this.toEnd(), true);
    on('messages', (d) => d.channel === this.channel && this.changed(d));
  }

  /** Shows another channel. */
  async open(channel) {
    this.channel = channel;
    this.stuck = true;
    this.loading = false;
    const read = lastRead(channel);
    const last = store.channels.get(channel)?.last_message_id;
    this.newFrom = read && last && olderFirst(last, read) > 0 ? read : '';
    this.redraw();
    this.toEnd();
    if (!historyOf(channel).loaded) await this.page();
    if (this.channel === channel) { this.toEnd(); this.seen(); }
  }

  async page() {
    const { channel } = this;
    const history = historyOf(channel);
    if (!channel || this.loading || history.complete) return;
    this.loading = true;
    this.list.classList.add('loading');
    try {
      const oldest = history.loaded ? history.list.find((m) => !(m.flags & 64))?.id : undefined;
      const { messages } = await api('history', { channel, limit: PAGE, ...(oldest ? { before: oldest } : {}) });
      applyHistory(channel, messages, PAGE);
    } catch (error) {
      say('notice', { channel, text: error.message, bad: true });
      history.loaded = true;
    } finally {
      this.list.classList.remove('loading');
      this.loading = false;
    }
    if (this.channel === channel) this.redraw();
  }

  redraw() {
    const { scroller } = this;
    const fromEnd = scroller.scrollHeight - scroller.scrollTop;
    this.nodes.clear();
    const history = historyOf(this.channel);
    const items = [];
    if (history.complete) items.push(channelIntro(store.channels.get(this.channel)));
    else items.push(h('li', { class: 'skeletons', 'aria-hidden': 'true' }, [70, 45, 85, 60].map((w) => h('div', { class: 'skeleton' }, h('i'), h('b', { style: { width: `${w}%` } })))));
    let before = null;
    for (const m of history.list) {
      items.push(...this.dividers(m, before), this.node(m, before));
      before = m;
    }
    this.list.replaceChildren(...items);
    if (!this.stuck) scroller.scrollTop = scroller.scrollHeight - fromEnd;
    this.rove();
  }

  dividers(m, before) {
    const out = [];
    if (before && !sameDay(before.timestamp, m.timestamp)) {
      out.push(h('li', { class: 'day', role: 'separator', dataset: { of: m.id } }, h('span', { text: dayName(m.timestamp) })));
    }
    const own = m.author?.id === store.you?.id;
    if (this.newFrom && !own && olderFirst(m.id, this.newFrom) > 0 && (!before || olderFirst(before.id, this.newFrom) <= 0)) {
      out.push(h('li', { class: 'new-line', role: 'separator', 'aria-label': 'New messages', dataset: { of: m.id } }, h('span', { text: 'NEW' })));
    }
    return out;
  }

  node(m, before) {
    const el = drawMessage(m, before && sameDay(before.timestamp, m.timestamp) ? before : null);
    this.nodes.set(m.id, el);
    return el;
  }

  changed({ what, id }) {
    const { list } = historyOf(this.channel);
    const at = list.findIndex((m) => m.id === id);
    if (what === 'delete') this.remove(id);
    else if (at >= 0) this.place(at);
    if (this.stuck) { this.toEnd(); this.seen(); this.trim(); } else say('behind', this.channel);
    if (at >= 0) this.speak(list[at], what);
  }

  remove(id) {
    const el = this.nodes.get(id);
    this.nodes.delete(id);
    clearTimeout(this.spoken.get(id));
    this.spoken.delete(id);
    this.list.querySelectorAll(`[data-of="${CSS.escape(id)}"]`).forEach((line) => line.remove());
    const next = el?.nextElementSibling?.dataset.id;
    el?.remove();
    this.regroup(next);
  }

  // A button that is replaced between press and release gets no click: an answer that streams
  // would swallow every tenth press of its Stop button.
  letGo() {
    const ids = [...this.late];
    this.held = '';
    this.late.clear();
    const { list } = historyOf(this.channel);
    ids.map((id) => list.findIndex((m) => m.id === id)).filter((at) => at >= 0).forEach((at) => this.place(at));
  }

  place(at) {
    const { list } = historyOf(this.channel);
    const m = list[at];
    const old = this.nodes.get(m.id);
    if (old && m.id === this.held) { this.late.add(m.id); return; }
    const before = list[at - 1] ?? null;
    const focus = old?.contains(document.activeElement) ? document.activeElement : null;
    const fresh = this.node(m, before);
    if (old) old.replaceWith(fresh);
    else {
      const next = list.slice(at + 1).map((x) => this.nodes.get(x.id)).find(Boolean) ?? null;
      [...this.dividers(m, before), fresh].forEach((el) => this.list.insertBefore(el, next));
      this.regroup(list[at + 1]?.id);
    }
    if (focus) refocus(fresh, focus);
    this.rove();
  }

  // The message after an inserted or removed one may gain or lose its head.
  regroup(id) {
    if (!id) return;
    const { list } = historyOf(this.channel);
    const at = list.findIndex((m) => m.id === id);
    if (at < 0 || editing.id === id) return;
    const el = this.nodes.get(id);
    const wants = continues(list[at], list[at - 1]);
    if (el && wants !== el.classList.contains('grouped')) this.place(at);
  }

  // A long evening must not make the page slow: what scrolled far away is read again when wanted.
  trim() {
    const history = historyOf(this.channel);
    if (history.list.length <= KEEP + PAGE || this.loading) return;
    for (const m of history.list.splice(0, history.list.length - KEEP)) {
      history.byId.delete(m.id);
      this.remove(m.id);
    }
    history.complete = false;
    this.redraw();
  }

  toEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  /** The "jump to present" press. */
  jumpToEnd() {
    this.stuck = true;
    this.toEnd();
    this.seen();
    say('behind', '');
  }

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const was = this.stuck;
    this.stuck = scrollHeight - scrollTop - clientHeight < NEAR_END;
    if (this.stuck !== was) say('stuck', this.stuck);
    if (this.stuck && !was) { this.seen(); say('behind', ''); }
    if (scrollTop < NEAR_TOP && historyOf(this.channel).loaded && this.list.childElementCount > 1) this.page();
  }

  seen() {
    if (document.visibilityState === 'visible') markRead(this.channel);
  }

  /** Scrolls to a message and lights it up; loads older pages until it is there (at most 20). */
  async jump(id) {
    for (let i = 0; i < 20 && !this.nodes.has(id) && !historyOf(this.channel).complete; i += 1) await this.page();
    const el = this.nodes.get(id);
    if (!el) return;
    this.stuck = false;
    el.scrollIntoView({ block: 'center' });
    el.classList.add('lit');
    setTimeout(() => el.classList.remove('lit'), 2000);
  }

  speak(m, what) {
    if (m.author?.id === store.you?.id || (what === 'update' && !this.spoken.has(m.id))) return;
    clearTimeout(this.spoken.get(m.id));
    if (m.flags & LOADING) { this.spoken.set(m.id, 0); return; } // what it thinks of is worth hearing, not that it thinks
    this.spoken.set(m.id, setTimeout(() => {
      this.spoken.delete(m.id);
      this.voice.textContent = spokenMessage(m);
    }, 1500));
  }

  // One stop for the Tab key in the whole list; arrows walk the messages.
  rove() {
    const all = [...this.nodes.values()];
    const last = [...this.list.querySelectorAll('.message')].pop();
    all.forEach((el) => { el.tabIndex = el === last ? 0 : -1; });
  }

  arrows(event) {
    if (!event.target.classList?.contains('message')) return;
    const step = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key];
    if (!step) return;
    event.preventDefault();
    let el = event.target[step];
    while (el && !el.classList.contains('message')) el = el[step];
    el?.focus();
  }
}

// A swipe re-draws the message under the pressed button: the focus stays on its successor.
function refocus(fresh, was) {
  const cid = was.dataset?.cid;
  const same = cid ? [...fresh.querySelectorAll('[data-cid]')].find((el) => el.dataset.cid === cid) : null;
  const label = was.getAttribute('aria-label') ?? was.textContent;
  const alike = same ?? [...fresh.querySelectorAll('.btn')].find((el) => (el.getAttribute('aria-label') ?? el.textContent) === label);
  if (was.tagName === 'TEXTAREA') fresh.querySelector('textarea')?.focus();
  else (alike ?? (was.classList.contains('message') ? fresh : null))?.focus({ preventScroll: true });
}
