// The MCP servers that a person has for itself or by its team, and the sign-in at them.

import { ask } from './api.js';
import { announce, button, element, visible } from './dom.js';
import { say } from './languages.js';

// What became of the sign-in that the browser came back from.
let outcome = '';

// Ends the sign-in that the browser comes back from. Its code does not stay in the address.
export async function finishSignIn() {
  const redirect = location.href;
  history.replaceState(null, '', '/#/servers');
  try {
    const server = await ask('/sign-ins', { method: 'POST', body: { redirect } });
    outcome = element('p', { role: 'status', textContent: say('signed_in_at', { server: visible(server.name) }) });
  } catch (error) {
    outcome = element('p', { className: 'error', role: 'alert', textContent: visible(error.message) });
  }
}

// The cards of the servers, which only users have.
export async function ownServerViews(isUser) {
  const { servers } = isUser ? await ask('/own-servers') : { servers: [] };
  const said = outcome;
  outcome = '';
  if (servers.length === 0) return [said];
  return [said, element('h2', { textContent: say('own_servers') }), ...servers.map(serverView)];
}

function serverView(server) {
  const problem = element('p', { className: 'error', role: 'alert' });
  const state = element('span', { className: 'state', textContent: stateOf(server) });
  return element('article', { className: 'card' },
    element('div', { className: 'head' }, element('bdi', { className: 'tool', textContent: visible(server.name) }),
      element('span', { className: 'dim', textContent: visible(server.owner) }), state),
    element('p', { className: 'dim', textContent: visible(server.url || server.program || '') }), signButton(server, state, problem), problem);
}

function stateOf(server) {
  if (!server.enabled) return say('server_off');
  return server.signed_in ? say('signed_in') : '';
}

// Begins a sign-in, or ends one. A program has none, and a server with a key in a header neither.
function signButton(server, state, problem) {
  if (!server.url || server.secrets.some((name) => name.toLowerCase() === 'authorization')) return '';
  const [kind, team] = server.owner.split(':');
  const path = `/own-servers/${encodeURIComponent(server.name)}/sign-in${kind === 'team' ? `?team=${encodeURIComponent(team)}` : ''}`;
  const sign = button(say(server.signed_in ? 'sign_out' : 'sign_in'), async () => {
    sign.disabled = true;
    problem.textContent = '';
    try {
      if (server.signed_in) {
        await ask(path, { method: 'DELETE' });
        server.signed_in = false;
        state.textContent = stateOf(server);
        sign.textContent = say('sign_in');
        announce(say('signed_out_at', { server: visible(server.name) }));
      } else {
        const { url } = await ask(path, { method: 'POST' });
        if (/^https?:/.test(url)) location.assign(url);
      }
    } catch (error) {
      problem.textContent = visible(error.message);
    }
    sign.disabled = false;
  });
  return sign;
}
