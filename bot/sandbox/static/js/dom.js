/** Building DOM without ever parsing HTML: every text is a text node, so nothing a message says can run. */

/**
 * One element. `props`: `class`, `style` (object), `dataset`, `on` (listeners), `text`;
 * anything else becomes an attribute (false and null are left out).
 */
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'class') el.className = value;
    else if (name === 'text') el.textContent = value;
    else if (name === 'style') Object.entries(value).forEach(([k, v]) => el.style.setProperty(k, v));
    else if (name === 'dataset') Object.assign(el.dataset, value);
    else if (name === 'on') Object.entries(value).forEach(([k, v]) => el.addEventListener(k, v));
    else if (name === 'value') el.value = value;
    else el.setAttribute(name, value === true ? '' : String(value));
  }
  append(el, children);
  return el;
}

/** Adds strings, nodes and nested lists; null and false are nothing. */
export function append(el, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    el.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return el;
}

/** Replaces everything inside `el`. */
export function fill(el, ...children) {
  el.replaceChildren();
  return append(el, children);
}

/** A button with an accessible name. */
export function button(props, ...children) {
  return h('button', { type: 'button', ...props }, ...children);
}

/** Runs `build`; what throws becomes a small text instead, so that one odd payload cannot empty the page. */
export function guarded(what, build) {
  try {
    return build();
  } catch (error) {
    console.warn('could not draw', what, error);
    return h('div', { class: 'undrawable', text: `[${what} that this page cannot draw]` });
  }
}

/** Calls `fn` once things have been quiet for `ms`. */
export function debounce(fn, ms) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => fn(...args), ms);
  };
}

/** `12.3 KB` */
export function bytes(n) {
  if (n < 1024) return `${n} bytes`;
  const units = ['KB', 'MB', 'GB'];
  let value = n;
  let unit = -1;
  do { value /= 1024; unit += 1; } while (value >= 1024 && unit < units.length - 1);
  return `${value.toFixed(value < 10 ? 2 : 1).replace(/\.?0+$/, '')} ${units[unit]}`;
}

/** True on a device that is driven by a finger. */
export const coarse = () => matchMedia('(pointer: coarse)').matches;

/** True where the channel list is a drawer. */
export const narrow = () => matchMedia('(max-width: 720px)').matches;
