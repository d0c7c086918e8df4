// Users, teams and keys of the gateway, for its administrators, with what is spent and who changed what.

import { ask } from './api.js';
import { showBudgets } from './budgets.js';
import { button, element, named, table, time, visible } from './dom.js';
import { keySection } from './keys.js';
import { say, sayOr } from './languages.js';
import { limitsForm, limitsText } from './limits.js';
import { sureButton } from './parts.js';
import { Section, entryCard, everything, formBehind, orNone } from './section.js';

export class People {
  constructor() {
    const budgets = element('section');
    const log = new Log();
    const keys = keySection({ title: say('keys'), isAdmin: true });
    this.sections = [users((user) => keys.makeFor?.(user)), teams(), keys];
    const search = element('input', { type: 'search', placeholder: say('search_people'), 'aria-label': say('search_people'), maxLength: 200 });
    search.addEventListener('input', () => this.filter(search.value.toLowerCase()));
    this.root = element('div', { className: 'page' }, element('h1', { textContent: say('people') }), element('div', { className: 'buttons' }, search),
      this.sections.map((section) => section.root), budgets, log.root);
    showBudgets(budgets);
    this.root.addEventListener('changed', (event) => {
      showBudgets(budgets);
      log.load();
      const [people, groups] = this.sections;
      // A user can be of a new team.
      if (event.target === groups.root) people.show();
    });
  }

  // Shows the entries with this text.
  filter(text) {
    for (const section of this.sections) {
      for (const card of section.body.querySelectorAll('.card')) card.hidden = !card.textContent.toLowerCase().includes(text);
    }
  }

  close() {}
}

function users(makeKey) {
  return new Section(say('users'), async (section) => {
    const [found, known] = await Promise.all([everything('/users', 'users'), everything('/teams', 'teams')]);
    return [newUser(section, known), orNone(found.map((user) => userCard(section, user, known, makeKey)))].flat();
  });
}

function teamChoice(known, team) {
  const options = [element('option', { value: '', textContent: say('no_team') }),
    ...known.map(({ name }) => element('option', { value: name, textContent: visible(name) }))];
  const choice = element('select', {}, options);
  choice.value = team || '';
  return choice;
}

function userCard(section, user, known, makeKey) {
  const change = (body) => section.change(`/users/${encodeURIComponent(user.name)}`, 'PATCH', body);
  const team = teamChoice(known, user.team);
  team.addEventListener('change', () => change({ team: team.value || null }));
  const turn = user.disabled
    ? button(say('enable'), () => change({ disabled: false }), { className: 'quiet' })
    : sureButton(say('disable'), say('disable_sure'), () => change({ disabled: true }), { className: 'quiet danger' });
  return entryCard(user.name, { about: user.team || '', state: say(user.disabled ? 'is_disabled' : 'is_enabled'), isOn: !user.disabled },
    element('p', { className: 'dim', textContent: limitsText(user.quota) }),
    element('div', { className: 'buttons' }, named(say('team'), team).parentNode, turn,
      user.disabled ? '' : button(say('make_key'), () => makeKey(user.name), { className: 'quiet' })),
    limitsForm(user.quota, (quota) => change({ quota })));
}

function newUser(section, known) {
  const fields = {
    name: named(say('name'), element('input', { type: 'text', required: true, autocomplete: 'off', maxLength: 64 })),
    team: named(say('team'), teamChoice(known)),
  };
  return formBehind(say('add_user'), fields, say('add_user'), ({ name, team }) => section.change('/users', 'POST', { name, team: team || null }));
}

function teams() {
  return new Section(say('teams'), async (section) => {
    const found = await everything('/teams', 'teams');
    const fields = { name: named(say('name'), element('input', { type: 'text', required: true, autocomplete: 'off', maxLength: 64 })) };
    const add = formBehind(say('add_team'), fields, say('add_team'), ({ name }) => section.change('/teams', 'POST', { name }));
    const card = (team) => entryCard(team.name, {}, element('p', { className: 'dim', textContent: limitsText(team.quota) }),
      limitsForm(team.quota, (quota) => section.change(`/teams/${encodeURIComponent(team.name)}`, 'PATCH', { quota })));
    return [add, orNone(found.map(card))].flat();
  });
}

// Who changed what, the newest first.
class Log {
  constructor() {
    this.rows = element('tbody');
    this.problem = element('p', { className: 'error', role: 'alert' });
    this.more = button(say('more'), () => this.load(this.before), { hidden: true });
    const list = table(['change_at', 'change_by', 'change_action', 'change_of'].map((name) => say(name)), []);
    list.querySelector('tbody').replaceWith(this.rows);
    this.root = element('section', {}, element('h2', { textContent: say('changes') }), this.problem, list, this.more);
    this.load();
  }

  // Shows those before this one below, or else the newest.
  async load(before) {
    try {
      const page = await ask(`/changes?limit=50${before ? `&before=${before}` : ''}`);
      const rows = page.changes.map(changeRow);
      if (before) this.rows.append(...rows);
      else this.rows.replaceChildren(...rows);
      this.before = page.next;
      this.more.hidden = !page.next;
    } catch (error) {
      this.problem.textContent = visible(error.message);
    }
  }
}

function changeRow({ at, by, action, kind, name }) {
  const texts = [by, sayOr(`action_${action}`, action), `${sayOr(`kind_${kind}`, kind)} ${name}`];
  return element('tr', {}, element('td', { className: 'number', textContent: time(at) }), texts.map((text) => element('td', { textContent: visible(text) })));
}
