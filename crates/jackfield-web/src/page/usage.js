// Use and cost: by day, model, provider, tool, session or user, in a range of days, as a chart with the table behind it.

import { address, ask } from './api.js';
import { showBudgets } from './budgets.js';
import { duration, element, number, table, visible } from './dom.js';
import { say } from './languages.js';
import { emptyPlace, skeleton } from './parts.js';

export class Usage {
  constructor() {
    this.by = this.choice('usage_by', ['day', 'model', 'provider', 'tool', 'session', 'user'].map((name) => [name, say(`by_${name}`)]));
    this.range = this.choice('usage_since', [...[7, 30, 90].map((days) => [days, say('last_days', { n: days })]), [0, say('all_time')], ['days', say('chosen_days')]]);
    this.range.value = '30';
    this.of = this.choice('usage_of', ['tokens', 'cost', 'failures', 'first_token'].map((name) => [name, say(`of_${name}`)]));
    this.since = this.day('usage_from');
    this.until = this.day('usage_until');
    this.csv = element('a', { className: 'button quiet', download: 'usage.csv', textContent: 'CSV' });
    this.report = element('div', { 'aria-live': 'polite' }, skeleton(6));
    const budgets = element('section');
    this.root = element('div', { className: 'page' }, element('h1', { textContent: say('usage') }),
      element('div', { className: 'buttons' }, [this.by, this.range, this.since, this.until, this.of].map((field) => field.parentNode), this.csv), this.report, budgets);
    this.load();
    showBudgets(budgets);
  }

  choice(name, options) {
    const field = element('select', { on: { change: () => this.load() } }, options.map(([value, textContent]) => element('option', { value, textContent })));
    element('label', {}, `${say(name)} `, field);
    return field;
  }

  day(name) {
    const field = element('input', { type: 'date', on: { change: () => this.load() } });
    element('label', { hidden: true }, `${say(name)} `, field);
    return field;
  }

  query() {
    const query = new URLSearchParams({ by: this.by.value });
    const days = Number(this.range.value);
    const isChosen = this.range.value === 'days';
    this.since.parentNode.hidden = !isChosen;
    this.until.parentNode.hidden = !isChosen;
    this.of.parentNode.hidden = this.by.value === 'tool';
    if (days) query.set('since', new Date(Date.now() - (days - 1) * DAY).toISOString().slice(0, 10));
    if (isChosen && this.since.value) query.set('since', this.since.value);
    if (isChosen && this.until.value) query.set('until', this.until.value);
    return query;
  }

  async load() {
    const query = this.query();
    const asked = (this.asked = query);
    const { by, of } = { by: this.by.value, of: this.of.value };
    this.csv.href = address(`/usage?${query}&format=csv`);
    try {
      const report = await ask(`/usage?${query}`);
      // A later choice may have been faster.
      if (asked !== this.asked) return;
      const isEmpty = by === 'tool' ? report.tools.length === 0 : report.lines.length === 0;
      if (isEmpty) {
        this.report.replaceChildren(emptyPlace('usage', say('no_usage'), say('no_usage_about')));
        return;
      }
      const measure = by === 'tool' ? 'calls' : of;
      const src = address(`/usage?${query}&format=svg&of=${of}`);
      const chart = element('img', { className: 'chart', src, alt: say('chart_of', { what: say(`of_${measure}`), by: say(`by_${by}`) }) });
      this.report.replaceChildren(element('figure', {}, chart, legend(measure)), by === 'tool' ? toolTable(report.tools) : lineTable(by, report));
    } catch (error) {
      if (asked === this.asked) this.report.replaceChildren(element('p', { className: 'error', role: 'alert', textContent: error.message }));
    }
  }

  close() {}
}

// What the colours of the chart are.
function legend(measure) {
  const parts = { tokens: [['0', 'input'], ['1', 'output']], calls: [['0', 'calls'], ['2', 'errors']] }[measure] || [];
  const part = ([nth, name]) => element('span', { className: `part part-${nth}`, textContent: say(name) });
  return element('figcaption', { className: 'dim' }, `${say(`of_${measure}`)} `, parts.map(part));
}

function lineTable(by, { lines, total }) {
  const row = (line, head) => element('tr', {}, head,
    ...[line.turns, line.attempts].map(counted),
    cell(share(line.failures, line.attempts)),
    counted(line.usage.input_tokens), cell(share(line.usage.cache_read_tokens, line.usage.input_tokens)), counted(line.usage.output_tokens),
    cell(cost(line)),
    cell([line.first_token_p50_ms, line.first_token_p95_ms].map((ms) => (ms === null ? '–' : duration(ms))).join(' / ')));
  const head = (line) => element('th', { scope: 'row' }, name(by, line));
  const names = [`by_${by}`, 'turns', 'attempts', 'failed', 'input', 'cache_share', 'output', 'cost', 'first_tokens'].map((key) => say(key));
  const shown = by === 'day' ? [...lines].reverse() : [...lines].sort((one, other) => tokens(other) - tokens(one));
  const rest = shown.length > MOST ? element('p', { className: 'dim', textContent: say('more_lines', { n: shown.length - MOST }) }) : '';
  return element('div', {}, table(names, shown.slice(0, MOST).map((line) => row(line, head(line))),
    { areNumbers: true, foot: row(total, element('th', { scope: 'row', textContent: say('total') })) }), rest);
}

// What a line is about: a session is a link to it.
function name(by, line) {
  if (by !== 'session' || line.title === undefined) return visible(line.about);
  return element('a', { href: `#/sessions/${encodeURIComponent(line.about)}`, textContent: visible(line.title) || visible(line.about) });
}

function toolTable(tools) {
  const shown = [...tools].sort((one, other) => other.calls - one.calls);
  const rows = shown.map((tool) => element('tr', {}, element('th', { scope: 'row', textContent: visible(tool.tool) }),
    counted(tool.calls), cell(share(tool.errors, tool.calls)), counted(tool.bytes), cell(duration(tool.duration_ms))));
  return table([say('by_tool'), say('calls'), say('failed'), say('bytes'), say('time')], rows, { areNumbers: true });
}

const cell = (textContent) => element('td', { className: 'number', textContent });
const counted = (value) => cell(number(value));
const tokens = ({ usage }) => usage.input_tokens + usage.output_tokens;
const share = (part, all) => (all ? `${((part / all) * 100).toFixed(part && part < all ? 1 : 0)}%` : '–');

function cost(sums) {
  const amounts = sums.cost.map(({ amount, currency }) => `${amount} ${currency}`);
  if (sums.unpriced_tokens) amounts.push(say('unpriced', { n: number(sums.unpriced_tokens) }));
  return amounts.join(', ') || '–';
}

const DAY = 86_400_000;
// More lines are in the table that can be downloaded.
const MOST = 200;
