/** Times as Discord writes them, in the reader's own time zone. */

const EPOCH = 1420070400000n;

/** Milliseconds of a snowflake. */
export const snowflakeTime = (id) => Number((BigInt(id) >> 22n) + EPOCH);

/** Orders snowflakes (decimal strings of any length). */
export const olderFirst = (a, b) => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);

const clock = (date) => date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();

/** `14:05`, `Yesterday at 14:05`, `02/11/2026, 14:05` */
export function stamp(value, now = new Date()) {
  const date = new Date(value);
  const days = Math.round((midnight(now) - midnight(date)) / 86400000);
  if (days === 0) return clock(date);
  if (days === 1) return `Yesterday at ${clock(date)}`;
  return `${date.toLocaleDateString()}, ${clock(date)}`;
}

/** `14:05`: for the margin of a grouped message. */
export const shortStamp = (value) => clock(new Date(value));

/** `Monday, 2 November 2026 at 14:05` */
export const longStamp = (value) => new Date(value).toLocaleString([], {
  weekday: 'long', day: 'numeric', month: 'long', year: 'numeric', hour: '2-digit', minute: '2-digit',
});

/** `2 November 2026`: between days. */
export const dayName = (value) => new Date(value).toLocaleDateString([], {
  day: 'numeric', month: 'long', year: 'numeric',
});

export const sameDay = (a, b) => midnight(new Date(a)) === midnight(new Date(b));

const STEPS = [
  [60, 'second', 1], [3600, 'minute', 60], [86400, 'hour', 3600], [2592000, 'day', 86400],
  [31536000, 'month', 2592000], [Infinity, 'year', 31536000],
];

/** `in 5 minutes`, `3 hours ago` */
export function relative(ms, now = Date.now()) {
  const seconds = Math.round((ms - now) / 1000);
  const [, unit, size] = STEPS.find(([limit]) => Math.abs(seconds) < limit);
  return new Intl.RelativeTimeFormat([], { numeric: 'auto' }).format(Math.trunc(seconds / size), unit);
}

/** The text of `<t:unix:style>`. */
export function timestamp(seconds, style) {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return 'Invalid date';
  switch (style) {
    case 't': return clock(date);
    case 'T': return date.toLocaleTimeString();
    case 'd': return date.toLocaleDateString();
    case 'D': return dayName(date);
    case 'F': return longStamp(date);
    case 'R': return relative(date.getTime());
    default: return `${dayName(date)} ${clock(date)}`;
  }
}
