// The events of a session, or the open questions: a lost connection, a restart of the gateway or a sleeping tab loses none.
// One worker reads them for all tabs.

import { refusal } from './api.js';

// A script that is no other one may be a worker.
const WORKER = '/ui/event_worker.js';
const worker = window.trustedTypes?.createPolicy('jackfield-worker', { createScriptURL: () => WORKER }).createScriptURL('') ?? WORKER;
let isShared = 'SharedWorker' in window;

// After how long a script that was not there is asked for again.
const AGAIN = 8_000;

export class EventStream {
  // Without a `session`, the questions. `listener` has `event(data)`, `connected(isLive)` and `gone(problem)`.
  constructor(session, listener) {
    this.session = session;
    this.listener = listener;
    this.life = new AbortController();
    const on = (name, act) => addEventListener(name, act, { capture: true, signal: this.life.signal });
    // A connection over a network that is gone would only be silent.
    on('offline', () => this.port?.postMessage('offline'));
    on('online', () => this.join());
    on('pagehide', () => this.leave());
    on('pageshow', ({ persisted }) => persisted && this.join());
    // What is posted to a frozen tab would pile up.
    on('freeze', () => this.leave());
    on('resume', () => this.join());
    // A tab that reads for itself gives its connection back while it is hidden.
    on('visibilitychange', () => {
      if (isShared) return;
      if (document.hidden) this.leave();
      else this.join();
    });
    this.join();
  }

  join() {
    this.leave();
    const port = this.connect();
    this.port = port;
    port.onmessage = ({ data }) => port === this.port && this.take(data);
    const left = new Promise((done) => {
      this.release = done;
    });
    // The worker sees by the lock that this tab is gone.
    const lock = navigator.locks && `jackfield-tab-${Math.random()}`;
    const want = () => {
      if (port === this.port) port.postMessage({ session: this.session, cursor: this.cursor, lock });
      return left;
    };
    if (lock) navigator.locks.request(lock, want).catch(() => {});
    else want();
  }

  connect() {
    if (isShared) {
      const shared = new SharedWorker(worker, { name: EventStream.person, type: 'module' });
      shared.onerror = () => {
        isShared = false;
        if (this.port === shared.port) this.join();
      };
      return shared.port;
    }
    const { port1, port2 } = new MessageChannel();
    import('./event_worker.js').then(({ connect }) => connect(port2), () => {
      this.listener.connected?.(false);
      setTimeout(() => port1 === this.port && this.join(), AGAIN);
    });
    return port1;
  }

  leave() {
    this.port?.postMessage('leave');
    this.port = null;
    this.release?.();
  }

  stop() {
    this.life.abort();
    this.leave();
  }

  // Reads again at once.
  retry() {
    this.port?.postMessage('retry');
  }

  take({ lock, isLive, events = [], cursor, problem, isGone }) {
    // The worker is gone once its lock is free.
    if (lock) navigator.locks?.request(lock, { signal: this.life.signal }, () => this.port && this.join()).catch(() => {});
    if (isLive !== undefined) this.listener.connected?.(isLive);
    for (const event of events) {
      try {
        this.listener.event(JSON.parse(event));
      } catch (error) {
        reportError(error);
      }
    }
    this.cursor = cursor ?? this.cursor;
    const refused = problem && refusal(problem);
    if (!isGone) return;
    this.stop();
    this.listener.gone?.(refused);
  }
}
