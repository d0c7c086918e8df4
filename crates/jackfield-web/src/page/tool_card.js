// A call of a tool: what it is, its arguments, its state, its result. What is over and went well is one line.

import { button, duration, element, number, visible } from './dom.js';
import { icon } from './icons.js';
import { say, sayOr } from './languages.js';
import { Question } from './question.js';
import { jsonView, resultView, textView } from './value.js';

// The picture of a server, beside its name.
export const picture = (src) => (src ? element('img', { className: 'picture', src, alt: '' }) : null);

// The head of a card: the tool in its server's words, its name where that is another one, and where it is. `tool` is
// what the gateway says of it, if it knows it.
export function toolTitle(name, tool) {
  const title = visible(tool?.title || name);
  const isNamed = !tool?.title && tool?.server && name.startsWith(`${tool.server}__`);
  const place = tool?.server && !isNamed ? element('span', { className: 'chip', textContent: visible(tool.server) }) : null;
  const own = title === visible(name) ? null : element('code', { className: 'dim own-name', textContent: visible(name) });
  return [picture(tool?.icon), element('bdi', { className: 'tool', textContent: title }), own, place].filter(Boolean);
}

// What a tool does, and what is known of its effects.
export function toolAbout(tool) {
  if (!tool?.description) return [];
  const words = visible(tool.description);
  const space = words.lastIndexOf(' ', ABOUT);
  const about = element('p', { className: 'about', textContent: words.length > ABOUT ? `${words.slice(0, space > 0 ? space : ABOUT)}…` : words });
  const safety = tool.safety && sayOr(`safety_${tool.safety}`, '');
  if (safety) about.append(' ', element('strong', { textContent: safety }));
  return [about];
}

// Arguments by name, with their JSON behind a switch.
export function argumentsView(value) {
  const isPlain = value && typeof value === 'object' && !Array.isArray(value);
  const entries = isPlain ? Object.entries(value) : [];
  if (entries.length === 0 || entries.length > MOST_FIELDS) return jsonView(value);
  const fields = element('dl', { className: 'arguments' }, entries.flatMap(([name, one]) => [
    element('dt', { textContent: visible(name) }), element('dd', {}, jsonView(one))]));
  const json = jsonView(JSON.stringify(value, null, 2));
  json.hidden = true;
  const turn = button('JSON', () => {
    json.hidden = !json.hidden;
    fields.hidden = !json.hidden;
    turn.setAttribute('aria-pressed', String(!json.hidden));
  }, { className: 'quiet switch', 'aria-pressed': 'false' });
  return element('div', { className: 'switched' }, turn, fields, json);
}

export class ToolCard {
  constructor(call, name, tool) {
    this.call = call;
    this.name = name;
    this.written = '';
    this.title = element('span', { className: 'titles' });
    this.summary = element('code', { className: 'summary' });
    this.sign = element('span', { className: 'sign' });
    this.state = element('span', { className: 'state', role: 'status' });
    this.time = element('span', { className: 'dim' });
    this.badges = element('span', { className: 'dim' });
    this.answer = element('span');
    this.about = element('div');
    this.input = element('div');
    this.ask = element('div');
    this.output = element('div');
    this.notes = element('div');
    this.body = element('div', { className: 'body', hidden: true }, this.about, this.input, this.ask, this.notes, this.output);
    this.opener = element('button', { type: 'button', className: 'head', 'aria-expanded': 'false', on: { click: () => this.unfold(this.body.hidden) } },
      this.sign, this.title, this.summary, this.time, icon('chevron'));
    this.root = element('article', { className: 'card call', 'aria-label': say('call_of', { tool: visible(name) }) },
      element('div', { className: 'line' }, this.opener, this.badges, this.answer, this.state), this.body);
    this.root.dataset.call = call;
    this.describe(tool);
    this.setState('queued');
  }

  // What the gateway says of its tool.
  describe(tool) {
    this.tool = tool || this.tool;
    this.title.replaceChildren(...toolTitle(this.name, this.tool));
    this.about.replaceChildren(...toolAbout(this.tool));
  }

  setServer(server) {
    if (server && !this.tool) this.describe({ server });
  }

  unfold(isOpen) {
    this.body.hidden = !isOpen;
    this.opener.setAttribute('aria-expanded', String(isOpen));
  }

  setState(state) {
    this.status = state;
    if (state !== 'running') {
      this.barRow?.remove();
      this.bar = undefined;
    }
    this.root.dataset.state = state;
    this.sign.replaceChildren(icon(SIGNS[state] || 'tool'));
    this.state.textContent = say(`call_${state}`);
  }

  // What is seen of it while it is folded.
  summarize(text) {
    const words = visible(text).replace(/\s+/g, ' ').trim();
    this.summary.textContent = words.length > SHORT ? `${words.slice(0, SHORT)}…` : words;
  }

  // More of the arguments, while the model writes them.
  append(text) {
    this.written += text;
    if (!this.draft) {
      this.draft = element('pre', { className: 'value' });
      this.input.replaceChildren(this.draft);
    }
    this.draft.textContent = visible(this.written.slice(0, DRAFT));
    this.summarize(this.written.slice(0, DRAFT));
  }

  // The whole arguments.
  setArguments(value) {
    this.arguments = value;
    this.input.replaceChildren(argumentsView(value));
    this.summarize(inShort(value));
  }

  setEdited(value) {
    this.setArguments(value);
    this.badges.textContent = say('edited');
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
      this.body.before(this.barRow);
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
    this.unfold(true);
    this.question = new Question(wait, () => this.arguments);
    this.ask.replaceChildren(this.question.root);
  }

  answered(end) {
    this.closeQuestion(end);
    // Who answered is seen of a folded card, too.
    if (this.question) this.answer.replaceChildren(this.question.root);
    if (this.status === 'waiting') this.setState('queued');
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
    else this.unfold(false);
  }

  // Folded, unless it failed or is a picture.
  showResult(given) {
    this.output.replaceChildren(element('p', { className: 'label', textContent: say('result') }), resultView(given));
    if (given.text) this.summarize(`${inShort(this.arguments)} → ${given.text}`);
    this.unfold(!FOLDED.includes(this.status) || (given.files || []).some((file) => file.type === 'image'));
  }

  note(text) {
    this.notes.append(textView(text, 'p'));
  }
}

// A value in a few words: those of its fields.
function inShort(value) {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'object') return String(value);
  return Object.values(value).map((one) => (typeof one === 'object' ? JSON.stringify(one) : String(one))).join(', ').slice(0, 2 * SHORT);
}

const SIGNS = { cancelled: 'denied', denied: 'denied', done: 'check', failed: 'cross', lost: 'help', not_run: 'denied', running: 'running', unknown: 'help', waiting: 'clock' };
// A person wanted it so, or all went well.
const FOLDED = ['done', 'denied', 'cancelled'];
// How much of arguments is shown while they are written.
const DRAFT = 3_000;
const SHORT = 120;
// How much is shown of what a tool does: descriptions are written for models, and begin with the point.
const ABOUT = 200;
const MOST_FIELDS = 12;
