// Keys of clients of the gateway: listed, made, given a new secret, revoked. A secret is shown once.

import { button, element, named, time, visible } from './dom.js';
import { say } from './languages.js';
import { limitsForm, limitsText } from './limits.js';
import { loginState } from './login.js';
import { sureButton } from './parts.js';
import { Section, entryCard, everything, formBehind, orNone, patterns } from './section.js';

// The keys of a user, or of all. An administrator may make and change them.
export function keySection({ title, user, isAdmin }) {
  return new Section(title, async (section) => {
    const keys = (await everything('/keys', 'keys')).filter((key) => !user || key.user === user);
    const isFirst = isAdmin && keys.length === 0 && (await loginState()).admin_missing;
    const order = (key) => (state(key) === 'active' ? 0 : 1);
    keys.sort((one, other) => order(one) - order(other));
    return [isAdmin ? newKey(section, user, isFirst) : '', orNone(keys.map((key) => keyCard(section, key, isAdmin)))].flat();
  });
}

function state(key) {
  if (key.revoked) return 'revoked';
  return key.expires && Date.parse(key.expires) <= Date.now() ? 'expired' : 'active';
}

function keyCard(section, key, isAdmin) {
  const path = `/keys/${encodeURIComponent(key.id)}`;
  const isActive = state(key) === 'active';
  const rights = [key.admin ? say('administrator') : '', key.no_approvals ? say('answers_nothing') : '', key.models ? `${say('models')}: ${key.models.join(', ')}` : say('all_models'),
    key.tools ? `${say('server_tools')}: ${key.tools.join(', ') || '–'}` : '', key.expires ? say('valid_until', { at: time(key.expires) }) : '',
    key.revoked ? say('revoked_at', { at: time(key.revoked) }) : ''].filter(Boolean).join(' · ');
  const rotate = () => section.change(`${path}/rotate`, 'POST').then((made) => made && showSecret(section, made));
  const buttons = isActive ? element('div', { className: 'buttons' },
    isAdmin ? sureButton(say('rotate'), say('rotate_sure'), rotate, { className: 'quiet' }) : '',
    sureButton(say('revoke'), say('revoke_sure'), () => section.change(path, 'DELETE'), { className: 'quiet danger' })) : '';
  return entryCard(key.label || key.id, { about: key.label ? `${key.user} · ${key.id}` : key.user, state: say(`key_state_${state(key)}`), isOn: isActive },
    element('p', { className: 'dim', textContent: visible(`${rights} · ${limitsText(key.quota)}`) }),
    key.old_secret_until && isActive ? element('p', { className: 'dim', textContent: say('old_secret_until', { at: time(key.old_secret_until) }) }) : '',
    buttons, isAdmin && isActive ? limitsForm(key.quota, (quota) => section.change(path, 'PATCH', { quota })) : '');
}

// `isFirst`: nobody could administer the gateway without this key, so it is an admin's, and signs its maker in.
function newKey(section, user, isFirst) {
  // Without it nobody could make the next one.
  const ends = isFirst ? [] : [30, 90, 365];
  const days = [['', say('never')], ...ends.map((n) => [n, say('days', { n })])];
  const fields = {
    user: named(say('user'), user ? element('input', { type: 'text', value: user, readOnly: true }) : element('select', { required: true })),
    label: named(say('label'), element('input', { type: 'text', autocomplete: 'off', maxLength: 200 })),
    days: named(say('ends'), element('select', {}, days.map(([value, textContent]) => element('option', { value, textContent })))),
    models: named(say('models_for'), element('input', { type: 'text', autocomplete: 'off', placeholder: 'claude/*, openai/*' })),
    tools: named(say('tools_for'), element('input', { type: 'text', autocomplete: 'off', placeholder: 'builtin/*' })),
    no_approvals: named(say('answers_nothing'), element('input', { type: 'checkbox', disabled: isFirst })),
    admin: named(say('administrator'), element('input', { type: 'checkbox', checked: isFirst, disabled: isFirst })),
  };
  const form = formBehind(say('make_key'), fields, say('make_key'), async ({ days: count, models, tools, ...given }) => {
    const expires = count ? new Date(Date.now() + count * 86_400_000).toISOString() : undefined;
    const body = { ...given, label: given.label || undefined, expires, models: patterns(models), tools: patterns(tools), sign_in: isFirst };
    const made = await section.change('/keys', 'POST', body);
    if (made) showSecret(section, made, isFirst);
    return made;
  });
  // The users are those that there are when the form is opened.
  const choose = async (name) => {
    try {
      const users = (await everything('/users', 'users')).filter((one) => !one.disabled);
      const names = ['', ...users.map((one) => one.name)];
      fields.user.replaceChildren(...names.map((value) => element('option', { value, textContent: visible(value) })));
      fields.user.value = name;
    } catch (error) {
      section.problem.textContent = visible(error.message);
    }
  };
  if (!user) form.addEventListener('toggle', () => form.open && !fields.user.value && choose(''));
  section.makeFor = async (name) => {
    await choose(name);
    form.open = true;
    fields.label.focus();
  };
  if (isFirst) form.querySelector('form').prepend(element('p', { textContent: say('first_key') }));
  return form;
}

// The secret of a key, until it is put away. Who is signed in with it now has other places.
function showSecret(section, { id, secret }, isSignedIn = false) {
  const text = element('input', { type: 'text', readOnly: true, value: secret, 'aria-label': say('secret') });
  const copy = button(say('copy'), async () => {
    text.select();
    await navigator.clipboard?.writeText(secret).catch(() => {});
  });
  const done = button(say('put_away'), () => {
    if (isSignedIn) location.reload();
    section.notice.replaceChildren();
    section.title.focus();
  });
  section.notice.replaceChildren(element('div', { className: 'card secret' }, element('p', { textContent: say('secret_once', { id }) }),
    isSignedIn ? element('p', { textContent: say('first_key_made') }) : '', text,
    element('div', { className: 'buttons' }, copy, done)));
  text.focus();
  text.select();
}
