// A session: its turns as their events come, and the field for the next message.

import { address, ask, askOnce, randomKey, sessionPath } from './api.js';
import { partsOf } from './attachments.js';
import { Composer } from './composer.js';
import { announce, element, setTitle, visible } from './dom.js';
import { draftOf, keepDraft, onDraftsChanged } from './drafts.js';
import { EventStream } from './event_stream.js';
import { historyView } from './history.js';
import { icon } from './icons.js';
import { say } from './languages.js';
import { confirmed, emptyPlace, iconButton, menu, menuItem, skeleton } from './parts.js';
import { Turn } from './turn.js';

export class Conversation {
  // `session` is null for one that begins with its first message; `app` is the page around it.
  constructor(session, app) {
    this.session = session;
    this.app = app;
    this.title = element('h1', { textContent: say('new_session') });
    this.tools = element('div');
    this.connection = element('p', { className: 'connection', role: 'status' });
    this.log = element('div', { className: 'log', role: 'log', 'aria-label': say('conversation'), 'aria-live': 'off' });
    this.scroll = element('div', { className: 'scroll', tabIndex: -1 }, this.log);
    this.root = element('div', { className: 'conversation' });
    this.composer = new Composer({
      send: (message) => this.send(message),
      stop: () => this.stopTurn(),
      changed: (draft) => keepDraft(this.session, draft),
    }, this.root);
    this.root.append(element('div', { className: 'title' }, this.title, this.tools), this.connection, this.scroll, this.composer.root);
    this.life = new AbortController();
    const { signal } = this.life;
    addEventListener('pagehide', () => this.composer.leave(), { signal });
    onDraftsChanged(() => this.composer.follow(draftOf(this.session)), signal);
    this.turns = [];
    this.follows = true;
    this.place = { top: 0, height: 0 };
    this.scroll.addEventListener('scroll', () => this.scrolled());
    // What is drawn late has another height than was thought.
    new ResizeObserver(() => this.toEnd()).observe(this.log);
    if (session) this.open();
    else this.log.append(emptyPlace('message', say('hello_title'), say('hello')));
  }

  // What was written here before, behind this.
  begin(text) {
    const draft = draftOf(this.session);
    this.composer.restore({ ...draft, text: [text, draft.text].filter(Boolean).join('\n') });
  }

  // What is known of the tools of its calls now.
  describeTools() {
    for (const turn of this.turns) turn.describeTools();
  }

  open() {
    this.loading = skeleton(4);
    this.log.replaceChildren(this.loading);
    this.showTools();
    this.loadTitle();
    const path = (cursor) => `${sessionPath(this.session)}/events?html=true${cursor === null ? '' : `&after=${cursor}`}`;
    this.stream = new EventStream(path, {
      event: (event) => this.apply(event),
      connected: (isLive) => {
        if (isLive) this.loading.remove();
        if (isLive && this.connection.textContent) this.app.sessionsChanged();
        this.connection.textContent = isLive ? '' : say(navigator.onLine ? 'reconnecting' : 'offline');
      },
      // Queued messages follow an answer that has to be seen.
      stays: () => this.composer.queue.length > 0,
      gone: (problem) => {
        this.loading.remove();
        if (problem.kind === 'not_found') this.isGone();
        else this.connection.textContent = problem.message;
      },
    });
  }

  // The session was deleted, or is another person's.
  isGone() {
    const begin = element('a', { className: 'button primary', href: '#/new', textContent: say('new_session') });
    this.title.textContent = say('untitled');
    this.tools.replaceChildren();
    this.composer.root.hidden = true;
    this.connection.textContent = '';
    this.log.replaceChildren(emptyPlace('message', say('no_session'), say('no_session_about'), begin));
  }

  close() {
    this.stream?.stop();
    this.composer.leave();
    this.life.abort();
  }

  async loadTitle() {
    try {
      const view = await ask(sessionPath(this.session));
      this.name = view.title || '';
      this.title.textContent = visible(this.name) || say('new_session');
      setTitle(visible(view.title));
    } catch {
      // The stream says what is wrong.
    }
  }

  showTools() {
    const path = `${sessionPath(this.session)}/export`;
    const link = (format, text) => element('a', { className: 'menu-item', href: address(`${path}?format=${format}`), download: '' }, icon('file'), text);
    const remove = async () => (await confirmed(say('delete_sure'), say('delete'))) && this.remove();
    this.tools.replaceChildren(menu(iconButton('more', say('session_menu'), () => {}),
      menuItem('edit', say('rename'), () => this.rename()), link('markdown', say('export_markdown')), link('json', say('export_json')),
      element('hr'), menuItem('trash', say('delete'), remove, { className: 'danger' })));
  }

  // A field in the place of the title; Enter and leaving it save, Esc leaves it as it was.
  rename() {
    const before = this.name ?? '';
    const field = element('input', { type: 'text', maxLength: 200, value: before, 'aria-label': say('session_title') });
    const done = (isLeft) => {
      const hadFocus = field === document.activeElement;
      field.onblur = null;
      field.replaceWith(this.title);
      if (hadFocus && !isLeft) this.tools.querySelector('button')?.focus();
    };
    const save = async (isLeft) => {
      try {
        if (field.value !== before) await ask(sessionPath(this.session), { method: 'PATCH', body: { title: field.value } });
        await this.loadTitle();
        this.app.sessionsChanged();
        done(isLeft);
      } catch (error) {
        this.connection.textContent = error.message;
      }
    };
    field.onblur = () => save(true);
    field.addEventListener('keydown', (event) => {
      if (event.isComposing || (event.key !== 'Enter' && event.key !== 'Escape')) return;
      event.preventDefault();
      event.stopPropagation();
      if (event.key === 'Enter') save();
      else done();
    });
    this.title.replaceWith(field);
    field.select();
  }

  async remove() {
    try {
      await ask(sessionPath(this.session), { method: 'DELETE' });
      this.close();
      this.app.sessionsChanged();
      location.hash = '#/';
    } catch (error) {
      this.connection.textContent = error.message;
    }
  }

  get turn() {
    return this.turns[this.turns.length - 1];
  }

  apply(event) {
    if (event.event === 'forked') {
      this.origin = event;
      const link = element('a', { href: `#/sessions/${encodeURIComponent(event.session)}`, textContent: say('forked_from', { n: event.turn }) });
      this.log.append(historyView(event.messages, (tool) => this.app.toolOf(tool)), element('p', { className: 'dim' }, link));
      return;
    }
    this.loading.remove();
    if (event.event === 'turn_started') {
      this.turns.push(new Turn(event, {
        session: () => this.session,
        toolOf: (tool) => this.app.toolOf(tool),
        retry: (turn) => this.again(turn),
        edit: (turn) => this.edit(turn),
        fork: (turn) => this.fork(turn.number),
      }));
      this.log.append(this.turn.root);
      if (event.number === 1) this.loadTitle();
    }
    this.turn?.apply(event);
    const isOpen = this.turn !== undefined && this.turn.status !== 'ended';
    if (isOpen !== this.composer.busy) this.composer.setBusy(isOpen);
    // What was written meanwhile follows an answer, and waits for the reader after a failure.
    if (event.event === 'turn_ended' && event.turn.end.kind === 'answered') this.composer.goOn();
    if (TOLD.includes(event.event)) {
      this.app.sessionsChanged();
      announce(say(`told_${event.event}`));
    }
    // A text that is drawn has its own height soon, which is observed.
    if (event.event !== 'text') this.toEnd();
  }

  // A reader who goes up stays there; at the end, the newest text is followed again.
  scrolled() {
    const { scrollTop: top, scrollHeight: height, clientHeight } = this.scroll;
    if (height - top - clientHeight < NEAR_END) this.follows = true;
    else if (top < this.place.top && height === this.place.height) this.follows = false;
    this.place = { top, height };
  }

  // Stays at the end, if the reader is there; once for all events that come together.
  toEnd() {
    if (!this.follows || this.scrolling) return;
    this.scrolling = requestAnimationFrame(() => {
      this.scrolling = 0;
      this.scroll.scrollTop = this.scroll.scrollHeight;
    });
  }

  async send({ text, files, model, tools, key }) {
    const words = text.trim() ? [{ type: 'text', text }] : [];
    const message = files.length ? { content: [...words, ...files] } : { message: text };
    const body = { ...message, mode: 'background', ...(model ? { model } : {}), ...(tools ? { server_tools: tools } : {}) };
    if (!this.session) {
      this.session = (await ask('/sessions', { method: 'POST' })).id;
      keepDraft(null, {});
      keepDraft(this.session, this.composer.draft);
      this.app.moved(this.session);
      this.open();
    }
    await askOnce(`${sessionPath(this.session)}/turns`, body, key);
    this.follows = true;
  }

  async stopTurn() {
    if (!this.turn || this.turn.status === 'ended') return;
    try {
      await ask(`${sessionPath(this.session)}/turns/${this.turn.id}/cancel`, { method: 'POST' });
    } catch (error) {
      this.connection.textContent = error.message;
    }
  }

  // The same message once more.
  async again(turn) {
    if (this.composer.busy) return;
    const { model, tools } = this.composer.message;
    await this.composer.resend({ text: turn.message, files: partsOf(turn.files), model, tools, key: randomKey() });
  }

  // A fork before a turn, with its message to be changed.
  async edit(turn) {
    if (turn.number > 1) await this.fork(turn.number - 1, turn.message);
    else if (this.origin) await this.forkAt(this.origin.session, this.origin.turn, this.origin.round, turn.message);
    else this.app.openNew(turn.message);
  }

  fork(number, draft = '') {
    return this.forkAt(this.session, number, null, draft);
  }

  async forkAt(session, turn, round, draft) {
    try {
      const made = await ask(`${sessionPath(session)}/fork`, { method: 'POST', body: { turn, round } });
      this.app.sessionsChanged();
      this.app.openSession(made.id, draft);
    } catch (error) {
      this.connection.textContent = error.message;
    }
  }
}

const NEAR_END = 80;
// What the page announces to a screen reader, beside questions.
const TOLD = ['turn_started', 'turn_ended', 'wait_started'];
