// Use and cost in a time: sums against the time before, a chart, what was used most, and a table by day, model, provider, tool,
// session, user or tag.

import { address, ask } from './api.js';
import { showBudgets } from './budgets.js';
import { bar, button, change, duration, element, money, number, table, visible } from './dom.js';
import { icon } from './icons.js';
import { loadMoreTexts, say } from './languages.js';
import { emptyPlace, failureView, skeleton } from './parts.js';

await loadMoreTexts();

export class Usage {
  constructor(isAdmin) {
    this.lists = ['model', isAdmin ? 'user' : '', 'tool'].filter(Boolean);
    this.by = this.choice('usage_by', ['day', 'model', 'provider', 'tool', 'session', 'user'].map((name) => [name, about(name)]), () => this.load());
    this.range = this.choice('usage_since', [...[7, 30, 90].map((days) => [days, say('last_days', { n: days })]), [0, say('all_time')], ['days', say('chosen_days')]]);
    this.range.value = '30';
    this.of = this.choice('usage_of', ['tokens', 'cost', 'failures', 'first_token'].map((name) => [name, say(`of_${name}`)]), () => this.load());
    this.since = this.day('usage_from');
    this.until = this.day('usage_until');
    this.csv = element('a', { className: 'button quiet', download: 'usage.csv', textContent: 'CSV' });
    this.more = element('input', { type: 'checkbox', on: { change: () => this.showTable() } });
    this.sums = element('div', {}, skeleton(2));
    this.chart = element('div');
    this.top = element('div', { className: 'top' });
    this.lines = element('div', { tabIndex: -1 });
    const labels = (...fields) => fields.map((field) => field.parentNode);
    const budgets = element('section');
    this.root = element('div', { className: 'page' }, element('h1', { textContent: say('usage') }),
      element('div', { className: 'buttons' }, labels(this.range, this.since, this.until)), this.sums,
      element('div', { className: 'buttons' }, labels(this.by, this.of), this.csv), this.chart, this.top,
      element('label', { className: 'more-columns' }, this.more, ` ${say('more_columns')}`), this.lines, budgets);
    this.change();
    showBudgets(budgets);
  }

  choice(name, options, change = () => this.change()) {
    const field = element('select', { on: { change } }, options.map(([value, textContent]) => element('option', { value, textContent })));
    element('label', {}, `${say(name)} `, field);
    return field;
  }

  day(name) {
    const field = element('input', { type: 'date', on: { change: () => this.change() } });
    element('label', { hidden: true }, `${say(name)} `, field);
    return field;
  }

  // The first and the last day of the time, where there is one. Days are those of UTC, as the gateway's.
  days() {
    const isChosen = this.range.value === 'days';
    this.since.parentNode.hidden = !isChosen;
    this.until.parentNode.hidden = !isChosen;
    if (isChosen) return [this.since.value, this.until.value];
    const count = Number(this.range.value);
    return count ? [day(Date.now() - (count - 1) * DAY), day(Date.now())] : ['', ''];
  }

  // Shows another time.
  change() {
    const [since, until] = this.days();
    this.asked = { since, until, reports: new Map() };
    this.load();
    this.loadSums(this.asked);
    this.loadTop(this.asked);
  }

  // The report of a time by something, which is asked for once.
  report(by, asked = this.asked) {
    if (!asked.reports.has(by)) asked.reports.set(by, ask(usagePath(by, asked)));
    return asked.reports.get(by);
  }

  // The sums, against those of as many days before.
  async loadSums(asked) {
    const { since, until } = asked;
    const count = since && Math.round((Date.parse(until || day(Date.now())) - Date.parse(since)) / DAY) + 1;
    const back = (date, days) => day(Date.parse(date) - days * DAY);
    try {
      const [now, before] = await Promise.all([this.report('day', asked), count > 0 ? ask(usagePath('day', { since: back(since, count), until: back(since, 1) })) : null]);
      if (asked === this.asked) this.sums.replaceChildren(sumCards(now.total, before?.total, count));
    } catch {
      // The table says what is wrong.
      if (asked === this.asked) this.sums.replaceChildren();
    }
  }

  // What was used most; each list leads to its table.
  async loadTop(asked) {
    const reports = await Promise.all(this.lists.map((by) => this.report(by, asked).catch(() => ({ lines: [], tools: [] }))));
    if (asked !== this.asked) return;
    const lists = reports.map((report, nth) => {
      const by = this.lists[nth];
      return topList(by, by === 'tool' ? report.tools.map((tool) => [tool.tool, tool.calls]) : report.lines.map((line) => [line.about, tokens(line)]), () => this.choose(by));
    });
    this.top.replaceChildren(...lists.filter(Boolean));
  }

  async choose(by) {
    this.by.value = by;
    await this.load();
    this.lines.focus();
    this.lines.scrollIntoView({ block: 'center' });
  }

  // Offers tables by the tags that the gateway records.
  offerTags(names) {
    const known = [...this.by.options].map(({ value }) => value);
    const added = names.map((name) => `tag:${name}`).filter((by) => !known.includes(by));
    this.by.append(...added.map((value) => element('option', { value, textContent: about(value) })));
  }

  // The chart and the table.
  async load() {
    const { by, of } = { by: this.by.value, of: this.of.value };
    const path = usagePath(by, this.asked);
    const loading = (this.loading = path + of);
    this.of.parentNode.hidden = by === 'tool';
    this.csv.href = address(`${path}&format=csv`);
    try {
      const report = await this.report(by);
      this.offerTags(report.tags);
      // A later choice may have been faster.
      if (loading !== this.loading) return;
      const isEmpty = by === 'tool' ? report.tools.length === 0 : report.lines.length === 0;
      const measure = by === 'tool' ? 'calls' : of;
      const words = say('chart_of', { what: say(`of_${measure}`), by: about(by) });
      const chart = element('img', { className: 'chart', src: address(`${path}&format=svg&of=${of}`), alt: words });
      const frame = element('div', { className: 'wide', tabIndex: 0 }, chart);
      // Where it is wider than the window, the newest days are seen first.
      chart.addEventListener('load', () => { frame.scrollLeft = by === 'day' ? frame.scrollWidth : 0; });
      this.chart.replaceChildren(isEmpty ? '' : element('figure', {}, frame, legend(measure)));
      this.shown = isEmpty ? null : { by, report };
      this.showTable();
    } catch (error) {
      if (loading !== this.loading) return;
      this.shown = null;
      this.chart.replaceChildren();
      this.showTable(failureView(error.message, '', button(say('try_again'), () => this.change())));
    }
  }

  showTable(other = emptyPlace('usage', say('no_usage'), say('no_usage_about'))) {
    const { by, report } = this.shown || {};
    this.more.parentNode.hidden = !report || by === 'tool';
    if (!report) this.lines.replaceChildren(other);
    else this.lines.replaceChildren(by === 'tool' ? toolTable(report.tools) : lineTable(by, report, this.more.checked));
  }

  close() {}
}

const DAY = 86_400_000;
const day = (at) => new Date(at).toISOString().slice(0, 10);

function usagePath(by, { since, until }) {
  const query = new URLSearchParams({ by });
  if (since) query.set('since', since);
  if (until) query.set('until', until);
  return `/usage?${query}`;
}

function sumCards(now, before, days) {
  const against = (value) => (before ? say('against_before', { change: change(value(now), value(before)), n: days }) : '');
  const sum = (name, words, value, more = {}) => element('div', {}, element('dt', { textContent: say(name) }),
    element('dd', { title: more.exact || '' }, element('strong', { textContent: words })),
    element('dd', { className: 'dim', textContent: value ? against(value) : '' }), more.about ? element('dd', { className: 'dim', textContent: more.about }) : '');
  const costs = now.cost.map(({ amount, currency }) => money(amount, currency));
  // Amounts of two currencies have no sum.
  const hasOne = [now, before].every((sums) => !sums || sums.cost.length === 0 || (sums.cost.length === 1 && sums.cost[0].currency === now.cost[0]?.currency));
  return element('dl', { className: 'sums' },
    sum('tokens_used', number(tokens(now)), tokens),
    sum('cost', costs.join(', ') || '–', hasOne ? ({ cost }) => Number(cost[0]?.amount ?? 0) : null,
      { exact: exactCost(now), about: now.unpriced_tokens ? say('unpriced', { n: number(now.unpriced_tokens) }) : '' }),
    sum('turns', number(now.turns), ({ turns }) => turns),
    sum('failed', number(now.failures), ({ failures }) => failures, { exact: share(now.failures, now.attempts) }));
}

// The five with most, with bars; nothing where nothing is.
function topList(by, values, choose) {
  const shown = values.filter(([, value]) => value).sort(([, one], [, other]) => other - one).slice(0, 5);
  if (shown.length === 0) return null;
  const row = ([about, value]) => element('li', {}, element('div', { className: 'head' }, element('bdi', { className: 'name', textContent: visible(about), title: visible(about) }), element('span', { className: 'dim', textContent: number(value) })),
    bar([['span-model', (value / shown[0][1]) * 100]], 0, share(value, shown[0][1])));
  const link = button(say(`top_${by}s`), choose, { className: 'quiet' });
  link.append(icon('chevron'));
  return element('section', { className: 'card' }, element('h2', {}, link), element('ol', {}, shown.map(row)));
}

// What the colours of the chart are.
function legend(measure) {
  const parts = { tokens: [['0', 'input'], ['1', 'output']], calls: [['0', 'calls'], ['2', 'errors']] }[measure] || [];
  const part = ([nth, name]) => element('span', { className: `part part-${nth}`, textContent: say(name) });
  return element('figcaption', { className: 'dim' }, `${say(`of_${measure}`)} `, parts.map(part));
}

// The columns, each its name and its cell; those that are not `plain` are seen by choice.
const COLUMNS = [
  { name: 'turns', of: (line) => counted(line.turns), plain: true },
  { name: 'attempts', of: (line) => counted(line.attempts) },
  { name: 'failed', of: (line) => cell(share(line.failures, line.attempts)), plain: true },
  { name: 'input', of: (line) => counted(line.usage.input_tokens), plain: true },
  { name: 'cache_share', of: (line) => cell(share(line.usage.cache_read_tokens, line.usage.input_tokens)) },
  { name: 'output', of: (line) => counted(line.usage.output_tokens), plain: true },
  { name: 'cost', of: (line) => cell(cost(line), exactCost(line)), plain: true },
  { name: 'first_tokens', of: (line) => cell([line.first_token_p50_ms, line.first_token_p95_ms].map((ms) => (ms === null ? '–' : duration(ms))).join(' / ')) },
];

function lineTable(by, { lines, total }, hasAll) {
  const columns = COLUMNS.filter(({ plain }) => plain || hasAll);
  const row = (line, head) => element('tr', {}, head, columns.map(({ of }) => of(line)));
  const head = (line) => element('th', { scope: 'row' }, name(by, line));
  const shown = by === 'day' ? [...lines].reverse() : [...lines].sort((one, other) => tokens(other) - tokens(one));
  const rest = shown.length > MOST ? element('p', { className: 'dim', textContent: say('more_lines', { n: shown.length - MOST }) }) : '';
  return element('div', {}, table([about(by), ...columns.map(({ name: column }) => say(column))], shown.slice(0, MOST).map((line) => row(line, head(line))),
    { areNumbers: true, foot: row(total, element('th', { scope: 'row', textContent: say('total') })) }), rest);
}

// What lines are about, in words.
const about = (by) => (by.startsWith('tag:') ? say('by_tag', { name: by.slice('tag:'.length) }) : say(`by_${by}`));

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

const cell = (textContent, title = '') => element('td', { className: 'number', textContent, title });
const counted = (value) => cell(number(value));
const tokens = ({ usage }) => usage.input_tokens + usage.output_tokens;
const share = (part, all) => (all ? `${((part / all) * 100).toFixed(part && part < all ? 1 : 0)}%` : '–');

function cost(sums) {
  const amounts = sums.cost.map(({ amount, currency }) => money(amount, currency));
  if (sums.unpriced_tokens) amounts.push(say('unpriced', { n: number(sums.unpriced_tokens) }));
  return amounts.join(', ') || '–';
}

const exactCost = (sums) => sums.cost.map(({ amount, currency }) => `${amount} ${currency}`).join(', ');

// More lines are in the table that can be downloaded.
const MOST = 200;
