// What `jackfield doctor` says, on demand: the checks ask providers and start servers.

import { ask } from './api.js';
import { announce, button, element, visible } from './dom.js';
import { say } from './languages.js';

const SIGNS = { failed: '✗', ok: '✓', skipped: '–', warning: '!' };

export function doctorView() {
  const report = element('div');
  const run = button(say('check'), async () => {
    run.disabled = true;
    report.replaceChildren(element('p', { className: 'dim', role: 'status', textContent: say('checking') }));
    try {
      const { checks } = await ask('/doctor', { method: 'POST' });
      report.replaceChildren(...sections(checks));
      announce(say('checked', { n: checks.filter((check) => check.verdict === 'failed').length }));
    } catch (error) {
      report.replaceChildren(element('p', { className: 'error', role: 'alert', textContent: error.message }));
    }
    run.disabled = false;
  });
  return [element('h2', { textContent: say('installation') }), element('p', { className: 'dim', textContent: say('check_about') }), run, report];
}

// The checks of each area in a list, in their order.
function sections(checks) {
  const areas = [...new Set(checks.map((check) => check.area))];
  return areas.map((area) => element('section', {}, element('h3', { textContent: visible(area) }),
    element('ul', { className: 'checks' }, checks.filter((check) => check.area === area).map(item))));
}

function item(check) {
  const sign = element('span', { role: 'img', 'aria-label': say(`verdict_${check.verdict}`), textContent: SIGNS[check.verdict] });
  const help = check.help ? element('p', { className: 'dim', textContent: visible(check.help) }) : '';
  const see = check.see ? element('p', { className: 'dim', textContent: visible(check.see) }) : '';
  const made = element('li', {}, sign, ' ', visible(check.says), help, see);
  made.dataset.verdict = check.verdict;
  return made;
}
