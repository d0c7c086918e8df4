// What every place of the page is made of, beside plain elements: the menu, the question before what cannot be taken back,
// the empty place, the failure, and what stands where something loads.

import { announce, button, element } from './dom.js';
import { icon } from './icons.js';
import { say } from './languages.js';

// A button that is an icon; its name is for screen readers and the pointer.
export function iconButton(name, words, click, fields = {}) {
  const made = button('', click, { ...fields, className: `icon-button ${fields.className || ''}`, 'aria-label': words, title: fields.title || words });
  made.append(icon(name));
  return made;
}

// A button that copies a text; nothing where the browser lets no page copy.
export function copyButton(words, textOf) {
  if (!navigator.clipboard) return null;
  const copy = iconButton('copy', words, async () => {
    await navigator.clipboard.writeText(textOf());
    announce(say('copied'));
    copy.dataset.done = 'yes';
  });
  return copy;
}

let tabLists = 0;

// Tabs, each its words and what makes its panel. The arrow keys, Home and End go from tab to tab.
export function tabs(label, entries) {
  const id = `tabs-${(tabLists += 1)}`;
  const panel = element('div', { id, role: 'tabpanel' });
  const all = entries.map(([words], nth) => button(words, () => choose(nth), { id: `${id}-${nth}`, role: 'tab', className: 'tab', 'aria-controls': id }));
  const choose = (chosen) => {
    all.forEach((tab, nth) => {
      tab.setAttribute('aria-selected', String(nth === chosen));
      tab.tabIndex = nth === chosen ? 0 : -1;
    });
    panel.setAttribute('aria-labelledby', all[chosen].id);
    panel.replaceChildren(...entries[chosen][1]());
  };
  const list = element('div', { className: 'tabs', role: 'tablist', 'aria-label': label, on: { keydown: (event) => {
    const at = all.indexOf(document.activeElement);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const tab = all.at(next % all.length);
    tab.click();
    tab.focus();
  } } }, all);
  choose(0);
  return element('div', {}, list, panel);
}

// A button with a panel of buttons, links and choices, which closes on Esc, on a click elsewhere, and once one was taken.
export function menu(opener, ...items) {
  const panel = element('div', { className: 'panel', hidden: true }, items);
  const root = element('div', { className: 'menu' }, opener, panel);
  opener.setAttribute('aria-expanded', 'false');
  const elsewhere = (event) => !root.contains(event.target) && show(false);
  const escape = (event) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    show(false);
    opener.focus();
  };
  const show = (isOpen) => {
    panel.hidden = !isOpen;
    if (isOpen) panel.scrollIntoView({ block: 'nearest' });
    opener.setAttribute('aria-expanded', String(isOpen));
    const listens = isOpen ? addEventListener : removeEventListener;
    listens('pointerdown', elsewhere);
    listens('keydown', escape, true);
  };
  opener.addEventListener('click', () => {
    show(panel.hidden);
    if (!panel.hidden) panel.querySelector(TAKEN)?.focus();
  });
  // Before what is taken does its work: that may move the focus, or give it back later.
  panel.addEventListener('click', (event) => {
    if (!event.target.closest('button, a')) return;
    show(false);
    opener.focus();
  }, true);
  root.addEventListener('focusout', (event) => {
    if (event.relatedTarget && !root.contains(event.relatedTarget)) show(false);
  });
  root.addEventListener('keydown', (event) => {
    if (panel.hidden) return;
    if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && !event.target.matches('select')) {
      event.preventDefault();
      const all = [...panel.querySelectorAll(TAKEN)];
      const next = all.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1);
      all.at(next % all.length)?.focus();
    }
  });
  return root;
}

const TAKEN = 'button, a, select, input';

// A line of a menu.
export const menuItem = (name, words, click, fields = {}) => {
  const made = button('', click, { ...fields, className: `menu-item ${fields.className || ''}` });
  made.append(icon(name), words);
  return made;
};

// Something in front of the page, until it is closed.
export function modal(title, closed, ...content) {
  const dialog = element('dialog', { 'aria-label': title, on: { close: () => {
    dialog.remove();
    closed(dialog.returnValue);
  }, keydown: (event) => event.stopPropagation() } }, element('h2', { textContent: title }), content);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

// Asks whether one is sure; the focus is on the safe answer.
export function confirmed(question, words) {
  return new Promise((done) => {
    const no = button(say('cancel'), () => dialog.close());
    const yes = button(words, () => dialog.close('yes'), { className: 'primary danger' });
    const dialog = modal(question, (answer) => done(answer === 'yes'), element('div', { className: 'buttons end' }, no, yes));
    no.focus();
  });
}

// A button that does something once one is sure.
export function sureButton(text, question, click, fields = {}) {
  return button(text, async () => (await confirmed(question, text)) && click(), fields);
}

// A place where nothing is: what it is for, and what to do.
export function emptyPlace(name, title, about, ...actions) {
  return element('div', { className: 'empty' }, icon(name), element('h2', { textContent: title }),
    about ? element('p', { textContent: about }) : null, actions);
}

// A failure: what happened, what helps, and what to do.
export function failureView(words, help, ...actions) {
  const lines = [element('p', { textContent: words }), help ? element('p', { className: 'dim', textContent: help }) : null];
  return element('div', { className: 'failure', role: 'alert' }, icon('alert'), element('div', {}, lines, actions));
}

// What is seen where something loads for longer than a moment.
export function skeleton(lines = 3) {
  return element('div', { className: 'skeleton', 'aria-hidden': 'true' }, Array.from({ length: lines }, () => element('div')));
}
