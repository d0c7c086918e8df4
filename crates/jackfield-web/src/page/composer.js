// The field for a message, with the model that is asked and the tools that it is offered. Enter sends, Shift and Enter begins a line, Esc stops.

import { ask } from './api.js';
import { Attachments } from './attachments.js';
import { button, element, visible } from './dom.js';
import { say } from './languages.js';
import { ToolChoice } from './tool_choice.js';

export class Composer {
  // `actions` has `send(text, model, files, tools)`, which fails if the message is not taken, and `stop()`.
  constructor(actions) {
    this.actions = actions;
    this.text = element('textarea', { rows: 1, placeholder: say('message'), 'aria-label': say('message'), 'aria-keyshortcuts': 'Enter Escape', dir: 'auto' });
    this.model = element('select', { 'aria-label': say('model') }, element('option', { value: '', textContent: say('default_model') }));
    this.sendButton = element('button', { type: 'submit', className: 'primary', textContent: say('send') });
    this.stopButton = button(say('stop'), () => this.actions.stop(), { className: 'danger', hidden: true });
    this.problem = element('p', { className: 'error', role: 'alert' });
    this.root = element('form', { className: 'composer', on: { submit: (event) => this.submit(event) } });
    this.files = new Attachments(this.root);
    this.tools = new ToolChoice();
    this.root.append(this.problem, this.files.problem, this.files.list, this.text,
      element('div', { className: 'buttons' }, this.files.input, this.files.button, this.model, this.tools.root, this.stopButton, this.sendButton));
    this.text.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) this.submit(event);
    });
    this.text.addEventListener('input', () => this.fit());
    this.loadModels();
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
      this.model.value = this.wanted || '';
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
  }

  async submit(event) {
    event.preventDefault();
    const text = this.text.value;
    const files = this.files.parts;
    if ((!text.trim() && files.length === 0) || this.busy || this.sending) return;
    this.sending = true;
    this.sendButton.disabled = true;
    this.problem.textContent = '';
    try {
      await this.actions.send(text, this.model.value || undefined, files, this.tools.chosen);
      // Only now, so that a message that was not taken is not lost.
      if (this.text.value === text) this.fill('');
      this.files.clear();
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
