/** Select menus: strings, users, roles, mentionables and channels; one or several values. */

import { button, fill, h } from './dom.js';
import { icon } from './icons.js';
import { press } from './interactions.js';
import { face } from './markdown-dom.js';
import { avatar, nameOf } from './people.js';
import { popover } from './popover.js';
import { FORUM_TYPES, store } from './store.js';

/** The choices of a select: `{value, label, description?, emoji?, face?, chosen}`. */
export function choicesOf(c) {
  const chosen = new Set((c.default_values ?? []).map((d) => String(d.id)));
  const user = (u) => ({ value: u.id, label: nameOf(u), description: u.username, face: () => avatar(u, { size: 24 }), chosen: chosen.has(u.id) });
  const role = (r) => ({ value: r.id, label: `@${r.name}`, chosen: chosen.has(r.id) });
  switch (c.type) {
    case 5: return [...store.users.values()].map(user);
    case 6: return [...store.roles.values()].map(role);
    case 7: return [...[...store.users.values()].map(user), ...[...store.roles.values()].map(role)];
    case 8: return [...store.channels.values()]
      .filter((ch) => !c.channel_types?.length || c.channel_types.includes(ch.type))
      .map((ch) => ({ value: ch.id, label: ch.name, face: () => icon(FORUM_TYPES.has(ch.type) ? 'forum' : 'hash', 18), chosen: chosen.has(ch.id) }));
    default: return (c.options ?? []).map((o) => ({ ...o, label: o.label ?? o.value, chosen: !!o.default }));
  }
}

/** A select in a message: choosing acts at once (several values: when the list closes). */
export function select(c, message) {
  const el = field(c, (values) => press(message, el, 'select', { custom_id: c.custom_id, values }));
  return el;
}

/**
 * The control itself. `onChoose(values)` is called after a choice; it keeps its own state, so
 * that a modal can read `el.values`.
 */
export function field(c, onChoose = () => {}) {
  const choices = choicesOf(c);
  const min = c.min_values ?? 1;
  const max = Math.min(c.max_values ?? 1, Math.max(choices.length, 1));
  let values = choices.filter((o) => o.chosen).map((o) => o.value);
  const text = h('span', { class: 'select-value' });
  const el = button({ class: 'select', disabled: !!c.disabled, 'aria-haspopup': 'listbox', 'aria-expanded': 'false', dataset: { cid: c.custom_id ?? '' } }, text, icon('chevron', 20));
  const show = () => {
    const picked = choices.filter((o) => values.includes(o.value));
    text.classList.toggle('empty', !picked.length);
    fill(text, picked.length ? picked.map((o) => h('span', { class: 'picked' }, o.face?.(), face(o.emoji, o.label))) : c.placeholder || 'Make a selection');
    el.values = values;
    el.setAttribute('aria-label', `${c.placeholder || 'Choose'}: ${picked.map((o) => o.label).join(', ') || 'nothing chosen'}`);
  };
  show();
  el.addEventListener('click', () => {
    const before = values.join('\n');
    openList(el, choices, values, { min, max }, (next, done) => {
      values = next;
      show();
      el.dispatchEvent(new Event('choose'));
      if (done && (max === 1 || values.join('\n') !== before) && values.length >= min) onChoose(values);
    });
  });
  return el;
}

function openList(anchor, choices, values, { min, max }, report) {
  let chosen = [...values];
  const many = max > 1;
  const list = h('div', { class: 'options', role: 'listbox', tabindex: '-1', 'aria-multiselectable': String(many), 'aria-label': 'Options' });
  const search = choices.length > 10 ? h('input', { class: 'option-search', type: 'search', placeholder: 'Search', 'aria-label': 'Search options' }) : null;
  const box = h('div', { class: 'select-popup' }, search, list);
  let done = false;
  const pop = popover(anchor, box, { className: 'selects', match: true, onClose: () => { if (many && !done) report(chosen, true); } });

  const toggle = (option) => {
    if (!many) {
      done = true;
      chosen = chosen[0] === option.value && min === 0 ? [] : [option.value];
      pop.close();
      report(chosen, true);
      return;
    }
    if (chosen.includes(option.value)) chosen = chosen.filter((v) => v !== option.value);
    else if (chosen.length < max) chosen = [...chosen, option.value];
    report(chosen, false);
    draw(search?.value ?? '');
  };
  const draw = (query) => {
    const at = [...list.children].indexOf(document.activeElement);
    const wanted = choices.filter((o) => o.label.toLowerCase().includes(query.toLowerCase()));
    fill(list, wanted.map((o) => {
      const on = chosen.includes(o.value);
      const full = many && !on && chosen.length >= max;
      return button({ class: 'option', role: 'option', 'aria-selected': String(on), disabled: full, dataset: { value: o.value }, on: { click: () => toggle(o) } },
        o.face?.(), face(o.emoji, ''), h('span', { class: 'option-text' }, h('span', { text: o.label }), o.description && h('small', { text: o.description })),
        many ? h('span', { class: `tick${on ? ' on' : ''}` }, on && icon('check', 14)) : on && icon('check', 18));
    }), !wanted.length && h('div', { class: 'none', text: 'Nothing here' }));
    if (at >= 0) list.children[at]?.focus();
    pop.place(); // an empty list has room below where a full one has none
  };
  box.addEventListener('keydown', (e) => {
    const items = [...list.querySelectorAll('.option:not([disabled])')];
    const at = items.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (!step) return;
    e.preventDefault();
    items[(at + step + items.length) % items.length]?.focus();
  });
  search?.addEventListener('input', () => draw(search.value));
  draw('');
  (search ?? list.querySelector('[aria-selected=true]') ?? list.firstElementChild)?.focus();
}
