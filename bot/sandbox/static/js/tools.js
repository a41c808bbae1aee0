/** The drawer behind the scenes: the bot's life, faults, edits per second, rate limits, requests. */

import { button, fill, h } from './dom.js';
import { icon } from './icons.js';
import { api } from './net.js';
import { on, say, store } from './store.js';

const SPARK_SECONDS = 60;
const ROWS = 150; // requests kept in the table

const state = { requests: [], edits: new Map(), filter: '' };

/** The drawer; `toggle()` on it shows and hides. */
export function toolsDrawer() {
  const bot = h('section', { class: 'tool-box' });
  const faults = faultBox();
  const sparks = h('div', { class: 'sparks' });
  const rate = h('div', { class: 'buckets' });
  const requests = requestTable();
  const logs = h('pre', { class: 'bot-log', tabindex: '0', 'aria-label': 'Log of the bot' });
  const el = h('aside', { class: 'tools', hidden: true, 'aria-label': 'Tools', tabindex: '-1' },
    h('header', { class: 'tools-head' }, h('h2', { text: 'Behind the scenes' }), button({ class: 'ghost', 'aria-label': 'Close the tools', on: { click: () => el.toggle(false) } }, icon('close'))),
    h('div', { class: 'tools-body' }, bot, faults.el,
      section('Edits per second', sparks), section('Rate limits', rate), requests.el,
      h('details', { class: 'tool-box' }, h('summary', { text: 'Log of the bot' }), logs)));
  el.toggle = (shown = el.hidden) => {
    el.hidden = !shown;
    say('tools-shown', shown);
    if (shown) { drawAll(); el.focus(); }
  };
  const drawAll = () => { drawBot(bot); faults.draw(); drawSparks(sparks); drawRate(rate); requests.draw(); drawLog(logs); };
  on('tools', () => el.toggle());
  on('hello', () => { state.requests = []; if (!el.hidden) drawAll(); });
  on('bot', () => !el.hidden && drawBot(bot));
  on('log', () => !el.hidden && drawLog(logs));
  on('stats', (frame) => {
    take(frame);
    if (!el.hidden) { faults.draw(); drawSparks(sparks); drawRate(rate); requests.draw(); }
  });
  el.addEventListener('keydown', (e) => { if (e.key === 'Escape') el.toggle(false); });
  return el;
}

const section = (title, ...inside) => h('section', { class: 'tool-box' }, h('h3', { text: title }), inside);

function take(frame) {
  state.requests.push(...(frame.requests ?? []));
  state.requests.splice(0, Math.max(0, state.requests.length - ROWS));
  const now = frame.edits_per_s ?? {};
  for (const channel of Object.keys(now)) if (!state.edits.has(channel)) state.edits.set(channel, Array(SPARK_SECONDS).fill(0));
  for (const [channel, line] of state.edits) {
    line.push(now[channel] ?? 0);
    line.shift();
    if (line.every((n) => n === 0)) state.edits.delete(channel);
  }
}

async function act(op, body, done) {
  try {
    await api(op, body);
    if (done) say('toast', done);
  } catch (error) {
    say('toast', error.message);
  }
}

const BOT_STATE = { running: 'running', starting: 'starting…', stopped: 'stopped', crashed: 'crashed', external: 'not started by this sandbox' };

function drawBot(el) {
  const { bot, model } = store;
  const mine = bot.state !== 'external';
  fill(el, h('h3', { text: 'Bot' }),
    h('p', { class: 'bot-state' }, h('i', { class: `lamp ${bot.online ? 'on' : 'off'}` }), h('strong', { text: bot.online ? 'online' : BOT_STATE[bot.state] ?? 'offline' }),
      bot.pid ? h('span', { class: 'muted', text: ` process ${bot.pid}` }) : null),
    bot.note && h('p', { class: 'muted', text: bot.note }),
    h('p', { class: 'muted', text: model?.offline ? 'Answers are written by the offline narrator: a small program on this machine, no model.' : `Answers come from ${model?.name ?? 'a model'}.` }),
    h('div', { class: 'tool-row' },
      button({ class: 'btn secondary small', disabled: !mine, on: { click: () => act('bot', { action: 'restart' }, 'The bot restarts.') } }, icon('refresh', 16), 'Restart bot'),
      button({ class: 'btn danger small', disabled: !mine || !bot.pid, title: 'kill -9: no time to tidy up', on: { click: () => act('bot', { action: 'kill' }, 'The bot was killed.') } }, icon('bolt', 16), 'Kill bot'),
      button({ class: 'btn success small', disabled: !mine || !!bot.pid, on: { click: () => act('bot', { action: 'start' }, 'The bot starts.') } }, icon('play', 16), 'Start')));
}

function faultBox() {
  const latency = h('input', { type: 'range', min: '0', max: '3000', step: '50', value: '0', 'aria-label': 'Extra latency in milliseconds' });
  const shown = h('span', { class: 'latency-now', text: '0 ms' });
  latency.addEventListener('input', () => { shown.textContent = `${latency.value} ms`; });
  latency.addEventListener('change', () => act('fault', { kind: 'latency', ms: Number(latency.value) }));
  const count = h('input', { type: 'number', min: '1', max: '50', value: '3', 'aria-label': 'Number of requests' });
  const fail = (status) => act('fault', { kind: 'status', status, n: Math.max(1, Number(count.value) || 1) }, `The next ${count.value} requests of the bot get ${status}.`);
  const active = h('p', { class: 'faults-active', role: 'status' });
  const el = section('Faults',
    h('div', { class: 'tool-row' },
      button({ class: 'btn secondary small', title: 'Close the gateway; the bot should resume', on: { click: () => act('fault', { kind: 'drop' }, 'The connection was dropped.') } }, 'Drop connection'),
      button({ class: 'btn secondary small', title: 'The bot must identify again and catch up', on: { click: () => act('fault', { kind: 'invalid_session' }, 'The session was invalidated.') } }, 'Invalid session')),
    h('label', { class: 'tool-line' }, 'Latency', latency, shown),
    h('div', { class: 'tool-line' }, 'Next', count, 'requests fail with', button({ class: 'btn secondary small', on: { click: () => fail(429) } }, '429'), button({ class: 'btn secondary small', on: { click: () => fail(500) } }, '500')),
    active);
  const draw = () => {
    const faults = store.stats?.faults ?? [];
    const slow = faults.find((f) => f.kind === 'latency')?.ms ?? 0;
    if (document.activeElement !== latency) { latency.value = slow; shown.textContent = `${slow} ms`; }
    fill(active, faults.length > 0 && [faults.map((f) => f.text ?? f.kind).join(' · '), ' ', button({ class: 'linklike', on: { click: () => act('fault', { kind: 'clear' }, 'No more faults.') } }, 'clear')]);
  };
  return { el, draw };
}

function drawSparks(el) {
  const lines = [...state.edits].sort((a, b) => Math.max(...b[1]) - Math.max(...a[1])).slice(0, 6);
  fill(el, lines.map(([channel, line]) => {
    const name = store.channels.get(channel)?.name ?? channel;
    return h('div', { class: 'spark' }, h('span', { class: 'spark-name', title: name, text: name }), spark(line), h('span', { class: 'spark-now', text: `${line.at(-1)}/s` }));
  }), !lines.length && h('p', { class: 'muted', text: 'No edits in the last minute.' }));
}

const NS = 'http://www.w3.org/2000/svg';

function spark(line) {
  const svg = document.createElementNS(NS, 'svg');
  svg.setAttribute('viewBox', `0 0 ${SPARK_SECONDS} 20`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('class', 'spark-line');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', `at most ${Math.max(...line)} per second in the last minute`);
  const top = Math.max(2, ...line);
  line.forEach((n, i) => {
    if (!n) return;
    const bar = document.createElementNS(NS, 'rect');
    const height = (n / top) * 19;
    Object.entries({ x: i + 0.1, y: 20 - height, width: 0.8, height }).forEach(([k, v]) => bar.setAttribute(k, v));
    svg.append(bar);
  });
  return svg;
}

function drawRate(el) {
  const rate = (store.stats?.rate ?? []).slice(0, 12);
  fill(el, rate.map((b) => h('div', { class: 'bucket' },
    h('span', { class: 'bucket-name', title: b.bucket, text: b.bucket }),
    h('span', { class: 'bucket-bar', role: 'img', 'aria-label': `${b.remaining} of ${b.limit} left` }, h('i', { class: b.remaining === 0 ? 'spent' : '', style: { width: `${(100 * b.remaining) / Math.max(1, b.limit)}%` } })),
    h('span', { class: 'bucket-left', text: `${b.remaining}/${b.limit}` }))), !rate.length && h('p', { class: 'muted', text: 'No bucket is in use.' }));
}

function requestTable() {
  const body = h('tbody');
  const filter = h('input', { type: 'search', placeholder: 'Filter', 'aria-label': 'Filter the requests' });
  filter.addEventListener('input', () => { state.filter = filter.value.toLowerCase(); draw(); });
  const count = h('span', { class: 'muted' });
  const el = h('section', { class: 'tool-box requests' },
    h('div', { class: 'tool-line' }, h('h3', { text: 'Requests' }), count, h('span', { class: 'grow' }), filter, button({ class: 'linklike', on: { click: () => { state.requests = []; draw(); } } }, 'clear')),
    h('div', { class: 'request-scroll', tabindex: '0', role: 'region', 'aria-label': 'Requests of the bot' }, h('table', null,
      h('thead', { class: 'sr-only' }, h('tr', null, ['Time', 'Method', 'Path', 'Status', 'Milliseconds'].map((t) => h('th', { text: t })))), body)));
  const draw = () => {
    const rows = state.requests.filter((r) => !state.filter || `${r.method} ${r.path} ${r.status}`.toLowerCase().includes(state.filter)).slice(-100).reverse();
    count.textContent = rows.length ? String(rows.length) : '';
    fill(body, rows.map((r) => h('tr', { class: r.status >= 500 ? 'bad' : r.status === 429 ? 'limited' : r.status >= 400 ? 'refused' : '' },
      h('td', { text: new Date(r.at).toLocaleTimeString() }), h('td', { class: `method ${r.method}`, text: r.method }),
      h('td', { class: 'path', title: r.path, text: shortPath(r.path) }), h('td', { class: 'code', text: r.status }), h('td', { class: 'ms', text: `${Math.round(r.ms)}` }))));
  };
  return { el, draw };
}

// Ids say little to a reader: the last four digits tell them apart.
const shortPath = (path) => path.replace(/^\/api\/v\d+/, '').replace(/\d{13,}/g, (id) => `…${id.slice(-4)}`).replace(/[\w-]{40,}/g, (t) => `${t.slice(0, 6)}…`);

function drawLog(el) {
  const end = el.scrollHeight - el.scrollTop - el.clientHeight < 20;
  el.textContent = store.logs.join('\n') || 'Nothing yet.';
  if (end) el.scrollTop = el.scrollHeight;
}
