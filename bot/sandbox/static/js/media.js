/** Attachments, pictures and the large view of a picture. */

import { button, bytes, fill, h } from './dom.js';
import { icon } from './icons.js';
import { local } from './net.js';

const MAX_WIDTH = 550;
const MAX_HEIGHT = 350;
const PREVIEW_BYTES = 32 * 1024; // enough to read a card or a log without stalling the page
const TEXTUAL = /^(text\/|application\/(json|toml|x-yaml|xml))/;
const TEXT_NAME = /\.(txt|md|json|jsonl|log|toml|ya?ml|csv|xml|py|js|css)$/i;

const isSpoiler = (a) => /^SPOILER_/.test(a.filename ?? '') || ((a.flags ?? 0) & 8) === 8;
const isImage = (a) => /^image\//.test(a.content_type ?? '') || (!a.content_type && /\.(png|jpe?g|gif|webp)$/i.test(a.filename ?? ''));

/** All attachments of a message: pictures in a mosaic, the rest as cards. */
export function attachments(list) {
  const images = list.filter(isImage);
  const others = list.filter((a) => !isImage(a));
  return [
    images.length > 1 && gallery(images.map((a) => ({ url: a.url, description: a.description, spoiler: isSpoiler(a) }))),
    images.length === 1 && picture({ ...images[0], spoiler: isSpoiler(images[0]) }),
    others.map(file),
  ];
}

/** One picture in its proportions, opened large by a click. */
export function picture({ url, width, height, description, filename, spoiler, className = '' }) {
  const src = local(url ?? '');
  const name = description || filename || 'picture';
  const image = h('img', { src, alt: description || filename || '', loading: 'lazy' });
  if (width && height) {
    const scale = Math.min(1, MAX_WIDTH / width, MAX_HEIGHT / height);
    image.width = Math.round(width * scale);
    image.height = Math.round(height * scale);
  }
  const frame = button({ class: `picture ${className}`, 'aria-label': `Open ${name}`, on: { click: () => enlarge(src, name) } }, image);
  image.addEventListener('error', () => {
    frame.replaceWith(h('div', { class: 'picture lost', text: `${name} (the picture cannot be loaded here)` }));
  }, { once: true });
  return spoiler ? veil(frame) : frame;
}

/** 1 to 10 pictures. */
export function gallery(items) {
  return h('div', { class: `gallery n${Math.min(items.length, 10)}` },
    items.map((item) => picture({ ...item, className: 'tile' })));
}

function veil(inside) {
  const box = h('div', { class: 'veil' }, inside);
  const lift = button({ class: 'lift', 'aria-label': 'Show the hidden picture', text: 'SPOILER' });
  lift.addEventListener('click', () => { box.classList.add('lifted'); lift.remove(); });
  box.append(lift);
  return box;
}

function enlarge(src, name) {
  const dialog = h('dialog', { class: 'lightbox', 'aria-label': name },
    h('img', { src, alt: name }),
    h('a', { href: src, target: '_blank', rel: 'noopener noreferrer', class: 'original', text: 'Open in a new tab' }));
  dialog.addEventListener('click', (e) => { if (e.target.tagName !== 'A') dialog.close(); });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** A file: name, size, download; texts can be read in place, sound and film played. */
export function file(a) {
  const src = local(a.url ?? '');
  const name = a.filename ?? a.name ?? 'file';
  if (/^audio\//.test(a.content_type ?? '')) return h('div', { class: 'sound' }, h('span', { text: name }), h('audio', { controls: true, src, preload: 'none' }));
  if (/^video\//.test(a.content_type ?? '')) return h('video', { class: 'film', controls: true, src, preload: 'metadata' });
  const card = h('div', { class: 'file' },
    h('span', { class: 'file-icon' }, icon('file', 30)),
    h('span', { class: 'file-text' },
      h('a', { href: src, target: '_blank', rel: 'noopener noreferrer', text: name }),
      h('span', { class: 'file-size', text: Number.isFinite(a.size) ? bytes(a.size) : '' })),
    h('a', { href: src, download: name, class: 'ghost', 'aria-label': `Download ${name}` }, icon('download')));
  const box = h('div', { class: 'file-box' }, card);
  if (src && (TEXTUAL.test(a.content_type ?? '') || TEXT_NAME.test(name))) box.append(reader(src));
  return box;
}

function reader(src) {
  const out = h('pre', { class: 'file-preview', hidden: true, tabindex: '0' });
  const toggle = button({ class: 'file-toggle', 'aria-expanded': 'false' }, icon('chevron', 16), 'Read');
  toggle.addEventListener('click', async () => {
    const opening = out.hidden;
    out.hidden = !opening;
    toggle.setAttribute('aria-expanded', String(opening));
    if (!opening || out.childNodes.length) return;
    fill(out, 'Loading…');
    try {
      const text = await (await fetch(src)).text();
      fill(out, text.slice(0, PREVIEW_BYTES) + (text.length > PREVIEW_BYTES ? '\n…' : ''));
    } catch {
      fill(out, 'The file cannot be read here.');
    }
  });
  return [toggle, out].reduce((box, el) => { box.append(el); return box; }, h('div', { class: 'reader' }));
}
