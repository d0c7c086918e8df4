// What is written and chosen for the next message of each session: a reload and another place leave it as it is.

import { myPlace } from './login.js';
import { keep, kept } from './storage.js';

function all() {
  try {
    const found = JSON.parse(kept(myPlace('drafts')) || '{}');
    return found && typeof found === 'object' && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

// The draft of a session, `text` and `model`; the session is null for one that begins with its first message.
export function draftOf(session) {
  const { text = '', model = '' } = all()[session || NEW] || {};
  return { text: String(text), model: String(model) };
}

// Keeps a draft: the newest hundred stay, or this one alone where the browser has no room for them.
export function keepDraft(session, { text, model }) {
  const others = all();
  delete others[session || NEW];
  const mine = text || model ? [[session || NEW, { text, model }]] : [];
  const write = (entries) => keep(myPlace('drafts'), entries.length ? JSON.stringify(Object.fromEntries(entries)) : '');
  if (!write([...Object.entries(others), ...mine].slice(-MOST))) write(mine);
}

const NEW = 'new';
const MOST = 100;
