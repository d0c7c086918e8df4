// The keys of the page, as a list in front of it.

import { button, element } from './dom.js';
import { loadMoreTexts, say } from './languages.js';
import { modal } from './parts.js';

await loadMoreTexts();

const KEYS = [['Enter', 'key_enter'], ['Shift+Enter', 'key_shift_enter'], ['Esc', 'key_esc'], ['/', 'key_slash'], ['Ctrl/⌘+Shift+F', 'key_find'], ['Alt+N', 'key_alt_n'], ['Alt+A', 'key_alt_a'], ['?', 'key_question']];

export function showKeys() {
  const close = button(say('close'), () => dialog.close(), { className: 'primary' });
  const rows = KEYS.flatMap(([key, text]) => [element('dt', {}, element('kbd', { textContent: key })), element('dd', { textContent: say(text) })]);
  const dialog = modal(say('keys_help'), () => {}, element('dl', { className: 'arguments' }, rows), element('div', { className: 'buttons end' }, close));
  close.focus();
}
