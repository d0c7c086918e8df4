// The page: the sign-in, the side, and what is shown beside it, by the part of the address behind `#`.

import { ask, onSignedOut } from './api.js';
import { Conversation } from './conversation.js';
import { byId, element, setTitle, setWaiting, visible } from './dom.js';
import { openDrafts } from './drafts.js';
import { EventStream } from './event_stream.js';
import { icon } from './icons.js';
import { loadTexts, say } from './languages.js';
import { hasToken, loginState, returnToPlace, signIn, tradeToken } from './login.js';
import { notify } from './notices.js';
import { applyTheme, personMenu } from './person.js';
import { SessionList } from './session_list.js';

class App {
  constructor(login) {
    this.login = login;
    const person = login.user || login.name || '';
    openDrafts(person);
    EventStream.person = person;
    this.tools = new Map();
    this.sessions = new SessionList(byId('sessions'));
    this.showSide(login);
    byId('skip').textContent = say('skip');
    byId('skip').addEventListener('click', (event) => {
      // The part of the address behind `#` names what is shown.
      event.preventDefault();
      byId('main').focus();
    });
    byId('menu').setAttribute('aria-label', say('menu'));
    byId('menu').replaceChildren(icon('menu'));
    byId('menu').addEventListener('click', () => this.toggleSide());
    byId('app').hidden = false;
    addEventListener('hashchange', () => this.show());
    addEventListener('keydown', (event) => this.key(event));
    this.sessions.load();
    this.loadTools();
    this.show();
    if (!login.no_approvals) this.followApprovals();
  }

  followApprovals() {
    this.approvals = new EventStream(null, { event: ({ approvals, next }) => this.showApprovals({ approvals, more: next !== null }) });
    // What is answered here is known before the gateway tells of it.
    addEventListener('question-answered', ({ detail }) => {
      const { approvals, more } = this.open || { approvals: [] };
      this.showApprovals({ approvals: approvals.filter(({ id }) => id !== detail), more });
    });
  }

  showSide(login) {
    const places = [login.no_approvals ? '' : 'approvals', 'usage', 'servers', 'connect', login.user ? 'own' : '', login.admin ? 'people' : ''].filter(Boolean);
    byId('places').replaceChildren(...places.map((place) => element('li', {},
      element('a', { href: `#/${place}` }, icon(place), say(place), place === 'approvals' ? element('span', { className: 'waiting', hidden: true }) : null))));
    byId('person').replaceChildren(personMenu(login, () => this.sessionsChanged()));
  }

  toggleSide(isOpen = !document.body.classList.contains('side-open')) {
    document.body.classList.toggle('side-open', isOpen);
    byId('menu').setAttribute('aria-expanded', String(isOpen));
  }

  async loadTools() {
    const { tools } = await ask('/tools').catch(() => ({ tools: [] }));
    const { servers } = await ask('/servers').catch(() => ({ servers: [] }));
    const icons = new Map(servers.map((server) => [server.id, server.icon]));
    for (const tool of tools) this.tools.set(tool.name, { ...tool, icon: icons.get(tool.server) });
    if (this.view instanceof Conversation) this.view.describeTools();
  }

  // What is known of a tool, by the name that models use.
  toolOf(name) {
    return this.tools.get(name);
  }

  // Shows what the address names.
  async show() {
    const [, place = '', name = '', words = ''] = location.hash.split('/');
    const id = decoded(name);
    this.toggleSide(false);
    for (const link of byId('places').querySelectorAll('a')) {
      if (link.hash === `#/${place}`) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    if (place === 'sessions' && this.view?.session === id && !this.draft) {
      if (words) this.view.find(decoded(words));
      return;
    }
    this.view?.close();
    setTitle(byId('places').querySelector('[aria-current]') ? say(place) : '');
    const draft = this.draft || '';
    const { version } = this;
    this.draft = '';
    this.version = null;
    const asked = (this.asked = {});
    const view = await this.made(place, id);
    if (asked !== this.asked) {
      // Another place was chosen while this one loaded.
      view.close();
      return;
    }
    this.view = view;
    this.sessions.mark(this.view.session);
    byId('main').replaceChildren(this.view.root);
    if (version && this.view instanceof Conversation) this.view.beginVersion(version);
    else if (this.view instanceof Conversation) this.view.begin(draft);
    else byId('main').focus();
    if (words && this.view.session) this.view.find(decoded(words));
    if (this.open) this.view.showQuestions?.(this.open);
  }

  async made(place, id) {
    if (place === 'sessions' && id) return new Conversation(id, this);
    if (place === 'approvals' && !this.login.no_approvals) return new (await import('./approvals.js')).Approvals((name) => this.toolOf(name));
    if (place === 'usage') return new (await import('./usage.js')).Usage(this.login.admin);
    if (place === 'servers') return new (await import('./servers.js')).Servers(this.login.admin);
    if (place === 'connect') return new (await import('./connect.js')).Connect(this.login);
    if (place === 'own') return new (await import('./own.js')).Own(this.login);
    if (place === 'people') return new (await import('./people.js')).People();
    return new Conversation(null, this);
  }

  openSession(id, draft) {
    this.draft = draft;
    location.hash = `#/sessions/${encodeURIComponent(id)}`;
  }

  // Another version of a turn: its message is sent in this session, where `files` are attached to the next one. `taken` follows.
  openVersion(id, written, taken) {
    this.version = { ...written, taken };
    this.openSession(id, '');
  }

  openNew(draft) {
    this.draft = draft;
    if (location.hash === '#/new') this.show();
    else location.hash = '#/new';
  }

  // The new conversation has a session from now on; it stays as it is.
  moved(session) {
    history.replaceState(null, '', `#/sessions/${encodeURIComponent(session)}`);
    this.sessionsChanged();
    this.sessions.mark(session);
  }

  sessionsChanged() {
    this.sessions.changed();
  }

  // Shows the questions that are open now.
  showApprovals(open) {
    this.open = open;
    const count = open.approvals.length;
    const n = open.more ? `${count}+` : String(count);
    for (const badge of document.querySelectorAll('.waiting')) {
      badge.hidden = count === 0;
      badge.replaceChildren(element('span', { className: 'unseen', textContent: say('waiting', { n }) }), element('span', { 'aria-hidden': 'true', textContent: n }));
    }
    setWaiting(count ? n : '');
    this.view?.showQuestions?.(open);
    notify(open.approvals);
  }

  key(event) {
    // Esc ends what a person composes.
    if (event.isComposing) return;
    if (event.key === 'Escape') {
      if (document.body.classList.contains('side-open')) this.toggleSide(false);
      else if (this.view instanceof Conversation && !event.target.closest('#side')) this.view.stopTurn();
    } else if (event.altKey && event.key === 'n') {
      event.preventDefault();
      location.hash = '#/new';
    } else if (event.altKey && event.key === 'a') {
      event.preventDefault();
      location.hash = '#/approvals';
    } else if ((event.ctrlKey || event.metaKey) && event.shiftKey && event.code === 'KeyF' && this.view instanceof Conversation) {
      event.preventDefault();
      this.view.find();
    } else if (/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
      // What follows would be a letter there.
    } else if (event.key === '?') {
      import('./keys_help.js').then(({ showKeys }) => showKeys());
    } else if (event.key === '/') {
      event.preventDefault();
      this.toggleSide(true);
      this.sessions.search.focus();
    }
  }
}

// A name in the address; a person may have typed anything.
function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

async function start() {
  applyTheme();
  await loadTexts();
  await tradeToken();
  addEventListener('hashchange', () => hasToken() && location.reload());
  let login = await loginState();
  if (login.signed_in) returnToPlace();
  else login = await signIn(login);
  // The browser comes back from a sign-in at a server.
  if (new URLSearchParams(location.search).has('state')) await (await import('./server_sign_in.js')).finishSignIn();
  const app = new App(login);
  let asking = false;
  onSignedOut(async () => {
    if (asking) return;
    asking = true;
    byId('app').inert = true;
    // Another person has other places.
    if ((await signIn(await loginState().catch(() => login))).name !== login.name) location.reload();
    byId('app').inert = false;
    asking = false;
    app.view?.stream?.retry();
    app.approvals?.retry();
    app.sessionsChanged();
  });
}

start();
// The first session that is opened needs it, and the gateway may be away then.
setTimeout(() => import('./turn.js').catch(() => {}), 1_000);
