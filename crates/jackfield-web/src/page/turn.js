// A turn: its message, the replies, the calls between them, and how it ended. Made of the events of its session.

import { button, duration, element, money, number, time, visible } from './dom.js';
import { helpFor } from './failure.js';
import { say, sayOr } from './languages.js';
import { copyButton, failureView, iconButton } from './parts.js';
import { Question } from './question.js';
import { ReplyText } from './reply_text.js';
import { ToolCard } from './tool_card.js';
import { fileView, textView } from './value.js';

export class Turn {
  // `actions` has `session()`, `toolOf(tool)`, `retry(turn)`, `edit(turn)`, `fork(turn)` and `ended(turn)`.
  constructor(event, actions) {
    this.id = event.turn;
    this.number = event.number;
    this.actions = actions;
    this.parts = new Map();
    this.cards = new Map();
    this.waits = new Map();
    this.status = 'running';
    this.restarts = 0;
    this.body = element('div', { className: 'reply' });
    this.busy = element('p', { className: 'busy', role: 'status', textContent: say('model_asked') });
    this.timelineButton = iconButton('timeline', say('timeline'), () => this.toggleTimeline(), { 'aria-expanded': 'false' });
    this.foot = element('div', { className: 'foot' }, this.timelineButton);
    const blocks = event.messages.filter((one) => one.role === 'user').flatMap((one) => one.blocks);
    this.message = blocks.filter((block) => block.type === 'text').map((block) => block.text).join('\n');
    this.files = blocks.filter((block) => block.source);
    this.root = element('section', { className: 'turn', 'aria-label': say('turn_number', { n: event.number }) },
      this.question(event.messages), this.body, this.busy, this.foot);
    this.root.dataset.status = 'running';
  }

  question(messages) {
    const shown = element('div', { className: 'asked' });
    for (const message of messages.filter((one) => one.role === 'user')) {
      for (const block of message.blocks) {
        if (block.type === 'text' && block.text.length > LONG) shown.append(textView(block.text));
        else if (block.type === 'text') shown.append(element('div', { className: 'text', dir: 'auto', textContent: visible(block.text) }));
        else if (block.source) shown.append(fileView(block));
      }
    }
    const edit = iconButton('edit', say('edit'), () => this.actions.edit(this), { className: 'action', title: say('edit_help') });
    return element('div', { className: 'asking' }, edit, shown);
  }

  apply(event) {
    const does = ACTS[event.event];
    if (does) does(this, event);
  }

  part(event) {
    return this.parts.get(`${event.round}/${event.attempt}`) || this.newRound(event);
  }

  newRound(event) {
    const round = { root: element('div', { className: 'round' }), blocks: new Map() };
    this.parts.set(`${event.round}/${event.attempt}`, round);
    this.body.append(round.root);
    return round;
  }

  card(call, name = '?') {
    let card = this.cards.get(call);
    if (!card) {
      card = new ToolCard(call, name, this.actions.toolOf(name));
      this.cards.set(call, card);
    }
    return card;
  }

  // What is known of the tools of its calls now.
  describeTools() {
    for (const card of this.cards.values()) card.describe(this.actions.toolOf(card.name));
  }

  blockStarted(event) {
    this.busy.hidden = true;
    // After a lost connection, a reply that is written comes from its beginning again.
    if (this.part(event).blocks.has(event.block)) this.forget(event);
    const round = this.part(event);
    if (event.kind === 'whole') {
      this.addBlock(round, event.whole);
      round.blocks.set(event.block, null);
    } else if (event.kind === 'tool_call') {
      const card = this.card(event.call, event.name);
      round.blocks.set(event.block, card);
      round.root.append(card.root);
    } else {
      const text = new ReplyText(event.kind);
      round.blocks.set(event.block, text);
      round.root.append(text.root);
    }
  }

  // The complete reply takes the place of what was shown of it; its cards stay.
  reply(event) {
    const round = this.part(event);
    round.root.replaceChildren();
    for (const block of event.message.blocks) this.addBlock(round, block);
    const finish = event.message.finish;
    if (!USUAL_ENDS.includes(finish)) this.note(sayOr(`finish_${finish}`, finish));
  }

  addBlock(round, block) {
    if (block.type === 'tool_call') {
      const card = this.card(block.id, block.name);
      if (card.status === 'queued' && card.arguments === undefined) card.setArguments(block.arguments);
      round.root.append(card.root);
    } else if (block.type === 'text' || block.type === 'refusal' || block.type === 'thinking') {
      if (block.type === 'thinking' && !block.text) return;
      const text = new ReplyText(block.type);
      text.complete(block.text, block.html);
      round.root.append(text.root, ...(block.sources || []).map(sourceView));
    } else if (block.type === 'tool_result') {
      this.cards.get(block.id)?.setState(block.result.is_error ? 'failed' : 'done');
    } else if (block.source) {
      round.root.append(fileView(block));
    } else if (block.text) {
      round.root.append(element('p', { className: 'dim', textContent: visible(block.text) }));
    }
  }

  // Takes away what was shown of a reply, and returns it.
  forget({ round: number, attempt }) {
    const key = `${number}/${attempt}`;
    const round = this.parts.get(key);
    for (const block of round?.blocks.values() || []) {
      if (block instanceof ToolCard) this.cards.delete(block.call);
    }
    round?.root.remove();
    this.parts.delete(key);
    return round;
  }

  superseded(event) {
    const round = this.forget(event);
    const why = event.failure ? `: ${visible(event.failure.message)}` : '';
    // What nothing was shown of did not break off.
    const again = round ? 'reply_again' : 'asked_again';
    this.note(`${say(event.why === 'lost' ? 'reply_lost' : again)}${why}`);
    this.busy.hidden = false;
  }

  replyFailed(event) {
    if (event.partial) this.reply({ ...event, message: { blocks: event.partial.blocks, finish: 'stop' } });
    if (event.failure) this.failed = { message: event.failure.message, note: this.note(visible(event.failure.message)) };
  }

  waitStarted(event) {
    if (event.kind === 'budget') return this.paused(event);
    const card = this.card(event.call);
    this.waits.set(event.id, card);
    card.waits(event);
    this.setStatus('waiting');
  }

  // The turn waits for room in a budget, which is a question about no call.
  paused(event) {
    const question = new Question(event, () => undefined);
    this.body.append(question.root);
    this.waits.set(event.id, { answered: (end) => question.closed || question.close(end) });
    this.busy.hidden = true;
    this.setStatus('waiting');
  }

  waitEnded(event) {
    this.waits.get(event.id)?.answered(event);
    this.waits.delete(event.id);
    if (this.waits.size === 0) this.setStatus('running');
  }

  // A turn that only waits is taken up again with each answer, which is nothing to tell.
  resumed() {
    if (this.status === 'waiting') return;
    this.restarts += 1;
    this.note(say('resumed', { n: this.restarts }));
  }

  // A summary replaced the beginning of the conversation, or could not.
  compacted(event) {
    this.note(event.why_not ? say('not_compacted') : say('compacted', { n: event.replaced }));
  }

  setStatus(status) {
    this.status = status;
    this.root.dataset.status = status;
  }

  ended({ turn }) {
    this.setStatus('ended');
    this.busy.remove();
    for (const call of turn.calls) {
      const card = this.cards.get(call.id);
      if (card && card.status !== call.status) card.ended(call);
    }
    const { kind, failure, limit } = turn.end;
    if (kind !== 'answered') {
      if (failure && failure.message === this.failed?.message) this.failed.note.remove();
      const why = failure?.message || (limit && sayOr(`limit_${limit}`, limit)) || '';
      const words = `${say(`end_${kind}`)}${why ? `: ${visible(why)}` : ''}`;
      const again = button(say('retry'), () => this.actions.retry(this), { className: 'retry', title: say('retry_help') });
      if (kind === 'cancelled') this.note(words);
      else this.body.append(failureView(words, failure && helpFor(failure.kind), again));
    }
    const took = duration(new Date(turn.ended) - new Date(turn.began));
    const tokens = say('tokens', { n: number(turn.usage.input_tokens + turn.usage.output_tokens) });
    const cost = turn.cost ? money(turn.cost.amount, turn.cost.currency) : '';
    const facts = [turn.model, took, tokens, cost, this.restarts ? say('resumed', { n: this.restarts }) : ''];
    const actions = [
      turn.answer ? copyButton(say('copy'), () => turn.answer) : null,
      kind === 'answered' || kind === 'cancelled' ? iconButton('retry', say('retry'), () => this.actions.retry(this), { className: 'retry', title: say('retry_help') }) : '',
      iconButton('fork', say('fork'), () => this.actions.fork(this), { title: say('fork_help') }),
      this.timelineButton,
    ];
    this.foot.replaceChildren(element('div', { className: 'actions' }, actions),
      element('span', { className: 'dim', title: time(turn.ended), textContent: facts.filter(Boolean).map(visible).join(' · ') }));
    this.actions.ended(this);
  }

  // The tools of the calls that may have changed something.
  acted() {
    const acted = [...this.cards.values()].filter((card) => ACTED.includes(card.status) && card.tool?.safety !== 'read_only');
    return [...new Set(acted.map((card) => card.tool?.title || card.name))];
  }

  // Shows which of several versions this is.
  showVersions(view) {
    this.versions?.remove();
    this.versions = view;
    this.foot.prepend(view);
  }

  // Shows what took how long, or hides it.
  async toggleTimeline() {
    const isShown = this.timelineButton.getAttribute('aria-expanded') === 'true';
    this.timelineButton.setAttribute('aria-expanded', String(!isShown));
    this.timeline?.remove();
    if (isShown) return;
    const { Timeline } = await import('./timeline.js');
    this.timeline = new Timeline(this.actions.session(), this.id).root;
    this.foot.after(this.timeline);
  }

  // The same note twice is one that says so.
  note(text, kind = 'dim') {
    if (this.noted?.text === text && this.noted.root === this.body.lastChild) {
      this.noted.times += 1;
      this.noted.root.textContent = `${text} (${number(this.noted.times)}×)`;
    } else {
      this.noted = { text, times: 1, root: element('p', { className: kind, role: kind === 'error' ? 'alert' : undefined, textContent: text }) };
      this.body.append(this.noted.root);
    }
    return this.noted.root;
  }
}

// What each event does to a turn.
const ACTS = {
  block_started: (turn, event) => turn.blockStarted(event),
  call_accepted: (turn, event) => turn.card(event.call).accepted(),
  call_ended: (turn, event) => turn.card(event.call.id, event.call.name).ended(event.call),
  call_lost: (turn, event) => turn.card(event.call).lost(event),
  call_progress: (turn, event) => turn.card(event.call).progress(event),
  call_started: (turn, event) => turn.card(event.call).started(event.attempt),
  compacted: (turn, event) => turn.compacted(event),
  reply: (turn, event) => turn.reply(event),
  reply_failed: (turn, event) => turn.replyFailed(event),
  round_started: (turn) => {
    turn.busy.hidden = false;
    turn.body.after(turn.busy);
  },
  superseded: (turn, event) => turn.superseded(event),
  text: (turn, event) => turn.part(event).blocks.get(event.block)?.append(event.text, event.html),
  turn_ended: (turn, event) => turn.ended(event),
  turn_resumed: (turn) => turn.resumed(),
  wait_ended: (turn, event) => turn.waitEnded(event),
  wait_started: (turn, event) => turn.waitStarted(event),
};

// A longer message is cut, with a button for the rest.
const LONG = 20_000;

// States of calls that may have had effects.
const ACTED = ['done', 'failed', 'running', 'unknown'];

const USUAL_ENDS = ['stop', 'tool_calls', 'stop_sequence'];

// Where a part of an answer comes from: a link to the web alone.
function sourceView(source) {
  const text = visible(source.title || source.url || '');
  if (!/^https?:\/\//i.test(source.url || '')) return element('span', { className: 'dim', textContent: text });
  return element('a', { className: 'source', href: source.url, target: '_blank', rel: 'noopener noreferrer nofollow', textContent: text });
}
