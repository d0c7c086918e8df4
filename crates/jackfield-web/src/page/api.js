// Requests to `/api/v1` of the gateway that the page is from.

import { say } from './languages.js';

const ROOT = '/api/v1';

// A refusal: `kind` is the stable word of the problem, the message is for people.
export class Problem extends Error {
  constructor(status, document) {
    super(document.detail || document.title || `HTTP ${status}`);
    this.status = status;
    this.kind = String(document.type || '').split(':').pop();
    this.document = document;
  }
}

let signedOut = () => {};

// What to do when the gateway wants a sign-in.
export function onSignedOut(listener) {
  signedOut = listener;
}

export const address = (path) => ROOT + path;
export const sessionPath = (session) => `/sessions/${encodeURIComponent(session)}`;

// Fetches from the gateway. What a browser says of a gateway that is away differs from browser to browser.
export const fetched = (path, init) => fetch(ROOT + path, { credentials: 'same-origin', ...init }).catch((error) => {
  throw error.name === 'AbortError' ? error : new Error(say('unreachable'));
});

// What a refusal says. One for want of a sign-in asks for it.
export function refusal(document) {
  const problem = new Problem(document.status, document);
  if (problem.kind === 'unauthenticated') signedOut();
  return problem;
}

// Sends a request; the answer, or a `Problem`.
export async function send(path, { method = 'GET', body, headers = {}, signal } = {}) {
  const init = { method, headers: { ...headers }, signal, cache: 'no-store' };
  if (body !== undefined) {
    init.headers['content-type'] = 'application/json';
    init.body = JSON.stringify(body);
  }
  const response = await fetched(path, init);
  if (response.ok) return response;
  throw refusal({ ...await response.json().catch(() => ({})), status: response.status });
}

// The same, with the JSON of the answer.
export async function ask(path, options) {
  const response = await send(path, options);
  return response.status === 204 ? null : response.json();
}

// A request that a lost connection repeats: the gateway sees by the key that it is the same one.
export async function askOnce(path, body, key) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask(path, { method: 'POST', body, headers: { 'idempotency-key': key } });
    } catch (error) {
      if (error instanceof Problem || attempt === 4) throw error;
      await new Promise((resume) => setTimeout(resume, 500 * 2 ** attempt));
    }
  }
}

export function randomKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
