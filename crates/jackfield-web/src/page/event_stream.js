// A stream of events, such as those of a session from a cursor on: a lost connection, a restart of the gateway or a
// sleeping tab loses none.

import { Problem, send } from './api.js';

export class EventStream {
  // `path(cursor)` is where the events behind a cursor are, all of them for `null`. `listener` has `event(data)`,
  // `connected(isLive)` and `gone(problem)`; while its `stays()` is true, a hidden tab keeps the connection.
  constructor(path, listener) {
    this.path = path;
    this.listener = listener;
    this.cursor = null;
    this.life = new AbortController();
    this.stopped = false;
    // A connection over a network that is gone would only be silent.
    const { signal } = this.life;
    addEventListener('offline', () => {
      this.connection?.abort();
      this.wake?.();
    }, { signal });
    addEventListener('online', () => this.wake?.(), { signal });
    this.run();
  }

  stop() {
    this.stopped = true;
    this.life.abort();
    this.connection?.abort();
    this.wake?.();
  }

  // Reads again at once.
  retry() {
    this.wake?.();
  }

  async run() {
    let failures = 0;
    while (!this.stopped) {
      try {
        await this.read(() => {
          failures = 0;
        });
      } catch (error) {
        if (this.stopped) return;
        if (error instanceof Problem && (error.kind === 'not_found' || error.status === 403)) {
          this.listener.gone(error);
          return;
        }
      }
      if (this.stopped) return;
      // A hidden tab has given its connection back.
      if (!document.hidden) this.listener.connected(false);
      const wait = Math.min(250 * 2 ** failures, LONGEST_WAIT) * (0.75 + Math.random() / 2);
      failures += 1;
      await this.pause(wait);
    }
  }

  // Waits, until woken; and for a hidden tab until it is seen.
  async pause(wait) {
    await new Promise((resume) => {
      const timer = setTimeout(resume, wait);
      this.wake = () => {
        clearTimeout(timer);
        resume();
      };
    });
    while (document.hidden && !this.stopped && !this.listener.stays?.()) {
      await new Promise((resume) => {
        this.wake = resume;
        document.addEventListener('visibilitychange', resume, { once: true });
      });
    }
  }

  async read(wasLive) {
    this.connection = new AbortController();
    const response = await send(this.path(this.cursor), { signal: this.connection.signal });
    this.listener.connected(true);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    // A browser has few connections to one host, so a hidden tab gives its own back after a while.
    const hide = () => {
      clearTimeout(this.hidden);
      if (document.hidden) this.hidden = setTimeout(() => this.listener.stays?.() || this.connection.abort(), HIDDEN_TIME);
    };
    document.addEventListener('visibilitychange', hide);
    let text = '';
    try {
      for (;;) {
        const silence = setTimeout(() => this.connection.abort(), SILENCE);
        const { value, done } = await reader.read().finally(() => clearTimeout(silence));
        if (done || this.stopped) return;
        wasLive();
        text += value;
        const frames = text.split('\n\n');
        text = frames.pop();
        for (const frame of frames) this.take(frame);
      }
    } finally {
      document.removeEventListener('visibilitychange', hide);
      clearTimeout(this.hidden);
      this.connection.abort();
    }
  }

  // A frame: its fields are one line each, as the gateway writes them.
  take(frame) {
    const fields = {};
    for (const line of frame.split('\n')) {
      const colon = line.indexOf(': ');
      if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
    }
    if (fields.data === undefined) return;
    const data = JSON.parse(fields.data);
    if (fields.event === 'problem') throw new Problem(data.status, data);
    this.listener.event(data);
    // An event without a cursor, such as progress, is not come back to.
    if (fields.id !== undefined) this.cursor = fields.id;
  }
}

// The gateway says at least every ten seconds that it is there.
const SILENCE = 45_000;
const LONGEST_WAIT = 8_000;
const HIDDEN_TIME = 2_000;
