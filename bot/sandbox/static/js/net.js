/** The page's two lines to the sandbox: a websocket that brings, and `POST /page/api/<op>` that asks. */

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** Who acts; kept in the address so that a reload, or a second window, keeps its own person. */
export const me = {
  get id() { return new URLSearchParams(location.search).get('user') ?? ''; },
  set id(value) {
    const url = new URL(location.href);
    url.searchParams.set('user', value);
    history.replaceState(null, '', url);
  },
};

/** An address of this sandbox as one of this page's own origin; others are left as they are. */
export function local(url) {
  try {
    const parsed = new URL(url, location.href);
    if (LOOPBACK.has(parsed.hostname) && parsed.port === location.port) return parsed.pathname + parsed.search;
    return parsed.protocol === 'http:' || parsed.protocol === 'https:' || parsed.protocol === 'blob:' ? parsed.href : '';
  } catch {
    return '';
  }
}

/**
 * Asks the sandbox to do something as the acting user. `files` go along as multipart.
 * Resolves to the answer's fields; rejects with an Error whose message can be shown.
 */
export async function api(op, body = {}, files = []) {
  const url = `/page/api/${op}?user=${encodeURIComponent(me.id)}`;
  const init = { method: 'POST' };
  if (files.length) {
    init.body = new FormData();
    init.body.append('payload_json', JSON.stringify(body));
    files.forEach((file, i) => init.body.append(`files[${i}]`, file, file.name));
  } else {
    init.headers = { 'content-type': 'application/json' };
    init.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await (await fetch(url, init)).json();
  } catch {
    throw new Error('The sandbox does not answer. Is it still running?');
  }
  if (!answer.ok) throw new Error(answer.error || 'That did not work.');
  return answer;
}

/** A websocket that comes back: 0.3 s after the first loss, then slower, at most every 3 s. */
export class Link {
  constructor(onFrame, onState) {
    this.onFrame = onFrame;
    this.onState = onState;
    this.failures = 0;
    this.socket = null;
  }

  open() {
    clearTimeout(this.timer);
    const old = this.socket;
    this.socket = null;
    old?.close();
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const socket = new WebSocket(`${scheme}://${location.host}/page/ws?user=${encodeURIComponent(me.id)}`);
    this.socket = socket;
    socket.onmessage = (event) => {
      if (this.socket !== socket) return; // the person was changed meanwhile
      this.failures = 0;
      this.onFrame(JSON.parse(event.data));
    };
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.onState(false);
      this.failures += 1;
      this.timer = setTimeout(() => this.open(), Math.min(3000, 300 * this.failures));
    };
  }
}
