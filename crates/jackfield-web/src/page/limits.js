// The limits of a user, a team or a key: in words, and as a form.

import { element, money, named, number } from './dom.js';
import { say } from './languages.js';
import { openForm, shortText } from './section.js';

const NUMBERS = ['requests_per_minute', 'parallel', 'tokens_per_minute', 'tokens_per_day', 'tokens_per_month'];
const NAMES = [...NUMBERS, 'cost_per_day', 'cost_per_month'];

const isSet = (quota) => NAMES.filter((name) => quota && quota[name] !== null && quota[name] !== undefined);

// The limits that there are.
export function limitsText(quota) {
  const shown = (value) => (typeof value === 'number' ? number(value) : value);
  const limits = isSet(quota).map((name) => `${say(`limit_${name}`)}: ${shown(quota[name])}`);
  return [...limits, ...(quota?.unpriced === 'allow' ? [say('limit_unpriced')] : [])].join(' · ') || say('no_limits');
}

// The same in short; an empty text without limits.
export function limitsInShort(quota) {
  const shown = (name) => (NUMBERS.includes(name) ? number(quota[name]) : money(quota[name], 'USD'));
  return isSet(quota).map((name) => say(`short_${name}`, { n: shown(name) })).join(' · ');
}

// The limits of an entry, in a cell.
export function limitsCell(quota) {
  const words = limitsInShort(quota);
  return words ? shortText(words, limitsText(quota)) : element('span', { className: 'dim', textContent: say('no_limits') });
}

// Fields for the limits, and `value()`: all of them, with `null` where there is none.
export function limitFields(quota) {
  const input = (name) => element('input', NUMBERS.includes(name)
    ? { type: 'number', min: 1, step: 1, value: quota?.[name] ?? '' }
    : { type: 'text', inputMode: 'decimal', pattern: '[0-9]+([.][0-9]+)?', value: quota?.[name] ?? '' });
  const fields = Object.fromEntries(NAMES.map((name) => [name, named(say(`limit_${name}`), input(name))]));
  fields.unpriced = named(say('limit_unpriced'), element('input', { type: 'checkbox', checked: quota?.unpriced === 'allow' }));
  const given = (name) => (NUMBERS.includes(name) ? Number(fields[name].value) : fields[name].value.trim());
  const limits = () => NAMES.map((name) => [name, fields[name].value.trim() === '' ? null : given(name)]);
  return { fields, value: () => ({ ...Object.fromEntries(limits()), unpriced: fields.unpriced.checked ? 'allow' : 'refuse' }) };
}

// Asks for the limits of an entry; `save` gets them, and the place for what is wrong.
export function askLimits(section, name, quota, save) {
  const { fields, value } = limitFields(quota);
  openForm(section, say('limits_of', { name }), fields, say('save'), (values, problem) => save(value(), problem));
}
