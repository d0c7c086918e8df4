// A call of a tool: its arguments, its state, its result.

import { duration, element, number, visible } from './dom.js';
import { say } from './languages.js';
import { Question } from './question.js';
import { jsonView, resultView, textView } from './value.js';

// Where a tool is, unless its name says so.
export function placeOf(tool, server) {
  return server && !tool.startsWith(`${server}__`) ? say('at_server', { server: visible(server) }) : '';
}

export class ToolCard {
  constructor(call, name, server) {
    this.call = call;
    this.name = name;
    this.written = '';
    this.state = element('span', { className: 'state', role: 'status' });
    this.time = element('span', { className: 'dim' });
    this.place = element('span', { className: 'dim' });
    this.badges = element('span', { className: 'dim' });
    this.input = element('div');
    this.inputFold = element('details', {}, element('summary', { textContent: say('arguments') }), this.input);
    this.ask = element('div');
    this.output = element('div');
    this.notes = element('div');
    const title = element('bdi', { className: 'tool', textContent: visible(name) });
    const head = element('div', { className: 'head' }, element('span', { className: 'sign', 'aria-hidden': 'true', textContent: '⚙' }),
      title, this.place, this.badges, this.time, this.state);
    this.root = element('article', { className: 'card', 'aria-label': say('call_of', { tool: visible(name) }) },
      head, this.inputFold, this.ask, this.notes, this.output);
    this.root.dataset.call = call;
    this.setServer(server);
    this.setState('queued');
  }

  setServer(server) {
    this.place.textContent = placeOf(this.name, server);
  }

  setState(state) {
    this.status = state;
    if (state !== 'running') {
      this.barRow?.remove();
      this.bar = undefined;
    }
    this.root.dataset.state = state;
    this.state.textContent = say(`call_${state}`);
  }

  // More of the arguments, while the model writes them.
  append(text) {
    this.written += text;
    if (!this.draft) {
      this.draft = element('pre', { className: 'value' });
      this.input.replaceChildren(this.draft);
    }
    this.draft.textContent = visible(this.written.slice(0, DRAFT));
  }

  // The whole arguments.
  setArguments(value) {
    this.arguments = value;
    this.input.replaceChildren(jsonView(value));
    const summary = this.inputFold.firstChild;
    const short = visible(typeof value === 'string' ? value : JSON.stringify(value));
    summary.replaceChildren(`${say('arguments')} `, element('code', { textContent: short.length > 80 ? `${short.slice(0, 80)}…` : short }));
  }

  setEdited(value) {
    this.setArguments(value);
    this.inputFold.append(element('p', { className: 'dim', textContent: say('edited') }));
  }

  // The result is that of an equal call.
  setCached({ session, turn, call }) {
    const title = say('cached_from', { session, turn, call });
    this.badges.replaceChildren(element('a', { href: `#/sessions/${encodeURIComponent(session)}`, title, textContent: say('cached') }));
  }

  started(attempt) {
    this.closeQuestion();
    this.setState('running');
    if (attempt > 1) this.badges.textContent = say('attempt', { n: attempt });
  }

  // How far it is, as the tool says.
  progress({ done, total, message }) {
    if (this.status !== 'running') return;
    if (!this.bar) {
      this.bar = element('progress', { 'aria-label': say('progress') });
      this.barText = element('span', { className: 'dim' });
      this.barRow = element('p', { className: 'progress' }, this.bar, this.barText);
      this.notes.after(this.barRow);
    }
    if (total > 0) Object.assign(this.bar, { max: total, value: Math.min(done, total) });
    const amount = total > 0 ? `${Math.round((done / total) * 100)}%` : number(done);
    this.barText.textContent = [amount, message && visible(message).slice(0, 300)].filter(Boolean).join(' · ');
  }

  // It goes on elsewhere.
  accepted() {
    this.note(say('accepted'));
  }

  lost({ message, then, disposition }) {
    this.note(`${say(`lost_${disposition}`)}: ${visible(message)} · ${say(`then_${then}`)}`);
  }

  // A question about it.
  waits(wait) {
    this.setState('waiting');
    if (wait.kind === 'unknown_outcome') this.state.textContent = say('call_unknown');
    if (wait.kind === 'client_result') {
      this.ask.replaceChildren(element('p', { className: 'dim', textContent: say('ask_client_result') }));
      return;
    }
    this.inputFold.open = true;
    this.question = new Question(wait, () => this.arguments);
    this.ask.replaceChildren(this.question.root);
  }

  answered(end) {
    this.closeQuestion(end);
    if (this.status === 'waiting') this.setState('queued');
    this.inputFold.open = false;
  }

  closeQuestion(end = {}) {
    if (!this.question) this.ask.replaceChildren();
    else if (!this.question.closed) this.question.close(end);
  }

  // Its outcome.
  ended(view) {
    this.setServer(view.source.server);
    this.setState(view.status);
    if (view.edited_arguments !== undefined) this.setEdited(view.edited_arguments);
    else this.setArguments(view.arguments);
    if (view.duration_ms !== null) this.time.textContent = duration(view.duration_ms);
    if (view.cached) this.setCached(view.cached);
    else if (view.attempts > 1) this.badges.textContent = say('attempt', { n: view.attempts });
    this.closeQuestion();
    if (view.result) this.showResult(view.result);
  }

  // Folded, unless it is an error or a picture.
  showResult(given) {
    const result = resultView(given);
    if (given.is_error || this.status !== 'done') {
      this.output.replaceChildren(result);
      return;
    }
    const words = visible(given.text).replace(/\s+/g, ' ').trim();
    const summary = element('summary', {}, `${say('result')} `, element('code', { textContent: words.length > 100 ? `${words.slice(0, 100)}…` : words }));
    const fold = element('details', {}, summary, result);
    fold.open = (given.files || []).some((file) => file.type === 'image');
    this.output.replaceChildren(fold);
  }

  note(text) {
    this.notes.append(textView(text, 'p'));
  }
}

// How much of arguments is shown while they are written.
const DRAFT = 3_000;
