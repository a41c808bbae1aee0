/** Embeds: the framed cards with a coloured edge. */

import { h } from './dom.js';
import { inlineMarkdown, markdown } from './markdown-dom.js';
import { picture } from './media.js';
import { local } from './net.js';
import { stamp } from './time.js';

const hex = (n) => `#${n.toString(16).padStart(6, '0')}`;

const small = (url, className, alt = '') => {
  const src = local(url ?? '');
  if (!src) return null;
  const image = h('img', { class: className, src, alt, loading: 'lazy' });
  image.addEventListener('error', () => image.remove(), { once: true });
  return image;
};

const linked = (text, url, key) => {
  const href = url ? local(url) : '';
  const inner = inlineMarkdown(text, key);
  return href ? h('a', { href, target: '_blank', rel: 'noopener noreferrer' }, inner) : inner;
};

/** One embed; `key` as in `markdown`. */
export function embed(e, key) {
  const body = h('div', { class: 'embed-body' },
    e.provider?.name && h('div', { class: 'embed-provider', text: e.provider.name }),
    e.author && h('div', { class: 'embed-author' },
      small(e.author.icon_url, 'embed-icon'), h('span', null, linked(e.author.name ?? '', e.author.url, `${key}a`))),
    e.title && h('div', { class: 'embed-title' }, linked(e.title, e.url, `${key}t`)),
    e.description && markdown(e.description, 'md embed-description', `${key}d`),
    e.fields?.length && fields(e.fields, key),
    e.image?.url && picture({ ...e.image, className: 'embed-image' }),
    footer(e));
  const thumb = e.thumbnail?.url && picture({ url: e.thumbnail.url, className: 'embed-thumb' });
  return h('article', { class: 'embed', style: e.color ? { '--edge': hex(e.color) } : {} }, body, thumb);
}

function fields(list, key) {
  return h('div', { class: 'embed-fields' }, list.map((f, i) => h('div', { class: f.inline ? 'field inline' : 'field' },
    h('div', { class: 'field-name' }, inlineMarkdown(f.name ?? '', `${key}n${i}`)),
    markdown(f.value ?? '', 'md field-value', `${key}v${i}`))));
}

function footer(e) {
  if (!e.footer?.text && !e.timestamp) return null;
  const parts = [e.footer?.text, e.timestamp && stamp(e.timestamp)].filter(Boolean).join(' • ');
  return h('div', { class: 'embed-footer' }, small(e.footer?.icon_url, 'embed-icon'), h('span', { text: parts }));
}
