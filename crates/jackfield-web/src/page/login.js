// The sign-in: an API key is shown once to the gateway, which gives a cookie that no script can read.

import { address, ask } from './api.js';
import { byId, element } from './dom.js';
import { say } from './languages.js';

// Whether a sign-in is needed, and as whom one is signed in.
export const loginState = () => ask('/login');

// Asks for a key; ends with the state of the login.
export function signIn() {
  return new Promise((done) => {
    const root = byId('login');
    const key = element('input', { type: 'password', id: 'key', autocomplete: 'off', required: true, spellcheck: false });
    const problem = element('p', { className: 'error', role: 'alert' });
    const submit = element('button', { type: 'submit', className: 'primary', textContent: say('sign_in') });
    const form = element('form', { className: 'login', on: { submit: send } },
      element('h1', { textContent: 'Jackfield' }), element('label', { htmlFor: 'key', textContent: say('api_key') }), key,
      element('p', { className: 'dim', textContent: say('key_use') }), problem, submit);
    async function send(event) {
      event.preventDefault();
      submit.disabled = true;
      problem.textContent = '';
      try {
        const headers = { authorization: `Bearer ${key.value.trim()}` };
        const response = await fetch(address('/login'), { method: 'POST', headers, credentials: 'same-origin' });
        if (!response.ok) throw new Error(response.status === 401 ? say('wrong_key') : `HTTP ${response.status}`);
        key.value = '';
        root.hidden = true;
        root.replaceChildren();
        done(await response.json());
      } catch (error) {
        problem.textContent = error.message;
        submit.disabled = false;
        key.select();
      }
    }
    root.replaceChildren(form);
    root.hidden = false;
    key.focus();
  });
}

export async function signOut() {
  await ask('/login', { method: 'DELETE' });
  location.reload();
}
