// The icons: one size, one stroke, the colour of the text around them.

const SVG = 'http://www.w3.org/2000/svg';

// Paths in a square of 24.
const PATHS = {
  alert: 'M12 4 3 20h18Z M12 10v4 M12 17v.5',
  approvals: 'M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6Z M9 12l2 2 4-4',
  archive: 'M4 5h16v4H4Z M6 9v10h12V9 M10 13h4',
  attach: 'M19 11l-7.5 7.5a4.5 4.5 0 0 1-6.4-6.4L13 4.2a3 3 0 0 1 4.2 4.2l-7.8 7.9a1.5 1.5 0 0 1-2.1-2.1l7-7',
  away: 'M4 4l16 16 M8.5 8.7A9 9 0 0 0 5 11 M2 8a13 13 0 0 1 3.5-2.4 M10 5.1A13 13 0 0 1 22 8 M19 11a9 9 0 0 0-4-2.6 M8.5 14.5a5 5 0 0 1 5.5-1 M12 18.5v.5',
  check: 'M5 12.5 10 17 19 7',
  chevron: 'M9 6l6 6-6 6',
  clock: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16Z M12 8v4l3 2',
  connect: 'M9 3.5V8 M15 3.5V8 M6 8h12v3a6 6 0 0 1-12 0Z M12 17v4',
  copy: 'M9 9h10v10H9Z M5 15V5h10',
  cross: 'M6 6l12 12 M18 6 6 18',
  denied: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16Z M6.5 6.5l11 11',
  edit: 'M5 19h3.5L19 8.5 15.5 5 5 15.5Z M13 7.5l3.5 3.5',
  file: 'M7 4h7l4 4v12H7Z M14 4v4h4',
  fork: 'M7 4v16 M7 12c6 0 10-1 10-6 M14 8l3-3 3 3',
  help: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16Z M9.8 9.7a2.3 2.3 0 1 1 3.2 2.2c-.7.3-1 .8-1 1.6 M12 16.3v.5',
  keyboard: 'M3 7h18v10H3Z M7 11h.01 M11 11h.01 M15 11h.01 M8 14h8',
  menu: 'M4 7h16 M4 12h16 M4 17h16',
  message: 'M5 5h14v11h-7l-4 4v-4H5Z',
  more: 'M6 12h.01 M12 12h.01 M18 12h.01',
  own: 'M14.5 5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9Z M11 12.5 4 19.5 M6 17.5l2 2 M9 14.5l2 2',
  people: 'M9 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6Z M3 19c0-3 2.7-5 6-5s6 2 6 5 M15.5 5.2a3 3 0 0 1 0 5.6 M18 14.6c2 .8 3 2.3 3 4.4',
  person: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8Z M5 20c0-3.5 3-5.5 7-5.5s7 2 7 5.5',
  pin: 'M9 4h6l-1 6 3 3H7l3-3Z M12 13v7',
  plus: 'M12 5v14 M5 12h14',
  previous: 'M15 6l-6 6 6 6',
  retry: 'M19 12a7 7 0 1 1-2.2-5.1 M19 4v4h-4',
  running: 'M12 4a8 8 0 1 1-8 8',
  search: 'M10.5 4.5a6 6 0 1 0 0 12 6 6 0 0 0 0-12Z M15 15l5 5',
  send: 'M12 19V6 M6 11l6-6 6 6',
  servers: 'M4 5h16v6H4Z M4 13h16v6H4Z M8 8h.01 M8 16h.01',
  stop: 'M7 7h10v10H7Z',
  timeline: 'M4 6h8 M8 12h9 M13 18h7',
  tool: 'M14.5 6.5a4 4 0 0 1 5-2l-2.7 2.8 1.9 1.9L21 6.9a4 4 0 0 1-5.4 4.6L8 19a2 2 0 0 1-3-3l7.6-7.4a4 4 0 0 1 1.9-2.1Z',
  trash: 'M5 7h14 M10 7V4.5h4V7 M7 7l1 13h8l1-13 M10.5 11v5 M13.5 11v5',
  usage: 'M5 20V11 M12 20V4 M19 20v-6',
};

// An icon, which says nothing to a screen reader: the words beside it, or its button's name, do.
export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', `icon icon-${name}`);
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', PATHS[name]);
  svg.append(path);
  return svg;
}
