// A session: its turns as their events come, and the field for the next message.

import { ask, askOnce, sessionPath } from './api.js';
import { Composer } from './composer.js';
import { announce, date, element, setOf, setTitle, visible } from './dom.js';
import { draftOf, keepDraft, onDraftsChanged } from './drafts.js';
import { EventStream } from './event_stream.js';
import { say } from './languages.js';
import { emptyPlace, iconButton, skeleton } from './parts.js';

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
    this.view = {};
    this.versions = new Map();
    this.follows = true;
    this.place = { top: 0, height: 0 };
    this.scroll.addEventListener('scroll', () => this.scrolled());
    // What is drawn late has another height than was thought.
    new ResizeObserver(() => this.toEnd()).observe(this.log);
    if (session) this.open();
    else {
      this.log.append(emptyPlace('message', say('hello_title'), say('hello')));
      this.showMenu();
    }
  }

  // Sends the message of another version, whose session is left then.
  async beginVersion({ message, files, taken }) {
    this.begin('');
    this.composer.files.parts = files;
    if (await this.composer.resend(message)) await this.trying(taken);
    else this.composer.takeBack(message);
    this.app.sessionsChanged();
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
    this.titled = this.loadTitle();
    this.titled.then(() => this.loadVersions());
    this.follow();
  }

  // What a new session does not need is loaded with the first one that has turns.
  async follow() {
    for (;;) {
      try {
        const [{ Turn }, { historyView }] = await Promise.all([import('./turn.js'), import('./history.js')]);
        Object.assign(this, { Turn, historyView });
        break;
      } catch {
        this.connection.textContent = say(navigator.onLine ? 'reconnecting' : 'offline');
        await new Promise((resume) => setTimeout(resume, AGAIN));
      }
      if (this.life.signal.aborted) return;
    }
    if (this.life.signal.aborted) return;
    this.stream = new EventStream(this.session, {
      event: (event) => this.apply(event),
      connected: (isLive) => {
        if (isLive) this.loading.remove();
        if (isLive && this.connection.textContent) this.app.sessionsChanged();
        this.connection.textContent = isLive ? '' : say(navigator.onLine ? 'reconnecting' : 'offline');
      },
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

  // Opens the search in it, for these words if there are any.
  async find(words) {
    try {
      const { FindBar } = await import('./find_bar.js');
      if (!this.session || this.life.signal.aborted) return;
      this.finder ??= new FindBar(this, () => {
        this.finder = null;
        // The address has the words of a search in all sessions.
        history.replaceState(null, '', `#/sessions/${encodeURIComponent(this.session)}`);
      });
      this.connection.before(this.finder.root);
      this.finder.show(words);
    } catch {
      this.connection.textContent = say('unreachable');
    }
  }

  close() {
    this.finder?.leave();
    this.stream?.stop();
    this.composer.leave();
    this.life.abort();
  }

  async loadTitle() {
    try {
      this.view = await ask(sessionPath(this.session));
      this.title.textContent = visible(this.view.title) || say('new_session');
      if (this.view.archived) this.title.append(' ', element('span', { className: 'chip', textContent: say('archived') }));
      setTitle(visible(this.view.title));
    } catch {
      // The stream says what is wrong.
    }
    await this.showMenu();
  }

  async showMenu() {
    if (!this.session) {
      this.tools.replaceChildren(iconButton('tool', say('session_options'), () => this.composer.askOptions()));
      return;
    }
    // One that is open stays, unless it would say something else.
    const { pinned, archived } = this.view;
    const words = `${pinned} ${archived}`;
    if (words === this.menuWords || this.composer.root.hidden) return;
    this.menuWords = words;
    try {
      const { sessionMenu } = await import('./session_menu.js');
      this.tools.replaceChildren(sessionMenu(this));
    } catch {
      this.menuWords = null;
    }
  }

  // Shows why something was not done, if it was not.
  async trying(work) {
    try {
      await work();
    } catch (error) {
      this.connection.textContent = error.message;
    }
  }

  // Which other versions there are of what follows each place.
  async loadVersions() {
    try {
      const { versionsOf } = await import('./versions.js');
      this.versions = await versionsOf(this);
      for (const turn of this.turns) this.showVersions(turn);
    } catch {
      // They are found at the next look.
    }
  }

  async showVersions(turn) {
    const versions = this.versions.get(turn.number);
    if (!versions) return;
    const { versionView } = await import('./versions.js');
    turn.showVersions(versionView(versions, this.session));
  }

  get turn() {
    return this.turns[this.turns.length - 1];
  }

  apply(event) {
    if (event.event === 'forked' || event.event === 'imported') {
      if (event.session) this.origin = event;
      // Nothing in it may take the focus, and keys scroll it.
      else this.scroll.tabIndex = 0;
      const link = event.session
        ? element('a', { href: `#/sessions/${encodeURIComponent(event.session)}`, textContent: say(event.turn ? 'forked_from' : 'forked_beginning', { n: event.turn }) })
        : say(event.created ? 'imported_from_on' : 'imported_from', { source: visible(event.source), day: event.created && date(event.created) });
      this.log.append(this.historyView(event.messages, (tool) => this.app.toolOf(tool)), element('p', { className: 'dim' }, link));
      return;
    }
    this.loading.remove();
    if (event.event === 'compacted' && !this.turn) this.isCompacted = true;
    if (event.event === 'turn_started') {
      this.turns.push(new this.Turn(event, {
        session: () => this.session,
        toolOf: (tool) => this.app.toolOf(tool),
        retry: (turn) => this.again(turn),
        ended: (turn) => this.showVersions(turn),
        edit: (turn) => this.edit(turn),
        fork: (turn) => this.fork(turn.number),
      }));
      this.log.append(this.turn.root);
      this.composer.takeOptions({ given: event.given ? givenOf(event.given) : undefined });
      if (event.number === 1) this.loadTitle();
    }
    this.turn?.apply(event);
    const isOpen = this.turn !== undefined && this.turn.status !== 'ended';
    if (isOpen !== this.composer.busy) this.composer.setBusy(isOpen);
    // What was written meanwhile follows an answer, and waits for the reader after a failure.
    if (event.event === 'turn_ended' && event.turn.end.kind === 'answered') this.composer.goOn();
    // This session is another version of its first turn from now on.
    if (event.event === 'turn_ended' && event.turn.number === 1 && this.origin) this.loadVersions();
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

  async send({ text, files, model, tools, options, key }) {
    const words = text.trim() ? [{ type: 'text', text }] : [];
    const message = files.length ? { content: [...words, ...files] } : { message: text };
    const body = { ...message, mode: 'background', ...(model ? { model } : {}), ...(tools ? { server_tools: tools } : {}), ...options };
    if (!this.session) {
      this.session = (await ask('/sessions', { method: 'POST' })).id;
      keepDraft(null, {});
      keepDraft(this.session, this.composer.draft);
      this.app.moved(this.session);
      this.open();
    }
    await askOnce(`${sessionPath(this.session)}/turns`, body, key);
    await this.trying(() => this.comeBack());
    this.follows = true;
  }

  // A session that is used again is in the lists again.
  async comeBack() {
    await this.titled;
    if (!this.view.archived) return;
    await ask(sessionPath(this.session), { method: 'PATCH', body: { archived: false } });
    await this.loadTitle();
    this.app.sessionsChanged();
  }

  async stopTurn() {
    if (!this.turn || this.turn.status === 'ended') return;
    await this.trying(() => ask(`${sessionPath(this.session)}/turns/${this.turn.id}/cancel`, { method: 'POST' }));
  }

  // The same message once more, in place of what followed it.
  async again(turn) {
    if (this.composer.busy || this.composer.sending) return;
    // What is typed from now on is for the next message.
    this.composer.text.focus();
    await this.forking(async () => {
      const { answerAgain } = await import('./versions.js');
      await answerAgain(this, turn);
    });
  }

  // A fork before a turn, with its message to be changed.
  async edit(turn) {
    if (turn.number === 1 && !this.origin) {
      keepDraft(null, { ...draftOf(null), options: this.composer.options });
      this.app.openNew(turn.message);
    } else await this.forking(async () => this.app.openSession((await this.forkBefore(turn)).id, turn.message));
  }

  // Makes one fork at a time.
  async forking(work) {
    if (this.isForking) return;
    this.isForking = true;
    await this.trying(work);
    this.isForking = false;
  }

  // A fork before a turn. Before the first one, it is of the session that this one is a fork of, if that is still there and
  // has no longer history.
  async forkBefore(turn) {
    const { origin } = this;
    if (turn.number > 1) return this.forkAt(this.session, turn.number - 1, null);
    const made = origin && !this.isCompacted && await this.forkAt(origin.session, origin.turn, origin.round).catch(() => null);
    return made || this.forkAt(this.session, 0, null);
  }

  fork(number) {
    return this.forking(async () => this.app.openSession((await this.forkAt(this.session, number, null)).id, ''));
  }

  async forkAt(session, turn, round) {
    const made = await ask(`${sessionPath(session)}/fork`, { method: 'POST', body: { turn, round } });
    keepDraft(made.id, { options: this.composer.options });
    this.app.sessionsChanged();
    return made;
  }
}

// What the page shows of what a turn was given.
const givenOf = ({ system, settings: { effort, max_output_tokens, temperature }, limits }) => setOf({
  system,
  settings: setOf({ effort, max_output_tokens, temperature }),
  limits: setOf(limits),
});

// Milliseconds until a module that could not be loaded is asked for again.
const AGAIN = 2_000;
const NEAR_END = 80;
// What the page announces to a screen reader, beside questions.
const TOLD = ['turn_started', 'turn_ended', 'wait_started'];
