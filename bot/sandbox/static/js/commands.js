/** The registered slash commands, flattened to what a person can type. */

import { store } from './store.js';

const CHAT_INPUT = 1;
const SUB = 1;
const GROUP = 2;

/** Option types of the wire. */
export const OPTION = { STRING: 3, INTEGER: 4, BOOLEAN: 5, USER: 6, CHANNEL: 7, ROLE: 8, MENTIONABLE: 9, NUMBER: 10, ATTACHMENT: 11 };

/** Every command that can be run: `{path: ['card', 'import'], name: 'card import', description, options}`. */
export function flatCommands() {
  const out = [];
  for (const c of store.commands) {
    if ((c.type ?? CHAT_INPUT) !== CHAT_INPUT) continue;
    walk(c, [c.name], out, !!c.nsfw);
  }
  return out.sort((a, b) => a.name.localeCompare(b.name));
}

function walk(c, path, out, nsfw) {
  const nested = (c.options ?? []).filter((o) => o.type === SUB || o.type === GROUP);
  if (nested.length) {
    nested.forEach((o) => walk(o, [...path, o.name], out, nsfw));
    return;
  }
  out.push({ path, nsfw, name: path.join(' '), description: c.description ?? '', options: [...(c.options ?? [])].sort((a, b) => Number(!!b.required) - Number(!!a.required)) });
}

/** Commands for what was typed after `/`: names that begin with it, then those that contain every word. */
export function matchCommands(typed) {
  const query = typed.trim().toLowerCase().replace(/\s+/g, ' ');
  const words = query.split(' ').filter(Boolean);
  const rank = (c) => {
    if (!query || c.name.startsWith(query)) return 0;
    if (words.every((w) => c.path.some((p) => p.startsWith(w)))) return 1;
    if (words.every((w) => c.name.includes(w))) return 2;
    return words.every((w) => `${c.name} ${c.description}`.toLowerCase().includes(w)) ? 3 : -1;
  };
  return flatCommands().map((c) => [rank(c), c]).filter(([r]) => r >= 0).sort((a, b) => a[0] - b[0] || a[1].path.length - b[1].path.length).map(([, c]) => c);
}

/** A short word for what an option takes. */
export function kindOf(o) {
  if (o.type === OPTION.ATTACHMENT) return 'a file';
  if (o.type === OPTION.BOOLEAN) return 'true or false';
  if (o.type === OPTION.USER) return 'a person';
  if (o.type === OPTION.CHANNEL) return 'a channel';
  if (o.type === OPTION.INTEGER) return 'a whole number';
  if (o.type === OPTION.NUMBER) return 'a number';
  return 'text';
}

/** What is wrong with a typed value, or ''. */
export function problemWith(o, value) {
  const empty = value === undefined || value === '' || value === null;
  if (empty) return o.required ? 'This option is required.' : '';
  if (o.type === OPTION.INTEGER || o.type === OPTION.NUMBER) {
    const n = Number(value);
    if (!Number.isFinite(n) || (o.type === OPTION.INTEGER && !Number.isInteger(n))) return `Please enter ${kindOf(o)}.`;
    if (o.min_value !== undefined && n < o.min_value) return `At least ${o.min_value}.`;
    if (o.max_value !== undefined && n > o.max_value) return `At most ${o.max_value}.`;
  }
  if (o.type === OPTION.STRING) {
    const n = [...String(value)].length;
    if (o.min_length && n < o.min_length) return `At least ${o.min_length} characters.`;
    if (n > (o.max_length ?? 6000)) return `At most ${o.max_length ?? 6000} characters.`;
  }
  return '';
}
