// The instructions, settings and limits of the messages of a session: a form in front of the page, and the same in short.

import { element, named, number, setOf, visible } from './dom.js';
import { icon } from './icons.js';
import { loadMoreTexts, say, sayOr } from './languages.js';
import { openForm } from './section.js';

await loadMoreTexts();

// Asks for all of it; `choose` gets what was set, as a request has it. `refused` is why the gateway refused it, if it did.
export function askOptions({ system, settings = {}, limits = {} }, choose, field, refused) {
  const input = (value, fields) => element('input', { value: value ?? '', placeholder: say('as_configured'), autocomplete: 'off', ...fields });
  const whole = (value, max) => input(value, { type: 'number', min: 1, max, step: 1 });
  const fields = {
    system: element('textarea', { rows: 5, maxLength: MOST_LETTERS, dir: 'auto', value: system ?? '', placeholder: say('options_system_usual') }),
    effort: element('select', {}, ['', ...EFFORTS].map((value) => element('option', { value, textContent: say(value ? `effort_${value}` : 'as_configured') }))),
    max_output_tokens: whole(settings.max_output_tokens, 1e9),
    temperature: input(settings.temperature, { type: 'number', min: 0, max: 2, step: 'any' }),
    rounds: whole(limits.rounds, 1e6),
    active: input(limits.active_ms && limits.active_ms / MINUTE, { type: 'number', min: 0.01, max: 1e6, step: 'any' }),
    tokens: whole(limits.tokens, 1e12),
    cost: input(limits.cost, { type: 'text', inputMode: 'decimal', pattern: '(?=.*[1-9])[0-9]{1,6}([.][0-9]{1,6})?' }),
  };
  fields.effort.value = settings.effort ?? '';
  for (const [name, one] of Object.entries(fields)) named(say(`options_${name}`), one);
  const save = (given) => {
    const numeric = (name) => (given[name] === '' ? undefined : Number(given[name]));
    choose(setOf({
      system: given.system || undefined,
      settings: setOf({ effort: given.effort || undefined, max_output_tokens: numeric('max_output_tokens'), temperature: numeric('temperature') }),
      limits: setOf({
        active_ms: given.active === '' ? undefined : Math.round(given.active * MINUTE),
        cost: given.cost || undefined,
        rounds: numeric('rounds'),
        tokens: numeric('tokens'),
      }),
    }) || {});
    return true;
  };
  const about = element('p', { className: 'dim', textContent: say('options_about') });
  const closed = openForm({ title: document.querySelector('.composer textarea') }, say('options_title'), fields, say('save'), save, about);
  const wrong = fields[field === 'active_ms' ? 'active' : field];
  wrong?.setAttribute('aria-invalid', 'true');
  if (refused) about.after(element('p', { className: 'error', role: 'alert', textContent: visible(refused) }));
  (wrong || fields.system).focus();
  return closed;
}

// The same in short, as a button that asks for it.
export function optionsChip({ system, settings = {}, limits = {} }, click) {
  const parts = [
    system === undefined ? '' : say('set_system'),
    settings.effort && say('set_effort', { n: sayOr(`effort_${settings.effort}`, settings.effort).toLowerCase() }),
    settings.max_output_tokens && say('set_max_output_tokens', { n: number(settings.max_output_tokens) }),
    settings.temperature === undefined ? '' : say('set_temperature', { n: number(settings.temperature) }),
    limits.rounds && say('set_rounds', { n: number(limits.rounds) }),
    limits.active_ms && say('set_active', { n: number(limits.active_ms / MINUTE) }),
    limits.tokens && say('set_tokens', { n: number(limits.tokens) }),
    limits.cost && say('set_cost', { n: visible(limits.cost) }),
  ];
  const words = parts.filter(Boolean).join(' · ');
  const title = visible((system || '').slice(0, SHOWN));
  return element('button', { type: 'button', className: 'quiet', title: title || null, 'aria-label': `${say('session_options')}: ${words}`, on: { click } },
    icon('tool'), element('span', { textContent: words }));
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'extra_high', 'max'];
const MINUTE = 60_000;
const MOST_LETTERS = 20_000;
// How many letters of the instructions the button shows.
const SHOWN = 300;
