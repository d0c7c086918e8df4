// A part of a page that is loaded, and again after each change.

import { ask } from './api.js';
import { announce, button, element, table, visible } from './dom.js';
import { icon } from './icons.js';
import { say } from './languages.js';
import { iconButton, menu, modal, skeleton } from './parts.js';

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

  // Changes something by a request, and shows what is there then. The answer, or `undefined` if it was refused; `problem` says why.
  async change(path, method, body, problem = this.problem) {
    problem.textContent = '';
    try {
      const made = await ask(path, { method, body });
      await this.show();
      announce(say('saved'));
      this.root.dispatchEvent(new CustomEvent('changed', { bubbles: true }));
      return made ?? true;
    } catch (error) {
      problem.textContent = visible(error.message);
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

// A table of entries: the names of its columns, and the rows.
export const entryTable = (names, rows) => (rows.length ? table([...names, 'actions'].map((name) => say(name)), rows, { isList: true }) : orNone([]));

// A row of it: the name of the entry, what follows in the cells, and the lines of its menu.
export function entryRow(name, cells, items) {
  const actions = items.length ? menu(iconButton('more', say('actions_for', { name })), ...items) : null;
  return element('tr', {}, element('th', { scope: 'row' }, element('bdi', { textContent: name })), cells.map((cell) => element('td', {}, cell)),
    element('td', { className: 'number' }, actions));
}

// A text in one line, which is all in its title.
export const shortText = (textContent, title = textContent) => element('span', { className: 'short', title, textContent });

// The state of an entry.
export const stateChip = (words, isOn) => element('span', { className: isOn ? 'chip on' : 'chip', textContent: words });

// A button that opens a form; `fields` makes its fields.
export function formButton(section, title, fields, submit, send) {
  const made = button('', () => openForm(section, title, fields(), submit, send));
  made.append(icon('plus'), title);
  return element('div', { className: 'buttons' }, made);
}

// A form in front of the page, until it is done or left. `send` gets the values of the fields, by name, and the place for what is
// wrong; what it returns is whether they are done. `more` stands below the fields.
export async function openForm(section, title, fields, submit, send, ...more) {
  const problem = element('p', { className: 'error', role: 'alert' });
  let dialog = null;
  const go = element('button', { type: 'submit', className: 'primary', textContent: submit });
  const form = element('form', { className: 'fields', on: { submit: save } }, Object.values(fields).map((one) => one.parentNode), more, problem,
    element('div', { className: 'buttons end' }, button(say('cancel'), () => dialog.close()), go));
  async function save(event) {
    event.preventDefault();
    const values = Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, one.type === 'checkbox' ? one.checked : one.value.trim()]));
    go.disabled = true;
    if (await send(values, problem)) dialog.close();
    go.disabled = false;
  }
  const closed = new Promise((done) => { dialog = modal(title, done, form); });
  form.querySelector('input:not([readonly]), select').focus();
  await closed;
  // What opened the form may be gone.
  if (document.activeElement === document.body) section.title.focus();
}

// The list of patterns in a text, or `undefined` for none.
export function patterns(text) {
  const found = text.split(',').map((one) => one.trim()).filter(Boolean);
  return found.length ? found : undefined;
}

const MOST_PAGES = 25;
