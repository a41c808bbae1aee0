/** A forum: its posts as cards, and a form for a new one. */

import { button, fill, h } from './dom.js';
import { icon } from './icons.js';
import { plainText } from './markdown-dom.js';
import { authorName } from './message.js';
import { api } from './net.js';
import { avatar, nameById } from './people.js';
import { on, say, store } from './store.js';
import { olderFirst, relative, snowflakeTime } from './time.js';
import { isUnread } from './unread.js';

const PREVIEW = 200;

/** The view of one forum at a time. */
export function forumView() {
  const list = h('ul', { class: 'posts' });
  const start = h('div', { class: 'forum-start' });
  const el = h('section', { class: 'forum', hidden: true, 'aria-label': 'Posts' }, start, list);
  const firsts = new Map();
  let channel = '';

  const draw = () => {
    const forum = store.channels.get(channel);
    if (!forum || el.hidden) return;
    const posts = [...store.channels.values()].filter((t) => t.parent_id === channel).sort((a, b) => olderFirst(b.last_message_id ?? b.id, a.last_message_id ?? a.id));
    fill(list, posts.map((post) => card(post, forum, firsts.get(post.id))),
      !posts.length && h('li', { class: 'no-posts' }, h('span', { class: 'intro-icon' }, icon('forum', 42)), h('h2', { text: 'No posts yet' }), h('p', { text: forum.topic || 'Each post is a conversation of its own.' })));
    posts.filter((p) => !firsts.has(p.id)).forEach(preview);
  };

  const preview = async (post) => {
    firsts.set(post.id, null);
    try {
      const { messages } = await api('history', { channel: post.id, after: '0', limit: 1 });
      firsts.set(post.id, messages[0] ?? null);
      draw();
    } catch { /* a post without a preview is still a post */ }
  };

  ['channels', 'unread', 'hello'].forEach((t) => on(t, draw));
  on('hello', () => firsts.clear());
  el.show = (id) => {
    channel = id;
    el.hidden = false;
    fill(start, newPost(store.channels.get(id)));
    draw();
  };
  return el;
}

function card(post, forum, first) {
  const tags = (post.applied_tags ?? []).map((id) => forum.available_tags?.find((t) => t.id === id)?.name).filter(Boolean);
  const image = first?.attachments?.find((a) => /^image\//.test(a.content_type ?? ''));
  const count = post.message_count ?? 0;
  return h('li', null, button({ class: `post${isUnread(post) ? ' unread' : ''}`, on: { click: () => say('open', post.id) } },
    h('span', { class: 'post-main' },
      tags.length > 0 && h('span', { class: 'post-tags' }, tags.map((t) => h('span', { class: 'post-tag', text: t }))),
      h('strong', { class: 'post-title', text: post.name }),
      h('span', { class: 'post-first' }, first && [avatar(first.author, { size: 20, name: authorName(first), className: 'avatar tiny' }), h('b', { text: `${authorName(first)}: ` })],
        first ? plainText(first.content ?? '').slice(0, PREVIEW) || '(no text)' : `by ${nameById(post.owner_id)}`),
      h('span', { class: 'post-foot', text: `${count} message${count === 1 ? '' : 's'} · ${relative(snowflakeTime(post.last_message_id ?? post.id))}` })),
    image && h('img', { class: 'post-image', src: new URL(image.url).pathname + new URL(image.url).search, alt: '' })));
}

function newPost(forum) {
  if (!forum) return null;
  const title = h('input', { type: 'text', maxlength: '100', placeholder: 'Title of a new post', 'aria-label': 'Title' });
  const body = h('textarea', { rows: '3', placeholder: 'Enter a message…', 'aria-label': 'First message' });
  const trouble = h('p', { class: 'command-error', role: 'alert' });
  const post = h('button', { type: 'submit', class: 'btn primary' }, 'Post');
  const form = h('form', { class: 'new-post' }, title, h('div', { class: 'new-post-more' }, body, trouble, post));
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    if (!title.value.trim() || !body.value.trim()) { trouble.textContent = 'A post needs a title and a message.'; return; }
    post.disabled = true;
    try {
      const { thread } = await api('thread', { channel: forum.id, name: title.value.trim(), content: body.value.trim() });
      say('open', thread.id);
    } catch (error) {
      trouble.textContent = error.message;
    } finally {
      post.disabled = false;
    }
  });
  return form;
}
