// What happened in a turn and when, as a table with bars: the facts behind each line, and whether they are decided the
// same way again.

import { ask, sessionPath } from './api.js';
import { bar, button, duration, element, visible } from './dom.js';
import { loadMoreTexts, say, sayOr } from './languages.js';
import { textView } from './value.js';

await loadMoreTexts();

export class Timeline {
  constructor(session, turn) {
    this.path = sessionPath(session);
    this.turnPath = `${this.path}/turns/${encodeURIComponent(turn)}`;
    this.body = element('div');
    this.root = element('section', { className: 'timeline', 'aria-label': say('timeline') }, this.body);
    this.load();
  }

  async load() {
    try {
      this.show(await ask(`${this.turnPath}/timeline`));
    } catch (error) {
      this.body.replaceChildren(element('p', { className: 'error', role: 'alert', textContent: error.message }));
    }
  }

  show({ spans, duration_ms: whole }) {
    // A turn that goes on ends, as far as is known, where its last span does.
    const end = whole ?? Math.max(...spans.map((span) => span.offset_ms + (span.duration_ms ?? 0)));
    const names = ['what', 'when', 'time', 'outcome', 'raw'].map((name) => element('th', { scope: 'col', textContent: say(`timeline_${name}`) }));
    const rows = spans.flatMap((span) => this.rows(span, Math.max(end, 1)));
    const table = element('table', {}, element('thead', {}, element('tr', {}, names)), element('tbody', {}, rows));
    const result = element('p', { role: 'status' });
    const replay = button(say('replay'), () => this.replay(result), { className: 'quiet', title: say('replay_help') });
    this.body.replaceChildren(element('div', { className: 'wide', tabIndex: 0 }, table), element('div', { className: 'foot' }, replay, result));
  }

  // The line of a span, and a hidden one for its facts.
  rows(span, whole) {
    const facts = element('td', { colSpan: 5 });
    const hidden = element('tr', { hidden: true }, facts);
    const open = button(say('facts'), () => this.facts(span, open, hidden, facts), { className: 'quiet', 'aria-expanded': 'false' });
    const ends = span.duration_ms === null ? say('goes_on') : duration(span.duration_ms);
    const first = span.first_token_ms === undefined ? '' : say('first_token', { time: duration(span.first_token_ms) });
    const share = [[`span-${span.kind}`, ((span.duration_ms ?? whole - span.offset_ms) / whole) * 100]];
    const line = element('tr', {},
      element('th', { scope: 'row', textContent: visible(what(span)) }),
      element('td', {}, bar(share, (span.offset_ms / whole) * 100, say('begins_after', { time: duration(span.offset_ms) }))),
      element('td', { className: 'number', textContent: [ends, first].filter(Boolean).join(' · ') }),
      element('td', { textContent: visible(outcome(span)) }),
      element('td', {}, open));
    line.dataset.kind = span.kind;
    return [line, hidden];
  }

  // The facts of the steps in which the span began and ended, as they are stored.
  async facts(span, open, hidden, place) {
    hidden.hidden = !hidden.hidden;
    open.setAttribute('aria-expanded', String(!hidden.hidden));
    if (hidden.hidden || place.hasChildNodes()) return;
    const numbers = [...new Set([span.first_step, span.last_step ?? span.first_step])];
    try {
      const steps = await Promise.all(numbers.map((number) => ask(`${this.path}/steps/${number}`)));
      place.replaceChildren(...steps.map((step) => textView(JSON.stringify(step, null, 2))));
    } catch (error) {
      place.replaceChildren(element('p', { className: 'error', role: 'alert', textContent: error.message }));
    }
  }

  async replay(place) {
    place.textContent = say('sending');
    try {
      const { same, steps } = await ask(`${this.turnPath}/replay`);
      const first = steps[0];
      place.textContent = first
        ? say('replay_other', { n: steps.length, all: same + steps.length, step: first.step, why: visible(first.why) })
        : say('replay_same', { n: same });
    } catch (error) {
      place.textContent = error.message;
    }
  }
}

function what(span) {
  const words = say(`span_${span.kind}`, { round: span.round, model: span.model, tool: span.tool });
  const asked = span.question ? ` (${sayOr(`question_${span.question}`, span.question)})` : '';
  const again = span.attempt > 1 ? `, ${say('attempt', { n: span.attempt })}` : '';
  const why = span.reason ? `, ${sayOr(`reason_${span.reason}`, span.reason)}` : '';
  return words + asked + again + why;
}

function outcome({ end, kind, failure, message, finish }) {
  if (end === null) return '';
  const word = kind === 'call' ? sayOr(`call_${end}`, end) : sayOr(`span_end_${end}`, end);
  const more = failure?.message || message || (finish && sayOr(`finish_${finish}`, ''));
  return more ? `${word}: ${more}` : word;
}
