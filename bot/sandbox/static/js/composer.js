/** The line at the bottom: text, files, replies, slash commands, completions of @, # and :. */

import { CommandForm } from './command-form.js';
import { flatCommands, matchCommands } from './commands.js';
import { button, coarse, fill, h } from './dom.js';
import { findEmoji, pickEmoji, withEmoji } from './emoji.js';
import { icon } from './icons.js';
import { isNsfw } from './intro.js';
import { authorName, dots, startEdit } from './message.js';
import { api } from './net.js';
import { avatar, nameById, nameOf } from './people.js';
import { menu } from './popover.js';
import { FORUM_TYPES, THREAD_TYPES, dismiss, historyOf, insert, on, say, store } from './store.js';
import { Suggest } from './suggest.js';
import { MAX_BYTES, Uploads, dropTarget } from './uploads.js';

const MAX_LENGTH = 2000;
const TYPING_EVERY_MS = 8000; // Discord's clients repeat it while a person types
const NEAR_LIMIT = 200; // the counter shows when so many characters are left

export class Composer {
  constructor() {
    this.drafts = new Map();
    this.replyTo = null;
    this.form = null;
    this.typedAt = 0;
    this.area = h('textarea', { rows: '1', class: 'composer-text', 'aria-label': 'Message', autocomplete: 'off', role: 'combobox', 'aria-expanded': 'false', 'aria-autocomplete': 'list' });
    this.suggest = new Suggest((item) => this.complete(item));
    this.uploads = new Uploads();
    this.reply = h('div', { class: 'reply-bar', hidden: true });
    this.counter = h('span', { class: 'composer-count', 'aria-live': 'polite' });
    this.send = button({ class: 'ghost send', 'aria-label': 'Send', on: { click: () => this.submit() } }, icon('send', 22));
    this.line = h('div', { class: 'composer-line' },
      button({ class: 'ghost plus', 'aria-label': 'Add a file or run a command', on: { click: (e) => this.plus(e.currentTarget) } }, icon('plus', 22)),
      this.area, this.counter,
      button({ class: 'ghost', 'aria-label': 'Emoji', on: { click: (e) => pickEmoji(e.currentTarget, (emoji) => this.insertText(emoji.name)) } }, icon('smile', 22)), this.send);
    this.slot = h('div', { class: 'composer-slot' }, this.line);
    this.above = h('div', { class: 'suggest-slot' }, this.suggest.el);
    this.error = h('div', { class: 'error-slot' });
    this.typing = h('div', { class: 'typing', role: 'status' });
    this.el = h('div', { class: 'composer' }, this.above, this.error, this.reply,
      h('div', { class: 'composer-box' }, this.uploads.tray, this.uploads.input, this.slot), this.typing);
    this.listen();
  }

  listen() {
    this.area.addEventListener('input', () => this.typed());
    this.area.addEventListener('keydown', (e) => this.key(e));
    this.area.addEventListener('click', () => this.offer());
    this.area.addEventListener('blur', () => setTimeout(() => { if (document.activeElement !== this.area) this.suggest.hide(); }, 150));
    document.addEventListener('paste', (e) => this.paste(e));
    dropTarget((files) => this.take(files));
    on('opened', (id) => this.open(id));
    on('channels', () => this.label());
    on('typing', (channel) => channel === store.open && this.drawTyping());
    on('sending', ({ channel, label }) => { this.sending = label && channel === store.open ? label : ''; this.drawTyping(); });
    on('reply', (m) => { this.replyTo = m; this.drawReply(); this.area.focus(); });
    on('hello', () => { this.closeForm(); this.label(); });
    // Typing anywhere writes here, as in Discord.
    document.addEventListener('keydown', (e) => {
      const typing = e.key.length === 1 && !e.ctrlKey && !e.metaKey && !e.altKey;
      const busy = document.activeElement?.closest('input, textarea, select, dialog, .popover, [role=menu], .tools, .forum');
      const pressing = e.key === ' ' && document.activeElement?.matches('button, a, [role=button]');
      if (typing && !busy && !pressing && !this.el.hidden) (this.form ?? this.area).focus();
    });
  }

  open(id) {
    if (this.channel === id) return;
    if (this.channel) this.drafts.set(this.channel, this.area.value);
    this.channel = id;
    this.closeForm();
    this.replyTo = null;
    this.drawReply();
    this.area.value = this.drafts.get(id) ?? '';
    this.fit();
    this.label();
    this.drawTyping();
    this.suggest.hide();
    if (!coarse()) this.area.focus({ preventScroll: true });
  }

  label() {
    const c = store.channels.get(store.open);
    this.el.hidden = FORUM_TYPES.has(c?.type);
    const locked = c?.thread_metadata?.locked;
    this.area.disabled = !!locked;
    this.area.placeholder = locked ? 'This thread is locked' : c ? `Message ${THREAD_TYPES.has(c.type) ? c.name : `#${c.name}`}` : '';
    this.area.setAttribute('aria-label', this.area.placeholder || 'Message');
  }

  typed() {
    this.fit();
    this.offer();
    const now = Date.now();
    if (this.area.value.trim() && !this.area.value.startsWith('/') && now - this.typedAt > TYPING_EVERY_MS) {
      this.typedAt = now;
      api('typing', { channel: store.open }).catch(() => {});
    }
  }

  fit() {
    this.area.style.height = 'auto';
    this.area.style.height = `${Math.min(this.area.scrollHeight, innerHeight * 0.4)}px`;
    const left = MAX_LENGTH - [...this.area.value].length;
    this.counter.textContent = left < NEAR_LIMIT ? String(left) : '';
    this.counter.classList.toggle('over', left < 0);
    this.send.classList.toggle('ready', !!this.area.value.trim());
  }

  insertText(text) {
    this.area.setRangeText(text, this.area.selectionStart, this.area.selectionEnd, 'end');
    this.area.focus();
    this.typed();
  }

  plus(anchor) {
    const commands = flatCommands().length > 0;
    menu(anchor, [
      { label: 'Upload a File', iconNode: icon('file', 18), run: () => this.uploads.choose() },
      commands && { label: 'Use Apps', iconNode: icon('apps', 18), run: () => { this.area.value = '/'; this.area.focus(); this.typed(); } },
    ].filter(Boolean));
  }

  key(e) {
    if (e.isComposing) return;
    if (this.suggest.key(e)) { e.preventDefault(); e.stopPropagation(); return; }
    if (e.key === 'Enter' && !e.shiftKey && !(coarse() && !e.ctrlKey && matchMedia('(hover: none)').matches)) { e.preventDefault(); this.submit(); return; }
    if (e.key === 'Escape' && this.replyTo) { e.preventDefault(); this.replyTo = null; this.drawReply(); return; }
    if (e.key === 'Escape') { say('jump-end'); return; }
    if (e.key === 'ArrowUp' && !this.area.value) this.editLast(e);
  }

  editLast(e) {
    const own = historyOf(store.open).list.filter((m) => m.author?.id === store.you.id && !m.webhook_id && !m.pending && [0, 19].includes(m.type ?? 0)).pop();
    if (!own) return;
    e.preventDefault();
    startEdit(own);
  }

  // What is being written right before the cursor decides what is offered.
  offer() {
    const { value, selectionStart } = this.area;
    const before = value.slice(0, selectionStart);
    let m;
    if ((m = /^\/([^\n]{0,60})$/.exec(before))) this.offerCommands(m[1]);
    else if ((m = /(?:^|\s)@([^\s@]{0,32})$/.exec(before))) this.offerPeople(m[1]);
    else if ((m = /(?:^|\s)#([^\s#]{0,100})$/.exec(before))) this.offerChannels(m[1]);
    else if ((m = /(?:^|\s):(\w{2,32})$/.exec(before))) this.offerEmoji(m[1]);
    else this.suggest.hide();
  }

  offerCommands(typed) {
    const bot = [...store.users.values()].find((u) => u.bot);
    const nsfw = isNsfw(store.channels.get(store.open));
    const found = matchCommands(typed).filter((c) => !c.nsfw || nsfw);
    const face = () => avatar(bot, { size: 28 });
    const none = flatCommands().length ? 'No such command.' : 'No commands yet: they appear once the bot is online.';
    this.suggest.show(this.area, '', found.slice(0, 60).map((c) => ({
      kind: 'command', value: c.name, command: c, label: `/${c.name}`, note: c.description, face: face(), side: nameOf(bot), section: c.path.length > 1 ? c.path[0] : nameOf(bot),
      after: h('span', { class: 'suggest-options' }, c.options.slice(0, 4).map((o) => h('i', { class: o.required ? 'required' : '', text: o.name }))),
    })), found.length ? '' : none);
  }

  offerPeople(typed) {
    const q = typed.toLowerCase();
    const list = [...store.users.values()].filter((u) => store.members.has(u.id) && (nameOf(u).toLowerCase().includes(q) || u.username.includes(q)));
    this.suggest.show(this.area, 'Members', list.slice(0, 8).map((u) => ({ label: nameOf(u), side: u.username, face: avatar(u, { size: 24 }), value: `<@${u.id}>`, from: typed.length + 1 })));
  }

  offerChannels(typed) {
    const list = [...store.channels.values()].filter((c) => c.type !== 4 && c.name.toLowerCase().includes(typed.toLowerCase()));
    this.suggest.show(this.area, 'Channels', list.slice(0, 8).map((c) => ({ label: c.name, face: icon(THREAD_TYPES.has(c.type) ? 'thread' : 'hash', 20), value: `<#${c.id}>`, from: typed.length + 1 })));
  }

  offerEmoji(typed) {
    this.suggest.show(this.area, 'Emoji', findEmoji(typed, 8).map((e) => ({ label: `:${e.name}:`, face: h('span', { class: 'emoji unicode', text: e.char }), value: e.char, from: typed.length + 1 })));
  }

  complete(item) {
    if (item.kind === 'command') { this.openForm(item.command); return; }
    const end = this.area.selectionStart;
    this.area.setRangeText(`${item.value} `, end - item.from, end, 'end');
    this.suggest.hide();
    this.area.focus();
    this.fit();
  }

  openForm(command) {
    this.suggest.hide();
    this.form = new CommandForm(command, store.open, (sent) => {
      this.closeForm();
      if (!sent) this.area.value = '';
      this.fit();
      this.area.focus();
    });
    this.area.value = '';
    this.slot.replaceChildren(this.form.el);
    fill(this.above, this.form.suggest.el);
    fill(this.error, this.form.error);
    if (this.uploads.files.length && this.form.takeFile(this.uploads.files[0])) this.uploads.clear();
    this.form.focus();
  }

  closeForm() {
    if (!this.form) return;
    this.form = null;
    this.slot.replaceChildren(this.line);
    fill(this.above, this.suggest.el);
    fill(this.error);
  }

  paste(e) {
    const files = [...(e.clipboardData?.files ?? [])];
    if (!files.length || document.querySelector('dialog[open]')) return;
    e.preventDefault();
    this.take(files);
  }

  take(files) {
    if (this.form?.takeFile(files[0])) return;
    this.uploads.add(files);
    this.area.focus();
  }

  drawReply() {
    const m = this.replyTo;
    this.reply.hidden = !m;
    if (m) fill(this.reply, 'Replying to ', h('strong', { text: authorName(m) }), h('span', { class: 'grow' }), button({ class: 'ghost', 'aria-label': 'Do not reply', on: { click: () => { this.replyTo = null; this.drawReply(); } } }, icon('close', 16)));
  }

  drawTyping() {
    const names = [...(store.typing.get(store.open)?.keys() ?? [])].map(nameById);
    const words = names.length > 3 ? 'Several people are typing…' : names.length ? `${names.join(', ').replace(/, ([^,]*)$/, ' and $1')} ${names.length > 1 ? 'are' : 'is'} typing…` : '';
    fill(this.typing, (words || this.sending) && dots(), words ? h('span', { text: words }) : this.sending ? h('span', { text: `Sending ${this.sending}…` }) : '');
  }

  async submit() {
    const content = withEmoji(this.area.value.trim());
    const files = [...this.uploads.files];
    const channel = store.open;
    if (!content && !files.length) return;
    if (content.startsWith('/') && matchCommands(content.slice(1)).some((c) => c.name === content.slice(1))) {
      this.openForm(matchCommands(content.slice(1))[0]);
      return;
    }
    if ([...content].length > MAX_LENGTH) { say('notice', { channel, text: `Your message is too long: ${[...content].length} of ${MAX_LENGTH} characters.`, bad: true }); return; }
    if (files.some((f) => f.size > MAX_BYTES)) { say('notice', { channel, text: 'A file is larger than 10 MB. Please remove it.', bad: true }); return; }
    const reply = this.replyTo;
    this.area.value = '';
    this.drafts.delete(channel);
    this.replyTo = null;
    this.typedAt = 0;
    this.uploads.clear();
    this.drawReply();
    this.fit();
    this.suggest.hide();
    say('jump-end');
    await post({ channel, content, reply }, files);
  }
}

let pendingSerial = 0;

// The message stands there greyed until the sandbox has it; a failed one stays with its reason.
async function post({ channel, content, reply }, files) {
  const newest = historyOf(channel).list.at(-1)?.id ?? '1';
  const ghost = {
    id: `${BigInt(newest) + 1n}`, channel_id: channel, type: reply ? 19 : 0, author: store.you, content, timestamp: new Date().toISOString(), flags: 0, pending: true,
    attachments: files.map((f, i) => ({ id: String(i), filename: f.name, size: f.size, url: '', content_type: 'application/octet-stream' })), embeds: [], components: [], serial: pendingSerial += 1,
  };
  insert(ghost);
  say('messages', { what: 'create', channel, id: ghost.id, message: ghost });
  try {
    await api('say', { channel, content, ...(reply ? { reply: reply.id } : {}) }, files);
    dismiss(channel, ghost.id);
  } catch (error) {
    dismiss(channel, ghost.id);
    insert({ ...ghost, pending: false, failed: error.message });
    say('messages', { what: 'update', channel, id: ghost.id });
  }
}
