/** One message as Discord draws it; anything that cannot be drawn becomes a line of text. */

import { button, guarded, h } from './dom.js';
import { components, isLayout } from './components.js';
import { embed } from './embeds.js';
import { icon } from './icons.js';
import { failureOf } from './interactions.js';
import { customEmoji, markdown, plainText } from './markdown-dom.js';
import { attachments } from './media.js';
import { avatar, isPersona, nameOf, pings, roleColour } from './people.js';
import { dismiss, historyOf, say, store } from './store.js';
import { longStamp, shortStamp, stamp } from './time.js';

const GROUP_MS = 7 * 60_000; // Discord starts a new head after seven minutes
export const LOADING = 128;
const EPHEMERAL = 64;
const SUPPRESS_EMBEDS = 4;
const PLAIN_TYPES = new Set([0, 19, 20, 23]);

/** The author's name as shown; a webhook speaks under the name it was given. */
export const authorName = (m) => (isPersona(m) ? m.author?.username ?? 'webhook' : nameOf(m.author));

/** True when `m` continues `before` under one head. */
export function continues(m, before) {
  if (!before || !PLAIN_TYPES.has(m.type ?? 0) || !PLAIN_TYPES.has(before.type ?? 0)) return false;
  if (m.message_reference || m.interaction_metadata) return false;
  if ((m.flags & EPHEMERAL) !== (before.flags & EPHEMERAL)) return false;
  if (m.author?.id !== before.author?.id || authorName(m) !== authorName(before) || m.author?.avatar !== before.author?.avatar) return false;
  return Date.parse(m.timestamp) - Date.parse(before.timestamp) < GROUP_MS;
}

/** The `<li>` of a message; `before` is the message above it. */
export function drawMessage(m, before) {
  try {
    if (m.type === 21) return starter(m);
    return PLAIN_TYPES.has(m.type ?? 0) ? chat(m, continues(m, before)) : system(m);
  } catch (error) {
    console.warn('could not draw message', m, error);
    return h('li', { class: 'message system', id: `m-${m.id}`, dataset: { id: m.id } }, h('div', { class: 'undrawable', text: m.content || '[a message that this page cannot draw]' }));
  }
}

// A thread that grew out of a message shows that message first, as its author wrote it.
function starter(m) {
  if (!m.referenced_message) return system({ ...m, content: 'started this thread from a message that was deleted.' });
  return chat({ ...m.referenced_message, id: m.id, channel_id: m.channel_id, reactions: [], components: [], thread: null }, false);
}

function chat(m, grouped) {
  const ephemeral = (m.flags & EPHEMERAL) !== 0;
  const name = authorName(m);
  const classes = ['message', grouped ? 'grouped' : 'head', ephemeral && 'ephemeral', pings(m) && 'pinged', m.failed && 'failed', m.pending && 'pending'];
  return h('li', { class: classes.filter(Boolean).join(' '), id: `m-${m.id}`, dataset: { id: m.id }, tabindex: '-1', 'aria-label': grouped ? name : null },
    !grouped && above(m),
    grouped
      ? h('time', { class: 'margin-time', datetime: m.timestamp, title: longStamp(m.timestamp), text: shortStamp(m.timestamp) })
      : button({ class: 'face', 'aria-label': `${name}, show`, on: { click: (e) => say('profile', { user: m.author, name, anchor: e.currentTarget, webhook: isPersona(m) }) } }, avatar(m.author, { name })),
    h('div', { class: 'message-body' },
      !grouped && byline(m, name),
      m.flags & LOADING ? thinking(name) : body(m),
      failureOf(m.id) && h('div', { class: 'interaction-failed', role: 'alert' }, icon('warn', 16), failureOf(m.id)),
      ephemeral && ephemeralNote(m)));
}

function byline(m, name) {
  const colour = isPersona(m) ? null : roleColour(m.author);
  return h('h3', { class: 'byline' },
    h('span', { class: 'author', text: name, style: colour ? { color: colour } : {} }),
    (m.webhook_id || m.author?.bot) && h('span', { class: 'tag', title: isPersona(m) ? 'Posted by a webhook' : 'An application', text: 'APP' }),
    h('time', { datetime: m.timestamp, title: longStamp(m.timestamp), text: stamp(m.timestamp) }));
}

function above(m) {
  if (m.type === 19) return replied(m);
  const used = m.interaction_metadata ?? m.interaction;
  if (!used || used.type === 3) return null;
  const user = store.users.get(used.user?.id) ?? used.user;
  const name = m.interaction?.name ?? used.name;
  return h('div', { class: 'above' }, h('span', { class: 'elbow', 'aria-hidden': 'true' }),
    avatar(user, { size: 16, className: 'avatar tiny' }), h('span', { class: 'above-name', text: nameOf(user) }),
    ' used ', h('span', { class: 'mention', text: name ? (used.type === 2 && m.type !== 23 ? `/${name}` : name) : 'a command' }));
}

function replied(m) {
  const to = m.referenced_message ?? historyOf(m.channel_id).byId.get(m.message_reference?.message_id);
  const line = h('div', { class: 'above' }, h('span', { class: 'elbow', 'aria-hidden': 'true' }));
  if (!to) {
    line.append(h('em', { text: 'Original message was deleted' }));
    return line;
  }
  line.append(avatar(to.author, { size: 16, name: authorName(to), className: 'avatar tiny' }),
    h('span', { class: 'above-name', text: authorName(to), style: isPersona(to) ? {} : { color: roleColour(to.author) ?? 'inherit' } }),
    button({ class: 'above-text', on: { click: () => say('jump', { channel: to.channel_id, id: to.id }) } }, to.content ? plainText(to.content).slice(0, 160) : 'Click to see the message'));
  return line;
}

const thinking = (name) => h('div', { class: 'thinking' }, dots(), h('span', { text: `${name} is thinking…` }));

/** Three dots that pulse. */
export const dots = () => h('span', { class: 'dots', 'aria-hidden': 'true' }, h('i'), h('i'), h('i'));

function body(m) {
  const suppressed = (m.flags & SUPPRESS_EMBEDS) !== 0;
  const layout = isLayout(m);
  return [
    editing.id === m.id ? editor(m) : !layout && (m.content || m.edited_timestamp) && text(m),
    !layout && m.attachments?.length > 0 && h('div', { class: 'attachments' }, guarded('attachment', () => h('div', { class: 'attachment-list' }, attachments(m.attachments)))),
    !suppressed && (m.embeds ?? []).map((e, i) => guarded('embed', () => embed(e, `${m.id}/e${i}`))),
    m.components?.length > 0 && h('div', { class: layout ? 'components layout' : 'components' }, components(m)),
    layout && m.edited_timestamp && h('div', { class: 'edited', text: '(edited)' }),
    (m.sticker_items ?? []).map((s) => h('div', { class: 'unknown-component', text: `[sticker: ${s.name}]` })),
    m.poll && poll(m.poll),
    (m.message_snapshots ?? []).map((s) => forwarded(s.message ?? {}, m)),
    m.reactions?.length > 0 && reactions(m),
    m.thread && threadBox(m.thread),
    m.failed && h('div', { class: 'interaction-failed', role: 'alert' }, icon('warn', 16), m.failed),
  ];
}

function text(m) {
  const el = markdown(m.content ?? '', 'md content', m.id);
  if (m.edited_timestamp) el.append(h('span', { class: 'edited', title: longStamp(m.edited_timestamp), text: '(edited)' }));
  return el;
}

function forwarded(snapshot, m) {
  return h('div', { class: 'forwarded' }, h('div', { class: 'forwarded-label', text: '↱ Forwarded' }),
    guarded('forwarded message', () => h('div', null, body({ ...snapshot, id: `${m.id}f`, channel_id: m.channel_id }))));
}

function poll(p) {
  return h('div', { class: 'embed poll' }, h('div', { class: 'embed-body' }, h('div', { class: 'embed-title', text: p.question?.text ?? 'Poll' }),
    h('ul', null, (p.answers ?? []).map((a) => h('li', { text: a.poll_media?.text ?? '' })))));
}

function ephemeralNote(m) {
  return h('div', { class: 'only-you' }, icon('eye', 16), 'Only you can see this • ',
    button({ class: 'linklike', on: { click: () => dismiss(m.channel_id, m.id) } }, 'Dismiss message'));
}

function reactions(m) {
  return h('div', { class: 'reactions' }, m.reactions.map((r) => button({
    class: `reaction${r.me ? ' mine' : ''}`, 'aria-pressed': String(!!r.me), 'aria-label': `${r.emoji.name}: ${r.count}`,
    on: { click: () => say('react', { message: m, emoji: r.emoji, remove: !!r.me }) },
  }, customEmoji(r.emoji), h('span', { class: 'count', text: r.count }))), button({ class: 'reaction add', 'aria-label': 'Add a reaction', on: { click: (e) => say('pick', { message: m, anchor: e.currentTarget }) } }, icon('smile', 18)));
}

function threadBox(known) {
  const thread = store.channels.get(known.id) ?? known;
  const count = thread.message_count ?? 0;
  return button({ class: 'thread-box', on: { click: () => say('open', thread.id) } },
    h('span', { class: 'thread-box-title' }, h('strong', { text: thread.name }), h('span', { class: 'thread-box-count', text: `${count} Message${count === 1 ? '' : 's'} ›` })),
    h('span', { class: 'thread-box-note', text: thread.thread_metadata?.archived ? 'Archived' : 'Open the thread' }));
}

const SYSTEM = {
  1: (m) => ['plus', ' added ', who(m.mentions?.[0]), ' to the thread.'],
  2: (m) => ['close', ' removed ', who(m.mentions?.[0]), ' from the thread.'],
  4: (m) => ['pencil', ' changed the channel name: ', h('strong', { text: m.content })],
  6: (m) => ['pin', ' pinned ', button({ class: 'linklike strong', on: { click: () => say('jump', { channel: m.channel_id, id: m.message_reference?.message_id }) } }, 'a message'), ' to this channel.'],
  7: () => ['plus', ' just showed up. Glad you’re here!'],
  18: (m) => ['thread', ' started a thread: ', button({ class: 'linklike strong', on: { click: () => say('open', threadOf(m)) } }, m.content || 'a thread'), '.'],
};

const threadOf = (m) => m.message_reference?.channel_id ?? m.thread?.id ?? m.id;
const who = (user) => h('strong', { text: user ? nameOf(user) : 'someone' });

function system(m) {
  const [name, ...words] = SYSTEM[m.type]?.(m) ?? ['warn', ' ', m.content || 'did something that this page does not know.'];
  return h('li', { class: 'message system', id: `m-${m.id}`, dataset: { id: m.id }, tabindex: '-1' },
    h('span', { class: 'system-icon' }, icon(name, 18)),
    h('div', { class: 'message-body' },
      h('div', { class: 'system-text' }, h('strong', { text: authorName(m), style: { color: roleColour(m.author) ?? 'inherit' } }), words, ' ',
        h('time', { datetime: m.timestamp, title: longStamp(m.timestamp), text: stamp(m.timestamp) })),
      m.type === 18 && store.channels.has(threadOf(m)) && threadBox({ id: threadOf(m) })));
}

/** The message being edited in place; `feed.js` and the menus share it. */
export const editing = { id: '', channel: '', draft: '' };

/** Opens the editor on an own message. */
export function startEdit(m) {
  const before = { ...editing };
  Object.assign(editing, { id: m.id, channel: m.channel_id, draft: m.content });
  if (before.id) say('messages', { what: 'update', channel: before.channel, id: before.id });
  say('messages', { what: 'update', channel: m.channel_id, id: m.id });
  document.querySelector('.editor textarea')?.focus();
}

function stopEdit(m) {
  Object.assign(editing, { id: '', channel: '', draft: '' });
  say('messages', { what: 'update', channel: m.channel_id, id: m.id });
  document.querySelector('.composer textarea')?.focus();
}

function editor(m) {
  const area = h('textarea', { 'aria-label': 'Edit the message', rows: '1', value: editing.draft });
  const fit = () => { area.style.height = 'auto'; area.style.height = `${Math.min(area.scrollHeight, 320)}px`; };
  const save = () => {
    const content = area.value.trim();
    stopEdit(m);
    if (!content) say('delete', m);
    else if (content !== m.content) say('edit', { message: m, content });
  };
  area.addEventListener('input', () => { editing.draft = area.value; fit(); });
  area.addEventListener('keydown', (e) => {
    if (e.isComposing) return;
    if (e.key === 'Escape') { e.preventDefault(); e.stopPropagation(); stopEdit(m); }
    if (e.key === 'Enter' && !e.shiftKey) { e.preventDefault(); save(); }
  });
  queueMicrotask(() => { fit(); area.setSelectionRange(area.value.length, area.value.length); });
  return h('div', { class: 'editor' }, area, h('div', { class: 'editor-help' },
    'escape to ', button({ class: 'linklike', on: { click: () => stopEdit(m) } }, 'cancel'), ' • enter to ', button({ class: 'linklike', on: { click: save } }, 'save')));
}

/** What a screen reader is told of a message. */
export function spokenMessage(m) {
  const words = m.content ? plainText(m.content) : (m.embeds?.[0]?.title ?? m.embeds?.[0]?.description ?? '');
  const extra = m.attachments?.length ? ` ${m.attachments.length} attachment(s).` : '';
  return `${authorName(m)}: ${words.slice(0, 400)}${extra}`;
}
