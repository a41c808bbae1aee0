/** The page's own line icons, 24 × 24, drawn with the text colour. */

const NS = 'http://www.w3.org/2000/svg';

// Stroked paths unless the name is listed in FILLED.
const PATHS = {
  hash: 'M9.5 3.5 7 20.5M17 3.5l-2.5 17M4 8.5h17M3 15.5h17',
  forum: 'M4 4h16v11H9l-5 4zM8 8h8M8 11h5',
  thread: 'M8 3.5 6 16M16 3.5l-1.2 7.5M3.5 8h16M2.5 13h7M12 15h9M15 18.5h6',
  spine: 'M6 2v9a5 5 0 0 0 5 5h9',
  chevron: 'm8 10 4 4 4-4',
  right: 'm10 7 5 5-5 5',
  back: 'M15 5l-7 7 7 7',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6 6 18',
  menu: 'M4 7h16M4 12h16M4 17h16',
  people: 'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM2.5 20c0-4 2.8-6.5 6.5-6.5s6.5 2.5 6.5 6.5zM16 4.5a3.3 3.3 0 0 1 0 6.3M18 13.8c2.2.9 3.5 3 3.5 6.2',
  tools: 'M4 7h8M18 7h2M4 17h2M12 17h8M15 9.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5ZM9 19.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5Z',
  pencil: 'M4 20l1-4.500L16 4.500l3.500 3.500L8.500 19z',
  trash: 'M5 7h14M9.500 7V4.500h5V7M7 7l.8 12.500h8.400L17 7',
  smile: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM8 14c1 1.800 2.300 2.700 4 2.700s3-.9 4-2.700M9 9.500v.6M15 9.500v.6',
  reply: 'M10 6 4 12l6 6v-4c5 0 8 1.500 10 5 0-7-4-10-10-10z',
  at: 'M15.500 12a3.500 3.500 0 1 1-7 0 3.500 3.500 0 0 1 7 0ZM15.500 8.500V13a2.500 2.500 0 0 0 5 0v-1a8.500 8.500 0 1 0-3.500 6.900',
  apps: 'M4 4h6.500v6.500H4zM13.500 4H20v6.500h-6.500zM4 13.500h6.500V20H4zM16.800 13.500v6.500M13.500 16.800H20',
  dots: 'M5.500 12h.01M12 12h.01M18.500 12h.01',
  copy: 'M8 8h11v12H8zM5 16V4h11',
  id: 'M3.500 5h17v14h-17zM7.500 9v6M11 9v6h2.500a3 3 0 0 0 0-6z',
  down: 'M12 4v15M6 13l6 6 6-6',
  download: 'M12 4v11M7 10.500l5 5 5-5M4.500 20h15',
  eye: 'M2.500 12S6 5.500 12 5.500 21.500 12 21.500 12 18 18.500 12 18.500 2.500 12 2.500 12ZM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6Z',
  warn: 'M12 4 2.500 20h19zM12 10v5M12 17.500v.01',
  check: 'm5 12.500 4.500 4.500L19 7.500',
  pin: 'M9 4h6l-.5 6 3.500 3.500H6L9.500 10zM12 14v6.500',
  refresh: 'M19 12a7 7 0 1 1-2.200-5.100L19.500 9M19.500 4v5h-5',
  power: 'M12 3.500V12M7 6.500a7.500 7.500 0 1 0 10 0',
  play: 'M7 4.500v15l12-7.500z',
  file: 'M6 3h8l4.500 4.500V21H6zM13.500 3v5h5',
  send: 'M3.500 4.500 21 12 3.500 19.500l2.500-7.500zM6 12h8',
  search: 'M10.500 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13ZM15.500 15.500 21 21',
  external: 'M13 4.500h6.500V11M19 5l-8.500 8.500M10 6H5v13h13v-5',
  bolt: 'M13 3 5 14h6l-1 7 8-11h-6z',
};
const FILLED = new Set(['dots']);

/** An `<svg>` of that name, hidden from screen readers: the control around it carries the label. */
export function icon(name, size = 20) {
  const svg = document.createElementNS(NS, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('width', size);
  svg.setAttribute('height', size);
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('class', `icon icon-${name}`);
  const path = document.createElementNS(NS, 'path');
  path.setAttribute('d', PATHS[name] ?? PATHS.warn);
  path.setAttribute('fill', 'none');
  path.setAttribute('stroke', 'currentColor');
  path.setAttribute('stroke-width', FILLED.has(name) ? '3.6' : '2');
  path.setAttribute('stroke-linecap', 'round');
  path.setAttribute('stroke-linejoin', 'round');
  svg.append(path);
  return svg;
}
