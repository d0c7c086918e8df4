// Users, teams and keys of the gateway, for its administrators, with what is spent and who changed what.

import { ask } from './api.js';
import { showBudgets } from './budgets.js';
import { button, element, named, table, time, visible } from './dom.js';
import { keySection } from './keys.js';
import { loadMoreTexts, say, sayOr } from './languages.js';
import { askLimits, limitsCell } from './limits.js';
import { confirmed, menuItem } from './parts.js';
import { Section, entryRow, entryTable, everything, formButton, openForm, stateChip } from './section.js';

await loadMoreTexts();

export class People {
  constructor() {
    const budgets = element('section');
    const log = new Log();
    const keys = keySection({ title: say('keys'), isAdmin: true });
    this.sections = [users((user) => keys.makeFor(user)), teams(), keys];
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
      for (const row of section.body.querySelectorAll('tbody tr')) row.hidden = !row.textContent.toLowerCase().includes(text);
    }
  }

  close() {}
}

function users(makeKey) {
  return new Section(say('users'), async (section) => {
    const [found, known] = await Promise.all([everything('/users', 'users'), everything('/teams', 'teams')]);
    const fields = () => ({ name: nameField(), team: named(say('team'), teamChoice(known)) });
    const add = formButton(section, say('add_user'), fields, say('add_user'),
      ({ name, team }, problem) => section.change('/users', 'POST', { name, team: team || null }, problem));
    return [add, entryTable(['name', 'team', 'limits', 'target_state'], found.map((user) => userRow(section, user, known, makeKey)))];
  });
}

const nameField = () => named(say('name'), element('input', { type: 'text', required: true, autocomplete: 'off', maxLength: 64 }));

function teamChoice(known, team) {
  const options = [element('option', { value: '', textContent: say('no_team') }),
    ...known.map(({ name }) => element('option', { value: name, textContent: visible(name) }))];
  const choice = element('select', {}, options);
  choice.value = team || '';
  return choice;
}

function userRow(section, user, known, makeKey) {
  const name = visible(user.name);
  const change = (body, problem) => section.change(`/users/${encodeURIComponent(user.name)}`, 'PATCH', body, problem);
  const askTeam = () => openForm(section, say('team_of', { name }), { team: named(say('team'), teamChoice(known, user.team)) }, say('save'),
    ({ team }, problem) => change({ team: team || null }, problem));
  const disable = async () => await confirmed(say('disable_sure'), say('disable')) && change({ disabled: true });
  return entryRow(name, [visible(user.team || ''), limitsCell(user.quota), stateChip(say(user.disabled ? 'is_disabled' : 'is_enabled'), !user.disabled)], [
    user.disabled ? null : menuItem('own', say('make_key'), () => makeKey(user.name)),
    menuItem('usage', say('limits'), () => askLimits(section, name, user.quota, (quota, problem) => change({ quota }, problem))),
    menuItem('people', say('team'), askTeam),
    user.disabled ? menuItem('check', say('enable'), () => change({ disabled: false })) : menuItem('denied', say('disable'), disable, { className: 'danger' }),
  ]);
}

function teams() {
  return new Section(say('teams'), async (section) => {
    const found = await everything('/teams', 'teams');
    const add = formButton(section, say('add_team'), () => ({ name: nameField() }), say('add_team'), ({ name }, problem) => section.change('/teams', 'POST', { name }, problem));
    const row = (team) => entryRow(visible(team.name), [limitsCell(team.quota)], [menuItem('usage', say('limits'), () => askLimits(section, visible(team.name), team.quota,
      (quota, problem) => section.change(`/teams/${encodeURIComponent(team.name)}`, 'PATCH', { quota }, problem)))]);
    return [add, entryTable(['name', 'limits'], found.map(row))];
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
