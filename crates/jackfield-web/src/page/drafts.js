// What is written and chosen for the next messages of each session: a reload and another place leave it as it is.

import { keep, kept } from './storage.js';

// Where the drafts of this page's person are. Another person who signs in gets another page.
let place = null;

export function openDrafts(person) {
  place = `drafts-${person}`;
}

// At the sign-out: what was not sent stays with no one else.
export function forgetDrafts() {
  if (place) keep(place, '');
  place = null;
}

function all() {
  try {
    const found = JSON.parse((place && kept(place)) || '{}');
    return found && typeof found === 'object' && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

// The draft of a session: its `text`, its `model`, the `options` that were chosen for it, the `key` of its request if it
// may have been taken, and its `queue`. The
// session is null for one that begins with its first message.
export function draftOf(session) {
  const { text = '', model = '', options, key, queue } = all()[session || NEW] || {};
  const entries = Array.isArray(queue) ? queue.filter((one) => typeof one?.text === 'string' && typeof one.key === 'string') : [];
  return { text: String(text), model: String(model), options: typeof options === 'object' && options || undefined, key: key && String(key), queue: entries };
}

// Keeps a draft: the newest hundred stay, or this one alone where the browser has no room for them.
export function keepDraft(session, draft) {
  if (!place) return;
  const others = all();
  delete others[session || NEW];
  const mine = draft.text || draft.model || draft.options || draft.queue?.length ? [[session || NEW, draft]] : [];
  const write = (entries) => keep(place, entries.length ? JSON.stringify(Object.fromEntries(entries)) : '');
  if (!write([...Object.entries(others), ...mine].slice(-MOST))) write(mine);
}

// Calls a listener when another tab has changed a draft, until `signal` ends that.
export function onDraftsChanged(listener, signal) {
  addEventListener('storage', ({ key }) => key === null || key.endsWith(place) ? listener() : undefined, { signal });
}

const NEW = 'new';
const MOST = 100;
