/** Files that wait in the composer: by button, paste, or drop. */

import { button, bytes, fill, h } from './dom.js';
import { icon } from './icons.js';
import { on, say, store } from './store.js';

export const MAX_FILES = 10; // Discord's limits, which the sandbox enforces as well
export const MAX_BYTES = 10 * 1024 * 1024;

/** A tray of waiting files; `files` is what would be sent. */
export class Uploads {
  constructor() {
    this.files = [];
    this.tray = h('ul', { class: 'tray', hidden: true, 'aria-label': 'Files to send' });
    this.input = h('input', { type: 'file', multiple: true, class: 'sr-only', tabindex: '-1', 'aria-label': 'Choose files' });
    this.input.addEventListener('change', () => { this.add([...this.input.files]); this.input.value = ''; });
    on('opened', () => this.clear());
  }

  choose() { this.input.click(); }

  add(files) {
    const room = MAX_FILES - this.files.length;
    if (files.length > room) say('notice', { channel: store.open, text: `You can send ${MAX_FILES} files at a time.`, bad: true });
    this.files.push(...files.slice(0, Math.max(0, room)).map(named));
    this.draw();
  }

  clear() {
    this.files = [];
    this.draw();
  }

  draw() {
    this.tray.hidden = !this.files.length;
    fill(this.tray, this.files.map((file) => h('li', { class: `tray-item${file.size > MAX_BYTES ? ' too-big' : ''}` },
      thumb(file), h('span', { class: 'tray-name', title: file.name, text: file.name }),
      h('span', { class: 'tray-size', text: file.size > MAX_BYTES ? `${bytes(file.size)}, the limit is ${bytes(MAX_BYTES)}` : bytes(file.size) }),
      button({ class: 'tray-remove', 'aria-label': `Remove ${file.name}`, on: { click: () => { this.files = this.files.filter((f) => f !== file); this.draw(); } } }, icon('trash', 16)))));
    say('uploads', this.files);
  }
}

// A pasted picture comes as "image.png" every time.
const named = (file) => (file.name ? file : new File([file], 'image.png', { type: file.type }));

function thumb(file) {
  if (!file.type.startsWith('image/')) return h('span', { class: 'tray-thumb' }, icon('file', 40));
  const url = URL.createObjectURL(file);
  const image = h('img', { class: 'tray-thumb', src: url, alt: '' });
  image.addEventListener('load', () => URL.revokeObjectURL(url), { once: true });
  return image;
}

/** Lets the whole window take dropped files; `take(files)` gets them. */
export function dropTarget(take) {
  const veil = h('div', { class: 'drop-veil', hidden: true, 'aria-hidden': 'true' }, h('div', { class: 'drop-card' }, icon('file', 56), h('strong', { text: 'Upload to this channel' }), h('span', { text: 'You can add a message before sending.' })));
  document.body.append(veil);
  let depth = 0;
  const hasFiles = (e) => [...(e.dataTransfer?.types ?? [])].includes('Files');
  addEventListener('dragenter', (e) => { if (hasFiles(e) && !document.querySelector('dialog[open]')) { depth += 1; veil.hidden = false; } });
  addEventListener('dragleave', (e) => { if (hasFiles(e)) { depth = Math.max(0, depth - 1); veil.hidden = depth === 0; } });
  addEventListener('dragover', (e) => { if (hasFiles(e)) e.preventDefault(); });
  addEventListener('drop', (e) => {
    if (!hasFiles(e)) return;
    e.preventDefault();
    depth = 0;
    veil.hidden = true;
    if (!document.querySelector('dialog[open]')) take([...e.dataTransfer.files]);
  });
}
