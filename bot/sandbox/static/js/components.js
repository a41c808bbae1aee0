/** Components of a message: rows of buttons and selects, and the whole of Components V2. */

import { button, guarded, h } from './dom.js';
import { icon } from './icons.js';
import { press, waitingOf } from './interactions.js';
import { face, markdown } from './markdown-dom.js';
import { file, gallery, picture } from './media.js';
import { local } from './net.js';
import { select } from './selects.js';

const STYLES = { 1: 'primary', 2: 'secondary', 3: 'success', 4: 'danger', 5: 'secondary link', 6: 'primary' };
const SELECTS = new Set([3, 5, 6, 7, 8]);
const hex = (n) => `#${n.toString(16).padStart(6, '0')}`;

/** All components of a message, each guarded. */
export function components(message) {
  const list = message.components ?? [];
  return list.map((c) => guarded('component', () => component(c, message)));
}

/** True when the message's content lives in its components. */
export const isLayout = (message) => ((message.flags ?? 0) & (1 << 15)) !== 0;

function component(c, message) {
  if (SELECTS.has(c.type)) return select(c, message);
  switch (c.type) {
    case 1: return row(c, message);
    case 2: return messageButton(c, message);
    case 9: return section(c, message);
    case 10: return markdown(c.content ?? '', 'md text-display', `${message.id}/${c.id ?? ''}`);
    case 11: return thumbnail(c, message);
    case 12: return gallery((c.items ?? []).map((i) => ({ ...media(i.media, message), description: i.description, spoiler: i.spoiler })));
    case 13: return file({ ...media(c.file, message), ...(c.name ? { filename: c.name } : {}), ...(c.size ? { size: c.size } : {}) });
    case 14: return h('div', { class: `separator${c.divider === false ? ' bare' : ''}${c.spacing === 2 ? ' large' : ''}`, role: c.divider === false ? null : 'separator' });
    case 17: return container(c, message);
    default: return unknown(c, message);
  }
}

// A component of the future: its words and its children are better than nothing.
function unknown(c, message) {
  const text = c.content ?? c.label ?? '';
  return h('div', { class: 'unknown-component' }, text || `[component of type ${c.type}]`,
    (c.components ?? []).map((child) => component(child, message)));
}

function row(c, message) {
  const children = c.components ?? [];
  return h('div', { class: 'row' }, children.map((child) => guarded('component', () => component(child, message))));
}

function container(c, message) {
  const hasAccent = c.accent_color !== null && c.accent_color !== undefined;
  const el = h('div', { class: `container${hasAccent ? ' accented' : ''}`, style: hasAccent ? { '--edge': hex(c.accent_color) } : {} },
    (c.components ?? []).map((child) => guarded('component', () => component(child, message))));
  if (!c.spoiler) return el;
  const box = h('div', { class: 'veil wide' }, el);
  const lift = button({ class: 'lift', 'aria-label': 'Show what is hidden', text: 'SPOILER' });
  lift.addEventListener('click', () => { box.classList.add('lifted'); lift.remove(); });
  box.append(lift);
  return box;
}

function section(c, message) {
  return h('div', { class: 'section' },
    h('div', { class: 'section-text' }, (c.components ?? []).map((child) => guarded('component', () => component(child, message)))),
    c.accessory && h('div', { class: 'section-side' }, guarded('accessory', () => component(c.accessory, message))));
}

function thumbnail(c, message) {
  return picture({ ...media(c.media, message), description: c.description, spoiler: c.spoiler, width: null, height: null, className: 'thumbnail' });
}

// `attachment://name` points into the message; the wire may also have resolved it already.
function media(item, message) {
  const url = item?.url ?? '';
  const named = /^attachment:\/\/(.+)$/.exec(url);
  const found = (message.attachments ?? []).find((a) => (named ? a.filename === named[1] : item?.attachment_id && a.id === item.attachment_id));
  return { ...(found ?? {}), ...(named ? {} : item), url: named ? found?.url ?? '' : url, filename: found?.filename ?? url.split('/').pop()?.split('?')[0] };
}

function messageButton(c, message) {
  const className = `btn ${STYLES[c.style] ?? 'secondary'}`;
  const inside = face(c.emoji, c.label);
  if (c.style === 5) {
    const href = local(c.url ?? '');
    return h('a', { class: className, href: href || null, target: '_blank', rel: 'noopener noreferrer', 'aria-disabled': c.disabled ? 'true' : null }, inside, icon('external', 16));
  }
  if (c.style === 6) return button({ class: className, disabled: true }, c.label ?? 'Premium');
  const el = button({
    class: className, disabled: !!c.disabled, dataset: { cid: c.custom_id ?? '' },
    'aria-label': /[\p{L}\p{N}]/u.test(c.label ?? '') ? null : spoken(c.label || c.emoji?.name || ''),
  }, inside);
  if (c.custom_id && waitingOf(message.id) === c.custom_id) el.classList.add('waiting');
  el.addEventListener('click', () => press(message, el, 'click', { custom_id: c.custom_id }));
  return el;
}

const SPOKEN = {
  '◀': 'Previous', '◀️': 'Previous', '▶': 'Next', '▶️': 'Next', '⟳': 'Again', '🔄': 'Again', '🔁': 'Again',
  '⋯': 'More', '⏹': 'Stop', '⏹️': 'Stop', '⏭': 'Skip', '⏸': 'Pause', '🗑': 'Delete', '🗑️': 'Delete',
};
// A sign alone is read as "black right-pointing triangle": it gets its meaning as well.
const spoken = (sign) => `${sign} ${SPOKEN[sign.trim()] ?? ''}`.trim() || 'Button';
