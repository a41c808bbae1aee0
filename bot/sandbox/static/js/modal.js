/** Modals of the wire: labelled text inputs, selects, file uploads, choices, texts. */

import { button, bytes, fill, guarded, h } from './dom.js';
import { settle } from './interactions.js';
import { markdown } from './markdown-dom.js';
import { api } from './net.js';
import { avatar, nameOf } from './people.js';
import { field as selectField } from './selects.js';
import { on, store } from './store.js';

const SELECTS = new Set([3, 5, 6, 7, 8]);

// Each input: an element, `values()` for the wire, `problem()` in words or ''.
function input(c, id) {
  if (c.type === 4) return textInput(c, id);
  if (SELECTS.has(c.type)) return selectInput(c);
  if (c.type === 19) return fileInput(c, id);
  if (c.type === 21 || c.type === 22) return optionGroup(c, id);
  if (c.type === 23) return checkbox(c, id);
  return null;
}

const required = (c) => c.required !== false;

function textInput(c, id) {
  const props = { id, name: c.custom_id, placeholder: c.placeholder ?? '', 'aria-required': String(required(c)), value: c.value ?? '', autocomplete: 'off' };
  const el = c.style === 2 ? h('textarea', { ...props, rows: '5' }) : h('input', { ...props, type: 'text' });
  const max = c.max_length ?? 4000;
  const count = h('span', { class: 'counter', 'aria-hidden': 'true' });
  const show = () => { count.textContent = [...el.value].length > max * 0.8 || c.style === 2 ? `${[...el.value].length}/${max}` : ''; };
  el.addEventListener('input', show);
  show();
  return {
    el: h('div', { class: 'text-input' }, el, count), focus: el, values: () => el.value,
    problem: () => {
      const n = [...el.value].length;
      if (!n) return required(c) ? 'This field is required' : '';
      if (n < (c.min_length ?? 0)) return `At least ${c.min_length} characters, please`;
      return n > max ? `At most ${max} characters, please (these are ${n})` : '';
    },
  };
}

function selectInput(c) {
  const el = selectField({ ...c, min_values: c.min_values ?? (required(c) ? 1 : 0) });
  return { el, focus: el, values: () => el.values, problem: () => (required(c) && el.values.length < (c.min_values ?? 1) ? 'Please choose' : '') };
}

function fileInput(c, id) {
  const max = c.max_values ?? 1;
  let files = [];
  const list = h('ul', { class: 'upload-list' });
  const pick = h('input', { type: 'file', id, multiple: max > 1, class: 'sr-only' });
  const add = (more) => { files = [...files, ...more].slice(-max); show(); };
  const zone = h('label', { class: 'dropzone', for: id }, 'Drop files here or ', h('span', { class: 'linklike', text: 'browse' }), h('small', { text: `up to ${max} file${max > 1 ? 's' : ''}` }));
  const show = () => fill(list, files.map((f) => h('li', null, h('span', { text: `${f.name} · ${bytes(f.size)}` }),
    button({ class: 'linklike', on: { click: () => { files = files.filter((x) => x !== f); show(); } } }, 'remove'))));
  pick.addEventListener('change', () => { add([...pick.files]); pick.value = ''; });
  zone.addEventListener('dragover', (e) => { e.preventDefault(); zone.classList.add('over'); });
  zone.addEventListener('dragleave', () => zone.classList.remove('over'));
  zone.addEventListener('drop', (e) => { e.preventDefault(); e.stopPropagation(); zone.classList.remove('over'); add([...e.dataTransfer.files]); });
  return {
    el: h('div', { class: 'file-input' }, pick, zone, list), focus: pick, files: () => files, values: () => files.map((f) => f.name),
    problem: () => (required(c) && files.length < (c.min_values ?? 1) ? 'Please add a file' : ''),
  };
}

function optionGroup(c, id) {
  const many = c.type === 22;
  const boxes = (c.options ?? []).map((o) => {
    const box = h('input', { type: many ? 'checkbox' : 'radio', name: id, value: o.value });
    box.checked = !!o.default;
    return { box, el: h('label', { class: 'choice' }, box, h('span', null, o.label, o.description && h('small', { text: o.description }))) };
  });
  const chosen = () => boxes.filter((b) => b.box.checked).map((b) => b.box.value);
  return {
    el: h('div', { role: many ? 'group' : 'radiogroup', class: 'choices' }, boxes.map((b) => b.el)), focus: boxes[0]?.box,
    values: () => (many ? chosen() : chosen()[0] ?? null),
    problem: () => {
      const n = chosen().length;
      const min = c.min_values ?? (required(c) ? 1 : 0);
      if (n < min) return 'Please choose';
      return many && c.max_values && n > c.max_values ? `At most ${c.max_values}` : '';
    },
  };
}

function checkbox(c, id) {
  const box = h('input', { type: 'checkbox', id });
  box.checked = !!c.default;
  return { el: h('div', { class: 'choices' }, box), focus: box, values: () => box.checked, problem: () => '' };
}

let serial = 0;

function rows(list, inputs) {
  return (list ?? []).map((c) => guarded('field', () => {
    if (c.type === 10) return markdown(c.content ?? '', 'md modal-text', '');
    if (c.type === 1) return rows(c.components, inputs);
    const inner = c.type === 18 ? c.component : c;
    const id = `field-${serial += 1}`;
    const made = input(inner, id);
    if (!made) return h('div', { class: 'undrawable', text: `[field of type ${inner?.type} that this page cannot draw]` });
    const error = h('span', { class: 'field-error', role: 'alert' });
    inputs.push({ ...made, custom_id: inner.custom_id, error });
    const label = c.label ?? inner.label ?? '';
    made.focus?.setAttribute?.('aria-label', label || inner.custom_id);
    made.el.addEventListener('input', () => { error.textContent = ''; });
    made.el.addEventListener('choose', () => { error.textContent = ''; });
    return h('div', { class: 'modal-field' },
      h('label', { for: id, class: 'field-label' }, label, required(inner) && inner.type !== 23 && h('span', { class: 'star', text: ' *', 'aria-hidden': 'true' }), error),
      c.description && h('p', { class: 'field-help', text: c.description }), made.el);
  })).flat();
}

/** Opens the modal of an interaction; resolves when it is gone. */
export function openModal({ id, modal, app }) {
  const inputs = [];
  const bot = app ?? [...store.users.values()].find((u) => u.bot);
  const trouble = h('p', { class: 'modal-trouble', role: 'alert' });
  const submit = h('button', { type: 'submit', class: 'btn primary' }, 'Submit');
  const form = h('form', { method: 'dialog', novalidate: true },
    h('header', { class: 'modal-head' }, avatar(bot, { size: 32 }), h('h2', { text: modal.title ?? '' }), button({ class: 'ghost', 'aria-label': 'Close', on: { click: () => dialog.close() } }, '✕')),
    h('div', { class: 'modal-body' }, h('p', { class: 'modal-note' }, 'This form goes to ', h('strong', { text: nameOf(bot) }), ', inside this sandbox.'), rows(modal.components, inputs), trouble),
    h('footer', { class: 'modal-foot' }, button({ class: 'btn bare', on: { click: () => dialog.close() } }, 'Cancel'), submit));
  const dialog = h('dialog', { class: 'modal', 'aria-label': modal.title ?? 'Form' }, form);
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    trouble.textContent = '';
    let first = null;
    for (const one of inputs) {
      one.error.textContent = one.problem() && ` — ${one.problem()}`;
      if (one.problem()) first ??= one;
    }
    if (first) { first.focus?.focus(); return; }
    submit.disabled = true;
    submit.classList.add('waiting');
    try {
      await send(id, modal, inputs);
      dialog.close();
    } catch (error) {
      trouble.textContent = error.message || 'Something went wrong. Try again.';
    } finally {
      submit.disabled = false;
      submit.classList.remove('waiting');
    }
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  inputs[0]?.focus?.focus();
}

async function send(id, modal, inputs) {
  const files = [];
  const values = {};
  for (const one of inputs) {
    if (!one.custom_id) continue;
    if (one.files) values[one.custom_id] = one.files().map((f) => ({ $file: files.push(f) - 1 }));
    else values[one.custom_id] = one.values();
  }
  const answer = await api('modal', { interaction: id, custom_id: modal.custom_id, values }, files);
  if (answer.interaction?.state === 'failed') throw new Error('Something went wrong. Try again.');
  settle(answer.interaction);
}

on('modal', (interaction) => openModal(interaction));
on('hello', () => document.querySelectorAll('dialog.modal').forEach((d) => d.close()));
