// The field for a message, with the model that is asked and the tools that it is offered. Enter sends, Shift and Enter begins a line, Esc stops.

import { ask } from './api.js';
import { Attachments } from './attachments.js';
import { button, element, visible } from './dom.js';
import { icon } from './icons.js';
import { say } from './languages.js';
import { iconButton } from './parts.js';
import { ToolChoice } from './tool_choice.js';

export class Composer {
  // `actions` has `send(text, model, files, tools)`, which fails if the message is not taken, `stop()`, and `changed(draft)`
  // for what is written and chosen. Files may be dropped on, or pasted into, `place`.
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
      this.fit();
      this.changed();
    });
    this.loadModels();
  }

  get draft() {
    return { text: this.text.value, model: this.wanted, queue: this.queue.map((one) => one.text) };
  }

  // Is there again what was written and chosen.
  restore({ text, model, queue }) {
    this.wanted = model;
    this.model.value = model;
    // What was written before the page was loaded is sent by a click alone.
    this.queue = queue.map((one) => ({ text: one, model, files: [] }));
    this.showQueue();
    this.fill(text);
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
    this.actions.changed(this.draft);
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
      // A model that is gone is not asked.
      if (this.model.selectedIndex < 0) this.model.value = '';
    } catch {
      // The default model is there without a list.
    }
  }

  // Grows with its text.
  fit() {
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
    this.queued.hidden = this.queue.length === 0;
    this.queued.replaceChildren(...this.queue.map((message, nth) => element('li', {},
      icon('clock'), element('bdi', { textContent: message.text.slice(0, SHOWN) || message.files.map((file) => file.title || file.type).join(', ') }),
      nth === 0 && !this.busy ? button(say('send'), () => this.sendNext(), { className: 'quiet' }) : null,
      iconButton('edit', say('edit_queued'), () => this.takeBack(message)),
      iconButton('cross', say('remove_queued'), () => this.drop(message)))));
  }

  drop(message) {
    this.queue = this.queue.filter((one) => one !== message);
    this.showQueue();
    this.settle();
    this.text.focus();
  }

  // Puts a message of the queue into the field, before what stands there.
  takeBack(message) {
    this.drop(message);
    this.files.parts = [...message.files, ...this.files.parts];
    this.fill([message.text, this.text.value].filter(Boolean).join('\n'));
    this.settle();
  }

  // Sends the first message of the queue; one that is not taken stays in it.
  async sendNext() {
    const [message] = this.queue;
    if (!message || this.busy || this.sending) return;
    await this.deliver(message, () => this.drop(message));
  }

  async submit(event) {
    event.preventDefault();
    const text = this.text.value;
    const files = this.files.parts;
    if ((!text.trim() && files.length === 0) || this.sending) return;
    const message = { text, files, model: this.model.value, tools: this.tools.chosen };
    // Only once it is taken, so that a message that was not is not lost.
    const taken = () => {
      if (this.text.value === text) this.fill('');
      this.files.clear();
      this.settle();
    };
    if (this.busy) {
      this.queue.push({ ...message, follows: true });
      this.showQueue();
      taken();
      return;
    }
    await this.deliver(message, taken);
  }

  // An answer is there: the next message follows, if it was written here meanwhile.
  goOn() {
    if (this.queue[0]?.follows) this.sendNext();
  }

  async deliver({ text, files, model, tools }, taken) {
    this.sending = true;
    this.sendButton.disabled = true;
    this.problem.textContent = '';
    try {
      await this.actions.send(text, model || undefined, files, tools);
      taken();
    } catch (error) {
      this.problem.textContent = say('not_sent', { why: error.message });
    } finally {
      this.sending = false;
      this.sendButton.disabled = false;
    }
  }
}

// A provider may list hundreds.
const MOST_MODELS = 500;
// How many letters of a message are shown in the queue.
const SHOWN = 200;
