// A part of a page that is loaded, and again after each change.

import { ask } from './api.js';
import { announce, element, visible } from './dom.js';
import { say } from './languages.js';
import { skeleton } from './parts.js';

export class Section {
  // `load` gives what is shown.
  constructor(title, load) {
    this.title = element('h2', { textContent: title, tabIndex: -1 });
    this.problem = element('p', { className: 'error', role: 'alert' });
    // What stays over a change, such as a secret that is shown once.
    this.notice = element('div');
    this.body = element('div', {}, skeleton());
    this.root = element('section', {}, this.title, this.problem, this.notice, this.body);
    this.load = load;
    this.show();
  }

  async show() {
    try {
      const shown = [await this.load(this)].flat();
      // What had the focus goes away.
      const hadFocus = this.body.contains(document.activeElement);
      this.body.replaceChildren(...shown);
      if (hadFocus) this.title.focus();
    } catch (error) {
      this.body.querySelector('.skeleton')?.remove();
      this.problem.textContent = visible(error.message);
    }
  }

  // Changes something by a request, and shows what is there then. The answer, or `undefined` if it was refused.
  async change(path, method, body) {
    this.problem.textContent = '';
    try {
      const made = await ask(path, { method, body });
      await this.show();
      announce(say('saved'));
      this.root.dispatchEvent(new CustomEvent('changed', { bubbles: true }));
      return made ?? true;
    } catch (error) {
      this.problem.textContent = visible(error.message);
      return undefined;
    }
  }
}

// The entries of a list that comes in pages, in the field of this name: 5,000 at most.
export async function everything(path, name) {
  const found = [];
  let after = '';
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const answer = await ask(`${path}?limit=200${after && `&after=${encodeURIComponent(after)}`}`);
    found.push(...answer[name]);
    if (!answer.next) return found;
    after = answer.next;
  }
  return found;
}

// An entry: its name, its state, and what else there is of it.
export function entryCard(name, { about = '', state, isOn = true }, ...rest) {
  const card = element('article', { className: 'card' },
    element('div', { className: 'head' }, element('bdi', { className: 'tool', textContent: visible(name) }),
      element('span', { className: 'dim', textContent: visible(about) }), state ? element('span', { className: 'state', textContent: state }) : ''), rest);
  card.dataset.state = isOn ? 'ready' : '';
  return card;
}

// What is shown where nothing is.
export const orNone = (entries) => (entries.length ? entries : element('p', { className: 'dim', textContent: say('none_yet') }));

// A form behind a line that opens it. `send` gets the values of the fields, by name; what it returns is whether they are done.
export function formBehind(title, fields, submit, send) {
  const form = element('form', { className: 'fields', on: { submit: save } }, Object.values(fields).map((one) => one.parentNode),
    element('button', { type: 'submit', className: 'primary', textContent: submit }));
  async function save(event) {
    event.preventDefault();
    const values = Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, one.type === 'checkbox' ? one.checked : one.value.trim()]));
    const button = form.querySelector('[type=submit]');
    button.disabled = true;
    if (await send(values)) form.reset();
    button.disabled = false;
  }
  return element('details', {}, element('summary', { textContent: title }), form);
}

// The list of patterns in a text, or `undefined` for none.
export function patterns(text) {
  const found = text.split(',').map((one) => one.trim()).filter(Boolean);
  return found.length ? found : undefined;
}

const MOST_PAGES = 25;
