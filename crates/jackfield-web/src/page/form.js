// A form from a JSON Schema of a flat object, as servers of tools ask for it. All of it is foreign text.

import { element, visible } from './dom.js';
import { say } from './languages.js';

// The form: its fields, and `value()`, the answer. A schema that is not flat is answered as JSON.
export function formOf(schema) {
  const properties = Object.entries(schema?.properties || {}).slice(0, MOST_FIELDS);
  if (schema && (properties.length === 0 || !properties.every(([, one]) => isSimple(one)))) return jsonForm();
  const required = new Set(Array.isArray(schema?.required) ? schema.required : []);
  const fields = properties.map(([name, one]) => ({ name, ...field(name, one, required.has(name)) }));
  const root = element('div', {}, fields.map((one) => one.root));
  const value = () => Object.fromEntries(fields.map((one) => [one.name, one.value()]).filter(([, given]) => given !== undefined));
  return { root, value };
}

const choices = (one) => one?.enum || (one?.oneOf || one?.anyOf)?.map((choice) => choice.const);

function isSimple(one) {
  if (one?.type === 'array') return Array.isArray(choices(one.items));
  return ['string', 'number', 'integer', 'boolean'].includes(one?.type);
}

function field(name, one, isRequired) {
  const words = visible(one.title || name) + (isRequired ? ' *' : '');
  const about = one.description ? element('span', { className: 'dim', textContent: visible(one.description).slice(0, 500) }) : null;
  if (one.type === 'boolean') {
    const box = element('input', { type: 'checkbox', checked: one.default === true });
    return { root: element('p', {}, element('label', {}, box, ` ${words} `), about), value: () => box.checked };
  }
  if (one.type === 'array') {
    const titles = titled(one.items);
    const boxes = choices(one.items).slice(0, MOST_CHOICES).map((choice, nth) => ({ choice, box: element('input', { type: 'checkbox', checked: (one.default || []).includes(choice) }), title: titles[nth] }));
    const labels = boxes.map(({ box, title }) => element('label', {}, box, ` ${visible(title)} `));
    const root = element('fieldset', {}, element('legend', { textContent: words }), about, labels);
    return { root, value: () => boxes.filter(({ box }) => box.checked).map(({ choice }) => choice) };
  }
  const given = choices(one);
  const input = given ? select(one, given, isRequired) : text(one, isRequired);
  const value = () => {
    if (input.value === '') return undefined;
    if (given) return given[Number(input.value)];
    return one.type === 'string' ? moment(one, input.value) : Number(input.value);
  };
  return { root: element('p', {}, element('label', {}, `${words} `, input), about), value };
}

const titled = (one) => one.enumNames || (one.oneOf || one.anyOf)?.map((choice) => choice.title ?? choice.const) || one.enum;

function select(one, given, isRequired) {
  const titles = titled(one);
  const options = given.slice(0, MOST_CHOICES).map((choice, nth) => element('option', { value: nth, textContent: visible(titles[nth] ?? choice), selected: choice === one.default }));
  return element('select', { required: isRequired }, element('option', { value: '', textContent: '' }), options);
}

function text(one, isRequired) {
  const types = { email: 'email', uri: 'url', date: 'date', 'date-time': 'datetime-local' };
  const isNumber = one.type !== 'string';
  const input = element('input', { type: isNumber ? 'number' : types[one.format] || 'text', required: isRequired, autocomplete: 'off' });
  if (isNumber) Object.assign(input, { step: one.type === 'integer' ? '1' : 'any', min: one.minimum ?? '', max: one.maximum ?? '' });
  if (one.maxLength >= 0) input.maxLength = one.maxLength;
  if (one.minLength >= 0 && one.minLength <= (one.maxLength ?? Infinity)) input.minLength = one.minLength;
  if (one.default !== undefined) input.value = String(one.default);
  return input;
}

// A local time, as the schema wants it.
const moment = (one, value) => (one.format === 'date-time' ? new Date(value).toISOString() : value);

function jsonForm() {
  const input = element('textarea', { rows: 6, spellcheck: false, value: '{}', 'aria-label': say('answer_json') });
  return { root: input, value: () => JSON.parse(input.value) };
}

const MOST_FIELDS = 50;
const MOST_CHOICES = 200;
