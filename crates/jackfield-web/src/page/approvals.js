// What waits for a person, over all sessions.

import { ask } from './api.js';
import { element, time } from './dom.js';
import { icon } from './icons.js';
import { loadMoreTexts, say } from './languages.js';
import { emptyPlace } from './parts.js';
import { Question } from './question.js';
import { argumentsView, toolAbout, toolTitle } from './tool_card.js';

await loadMoreTexts();

export class Approvals {
  // `toolOf(name)` is what the gateway says of a tool, if it knows it.
  constructor(toolOf) {
    this.toolOf = toolOf;
    this.list = element('div');
    this.more = element('p', { className: 'dim', textContent: say('more_approvals'), hidden: true });
    this.root = element('div', { className: 'page' }, element('h1', { textContent: say('approvals') }), this.list, this.more);
    this.shown = new Map();
  }

  // Shows the open questions. One that is being answered stays as it is.
  showQuestions({ approvals, more }) {
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
      const known = this.toolOf(approval.tool);
      const title = element('div', { className: 'head' },
        icon('clock'), toolTitle(approval.tool || '?', { ...approval, title: known?.title, icon: known?.icon }), element('a', { className: 'far', href: `#/sessions/${encodeURIComponent(approval.session)}`, textContent: say('to_session') }));
      const expires = element('p', { className: 'dim', textContent: say('expires', { at: time(approval.expires) }) });
      const root = element('article', { className: 'card' }, title, toolAbout(approval), argumentsView(approval.arguments ?? ''), question.root, expires);
      root.dataset.state = 'waiting';
      this.shown.set(approval.id, { root, question });
      this.list.append(root);
    }
    this.empty ||= emptyPlace('approvals', say('no_approvals'), say('no_approvals_about'));
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
