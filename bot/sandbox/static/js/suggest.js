/** The list above the composer: commands, choices, people, channels, emoji. One shape for all. */

import { button, fill, h } from './dom.js';

/**
 * A list that the field drives by keys. `show(title, items)`: items are
 * `{label, note?, side?, face?, value, section?}`; `onPick(item)` is told of a choice.
 */
export class Suggest {
  constructor(onPick) {
    this.onPick = onPick;
    this.items = [];
    this.at = 0;
    this.el = h('div', { class: 'suggest', role: 'listbox', id: 'suggestions', 'aria-label': 'Suggestions', hidden: true });
    // The field keeps the focus while a suggestion is pressed.
    this.el.addEventListener('pointerdown', (e) => { if (e.pointerType === 'mouse') e.preventDefault(); });
  }

  get open() { return !this.el.hidden; }

  get chosen() { return this.open ? this.items[this.at] : undefined; }

  hide() {
    this.el.hidden = true;
    this.items = [];
    this.field?.removeAttribute('aria-activedescendant');
    this.field?.setAttribute('aria-expanded', 'false');
  }

  /** Lists `items`; an empty list with a `note` shows only the note. */
  show(field, title, items, note = '') {
    this.field = field;
    const before = this.items[this.at]?.value;
    this.items = items;
    this.at = Math.max(0, items.findIndex((i) => i.value === before));
    if (!items.length && !note) { this.hide(); return; }
    this.el.hidden = false;
    let section = null;
    const rows = [];
    items.forEach((item, i) => {
      if (item.section && item.section !== section) rows.push(h('div', { class: 'suggest-section', role: 'presentation', text: item.section }));
      section = item.section ?? section;
      rows.push(button({ class: 'suggestion', role: 'option', id: `suggestion-${i}`, tabindex: '-1', dataset: { i }, on: { click: () => this.onPick(item), pointermove: () => this.mark(i) } },
        item.face, h('span', { class: 'suggest-text' }, h('span', { class: 'suggest-label' }, item.label, item.after), item.note && h('small', { text: item.note })),
        item.side && h('span', { class: 'suggest-side', text: item.side })));
    });
    fill(this.el, title && h('div', { class: 'suggest-title', role: 'presentation' }, title), rows, note && h('div', { class: 'suggest-note', text: note }));
    field.setAttribute('aria-controls', 'suggestions');
    field.setAttribute('aria-expanded', 'true');
    this.mark(this.at);
  }

  mark(i) {
    this.at = i;
    for (const row of this.el.querySelectorAll('.suggestion')) {
      const on = Number(row.dataset.i) === i;
      row.classList.toggle('on', on);
      row.setAttribute('aria-selected', String(on));
      if (on) this.field?.setAttribute('aria-activedescendant', row.id);
    }
  }

  /** Takes a key of the field; true when it was for the list. */
  key(e) {
    if (!this.open || e.isComposing) return false;
    if (e.key === 'Escape') { this.hide(); return true; }
    if (!this.items.length) return false;
    const n = this.items.length;
    const step = { ArrowDown: 1, ArrowUp: n - 1 }[e.key];
    if (step) {
      this.mark((this.at + step) % n);
      this.el.querySelector('.on')?.scrollIntoView({ block: 'nearest' });
      return true;
    }
    if (e.key === 'Enter' || (e.key === 'Tab' && !e.shiftKey)) { this.onPick(this.items[this.at]); return true; }
    return false;
  }
}
