// Elements, and foreign texts in a form that shows all they have.

export { visible } from './hidden.js';

// An element with fields, attributes (names with a dash, and `role`), and `on` for its listeners.
export function element(name, fields = {}, ...children) {
  const made = document.createElement(name);
  for (const [field, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue;
    if (field === 'on') {
      for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    } else if (field === 'role' || field.includes('-')) {
      made.setAttribute(field, value);
    } else {
      made[field] = value;
    }
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

export const byId = (id) => document.getElementById(id);

// A button that does something.
export function button(text, click, fields = {}) {
  return element('button', { type: 'button', textContent: text, on: { click }, ...fields });
}

// A field in a label with its name.
export function named(text, field) {
  element('label', {}, element('span', { textContent: text }), field);
  return field;
}

let place = '';
let waits = '';

// The title of the tab: the place, and how many questions wait.
export function setTitle(name) {
  place = name;
  document.title = `${waits}${place ? `${place} · ` : ''}Jackfield`;
}

export function setWaiting(count) {
  waits = count ? `(${count}) ` : '';
  setTitle(place);
}

// Tells a screen reader.
export function announce(text) {
  byId('announcement').textContent = text;
}

// The languages of the reader, with their regions: those of the page may be fewer.
const READER = [...navigator.languages];

// A number in the reader's own form.
export const number = (value) => value.toLocaleString(READER);

// An amount of money in the reader's own form: less than a hundredth of it has a `<`.
export function money(amount, currency) {
  const value = Number(amount);
  try {
    const form = new Intl.NumberFormat(READER, { style: 'currency', currency, currencyDisplay: 'narrowSymbol' });
    return value > 0 && value < 0.01 ? `<${form.format(0.01)}` : form.format(value);
  } catch {
    // A gateway may have a currency that the browser does not know.
    return `${amount} ${currency}`;
  }
}

// By how much a number is more or less than an earlier one, in the reader's own form.
export function change(now, before) {
  if (!before) return '–';
  return new Intl.NumberFormat(READER, { style: 'percent', signDisplay: 'exceptZero', maximumFractionDigits: 0 }).format(now / before - 1);
}

// The day of a time, in the reader's own form.
export const date = (text) => new Date(text).toLocaleDateString(READER, { dateStyle: 'medium' });

// A time of day, with the date unless it is today, in the reader's own form.
export function time(text) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return '';
  const clock = { hour: '2-digit', minute: '2-digit' };
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday ? at.toLocaleTimeString(READER, clock) : at.toLocaleString(READER, { dateStyle: 'medium', timeStyle: 'short' });
}

// The same in a few letters: the time of today, the day of this year, or the month.
export function moment(text) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return '';
  const now = new Date();
  if (at.toDateString() === now.toDateString()) return at.toLocaleTimeString(READER, { hour: '2-digit', minute: '2-digit' });
  const isThisYear = at.getFullYear() === now.getFullYear();
  return at.toLocaleDateString(READER, isThisYear ? { day: 'numeric', month: 'short' } : { month: 'short', year: 'numeric' });
}

// How long ago a day is, in the days of the reader: the name of a text.
export function dayGroup(text) {
  const at = new Date(text);
  // Not all days have 24 hours.
  const midnight = (days) => new Date(new Date().setHours(0, 0, 0, 0)).setDate(new Date().getDate() - days);
  if (at >= midnight(0)) return 'today';
  if (at >= midnight(1)) return 'yesterday';
  return at >= midnight(7) ? 'this_week' : 'earlier';
}

const SVG = 'http://www.w3.org/2000/svg';

// A table in a frame that scrolls: the names of its columns, its rows, its foot or caption, whether all columns but the first are
// numbers, and whether its rows are entries of one line.
export function table(names, rows, { areNumbers, caption, foot, isList } = {}) {
  const isNumber = (at) => (Array.isArray(areNumbers) ? areNumbers.includes(at) : areNumbers && at > 0);
  const head = element('tr', {}, names.map((name, at) => element('th', { scope: 'col', textContent: name, className: isNumber(at) ? 'number' : '' })));
  const made = element('table', { className: isList ? 'list' : '' }, caption ? element('caption', { textContent: caption }) : '', element('thead', {}, head),
    element('tbody', {}, rows), foot ? element('tfoot', {}, foot) : '');
  return element('div', { className: 'wide', tabIndex: 0 }, made);
}

// A bar of parts, each a class and its width in percent, from a place on; `words` say the same.
export function bar(parts, from, words) {
  const svg = document.createElementNS(SVG, 'svg');
  for (const [name, value] of Object.entries({ class: 'bar-chart', viewBox: '0 0 100 8', preserveAspectRatio: 'none', role: 'img', 'aria-label': words })) {
    svg.setAttribute(name, value);
  }
  let x = from;
  for (const [name, width] of parts) {
    const part = document.createElementNS(SVG, 'rect');
    // What took next to no time is still seen.
    const seen = Math.max(width, 0.6);
    for (const [key, value] of Object.entries({ class: name, x: Math.min(x, 100 - seen), y: 0, width: seen, height: 8 })) part.setAttribute(key, value);
    x += width;
    svg.append(part);
  }
  return svg;
}

// Milliseconds in words.
export function duration(ms) {
  if (ms < 1000) return `${ms} ms`;
  const seconds = ms / 1000;
  return seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

// What is set of some fields; nothing where none is.
export function setOf(fields) {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return set.length ? Object.fromEntries(set) : undefined;
}
