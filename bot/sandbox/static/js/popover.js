/** Things that float beside what opened them: menus, lists, pickers. On a phone they rise from the bottom edge. */

import { coarse, h, narrow } from './dom.js';

let current = null;

/** Closes what floats now, if anything. */
export const closePopover = () => current?.close();

/**
 * Shows `content` beside `anchor` (an element, or `{x, y}`).
 * `match`: as wide as the anchor. `sheet`: from the bottom edge on a phone. Closes by Escape, by a press outside, or `close()`.
 */
export function popover(anchor, content, { className = '', match = false, sheet = false, onClose = () => {}, side = 'below' } = {}) {
  current?.close();
  const asSheet = sheet && (narrow() || coarse());
  const el = h('div', { class: `popover ${className}${asSheet ? ' sheet' : ''}` }, content);
  const before = document.activeElement;
  const host = anchor instanceof Element ? anchor.closest('dialog[open]') ?? document.body : document.body;
  host.append(el);
  if (anchor instanceof Element) anchor.setAttribute('aria-expanded', 'true');
  if (match && anchor instanceof Element) el.style.width = `${anchor.getBoundingClientRect().width}px`;
  if (!asSheet) place(el, anchor, side);

  const outside = (event) => {
    if (!el.contains(event.target) && !(anchor instanceof Element && anchor.contains(event.target))) close(false);
  };
  const key = (event) => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };
  const close = (refocus = true) => {
    if (current !== handle) return;
    current = null;
    document.removeEventListener('pointerdown', outside, true);
    document.removeEventListener('keydown', key, true);
    el.remove();
    if (anchor instanceof Element) anchor.setAttribute('aria-expanded', 'false');
    if (refocus && before?.isConnected) before.focus({ preventScroll: true });
    onClose();
  };
  const handle = { el, close, place: () => !asSheet && place(el, anchor, side) };
  current = handle;
  document.addEventListener('pointerdown', outside, true);
  document.addEventListener('keydown', key, true);
  return handle;
}

// Below or above, whichever has room, and never over the window's edge.
function place(el, anchor, side) {
  const gap = 4;
  const box = anchor instanceof Element
    ? anchor.getBoundingClientRect()
    : { left: anchor.x, right: anchor.x, top: anchor.y, bottom: anchor.y, width: 0 };
  const { offsetWidth: w, offsetHeight: height } = el;
  let left = box.left;
  let top = box.bottom + gap;
  if (side === 'right') { left = box.right + gap; top = box.top; }
  if (side === 'end') left = box.right - w;
  if (left + w > innerWidth - 8) left = side === 'right' ? box.left - w - gap : innerWidth - 8 - w;
  if (top + height > innerHeight - 8) {
    const above = side === 'right' ? innerHeight - 8 - height : box.top - gap - height;
    top = above >= 8 ? above : Math.max(8, innerHeight - 8 - height);
  }
  el.style.left = `${Math.max(8, left)}px`;
  el.style.top = `${Math.max(8, top)}px`;
}

/** A menu of `{label, icon?, danger?, run?, items?, note?}`; null is a line between groups. */
export function menu(anchor, items, options = {}) {
  const el = h('div', { class: 'menu', role: 'menu', tabindex: '-1' });
  const handle = popover(anchor, el, { className: 'menus', sheet: true, ...options });
  drawMenu(el, items, handle);
  handle.place();
  el.querySelector('[role=menuitem]')?.focus();
  el.addEventListener('keydown', (e) => {
    const all = [...el.querySelectorAll('[role=menuitem]:not([disabled])')];
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[e.key];
    if (to === undefined) {
      if (e.key === 'ArrowRight') document.activeElement?.dataset?.sub && document.activeElement.click();
      if (e.key === 'ArrowLeft') el.querySelector('.menu-back')?.click();
      return;
    }
    e.preventDefault();
    all[(to + all.length) % all.length]?.focus();
  });
  return handle;
}

function drawMenu(el, items, handle, back = null) {
  const nodes = [];
  if (back) nodes.push(item({ label: back.label, icon: 'back', className: 'menu-back' }, () => { drawMenu(el, back.items, handle); handle.place(); el.querySelector('[role=menuitem]')?.focus(); }));
  for (const one of items) {
    if (!one) { nodes.push(h('div', { class: 'menu-line', role: 'separator' })); continue; }
    nodes.push(item(one, () => {
      if (one.items) {
        drawMenu(el, one.items, handle, { label: one.label, items });
        handle.place();
        el.querySelectorAll('[role=menuitem]')[1]?.focus();
        return;
      }
      handle.close();
      one.run?.();
    }));
  }
  el.replaceChildren(...nodes);
}

function item(one, run) {
  return h('button', {
    type: 'button', class: `menu-item ${one.className ?? ''}${one.danger ? ' danger' : ''}`, role: 'menuitem', disabled: !!one.disabled,
    'aria-haspopup': one.items ? 'menu' : null, dataset: one.items ? { sub: '1' } : {}, on: { click: run },
  }, one.face, h('span', { class: 'menu-label' }, one.label, one.note && h('small', { text: one.note })), one.iconNode ?? null, one.items && h('span', { class: 'menu-arrow', 'aria-hidden': 'true', text: '›' }));
}
