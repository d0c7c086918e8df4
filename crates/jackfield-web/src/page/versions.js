// Versions of what follows a place of a session: the session itself, and its forks at that place.

import { ask, randomKey, sessionPath } from './api.js';
import { partsOf } from './attachments.js';
import { element, number, visible } from './dom.js';
import { keepDraft } from './drafts.js';
import { loadMoreTexts, say } from './languages.js';
import { confirmed, iconButton } from './parts.js';

await loadMoreTexts();

// The sessions that follow each place, by the number of the turn that comes next: those that have one, the oldest first.
export async function versionsOf({ session, view }) {
  const forksOf = async (one) => (await ask(`${sessionPath(one)}/forks`)).forks.filter((fork) => fork.session.turns > 0);
  const found = new Map();
  for (const fork of await forksOf(session)) {
    const turn = fork.turn + 1;
    found.set(turn, [...(found.get(turn) || [session]), fork.session.id]);
  }
  const origin = view.forked_from;
  if (origin && origin.round === null) {
    // The other session may be gone, and its forks with it.
    const [first, others] = await Promise.all([ask(sessionPath(origin.session)), forksOf(origin.session)]).catch(() => [null, []]);
    const before = first && first.turns > origin.turn ? [first.id] : [];
    const beside = others.filter((fork) => fork.turn === origin.turn).map((fork) => fork.session.id);
    const all = new Set([...before, ...beside, session, ...(found.get(1) || [])]);
    if (all.size > 1) found.set(1, [...all]);
  }
  return found;
}

// The place of a version among the others, with the way to those beside it.
export function versionView(versions, session) {
  const at = versions.indexOf(session);
  const open = (id) => {
    location.hash = `#/sessions/${encodeURIComponent(id)}`;
  };
  const step = (name, words, id) => iconButton(name, words, () => open(id), { disabled: id === undefined });
  const place = say('version', { n: number(at + 1), of: number(versions.length) });
  return element('span', { className: 'versions', role: 'group', 'aria-label': place },
    step('previous', say('version_before'), versions[at - 1]), element('span', { className: 'dim', textContent: `${number(at + 1)}/${number(versions.length)}` }),
    step('chevron', say('version_after'), versions[at + 1]));
}

// Answers the message of a turn anew, in a fork before it, which takes the place of this session in the lists.
export async function answerAgain(conversation, turn) {
  const { session, view, app, composer } = conversation;
  const acted = turn.acted();
  const names = acted.map(visible).join(', ');
  if (acted.length > 0 && !(await confirmed(say('again_acts', { tools: names }), say('retry')))) return;
  const { text: _, files, ...choices } = composer.message;
  const message = { ...choices, text: turn.message, files: partsOf(turn.files), key: randomKey() };
  const made = await conversation.forkBefore(turn);
  const given = view.title && made.title !== view.title && !turn.message.replace(/\s+/g, ' ').trim().startsWith(view.title.replace(/…$/, ''));
  // What is written meanwhile goes along.
  composer.settle();
  keepDraft(made.id, { ...composer.draft, options: composer.options });
  keepDraft(session, {});
  app.openVersion(made.id, { message, files }, async () => {
    if (given || view.pinned) await ask(sessionPath(made.id), { method: 'PATCH', body: { pinned: view.pinned, ...(given ? { title: view.title } : {}) } });
    await ask(sessionPath(session), { method: 'PATCH', body: { archived: true, pinned: false } });
  });
}
