/** Draws the tree of `markdown.js`. Text nodes and fixed elements only. */

import { append, h } from './dom.js';
import { parse, plain } from './markdown.js';
import { local } from './net.js';
import { nameById, roleColour } from './people.js';
import { say, store } from './store.js';
import { longStamp, timestamp } from './time.js';

const TAGS = { strong: 'strong', em: 'em', underline: 'u', strike: 's', subtext: 'small', quote: 'blockquote' };
// Flags, keycaps and joined families count as one picture.
const ONLY_EMOJI = /^(?:\p{Extended_Pictographic}(?:\uFE0F|\p{Emoji_Modifier})?(?:\u200D\p{Extended_Pictographic}\uFE0F?)*|\p{Regional_Indicator}{2}|\s)+$/u;
const MAX_JUMBO = 27; // Discord draws up to 27 emoji of a text-less message large

const names = {
  user: nameById,
  channel: (id) => store.channels.get(id)?.name ?? 'unknown',
  role: (id) => store.roles.get(id)?.name ?? 'unknown-role',
};

/** The message's text as one line without marks. */
export const plainText = (text) => plain(parse(text), names).trim();

/** A text drawn into `className`; `key` keeps revealed spoilers revealed when the message is drawn again. */
export function markdown(text, className = 'md', key = '') {
  const nodes = parse(text);
  const el = h('div', { class: className + (jumbo(nodes, text) ? ' jumbo' : '') });
  return append(el, draw(nodes, { key, spoilers: 0 }));
}

/** The inline part only: for names of fields and placeholders. */
export function inlineMarkdown(text, key = '') {
  return draw(parse(text), { key, spoilers: 0 });
}

function jumbo(nodes, text) {
  if (!nodes.length || text.length > 400) return false;
  const count = nodes.filter((n) => n.type === 'emoji').length;
  const rest = nodes.filter((n) => n.type !== 'emoji' && !(n.type === 'text' && !n.text.trim()));
  if (!rest.length) return count > 0 && count <= MAX_JUMBO;
  return rest.every((n) => n.type === 'text' && ONLY_EMOJI.test(n.text))
    && count + [...new Intl.Segmenter().segment(text.replace(/\s/g, ''))].length <= MAX_JUMBO;
}

const draw = (nodes, state) => nodes.map((n) => one(n, state));

function one(n, state) {
  if (TAGS[n.type]) return h(TAGS[n.type], null, draw(n.children, state));
  switch (n.type) {
    case 'text': return document.createTextNode(n.text);
    case 'br': return h('br');
    case 'code': return h('code', { class: 'inline', text: n.text });
    case 'pre': return h('pre', null, h('code', { text: n.text, dataset: { lang: n.lang } }));
    // one level down: the page's own headings stand above the message's
    case 'heading': return h(`h${n.level + 2}`, { class: `h h${n.level}` }, draw(n.children, state));
    case 'list': return list(n, state);
    case 'group': return h('div', null, draw(n.children, state));
    case 'link': return link(n, state);
    case 'spoiler': return spoiler(n, state);
    case 'user': return mention(`@${nameById(n.id)}`, roleColour(store.users.get(n.id)));
    case 'role': return mention(`@${names.role(n.id)}`);
    case 'everyone': return mention(`@${n.name}`);
    case 'command': return mention(`/${n.name}`);
    case 'channel': return channelMention(n.id);
    case 'emoji': return customEmoji(n);
    case 'time': return h('time', { class: 'stamp', title: longStamp(n.at * 1000), text: timestamp(n.at, n.style) });
    default: return document.createTextNode(plain([n], names));
  }
}

function list(n, state) {
  return h(n.ordered ? 'ol' : 'ul', { start: n.ordered && n.start !== 1 ? n.start : null },
    n.items.map((item) => h('li', null, draw(item, state))));
}

function link(n, state) {
  const href = local(n.url);
  if (!href) return draw(n.children, state);
  return h('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow', title: n.url }, draw(n.children, state));
}

function mention(text) {
  return h('span', { class: 'mention', text });
}

function channelMention(id) {
  const channel = store.channels.get(id);
  if (!channel) return mention('#unknown');
  return h('button', { type: 'button', class: 'mention', on: { click: () => say('open', id) } }, `#${channel.name}`);
}

/** An emoji object of the wire, or of a text. */
export function customEmoji({ id, name, animated }) {
  if (!id) return h('span', { class: 'emoji unicode', text: name });
  const ext = animated ? 'gif' : 'png';
  const image = h('img', { class: 'emoji', src: `/cdn/emojis/${id}.${ext}?size=48`, alt: `:${name}:`, title: `:${name}:` });
  image.addEventListener('error', () => image.replaceWith(`:${name}:`), { once: true });
  return image;
}

/** The face of a button or an option: emoji and label. */
export function face(emoji, label) {
  return [emoji && customEmoji(emoji), label && h('span', { class: 'label', text: label })];
}

const revealed = new Set();

function spoiler(n, state) {
  state.spoilers += 1;
  const id = state.key ? `${state.key}/${state.spoilers}` : '';
  const shown = revealed.has(id);
  const el = h('span', {
    class: shown ? 'spoiler shown' : 'spoiler', role: 'button', tabindex: shown ? null : '0',
    'aria-label': shown ? null : 'Spoiler, press to show', 'aria-expanded': String(shown),
  }, h('span', { class: 'inside', 'aria-hidden': shown ? null : 'true' }, draw(n.children, state)));
  const show = (event) => {
    if (el.classList.contains('shown')) return;
    event.preventDefault();
    event.stopPropagation();
    if (id) revealed.add(id);
    el.classList.add('shown');
    ['tabindex', 'aria-label', 'role'].forEach((a) => el.removeAttribute(a));
    el.firstChild.removeAttribute('aria-hidden');
  };
  el.addEventListener('click', show);
  el.addEventListener('keydown', (e) => { if (e.key === 'Enter' || e.key === ' ') show(e); });
  return el;
}
