// What waits for a person, over all sessions.

import { ask } from './api.js';
import { element, time, visible } from './dom.js';
import { say } from './languages.js';
import { Question } from './question.js';
import { placeOf } from './tool_card.js';
import { jsonView } from './value.js';

export class Approvals {
  constructor() {
    this.list = element('div');
    this.more = element('p', { className: 'dim', textContent: say('more_approvals'), hidden: true });
    this.root = element('div', { className: 'page' }, element('h1', { textContent: say('approvals') }), this.list, this.more);
    this.shown = new Map();
  }

  // Shows the open questions. One that is being answered stays as it is.
  show({ approvals, more }) {
    this.more.hidden = !more;
    const open = new Set(approvals.map((approval) => approval.id));
    for (const [id, entry] of this.shown) {
      if (open.has(id) || entry.gone) continue;
      entry.gone = true;
      if (!entry.question.closed) this.closed(id, entry);
    }
    for (const approval of approvals) {
      if (this.shown.has(approval.id)) continue;
      const question = new Question(approval, () => approval.arguments);
      const title = element('div', { className: 'head' },
        element('bdi', { className: 'tool', textContent: visible(approval.tool || '?') }),
        element('span', { className: 'dim', textContent: placeOf(approval.tool || '?', approval.server) }),
        element('a', { href: `#/sessions/${encodeURIComponent(approval.session)}`, textContent: say('to_session') }));
      const about = approval.description ? element('p', { className: 'dim', textContent: visible(approval.description).slice(0, 300) }) : '';
      const expires = element('p', { className: 'dim', textContent: say('expires', { at: time(approval.expires) }) });
      const root = element('article', { className: 'card' }, title, about, jsonView(approval.arguments ?? ''), question.root, expires);
      this.shown.set(approval.id, { root, question });
      this.list.append(root);
    }
    this.empty ||= element('p', { className: 'dim', textContent: say('no_approvals') });
    if (this.shown.size === 0) this.list.append(this.empty);
    else this.empty.remove();
  }

  // It was answered elsewhere: who did it is asked for.
  async closed(id, entry) {
    const now = await ask(`/approvals/${encodeURIComponent(id)}`).catch(() => null);
    if (now && !now.ended) {
      // It is open, and others have taken its place in the list.
      entry.gone = false;
      return;
    }
    if (!entry.question.closed) entry.question.close(now?.ended || {});
  }

  close() {}
}
