// The limits of a user, a team or a key: in words, and as a form.

import { element, named, number } from './dom.js';
import { say } from './languages.js';
import { formBehind } from './section.js';

const NUMBERS = ['requests_per_minute', 'parallel', 'tokens_per_minute', 'tokens_per_day', 'tokens_per_month'];
const NAMES = [...NUMBERS, 'cost_per_day', 'cost_per_month'];

// The limits that there are.
export function limitsText(quota) {
  const set = NAMES.filter((name) => quota && quota[name] !== null && quota[name] !== undefined);
  const shown = (value) => (typeof value === 'number' ? number(value) : value);
  return set.map((name) => `${say(`limit_${name}`)}: ${shown(quota[name])}`).join(' · ') || say('no_limits');
}

// The form; `save` gets all limits, with `null` where there is none.
export function limitsForm(quota, save) {
  const input = (name) => element('input', NUMBERS.includes(name)
    ? { type: 'number', min: 1, step: 1, value: quota?.[name] ?? '' }
    : { type: 'text', inputMode: 'decimal', pattern: '[0-9]+([.][0-9]+)?', value: quota?.[name] ?? '' });
  const fields = Object.fromEntries(NAMES.map((name) => [name, named(say(`limit_${name}`), input(name))]));
  return formBehind(say('limits'), fields, say('save'), (values) => {
    const limit = (name) => (NUMBERS.includes(name) ? Number(values[name]) : values[name]);
    // The form that is there then has the limits that hold.
    save(Object.fromEntries(NAMES.map((name) => [name, values[name] === '' ? null : limit(name)])));
    return false;
  });
}
