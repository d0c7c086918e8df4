// The sessions at the side, by day: the newest first, with a search.

import { ask } from './api.js';
import { button, dayGroup, element, moment, time, visible } from './dom.js';
import { icon } from './icons.js';
import { say, sayOr } from './languages.js';
import { skeleton } from './parts.js';

export class SessionList {
  constructor(root) {
    this.search = element('input', { type: 'search', placeholder: say('search'), 'aria-label': say('search'), maxLength: 200 });
    this.list = element('div', { className: 'sessions' }, skeleton(6));
    this.more = button(say('more'), () => this.load(this.next), { className: 'quiet', hidden: true });
    this.shelf = button('', () => this.showShelf(!this.isArchive), { className: 'quiet' });
    this.problem = element('p', { role: 'status' });
    root.replaceChildren(element('a', { className: 'button primary', href: '#/new' }, icon('plus'), say('new_session')),
      element('div', { className: 'search' }, icon('search'), this.search), this.problem, this.list, this.more, this.shelf);
    this.showShelf(false);
    this.search.addEventListener('input', () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.load(), 250);
    });
    this.entries = new Map();
    this.groups = new Map();
  }

  // Shows the sessions that were put away, or the others.
  showShelf(isArchive) {
    const isChange = this.isArchive !== undefined;
    this.isArchive = isArchive;
    this.shelf.replaceChildren(icon(isArchive ? 'previous' : 'archive'), say(isArchive ? 'not_archived' : 'archived'));
    if (isChange) this.load();
  }

  // Shows the current session.
  mark(session) {
    this.current = session;
    for (const [id, link] of this.entries) {
      if (id === session) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
  }

  // Loads soon; once for several changes.
  changed() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.load(), 150);
  }

  async load(page) {
    const search = this.search.value.trim();
    // A search finds what was put away, too.
    const which = search ? { search } : { archived: this.isArchive, ...(this.isArchive ? {} : { pinned: false }) };
    const query = new URLSearchParams({ limit: 40, ...which, ...(page ? { page } : {}) });
    const asked = (this.asked = query);
    try {
      const first = page || search || this.isArchive ? { sessions: [] } : ask('/sessions?pinned=true&archived=false&limit=200');
      const [pinned, { sessions, next }] = await Promise.all([first, ask(`/sessions?${query}`)]);
      // A later search may have been faster.
      if (asked !== this.asked) return;
      sessions.unshift(...pinned.sessions);
      if (!page) {
        this.list.replaceChildren();
        this.entries.clear();
        this.groups.clear();
      }
      for (const session of sessions) this.group(session).append(this.entry(session));
      this.next = next;
      this.more.hidden = !next;
      this.tell(sessions.length || page ? '' : say(search ? 'nothing_found' : this.isArchive ? 'nothing_archived' : 'no_sessions'), 'dim');
      this.mark(this.current);
    } catch (error) {
      if (asked === this.asked) this.tell(error.message, 'error');
    }
  }

  tell(text, kind) {
    this.problem.textContent = text;
    this.problem.className = kind;
  }

  // The list of the day of a session.
  group(session) {
    const name = session.pinned && !this.isArchive && !this.search.value.trim() ? 'pinned' : dayGroup(session.changed);
    if (!this.groups.has(name)) {
      const list = element('ul', { 'aria-label': say(name) });
      this.groups.set(name, list);
      this.list.append(element('h2', { textContent: say(name) }), list);
    }
    return this.groups.get(name);
  }

  entry(session) {
    const title = element('bdi', { className: 'name', textContent: visible(session.title) || say('untitled') });
    const state = session.open ? sayOr(`open_${session.open.status}`, session.open.status) : session.archived && !this.isArchive && say('archived');
    const fact = element('span', { className: 'dim', textContent: state || moment(session.changed) });
    const words = encodeURIComponent(this.search.value.trim());
    const link = element('a', { href: `#/sessions/${encodeURIComponent(session.id)}${words && `/${words}`}`, title: `${visible(session.title)}\n${time(session.changed)}` }, title, fact);
    if (session.open) link.dataset.open = session.open.status;
    this.entries.set(session.id, link);
    return element('li', {}, link);
  }
}
