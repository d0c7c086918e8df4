// Use and cost: by day, model, tool or session, with a bar for the tokens of each.

import { ask } from './api.js';
import { duration, element, visible } from './dom.js';
import { say } from './languages.js';

export class Usage {
  constructor() {
    const choice = (name, options) => element('label', {}, `${say(name)} `,
      element('select', { on: { change: () => this.load() } }, options.map(([value, text]) => element('option', { value, textContent: text }))));
    this.by = choice('usage_by', ['day', 'model', 'tool', 'session'].map((name) => [name, say(`by_${name}`)]));
    this.since = choice('usage_since', [7, 30, 90, 0].map((days) => [days, days ? say('last_days', { n: days }) : say('all_time')]));
    this.since.lastChild.value = '30';
    this.report = element('div', { 'aria-live': 'polite' });
    this.root = element('div', { className: 'page' }, element('h1', { textContent: say('usage') }),
      element('div', { className: 'buttons' }, this.by, this.since), this.report);
    this.load();
  }

  async load() {
    const by = this.by.lastChild.value;
    const days = Number(this.since.lastChild.value);
    const query = new URLSearchParams({ by });
    if (days) query.set('since', new Date(Date.now() - (days - 1) * DAY).toISOString().slice(0, 10));
    try {
      const report = await ask(`/usage?${query}`);
      this.report.replaceChildren(by === 'tool' ? toolTable(report.tools) : table(by, report));
    } catch (error) {
      this.report.replaceChildren(element('p', { className: 'error', role: 'alert', textContent: error.message }));
    }
  }

  close() {}
}

function table(by, { lines, total }) {
  if (lines.length === 0) return element('p', { className: 'dim', textContent: say('no_usage') });
  const most = Math.max(...lines.map(({ usage }) => usage.input_tokens + usage.output_tokens), 1);
  const row = (about, sums, kind) => element('tr', {},
    element('th', { scope: 'row', textContent: visible(about) }),
    ...[sums.turns, sums.usage.input_tokens, sums.usage.output_tokens, sums.usage.cache_read_tokens].map(number),
    element('td', { className: 'number', textContent: cost(sums) }),
    element('td', {}, kind === 'total' ? '' : bar(sums.usage, most)));
  const names = [say(`by_${by}`), say('turns'), say('input'), say('output'), say('cached'), say('cost'), say('share')];
  return wide(names, lines.map((line) => row(line.about, line)), row(say('total'), total, 'total'));
}

function toolTable(tools) {
  if (tools.length === 0) return element('p', { className: 'dim', textContent: say('no_usage') });
  const rows = tools.map((tool) => element('tr', {}, element('th', { scope: 'row', textContent: visible(tool.tool) }),
    number(tool.calls), number(tool.errors), number(tool.bytes), element('td', { className: 'number', textContent: duration(tool.duration_ms) })));
  return wide([say('by_tool'), say('calls'), say('errors'), say('bytes'), say('time')], rows);
}

function wide(names, rows, foot) {
  const head = element('tr', {}, names.map((name, at) => element('th', { scope: 'col', textContent: name, className: at ? 'number' : '' })));
  const made = element('table', {}, element('thead', {}, head), element('tbody', {}, rows), foot ? element('tfoot', {}, foot) : '');
  return element('div', { className: 'wide', tabIndex: 0 }, made);
}

const number = (value) => element('td', { className: 'number', textContent: value.toLocaleString() });

function cost(sums) {
  const amounts = sums.cost.map(({ amount, currency }) => `${amount} ${currency}`);
  if (sums.unpriced_tokens) amounts.push(say('unpriced', { n: sums.unpriced_tokens.toLocaleString() }));
  return amounts.join(', ') || '–';
}

// Input and output as two parts of a bar.
function bar(usage, most) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('class', 'bar-chart');
  svg.setAttribute('viewBox', '0 0 100 8');
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', `${Math.round(((usage.input_tokens + usage.output_tokens) / most) * 100)}%`);
  let at = 0;
  for (const [name, tokens] of [['input', usage.input_tokens], ['output', usage.output_tokens]]) {
    const part = document.createElementNS(SVG, 'rect');
    const width = (tokens / most) * 100;
    for (const [key, value] of Object.entries({ class: name, x: at, y: 0, width, height: 8 })) part.setAttribute(key, value);
    at += width;
    svg.append(part);
  }
  return svg;
}

const SVG = 'http://www.w3.org/2000/svg';
const DAY = 86_400_000;
