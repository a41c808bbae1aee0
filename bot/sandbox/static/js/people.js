/** Names, colours and faces. */

import { h } from './dom.js';
import { local } from './net.js';
import { store } from './store.js';

const PALETTE = ['#5865f2', '#3ba55c', '#c27c0e', '#a5468f', '#d2533f', '#2b8a9d', '#7a5cc2', '#8a7a3b'];

const hash = (text) => [...text].reduce((n, c) => (n * 31 + c.codePointAt(0)) >>> 0, 7);
const hex = (n) => `#${n.toString(16).padStart(6, '0')}`;

/** A steady colour for an id or a name. */
export const colourOf = (key) => PALETTE[hash(String(key)) % PALETTE.length];

/** How the server calls a person. */
export function nameOf(user) {
  if (!user) return 'someone';
  return store.members.get(user.id)?.nick || user.global_name || user.username || 'someone';
}

export const nameById = (id) => (store.users.has(id) ? nameOf(store.users.get(id)) : 'unknown-user');

/** The colour of the highest coloured role, as Discord does; null when a person has none. */
export function roleColour(user) {
  const roles = (store.members.get(user?.id)?.roles ?? []).map((id) => store.roles.get(id)).filter((r) => r?.color);
  roles.sort((a, b) => b.position - a.position);
  return roles.length ? hex(roles[0].color) : null;
}

/** The address of a face, or ''. */
export function avatarUrl(user) {
  const face = user?.avatar;
  if (!face) return '';
  if (/^(https?:|\/)/.test(face)) return local(face);
  return /^[\w-]+$/.test(face) ? `/cdn/avatars/${user.id}/${face}.png?size=128` : '';
}

/** A round face; letters on a colour when there is no picture or it cannot be had. */
export function avatar(user, { size = 40, name = nameOf(user), className = 'avatar' } = {}) {
  const letters = h('span', {
    class: `${className} letters`, 'aria-hidden': 'true', text: initials(name),
    style: { '--face': user?.accent_color ? hex(user.accent_color) : colourOf(user?.bot ? name : user?.id ?? name), '--size': `${size}px` },
  });
  const url = avatarUrl(user);
  if (!url) return letters;
  const image = h('img', { class: className, src: url, alt: '', width: size, height: size, loading: 'lazy', style: { '--size': `${size}px` } });
  image.addEventListener('error', () => image.replaceWith(letters), { once: true });
  return image;
}

export function initials(name) {
  const words = name.trim().split(/\s+/).filter(Boolean);
  const first = [...(words[0] ?? '?')][0];
  const second = words.length > 1 ? [...words[words.length - 1]][0] : '';
  return (first + second).toUpperCase();
}

/** True when a webhook speaks under a name of its own; the answers to interactions come from the bot itself. */
export const isPersona = (m) => !!m.webhook_id && !store.members.has(m.author?.id);

/** True when the message pings the acting person. */
export function pings(message) {
  const you = store.you?.id;
  if (!you || message.author?.id === you) return false;
  return !!message.mention_everyone || (message.mentions ?? []).some((u) => u.id === you);
}
