/** A chosen slash command in the composer: its options as pills, with their lists, until it is sent. */

import { OPTION, kindOf, problemWith } from './commands.js';
import { button, bytes, debounce, fill, h } from './dom.js';
import { icon } from './icons.js';
import { invoke } from './interactions.js';
import { api } from './net.js';
import { avatar, nameOf } from './people.js';
import { store } from './store.js';
import { Suggest } from './suggest.js';

const AUTOCOMPLETE_MS = 200; // each question is an interaction: not one per keystroke
const BOOLEANS = [{ label: 'True', value: true }, { label: 'False', value: false }];

export class CommandForm {
  /** `onDone(sent)` is called when the command was sent or given up. */
  constructor(command, channel, onDone) {
    this.command = command;
    this.channel = channel;
    this.onDone = onDone;
    this.fields = new Map();
    this.asked = 0;
    this.suggest = new Suggest((item) => this.pick(item));
    this.error = h('p', { class: 'command-error', role: 'alert' });
    this.pills = h('div', { class: 'pills' });
    this.more = button({ class: 'pill more', on: { click: () => this.offer() } });
    this.el = h('div', { class: 'command-form', role: 'group', 'aria-label': `Command /${command.name}` },
      h('span', { class: 'command-name', text: `/${command.name}` }), this.pills, this.more,
      h('span', { class: 'grow' }),
      button({ class: 'ghost', 'aria-label': 'Give up the command', on: { click: () => this.done(false) } }, icon('close', 18)),
      button({ class: 'ghost send', 'aria-label': 'Run the command', on: { click: () => this.submit() } }, icon('send', 20)));
    this.el.addEventListener('keydown', (e) => this.key(e));
    command.options.filter((o) => o.required).forEach((o) => this.addPill(o));
    this.drawMore();
    this.ask = debounce((o) => this.askChoices(o), AUTOCOMPLETE_MS);
  }

  focus() {
    const first = [...this.fields.values()][0];
    if (first) first.input.focus();
    else if (this.rest().length) this.more.focus();
    else this.el.querySelector('.send').focus();
  }

  rest() { return this.command.options.filter((o) => !this.fields.has(o.name)); }

  drawMore() {
    const n = this.rest().length;
    this.more.hidden = !n;
    this.more.textContent = `+${n} optional`;
  }

  offer() {
    this.adding = true;
    this.suggest.show(this.more, 'Optional', this.rest().map((o) => ({ label: o.name, note: o.description, value: o.name })));
    this.more.focus();
  }

  addPill(option) {
    const field = { option, value: '', shown: '' };
    const label = h('label', { class: 'pill-name', for: `option-${option.name}`, text: option.name });
    const input = option.type === OPTION.ATTACHMENT ? this.fileInput(field) : this.textInput(field);
    field.input = input;
    field.pill = h('div', { class: 'pill' }, label, input.shell ?? input, field.picker);
    field.pill.addEventListener('pointerdown', (e) => { if (e.target === label) return; if (!field.pill.querySelector('input,button').contains(e.target)) { e.preventDefault(); input.focus(); } });
    this.fields.set(option.name, field);
    this.pills.append(field.pill);
    this.drawMore();
    return field;
  }

  textInput(field) {
    const { option } = field;
    const input = h('input', { id: `option-${option.name}`, class: 'pill-input', type: 'text', autocomplete: 'off', spellcheck: 'false', role: 'combobox', 'aria-expanded': 'false', 'aria-autocomplete': 'list', size: '4', 'aria-required': String(!!option.required) });
    const fit = () => { input.size = Math.max(4, Math.min(60, [...input.value].length + 1)); };
    input.addEventListener('input', () => { field.value = input.value; field.fixed = false; fit(); this.clearError(field); this.list(field); });
    input.addEventListener('focus', () => { this.current = field; this.adding = false; this.list(field); });
    input.addEventListener('blur', () => setTimeout(() => { if (!this.el.contains(document.activeElement)) this.suggest.hide(); }, 150));
    field.fit = fit;
    return input;
  }

  fileInput(field) {
    const pick = h('input', { type: 'file', class: 'sr-only', tabindex: '-1', 'aria-label': field.option.name });
    const show = button({ id: `option-${field.option.name}`, class: 'pill-file', 'aria-label': `${field.option.name}: choose a file` }, icon('file', 16), 'Choose a file');
    const set = (file) => {
      field.value = file ?? '';
      fill(show, icon('file', 16), file ? `${file.name} · ${bytes(file.size)}` : 'Choose a file');
      show.classList.toggle('set', !!file);
      this.clearError(field);
    };
    field.setFile = set;
    field.picker = pick;
    show.addEventListener('click', () => pick.click());
    show.addEventListener('focus', () => { this.current = field; this.suggest.show(show, `${field.option.name} — ${field.option.description ?? ''}`, [], 'Choose a file, or drop it anywhere on this page.'); });
    pick.addEventListener('change', () => { set(pick.files[0]); show.focus(); });
    return show;
  }

  /** A dropped or pasted file goes to the first attachment option that is still empty. */
  takeFile(file) {
    const free = [...this.fields.values()].find((f) => f.option.type === OPTION.ATTACHMENT && !f.value)
      ?? [...this.fields.values()].find((f) => f.option.type === OPTION.ATTACHMENT);
    const option = free ? null : this.rest().find((o) => o.type === OPTION.ATTACHMENT);
    const field = free ?? (option && this.addPill(option));
    field?.setFile(file);
    return !!field;
  }

  list(field) {
    const { option, input } = field;
    const title = `${option.name} — ${option.description || kindOf(option)}`;
    const typed = String(input.value).toLowerCase();
    const fits = (item) => item.label.toLowerCase().includes(typed) || field.fixed;
    if (option.choices?.length) this.suggest.show(input, title, option.choices.map((c) => ({ label: c.name, value: c.value })).filter(fits));
    else if (option.type === OPTION.BOOLEAN) this.suggest.show(input, title, BOOLEANS.filter(fits));
    else if (option.type === OPTION.USER || option.type === OPTION.MENTIONABLE) this.suggest.show(input, title, people(option).filter(fits));
    else if (option.type === OPTION.ROLE) this.suggest.show(input, title, roles().filter(fits));
    else if (option.type === OPTION.CHANNEL) this.suggest.show(input, title, channels(option).filter(fits));
    else if (option.autocomplete) { if (!this.suggest.open || this.suggest.field !== input) this.suggest.show(input, title, [], 'Loading…'); this.ask(field); } else this.suggest.show(input, title, [], option.description ? '' : kindOf(option));
  }

  async askChoices(field) {
    const question = (this.asked += 1);
    const title = `${field.option.name} — ${field.option.description ?? ''}`;
    try {
      const { choices } = await api('autocomplete', {
        channel: this.channel, command: this.command.path, options: this.values().options, focused: field.option.name,
      });
      if (question !== this.asked || this.current !== field || !this.el.isConnected) return;
      this.suggest.show(field.input, title, choices.map((c) => ({ label: c.name, value: c.value })), choices.length ? '' : 'Nothing matches.');
    } catch {
      if (question === this.asked && this.current === field) this.suggest.show(field.input, title, [], 'Loading the options failed.');
    }
  }

  pick(item) {
    if (this.adding) {
      this.adding = false;
      const option = this.rest().find((o) => o.name === item.value);
      if (option) this.addPill(option).input.focus();
      return;
    }
    const field = this.current;
    if (!field) return;
    Object.assign(field, { value: item.value, fixed: true });
    field.input.value = item.label;
    field.fit?.();
    this.clearError(field);
    this.suggest.hide();
    this.next(field);
  }

  next(field) {
    const all = [...this.fields.values()];
    const following = all.slice(all.indexOf(field) + 1).find((f) => f.value === '');
    following?.input.focus();
  }

  key(e) {
    if (e.isComposing) return;
    if (this.suggest.key(e)) { e.preventDefault(); e.stopPropagation(); return; }
    const field = [...this.fields.values()].find((f) => f.input === document.activeElement);
    if (e.key === 'Escape') { e.preventDefault(); this.done(false); }
    if (e.key === 'Enter' && field && field.option.type !== OPTION.ATTACHMENT) { e.preventDefault(); this.submit(); }
    if (e.key === 'Enter' && field?.setFile && field.value) { e.preventDefault(); this.submit(); }
    if (e.key === 'Backspace' && field && (field.setFile || field.input.value === '')) { e.preventDefault(); this.removeOrLeave(field); }
  }

  removeOrLeave(field) {
    const all = [...this.fields.values()];
    if (field.setFile && field.value) { field.setFile(null); return; }
    if (!field.option.required) {
      field.pill.remove();
      this.fields.delete(field.option.name);
      this.drawMore();
      (all[all.indexOf(field) - 1]?.input ?? this.more).focus();
      return;
    }
    if (all.indexOf(field) === 0) this.done(false);
    else all[all.indexOf(field) - 1].input.focus();
  }

  clearError(field) {
    field.pill?.classList.remove('wrong');
    this.error.textContent = '';
  }

  values() {
    const options = {};
    const files = [];
    for (const { option, value, fixed } of this.fields.values()) {
      if (value === '' || value === null) continue;
      if (option.type === OPTION.ATTACHMENT) options[option.name] = { $file: files.push(value) - 1 };
      else if (!fixed && (option.type === OPTION.INTEGER || option.type === OPTION.NUMBER)) options[option.name] = Number(value);
      else options[option.name] = value;
    }
    return { options, files };
  }

  problem(field) {
    const { option, value, fixed } = field;
    const missing = problemWith(option, value);
    if (missing || value === '' || fixed) return missing;
    const listed = option.choices?.length || [OPTION.BOOLEAN, OPTION.USER, OPTION.CHANNEL, OPTION.ROLE, OPTION.MENTIONABLE].includes(option.type);
    if (!listed) return '';
    const exact = this.suggest.items.find((i) => i.label.toLowerCase() === String(value).toLowerCase());
    if (!exact) return 'Please choose from the list.';
    Object.assign(field, { value: exact.value, fixed: true });
    return '';
  }

  submit() {
    for (const field of this.fields.values()) {
      const problem = this.problem(field);
      if (!problem) continue;
      field.pill.classList.add('wrong');
      field.input.focus();
      this.error.textContent = `${field.option.name}: ${problem}`;
      return;
    }
    const { options, files } = this.values();
    invoke('slash', { channel: this.channel, command: this.command.path, options }, files, `/${this.command.name}`);
    this.done(true);
  }

  done(sent) {
    this.asked += 1;
    this.suggest.hide();
    this.onDone(sent);
  }
}

const people = (option) => [...store.users.values()].filter((u) => store.members.has(u.id)).map((u) => ({ label: nameOf(u), note: u.username, face: avatar(u, { size: 24 }), value: u.id }))
  .concat(option.type === OPTION.MENTIONABLE ? roles() : []);
const roles = () => [...store.roles.values()].map((r) => ({ label: r.name, value: r.id }));
const channels = (option) => [...store.channels.values()].filter((c) => !option.channel_types?.length || option.channel_types.includes(c.type))
  .map((c) => ({ label: c.name, value: c.id, face: icon('hash', 18) }));
