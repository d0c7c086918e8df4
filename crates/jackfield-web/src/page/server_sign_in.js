// The sign-in at an MCP server of a person.

import { ask } from './api.js';
import { button, element, visible } from './dom.js';
import { say } from './languages.js';

// The result of the sign-in that the browser came back from.
let outcome = '';

// Ends the sign-in that the browser comes back from. Its code does not stay in the address.
export async function finishSignIn() {
  const redirect = location.href;
  history.replaceState(null, '', '/#/own');
  try {
    const server = await ask('/sign-ins', { method: 'POST', body: { redirect } });
    outcome = element('p', { role: 'status', textContent: say('signed_in_at', { server: visible(server.name) }) });
  } catch (error) {
    outcome = element('p', { className: 'error', role: 'alert', textContent: visible(error.message) });
  }
}

// The result, which is shown once.
export function signInOutcome() {
  const shown = outcome;
  outcome = '';
  return shown;
}

// Begins a sign-in, or ends one, where the server has one.
export function signInButtons(section, server) {
  if (server.signed_in === null) return '';
  const [kind, team] = server.owner.split(':');
  const path = `/own-servers/${encodeURIComponent(server.name)}/sign-in${kind === 'team' ? `?team=${encodeURIComponent(team)}` : ''}`;
  // Again where the server wants more than the sign-in covers, or accepts it no longer.
  const signIn = button(say(server.signed_in ? 'sign_in_again' : 'sign_in'), async () => {
    const begun = await section.change(path, 'POST');
    if (begun && /^https?:/.test(begun.url)) location.assign(begun.url);
  }, { className: 'quiet' });
  return server.signed_in ? [signIn, button(say('sign_out'), () => section.change(path, 'DELETE'), { className: 'quiet' })] : signIn;
}
