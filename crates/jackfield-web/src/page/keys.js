// Keys of clients of the gateway: listed, made, given a new secret, revoked. A secret is shown once.

import { waysToConnect } from './connect.js';
import { button, date, element, named, time, visible } from './dom.js';
import { icon } from './icons.js';
import { say } from './languages.js';
import { askLimits, limitFields, limitsInShort, limitsText } from './limits.js';
import { loginState } from './login.js';
import { confirmed, copyButton, menuItem } from './parts.js';
import { Section, entryRow, entryTable, everything, openForm, patterns, shortText, stateChip } from './section.js';

// The keys of a user, or of all. An administrator may make and change them.
export function keySection({ title, user, isAdmin }) {
  return new Section(title, async (section) => {
    const keys = (await everything('/keys', 'keys')).filter((key) => !user || key.user === user);
    const isFirst = isAdmin && keys.length === 0 && (await loginState()).admin_missing;
    section.makeFor = (name) => askForKey(section, name, user, isFirst);
    const order = (key) => (state(key) === 'active' ? 0 : 1);
    keys.sort((one, other) => order(one) - order(other));
    const make = button('', () => section.makeFor(user || ''));
    make.append(icon('plus'), say('make_key'));
    return [isAdmin ? element('div', { className: 'buttons' }, make) : '',
      entryTable(['label', user ? '' : 'user', 'rights', 'ends', 'target_state'].filter(Boolean), keys.map((key) => keyRow(section, key, { isAdmin, hasUser: !user })))];
  });
}

function state(key) {
  if (key.revoked) return 'revoked';
  return key.expires && Date.parse(key.expires) <= Date.now() ? 'expired' : 'active';
}

function keyRow(section, key, { isAdmin, hasUser }) {
  const path = `/keys/${encodeURIComponent(key.id)}`;
  const isActive = state(key) === 'active';
  const name = visible(key.label || key.id);
  const rights = (limits) => visible([key.admin ? say('administrator') : '', key.no_approvals ? say('answers_nothing') : '', key.models ? key.models.join(', ') : say('all_models'),
    key.tools ? `${say('server_tools')}: ${key.tools.join(', ') || '–'}` : '', limits].filter(Boolean).join(' · '));
  const rotate = async () => {
    const made = await confirmed(say('rotate_sure'), say('rotate')) && await section.change(`${path}/rotate`, 'POST');
    if (made) showSecret(section, made);
  };
  const revoke = async () => await confirmed(say('revoke_sure'), say('revoke')) && section.change(path, 'DELETE');
  const at = key.revoked || key.expires;
  const words = key.revoked ? say('revoked_at', { at: date(at) }) : date(at);
  const ends = at ? shortText(words, time(at)) : shortText(say('never'));
  const row = entryRow(name, [...(hasUser ? [visible(key.user)] : []), shortText(rights(limitsInShort(key.quota)), rights(limitsText(key.quota))), ends,
    stateChip(say(`key_state_${state(key)}`), isActive)], isActive ? [
    isAdmin ? menuItem('retry', say('rotate'), rotate) : null,
    isAdmin ? menuItem('usage', say('limits'), () => askLimits(section, name, key.quota, (quota, problem) => section.change(path, 'PATCH', { quota }, problem))) : null,
    menuItem('trash', say('revoke'), revoke, { className: 'danger' }),
  ] : []);
  const head = row.querySelector('th');
  if (key.label) head.append(' ', element('span', { className: 'dim', textContent: key.id }));
  if (key.old_secret_until && isActive) head.append(element('p', { className: 'dim', textContent: say('old_secret_until', { at: time(key.old_secret_until) }) }));
  return row;
}

// Asks for a key of the user with this name, or of any. `isFirst`: without this key the gateway would have no administrator, so it
// is an admin's, and signs its maker in.
async function askForKey(section, name, onlyUser, isFirst) {
  section.problem.textContent = '';
  let users = [];
  try {
    users = onlyUser ? [] : (await everything('/users', 'users')).filter((one) => !one.disabled);
  } catch (error) {
    section.problem.textContent = visible(error.message);
    return;
  }
  const names = ['', ...users.map((one) => one.name)].map((value) => element('option', { value, textContent: visible(value) }));
  // Without it nobody could make the next one.
  const ends = isFirst ? [] : [30, 90, 365];
  const days = [['', say('never')], ...ends.map((n) => [n, say('days', { n })])];
  const fields = {
    user: named(say('user'), onlyUser ? element('input', { type: 'text', value: onlyUser, readOnly: true }) : element('select', { required: true }, names)),
    label: named(say('label'), element('input', { type: 'text', autocomplete: 'off', maxLength: 200 })),
    days: named(say('ends'), element('select', {}, days.map(([value, textContent]) => element('option', { value, textContent })))),
    models: named(say('models_for'), element('input', { type: 'text', autocomplete: 'off', placeholder: 'claude/*, openai/*' })),
    tools: named(say('tools_for'), element('input', { type: 'text', autocomplete: 'off', placeholder: 'builtin/*' })),
    no_approvals: named(say('answers_nothing'), element('input', { type: 'checkbox', disabled: isFirst })),
    admin: named(say('administrator'), element('input', { type: 'checkbox', checked: isFirst, disabled: isFirst })),
  };
  fields.user.value = name;
  const limits = limitFields();
  let sending = null;
  const more = element('details', {}, element('summary', { textContent: say('limits') }), element('div', { className: 'fields' }, Object.values(limits.fields).map((one) => one.parentNode)));
  const send = ({ days: count, models, tools, ...given }, problem) => {
    const expires = count ? new Date(Date.now() + count * 86_400_000).toISOString() : undefined;
    const body = { ...given, label: given.label || undefined, expires, models: patterns(models), tools: patterns(tools), quota: limits.value(), sign_in: isFirst };
    sending = section.change('/keys', 'POST', body, problem);
    return sending;
  };
  const closed = openForm(section, say('make_key'), fields, say('make_key'), send, more, isFirst ? element('p', { textContent: say('first_key') }) : '');
  if (name) fields.label.focus();
  await closed;
  // Who closes the form meanwhile gets the secret all the same.
  const made = await sending;
  if (made) showSecret(section, made, isFirst);
}

// The secret of a key and how to use it, until that is done. Who is signed in with it now has other places.
function showSecret(section, { id, secret }, isSignedIn = false) {
  const text = element('input', { type: 'text', readOnly: true, value: secret, 'aria-label': say('secret') });
  const done = button(say('put_away'), () => {
    if (isSignedIn) location.reload();
    section.notice.replaceChildren();
    section.title.focus();
  }, { className: 'primary' });
  section.notice.replaceChildren(element('div', { className: 'card secret' }, element('p', { textContent: say('secret_once', { id }) }),
    isSignedIn ? element('p', { textContent: say('first_key_made') }) : '', element('div', { className: 'row' }, text, copyButton(say('copy'), () => secret)),
    element('h3', { textContent: say('connect') }), waysToConnect(true), element('div', { className: 'buttons' }, done)));
  text.focus();
  text.select();
}
