// The routes, with the state of their targets.

import { element, time, visible } from './dom.js';
import { say, sayOr } from './languages.js';

// The tables of the routes; nothing without routes.
export function routeViews(routes) {
  if (routes.length === 0) return [];
  return [element('h2', { textContent: say('routes') }), ...routes.map(routeView)];
}

function routeView(route) {
  const names = ['by_model', 'tier', 'target_state', 'in_flight', 'last_failure'];
  const head = names.map((name) => element('th', { scope: 'col', textContent: say(name) }));
  return element('div', { className: 'wide', tabIndex: 0 },
    element('table', {}, element('caption', { textContent: visible(route.name) }), element('thead', {}, element('tr', {}, head)),
      element('tbody', {}, route.targets.map(targetRow))));
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
