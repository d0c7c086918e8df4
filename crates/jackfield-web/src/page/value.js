// Values of tools: texts, JSON, tables and pictures. Everything is shown as text; nothing of it runs or loads.

import { button, element, number, visible } from './dom.js';
import { say } from './languages.js';

// A text that is cut, with a button for the rest.
export function textView(text, name = 'pre') {
  const shown = visible(text);
  const fields = { className: 'value', dir: 'auto', tabIndex: name === 'pre' ? 0 : null };
  if (shown.length <= LONG) return element(name, { ...fields, textContent: shown });
  const view = element(name, { ...fields, textContent: `${shown.slice(0, LONG)}…` });
  const all = button(say('show_all', { n: number(shown.length) }), () => {
    // Very long texts would stop the browser.
    view.textContent = shown.slice(0, LONGEST);
    if (shown.length > LONGEST) view.append(`\n${say('cut_off')}`);
    all.remove();
  }, { className: 'quiet' });
  return element('div', {}, view, all);
}

// A JSON value: a table if it is a list of flat objects, or else its text.
export function jsonView(value) {
  return tableView(value) || textView(typeof value === 'string' ? value : JSON.stringify(value, null, 2));
}

// What a tool answered.
export function resultView(result) {
  const view = element('div', { className: result.is_error ? 'result error' : 'result' });
  if (result.structured !== undefined) view.append(jsonView(result.structured));
  else if (result.text) view.append(jsonView(parsed(result.text)));
  for (const file of result.files || []) view.append(fileView(file));
  if (!view.hasChildNodes()) view.append(element('p', { className: 'dim', textContent: say('empty_result') }));
  return view;
}

// A picture, or the name of another file.
export function fileView(block) {
  const source = block.source || {};
  if (block.type === 'image' && source.data && PICTURES.includes(source.media_type)) {
    return element('img', { src: `data:${source.media_type};base64,${source.data}`, alt: say('picture') });
  }
  const words = [block.title, source.media_type, source.url, source.file].filter(Boolean).map(visible);
  const text = [say(`file_${block.type}`), ...words].join(' · ');
  const rest = source.text || block.transcript;
  return element('div', {}, element('p', { className: 'dim', textContent: text }), rest ? textView(rest) : null);
}

function parsed(text) {
  if (!/^\s*[[{]/.test(text) || text.length > 200_000) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function tableView(value) {
  const isFlat = (row) => row && typeof row === 'object' && !Array.isArray(row)
    && Object.values(row).every((cell) => cell === null || typeof cell !== 'object');
  if (!Array.isArray(value) || value.length < 2 || value.length > 100 || !value.every(isFlat)) return null;
  const names = [...new Set(value.flatMap(Object.keys))];
  if (names.length === 0 || names.length > 8) return null;
  const row = (kind, cells) => element('tr', {}, cells.map((cell) => element(kind, { textContent: visible(cell ?? '').slice(0, 500) })));
  const rows = value.map((one) => row('td', names.map((name) => one[name])));
  const table = element('table', {}, element('thead', {}, row('th', names)), element('tbody', {}, rows));
  return element('div', { className: 'wide', tabIndex: 0 }, table);
}

const LONG = 3_000;
const LONGEST = 1_000_000;
const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
