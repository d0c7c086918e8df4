// The sign-in: an API key is shown once to the gateway, which gives a cookie that no script can read. Where the gateway has
// an identity provider, the browser goes there and comes back with the cookie, or with what went wrong in the address. Where
// it needs no key, the token of the page's link is traded for a cookie.

import { address, ask, fetched } from './api.js';
import { byId, element, visible } from './dom.js';
import { forgetDrafts } from './drafts.js';
import { say } from './languages.js';

const FAILURES = ['disabled', 'expired', 'invalid', 'nameless', 'refused', 'unavailable', 'unknown_user', 'wrong_address'];

// As whom one is signed in.
let me = null;

// Whether a sign-in is needed, and as whom one is signed in.
export async function loginState() {
  return signedIn(await ask('/login'));
}

function signedIn(state) {
  me = state.name;
  return state;
}

// Whether this is who gave an answer here.
export const isMe = (by) => by === `${me}, by the API`;

// Shows the gateway a key or the token of a link, for a cookie.
const show = (secret) => fetched('/login', { method: 'POST', headers: { authorization: `Bearer ${secret}` } });

// What is behind the token is the place to go to.
const TOKEN = /#token=([0-9a-f]+)(\/.*)?$/;

// Trades the token in the address for a cookie. It does not stay in the address, nor in the history.
export async function tradeToken() {
  const [, token, place] = TOKEN.exec(location.hash) ?? [];
  if (!token) return;
  history.replaceState(null, '', `#${place ?? '/'}`);
  // Without the cookie, the page asks for the link.
  await show(token).catch(() => {});
}

// Whether the address has the token of a link.
export const hasToken = () => TOKEN.test(location.hash);

// Where one was when one went to the provider.
const PLACE = 'jackfield-place';

// Why the provider's answer was no login, if there was one.
const failure = () => /^#\/sign-in\/(\w+)$/.exec(location.hash)?.[1];

// Goes back to the place from which one went to the provider.
export function returnToPlace() {
  let place = null;
  try {
    place = sessionStorage.getItem(PLACE);
    sessionStorage.removeItem(PLACE);
  } catch {
    // A browser may refuse to store anything.
  }
  if (place || failure()) history.replaceState(null, '', place || '#/');
}

function providerLink(name) {
  const keep = () => {
    try {
      sessionStorage.setItem(PLACE, failure() ? '' : location.hash);
    } catch {
      // Then one comes back to the first place.
    }
  };
  return element('a', { className: 'button primary', href: address('/login/oidc'), textContent: say('sign_in_at', { name: visible(name) }), on: { click: keep } });
}

// Asks for a key, a sign-in at the provider or the link of the page, as this state of the login says; ends with the next one.
export function signIn({ link_needed: isLink, oidc: provider }) {
  return new Promise((done) => {
    const root = byId('login');
    const key = element('input', { type: 'password', id: 'key', autocomplete: 'off', required: true, spellcheck: false });
    const problem = element('p', { className: 'error', role: 'alert' });
    const submit = element('button', { type: 'submit', className: provider ? '' : 'primary', textContent: say('sign_in') });
    const form = element('form', { className: 'login', on: { submit: send } },
      element('h1', { textContent: 'Jackfield' }), provider ? providerLink(provider) : '', element('label', { htmlFor: 'key', textContent: say(isLink ? 'page_link' : 'api_key') }), key,
      element('p', { className: 'dim', textContent: say(isLink ? 'link_use' : 'key_use') }), problem, submit);
    async function send(event) {
      event.preventDefault();
      submit.disabled = true;
      problem.textContent = '';
      try {
        const secret = key.value.trim();
        const response = await show(TOKEN.exec(secret)?.[1] ?? secret);
        if (!response.ok) throw new Error(response.status === 401 ? say(isLink ? 'wrong_link' : 'wrong_key') : `HTTP ${response.status}`);
        key.value = '';
        root.hidden = true;
        root.replaceChildren();
        returnToPlace();
        done(signedIn(await response.json()));
      } catch (error) {
        problem.textContent = error.message;
        submit.disabled = false;
        key.select();
      }
    }
    root.replaceChildren(form);
    root.hidden = false;
    (form.querySelector('a') || key).focus();
    const why = failure();
    if (why) problem.textContent = say(FAILURES.includes(why) ? `sign_in_${why}` : 'sign_in_unavailable');
  });
}

export async function signOut() {
  forgetDrafts();
  try {
    await ask('/login', { method: 'DELETE' });
  } finally {
    // The gateway clears the cookie even if it cannot end the login.
    location.reload();
  }
}
