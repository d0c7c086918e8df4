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

// The draft of a session: its `text`, its `model`, and the texts that stand in its `queue`. The session is null for one that
// begins with its first message.
export function draftOf(session) {
  const { text = '', model = '', queue } = all()[session || NEW] || {};
  return { text: String(text), model: String(model), queue: Array.isArray(queue) ? queue.map(String) : [] };
}

// Keeps a draft: the newest hundred stay, or this one alone where the browser has no room for them.
export function keepDraft(session, draft) {
  const others = all();
  delete others[session || NEW];
  const mine = draft.text || draft.model || draft.queue?.length ? [[session || NEW, draft]] : [];
  const write = (entries) => keep(myPlace('drafts'), entries.length ? JSON.stringify(Object.fromEntries(entries)) : '');
  if (!write([...Object.entries(others), ...mine].slice(-MOST))) write(mine);
}

const NEW = 'new';
const MOST = 100;
