// The field for a message, with the model that is asked and the tools that it is offered. Enter sends, Shift and Enter begins a line, Esc stops.

import { ask, randomKey } from './api.js';
import { Attachments } from './attachments.js';
import { button, element, setOf, visible } from './dom.js';
import { icon } from './icons.js';
import { say } from './languages.js';
import { iconButton } from './parts.js';
import { ToolChoice } from './tool_choice.js';

export class Composer {
  // `actions` has `send(message)`, which fails if the message is not taken, `stop()`, and `changed(draft)` for what is written
  // and chosen. Files may be dropped on, or pasted into, `place`.
  constructor(actions, place) {
    this.actions = actions;
    this.wanted = '';
    this.text = element('textarea', { rows: 1, placeholder: say('message'), 'aria-label': say('message'), 'aria-keyshortcuts': 'Enter Escape', dir: 'auto' });
    this.model = element('select', { 'aria-label': say('model'), on: { change: () => this.chosen() } }, element('option', { value: '', textContent: say('default_model') }));
    this.sendButton = element('button', { type: 'submit', className: 'icon-button primary', 'aria-label': say('send'), title: say('send') }, icon('send'));
    this.stopButton = iconButton('stop', say('stop'), () => this.actions.stop(), { className: 'primary', hidden: true });
    this.problem = element('p', { className: 'error', role: 'alert' });
    this.queue = [];
    this.queued = element('ul', { className: 'queue', 'aria-label': say('queue'), hidden: true });
    this.files = new Attachments(place);
    this.tools = new ToolChoice();
    this.root = element('form', { className: 'composer', on: { submit: (event) => this.submit(event) } }, this.problem, this.files.problem, this.queued,
      element('div', { className: 'box' }, this.files.list, this.text,
        element('div', { className: 'row' }, this.files.input, this.files.button, this.model, this.tools.root, this.stopButton, this.sendButton)));
    this.text.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) this.submit(event);
    });
    this.text.addEventListener('input', () => {
      if (this.text.value === '/') import('./prompt_menu.js').then(({ openPrompts }) => openPrompts(this), () => {});
      this.fit();
      this.changed();
    });
    this.optionsLine = element('div');
    this.root.append(this.optionsLine);
    this.loadModels();
  }

  // What a browser keeps of it: no files.
  get draft() {
    const queue = this.queue.map(({ files, follows, ...one }) => ({ ...one, files: files.length }));
    const isSent = this.sent?.written === writtenOf(this.message);
    return { text: this.text.value, model: this.wanted, options: this.own, key: isSent && this.files.parts.length === 0 ? this.sent.key : undefined, queue };
  }

  // What the field has now.
  get message() {
    // A model that is gone is not asked; before the list is there, it is the chosen one.
    return { text: this.text.value, files: this.files.parts, model: this.isListed ? this.model.value : this.wanted, tools: this.tools.chosen, options: this.options };
  }

  // Is there again what was written and chosen. A queued message that had files is again in the field, to get them anew.
  restore(draft) {
    const [without, queue] = [true, false].map((hasFiles) => draft.queue.filter((one) => Boolean(one.files) === hasFiles));
    this.wanted = draft.model;
    this.model.value = draft.model;
    this.takeOptions({ own: draft.options });
    this.queue = queue.map((one) => ({ ...one, files: [] }));
    this.showQueue();
    this.fill([...without.map((one) => one.text), draft.text].filter(Boolean).join('\n'));
    this.keptText = this.text.value;
    if (draft.key) this.sent = { key: draft.key, written: writtenOf({ text: draft.text, files: [], model: draft.model, options: this.options }) };
  }

  // Another tab has changed the draft: what was not changed here is as it is there.
  follow(draft) {
    if (this.soon || this.sending) return;
    this.takeOptions({ own: draft.options });
    this.queue = draft.queue.map((one) => this.queue.find(({ key }) => key === one.key) || { ...one, files: [] });
    this.showQueue();
    if (this.text.value !== this.keptText) return;
    this.text.value = draft.text;
    this.keptText = draft.text;
    this.fit();
  }

  // The instructions, settings and limits of the next messages: those that were chosen, or else those that the last turn was given.
  get options() {
    return setOf(this.own || this.given || {});
  }

  takeOptions(some) {
    Object.assign(this, some);
    if (this.options || this.optionsLine.hasChildNodes()) this.withOptions(({ optionsChip }) => {
      this.optionsLine.replaceChildren(...(this.options ? [optionsChip(this.options, () => this.askOptions())] : []));
    });
  }

  // Asks for them; with what the gateway says of one that it refused.
  askOptions(field, refused) {
    const choose = (own) => {
      this.takeOptions({ own });
      this.settle();
    };
    this.withOptions(({ askOptions }) => askOptions(this.options || {}, choose, field, refused));
  }

  withOptions(use) {
    import('./session_options.js').then(use, () => {
      this.problem.textContent = say('unreachable');
    });
  }

  chosen() {
    this.wanted = this.model.value;
    this.changed();
  }

  // Tells what is written and chosen once the writer rests.
  changed() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.settle(), 200);
  }

  settle() {
    clearTimeout(this.soon);
    this.soon = null;
    this.keptText = this.text.value;
    this.actions.changed(this.draft);
  }

  // The place goes away: the last change here is told now, not once the writer rests.
  leave() {
    if (this.soon) this.settle();
  }

  async loadModels() {
    try {
      const { models, default: usual } = await ask('/models');
      const options = models.slice(0, MOST_MODELS).map((model) => {
        const more = model.alias_of || model.assistant_with;
        return element('option', { value: model.id, textContent: visible(more ? `${model.id} (${more})` : model.id) });
      });
      this.model.firstChild.textContent = `${say('default_model')} (${visible(usual)})`;
      this.model.append(...options);
      this.model.value = this.wanted;
      if (this.model.selectedIndex < 0) this.model.value = '';
      this.isListed = true;
    } catch {
      // The default model is there without a list.
    }
  }

  // Grows with its text.
  fit() {
    // To measure a very long text takes seconds.
    if (this.text.value.length > LONG) {
      this.text.style.height = `${innerHeight / 3}px`;
      return;
    }
    this.text.style.height = 'auto';
    this.text.style.height = `${Math.min(this.text.scrollHeight + 2, innerHeight / 3)}px`;
  }

  fill(text) {
    this.text.value = text;
    this.fit();
    // On a phone, a focus would open the keyboard.
    if (text || matchMedia('(pointer: fine)').matches) this.text.focus();
  }

  setBusy(isBusy) {
    this.busy = isBusy;
    this.stopButton.hidden = !isBusy;
    this.sendButton.hidden = isBusy;
    this.showQueue();
  }

  // The messages that are sent one by one, each after an answer.
  showQueue() {
    const waiting = this.queue.filter((message) => message !== this.sending || this.isSlow);
    this.queued.hidden = waiting.length === 0;
    this.queued.replaceChildren(...waiting.map((message, nth) => element('li', {},
      icon('clock'), element('bdi', { textContent: message.text.slice(0, SHOWN) || message.files.map((file) => file.title || file.type).join(', ') }),
      nth === 0 && !this.busy && !this.sending ? button(say('send'), () => this.sendNext(), { className: 'quiet' }) : null,
      message === this.sending ? null : iconButton('edit', say('edit_queued'), () => this.takeBack(message)),
      message === this.sending ? null : iconButton('cross', say('remove_queued'), () => {
        this.drop(message);
        this.text.focus();
      }))));
  }

  drop(message) {
    this.queue = this.queue.filter((one) => one !== message);
    this.showQueue();
    this.settle();
  }

  // Puts a message of the queue into the field, before what stands there.
  takeBack(message) {
    this.files.parts = [...message.files, ...this.files.parts];
    this.fill([message.text, this.text.value].filter(Boolean).join('\n'));
    this.drop(message);
  }

  async submit(event) {
    event.preventDefault();
    const { message } = this;
    if (!message.text.trim() && message.files.length === 0) return;
    // What failed and is sent again is the same request: it may have been taken.
    message.key = this.sent?.written === writtenOf(message) ? this.sent.key : randomKey();
    this.sent = null;
    const queued = { ...message, follows: true };
    this.queue.push(queued);
    this.fill('');
    this.files.clear();
    this.settle();
    this.showQueue();
    await this.sendNext(queued);
  }

  // An answer is there: the next message follows, if it was written here meanwhile.
  goOn() {
    this.isDue = Boolean(this.sending);
    if (this.queue[0]?.follows) this.sendNext();
  }

  // Sends a message of the queue. One that is not taken is in the field again, or stays in the queue.
  async sendNext(message = this.queue[0]) {
    if (!message || this.busy || this.sending) return;
    if (await this.deliver(message)) {
      this.drop(message);
    } else if (!this.text.value && this.files.parts.length === 0 && this.queue.includes(message)) {
      this.sent = { key: message.key, written: writtenOf(message) };
      this.takeBack(message);
    } else {
      this.showQueue();
    }
    // Its answer may have been faster than the gateway's word that it was taken.
    if (this.isDue) this.goOn();
  }

  // Sends a message that is not of the queue, and returns whether it was taken.
  async resend(message) {
    const isTaken = await this.deliver(message);
    if (this.isDue) this.goOn();
    return isTaken;
  }

  // Sends a message, and returns whether it was taken.
  async deliver(message) {
    if (this.sending) return false;
    this.sending = message;
    this.sendButton.disabled = true;
    this.problem.textContent = '';
    this.showQueue();
    const slow = setTimeout(() => {
      this.isSlow = true;
      this.showQueue();
    }, SLOW);
    try {
      await this.actions.send(message);
      return true;
    } catch (error) {
      this.problem.textContent = say('not_sent', { why: error.message });
      const [, field] = /^\/(?:(?:settings|limits)\/)?(system|effort|max_output_tokens|temperature|active_ms|cost|rounds|tokens)$/.exec(error.document?.pointer) || [];
      if (field) this.askOptions(field, error.message);
      return false;
    } finally {
      clearTimeout(slow);
      this.isSlow = false;
      this.sending = null;
      this.sendButton.disabled = false;
    }
  }
}

const writtenOf = ({ text, files, model, tools, options }) => JSON.stringify([text, files, model, tools, options]);

// A text of so many letters is as high as the field can be.
const LONG = 20_000;
// A provider may list hundreds.
const MOST_MODELS = 500;
// A message that is on its way for longer is seen in the queue.
const SLOW = 700;
// How many letters of a message are shown in the queue.
const SHOWN = 200;
