// The servers of tools, their tools, the providers of models, and the routes to them.

import { ask } from './api.js';
import { doctorView } from './doctor.js';
import { element, table, visible } from './dom.js';
import { loadMoreTexts, say, sayOr } from './languages.js';
import { skeleton } from './parts.js';
import { routeViews } from './routes.js';
import { picture } from './tool_card.js';
import { textView } from './value.js';

await loadMoreTexts();

export class Servers {
  constructor(isAdmin) {
    this.body = element('div', {}, skeleton(6));
    this.root = element('div', { className: 'page' }, element('h1', { textContent: say('servers') }), this.body, isAdmin ? doctorView() : '');
    this.load();
  }

  async load() {
    try {
      const [{ servers }, { tools, problems }, { providers }, { routes }] = await Promise.all(['/servers', '/tools', '/providers', '/routes'].map((path) => ask(path)));
      this.body.replaceChildren(
        ...servers.map((server) => serverView(server, tools)),
        ...rest(servers, tools),
        problems.length ? element('ul', { className: 'error' }, problems.map((one) => element('li', { textContent: visible(`${one.server}: ${one.message}`) }))) : '',
        element('h2', { textContent: say('providers') }),
        providerTable(providers),
        ...routeViews(routes),
      );
    } catch (error) {
      this.body.replaceChildren(element('p', { className: 'error', role: 'alert', textContent: error.message }));
    }
  }

  close() {}
}

function serverView(server, tools) {
  const state = element('span', { className: 'state', textContent: sayOr(`server_${server.state}`, server.state) });
  const card = element('article', { className: 'card' },
    element('div', { className: 'head' }, picture(server.icon), element('bdi', { className: 'tool', textContent: visible(server.name || server.id) }),
      element('span', { className: 'dim', textContent: visible(server.protocol || '') }), state),
    server.description ? element('p', { className: 'dim', textContent: visible(server.description).slice(0, 500) }) : '',
    server.reason ? element('p', { className: 'error', textContent: visible(server.reason) }) : '',
    toolList(tools.filter((tool) => tool.server === server.id)), logView(server.id));
  card.dataset.state = server.state;
  return card;
}

// The last lines of the log of a server, read when it is opened.
function logView(server) {
  const body = element('div');
  const load = async () => {
    if (!root.open) return;
    try {
      const { lines } = await ask(`/servers/${encodeURIComponent(server)}/log`);
      body.replaceChildren(lines.length ? textView(lines.join('\n')) : element('p', { className: 'dim', textContent: say('no_log') }));
    } catch (error) {
      body.replaceChildren(element('p', { className: 'error', role: 'alert', textContent: error.message }));
    }
  };
  const root = element('details', { on: { toggle: load } }, element('summary', { textContent: say('server_log') }), body);
  return root;
}

// Tools that are of no MCP server.
function rest(servers, tools) {
  const ids = new Set(servers.map((server) => server.id));
  const others = Map.groupBy ? Map.groupBy(tools.filter((tool) => !ids.has(tool.server)), (tool) => tool.server) : new Map();
  return [...others].map(([server, own]) => element('article', { className: 'card' },
    element('div', { className: 'head' }, element('bdi', { className: 'tool', textContent: visible(server) })), toolList(own)));
}

function toolList(tools) {
  if (tools.length === 0) return '';
  const items = tools.map((tool) => element('li', {}, element('code', { textContent: visible(tool.tool) }),
    ` ${say(`permission_${tool.permission}`)} · `, element('span', { className: 'dim', textContent: visible(tool.description).slice(0, 200) })));
  return element('details', {}, element('summary', { textContent: say('tools', { n: tools.length }) }), element('ul', {}, items));
}

function providerTable(providers) {
  const row = (provider) => element('tr', {}, element('th', { scope: 'row', textContent: visible(provider.name) }),
    element('td', { textContent: visible(provider.kind) }), element('td', { textContent: visible(provider.dialect) }),
    element('td', { textContent: say(`key_${provider.key}`) }));
  const shown = (some) => table(['provider', 'kind', 'dialect', 'key'].map((name) => say(name)), some.map(row));
  const isUsed = (provider) => provider.key === 'found';
  const others = providers.filter((provider) => !isUsed(provider));
  const rest = others.length ? element('details', { open: others.length === providers.length }, element('summary', { textContent: say('other_providers', { n: others.length }) }), shown(others)) : '';
  return element('div', {}, others.length < providers.length ? shown(providers.filter(isUsed)) : '', rest);
}
