/**
 * Discord's markdown as a small tree.
 *
 * `parse(text)` never throws and is linear in practice: each rule looks for its closing
 * mark once, and nesting is bounded. Nodes: `{type, …, children?}`; the drawing is
 * `markdown-dom.js`, so that nothing in here knows HTML.
 */

const MAX_DEPTH = 12; // deeper nesting is shown as typed; also bounds the work on hostile text
const URL = /^https?:\/\/[^\s<>]+/;
const ESCAPABLE = /[\\`*_{}[\]()#+\-.!|~<>:@"'/]/;

/** Blocks and inlines of a whole message. */
export function parse(text) {
  return blocks(String(text ?? '').replace(/\r\n?/g, '\n'), 0, true);
}

function blocks(text, depth, quotes) {
  const out = [];
  let plain = '';
  const flush = () => {
    if (plain) out.push(...inline(plain, depth));
    plain = '';
  };
  let at = 0;
  let lineStart = true;
  while (at < text.length) {
    const rest = text.slice(at);
    const found = (lineStart && lineBlock(rest, depth, quotes)) || codeBlock(rest);
    if (found) {
      if (found.node.type !== 'pre') plain = plain.replace(/\n$/, '');
      flush();
      out.push(found.node);
      at += found.length;
      lineStart = found.endsLine || text[at - 1] === '\n';
      continue;
    }
    const step = nextStep(text, at);
    plain += text.slice(at, step);
    lineStart = text[step - 1] === '\n';
    at = step;
  }
  flush();
  return out;
}

// Up to the next line start or the next fence: the only places where a block may begin.
function nextStep(text, at) {
  const line = text.indexOf('\n', at);
  const fence = text.indexOf('```', at + 1);
  const ends = [text.length];
  if (line >= 0) ends.push(line + 1);
  if (fence > at) ends.push(fence);
  return Math.min(...ends);
}

function codeBlock(text) {
  if (!text.startsWith('```')) return null;
  const end = text.indexOf('```', 3);
  if (end < 0) return null;
  const inner = text.slice(3, end);
  if (!inner.trim()) return null;
  const lang = /^([\w+\-.#]{1,24})\n/.exec(inner);
  const body = (lang ? inner.slice(lang[0].length) : inner).replace(/^\n/, '').replace(/\n$/, '');
  let length = end + 3;
  if (text[length] === '\n') length += 1;
  return { node: { type: 'pre', lang: lang?.[1] ?? '', text: body }, length, endsLine: true };
}

function lineBlock(text, depth, quotes) {
  if (depth >= MAX_DEPTH) return null;
  let m;
  if ((m = /^(#{1,3})[ \t]+(\S[^\n]*)(?:\n|$)/.exec(text))) {
    return node({ type: 'heading', level: m[1].length, children: inline(m[2], depth + 1) }, m);
  }
  if ((m = /^-#[ \t]+(\S[^\n]*)(?:\n|$)/.exec(text))) {
    return node({ type: 'subtext', children: inline(m[1], depth + 1) }, m);
  }
  if (quotes && (m = /^>>> ?([\s\S]+)$/.exec(text))) {
    return node({ type: 'quote', children: blocks(m[1], depth + 1, false) }, m);
  }
  if (quotes && (m = /^(?:> [^\n]*(?:\n|$)|>(?:\n|$))+/.exec(text))) {
    const body = m[0].replace(/\n$/, '').replace(/^> ?/gm, '');
    return node({ type: 'quote', children: blocks(body, depth + 1, false) }, m);
  }
  if ((m = /^(?:[ \t]{0,10}(?:[-*]|\d{1,9}\.)[ \t]+\S[^\n]*(?:\n|$))+/.exec(text))) {
    return node(list(m[0], depth), m);
  }
  return null;
}

const node = (value, match) => ({ node: value, length: match[0].length, endsLine: true });

function list(text, depth) {
  const items = text.replace(/\n$/, '').split('\n').map((line) => {
    const m = /^([ \t]*)([-*]|\d+\.)[ \t]+(.*)$/.exec(line);
    return { indent: m[1].replace(/\t/g, '  ').length, mark: m[2], body: m[3] };
  });
  const build = (from, indent) => {
    const first = items[from];
    const ordered = /\d/.test(first.mark);
    const out = { type: 'list', ordered, start: ordered ? parseInt(first.mark, 10) : 1, items: [] };
    let i = from;
    while (i < items.length && items[i].indent >= indent) {
      const sibling = items[i].indent <= indent + 1;
      if (sibling && /\d/.test(items[i].mark) !== ordered) break; // bullets after numbers: another list
      if (items[i].indent > indent + 1 && out.items.length) {
        const [sub, next] = build(i, items[i].indent);
        out.items[out.items.length - 1].push(sub);
        i = next;
      } else {
        out.items.push(inline(items[i].body, depth + 1));
        i += 1;
      }
    }
    return [out, i];
  };
  const lists = [];
  for (let i = 0; i < items.length;) {
    const [one, next] = build(i, Math.min(items[i].indent, 1));
    lists.push(one);
    i = Math.max(next, i + 1);
  }
  return lists.length === 1 ? lists[0] : { type: 'group', children: lists };
}

/** Inline nodes of one run of text. */
export function inline(text, depth = 0) {
  const out = [];
  let plain = '';
  const flush = () => {
    if (plain) out.push({ type: 'text', text: plain });
    plain = '';
  };
  let at = 0;
  while (at < text.length) {
    const char = text[at];
    const rule = depth < MAX_DEPTH ? RULES[char] : undefined;
    const found = rule ? rule(text, at, depth) : null;
    if (found) {
      if (found.node.type === 'text') plain += found.node.text;
      else { flush(); out.push(found.node); }
      at += found.length;
    } else if (char === '\n') {
      flush();
      out.push({ type: 'br' });
      at += 1;
    } else {
      plain += char;
      at += 1;
    }
  }
  flush();
  return out;
}

// The index of `mark` after `from` that is not escaped and not inside inline code.
function closing(text, mark, from) {
  for (let i = from; i <= text.length - mark.length; i += 1) {
    if (text[i] === '\\') { i += 1; continue; }
    if (text[i] === '`') {
      const end = text.indexOf('`', i + 1);
      if (end > 0) { i = end; continue; }
    }
    if (text.startsWith(mark, i)) return i;
  }
  return -1;
}

function wrapped(text, at, mark, type, depth) {
  if (!text.startsWith(mark, at)) return null;
  let end = closing(text, mark, at + mark.length);
  // `***bold italic***`: the longest run of marks closes the outer one
  while (end >= 0 && text[end + mark.length] === mark[0] && mark.length === 2 && mark !== '||') end += 1;
  if (end < 0 || end === at + mark.length) return null;
  const body = text.slice(at + mark.length, end);
  if (!body.trim() && type !== 'spoiler') return null;
  return { node: { type, children: inline(body, depth + 1) }, length: end + mark.length - at };
}

function emphasis(text, at, mark, depth) {
  if (!/\S/.test(text[at + 1] ?? ' ')) return null;
  let end = at + 1;
  for (;;) {
    end = closing(text, mark, end);
    if (end < 0) return null;
    if (text[end + 1] === mark) { // a double mark opens or closes another rule: step over its partner
      const partner = closing(text, mark + mark, end + 2);
      if (partner < 0) return null;
      end = partner + 2;
      continue;
    }
    const inWord = mark === '_' && /\w/.test(text[end + 1] ?? '');
    if (!/\s/.test(text[end - 1]) && !inWord) break;
    end += 1;
  }
  if (end <= at + 1) return null;
  return { node: { type: 'em', children: inline(text.slice(at + 1, end), depth + 1) }, length: end + 1 - at };
}

const angle = [
  [/^<@!?(\d+)>/, (m) => ({ type: 'user', id: m[1] })],
  [/^<@&(\d+)>/, (m) => ({ type: 'role', id: m[1] })],
  [/^<#(\d+)>/, (m) => ({ type: 'channel', id: m[1] })],
  [/^<(a?):(\w{2,32}):(\d+)>/, (m) => ({ type: 'emoji', animated: m[1] === 'a', name: m[2], id: m[3] })],
  [/^<t:(-?\d{1,13})(?::([tTdDfFR]))?>/, (m) => ({ type: 'time', at: Number(m[1]), style: m[2] ?? 'f' })],
  [/^<\/([^\n:>]{1,100}):(\d+)>/, (m) => ({ type: 'command', name: m[1] })],
  [/^<(https?:\/\/[^\s<>]+)>/, (m) => ({ type: 'link', url: m[1], children: [{ type: 'text', text: m[1] }] })],
];

const RULES = {
  '\\': (text, at) => (ESCAPABLE.test(text[at + 1] ?? '')
    ? { node: { type: 'text', text: text[at + 1] }, length: 2 } : null),
  '`': (text, at) => {
    const mark = text.startsWith('``', at) ? '``' : '`';
    const end = text.indexOf(mark, at + mark.length);
    if (end < 0 || end === at + mark.length) return null;
    const body = text.slice(at + mark.length, end).replace(/^ (`.*`) $/, '$1').replace(/\n/g, ' ');
    return { node: { type: 'code', text: body }, length: end + mark.length - at };
  },
  '*': (text, at, depth) => wrapped(text, at, '**', 'strong', depth) ?? emphasis(text, at, '*', depth),
  _: (text, at, depth) => {
    const found = wrapped(text, at, '__', 'underline', depth);
    if (found) return found;
    return /\w/.test(text[at - 1] ?? '') ? null : emphasis(text, at, '_', depth);
  },
  '~': (text, at, depth) => wrapped(text, at, '~~', 'strike', depth),
  '|': (text, at, depth) => wrapped(text, at, '||', 'spoiler', depth),
  '<': (text, at) => {
    const rest = text.slice(at, at + 2100);
    for (const [pattern, make] of angle) {
      const m = pattern.exec(rest);
      if (m) return { node: make(m), length: m[0].length };
    }
    return null;
  },
  '[': (text, at, depth) => {
    const m = /^\[((?:[^[\]\n\\]|\\.|\[[^[\]\n]*\]){1,500})\]\(<?(https?:\/\/[^\s<>()]+(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+"[^"\n]*")?\)/.exec(text.slice(at, at + 2600));
    if (!m) return null;
    return { node: { type: 'link', url: m[2], children: inline(m[1], depth + 1) }, length: m[0].length };
  },
  h: (text, at) => {
    if (/\w/.test(text[at - 1] ?? '')) return null;
    const m = URL.exec(text.slice(at, at + 2048));
    if (!m) return null;
    let url = m[0].replace(/[.,:;!?'"*_~|\]]+$/, '');
    while (url.endsWith(')') && url.split('(').length < url.split(')').length) url = url.slice(0, -1);
    return { node: { type: 'link', url, children: [{ type: 'text', text: url }] }, length: url.length };
  },
  '@': (text, at) => {
    const m = /^@(everyone|here)\b/.exec(text.slice(at, at + 10));
    return m ? { node: { type: 'everyone', name: m[1] }, length: m[0].length } : null;
  },
};

/** The words of a tree without their dress: for previews and for screen readers. */
export function plain(nodes, names = {}) {
  return nodes.map((n) => {
    switch (n.type) {
      case 'text': case 'code': case 'pre': return n.text;
      case 'br': return ' ';
      case 'user': return `@${names.user?.(n.id) ?? 'someone'}`;
      case 'channel': return `#${names.channel?.(n.id) ?? 'channel'}`;
      case 'role': return `@${names.role?.(n.id) ?? 'role'}`;
      case 'emoji': return `:${n.name}:`;
      case 'everyone': return `@${n.name}`;
      case 'command': return `/${n.name}`;
      case 'spoiler': return '▮▮▮';
      case 'time': return new Date(n.at * 1000).toLocaleString();
      case 'list': return n.items.map((item) => plain(item, names)).join(' · ');
      default: return plain(n.children ?? [], names) + (n.type === 'heading' || n.type === 'quote' ? ' ' : '');
    }
  }).join('');
}
