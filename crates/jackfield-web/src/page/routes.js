// The routes, with the state of their targets.

import { element, table, time, visible } from './dom.js';
import { say, sayOr } from './languages.js';

// The tables of the routes; nothing without routes.
export function routeViews(routes) {
  if (routes.length === 0) return [];
  return [element('h2', { textContent: say('routes') }), ...routes.map(routeView)];
}

function routeView(route) {
  const names = ['by_model', 'tier', 'target_state', 'in_flight', 'last_failure'];
  return table(names.map((name) => say(name)), route.targets.map(targetRow), { caption: visible(route.name) });
}

function targetRow(target) {
  const isIn = target.state === 'closed';
  const state = sayOr(`breaker_${target.state}`, target.state);
  const until = target.retry_at && !isIn ? ` · ${say('until', { time: time(target.retry_at) })}` : '';
  return element('tr', {}, element('th', { scope: 'row', textContent: visible(target.model) }),
    element('td', { className: 'number', textContent: String(target.tier) }),
    element('td', { className: isIn ? '' : 'error', textContent: state + until }),
    element('td', { className: 'number', textContent: String(target.in_flight) }),
    element('td', { textContent: failure(target.last_failure) }));
}

function failure(last) {
  if (!last) return '–';
  return visible(`${time(last.at)} · ${last.message || last.kind}`);
}
