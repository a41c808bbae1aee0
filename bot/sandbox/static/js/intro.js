/** What stands above the first message of a channel. */

import { h } from './dom.js';
import { icon } from './icons.js';
import { inlineMarkdown } from './markdown-dom.js';
import { nameById } from './people.js';
import { FORUM_TYPES, THREAD_TYPES, store } from './store.js';

/** The icon name of a channel. */
export const channelIcon = (c) => (THREAD_TYPES.has(c?.type) ? 'thread' : FORUM_TYPES.has(c?.type) ? 'forum' : c?.type === 1 ? 'at' : 'hash');

/** "Welcome to #tavern!" */
export function channelIntro(c) {
  if (!c) return h('li', { class: 'intro' });
  const thread = THREAD_TYPES.has(c.type);
  return h('li', { class: 'intro' },
    h('div', { class: 'intro-icon' }, icon(channelIcon(c), 42)),
    h('h2', { text: thread ? c.name : `Welcome to #${c.name}!` }),
    h('p', null, thread ? `Started by ${nameById(c.owner_id)}` : [`This is the start of the #${c.name} channel. `, c.topic && inlineMarkdown(c.topic)]));
}

/** True when the channel, or the parent of the thread, is age-restricted. */
export const isNsfw = (c) => !!(c?.nsfw || store.channels.get(c?.parent_id)?.nsfw);
