// The budgets that a person may see, and what is used of them.

import { ask } from './api.js';
import { bar, element, money, number, table, time, visible } from './dom.js';
import { say } from './languages.js';

const NAMES = ['budget_of', 'budget_period', 'budget_limit', 'budget_spent', 'budget_reserved', 'budget_used', 'budget_ends'];

// Replaces what is in a place by the budgets; without budgets it stays empty.
export async function showBudgets(place) {
  try {
    const { budgets, more } = await ask('/budgets');
    if (budgets.length === 0) {
      place.replaceChildren();
      return;
    }
    place.replaceChildren(element('h2', { textContent: say('budgets') }), table(NAMES.map((name) => say(name)), budgets.map(row), { areNumbers: [2, 3, 4, 6] }),
      more ? element('p', { className: 'dim', textContent: say('more_budgets') }) : '');
  } catch (error) {
    place.replaceChildren(element('p', { className: 'error', role: 'alert', textContent: error.message }));
  }
}

function row(budget) {
  const exact = (value) => `${value} ${budget.unit}`;
  const shown = (value) => (budget.unit === 'tokens' ? say('tokens', { n: number(Number(value)) }) : money(value, budget.unit));
  const amount = (value) => element('td', { className: 'number', title: exact(value), textContent: shown(value) });
  const share = `${budget.percent}%`;
  return element('tr', {}, element('th', { scope: 'row', textContent: `${say(`budget_${budget.of}`)} ${visible(budget.name)}` }),
    element('td', { textContent: say(`per_${budget.period}`) }), amount(budget.limit), amount(budget.spent), amount(budget.reserved),
    element('td', { className: budget.percent >= 100 ? 'error' : '' }, share, ' ', bar(budget.percent ? [['span-model', Math.min(budget.percent, 100)]] : [], 0, share)),
    element('td', { className: 'number', textContent: time(budget.ends) }));
}
