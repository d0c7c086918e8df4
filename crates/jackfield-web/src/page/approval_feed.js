// The open questions over all sessions, as they are asked and answered. Of the tabs of a browser, one reads them from
// the gateway and tells the others, as a browser has few connections to one host.

import { EventStream } from './event_stream.js';
import { isNotifying } from './notices.js';

export class ApprovalFeed {
  // `listener` gets the oldest open questions, and whether there are more, at once and whenever that changes.
  constructor(listener) {
    this.listener = listener;
    this.last = null;
    this.channel = new BroadcastChannel(NAME);
    this.channel.onmessage = ({ data }) => {
      if (data.approvals) this.take(data);
      else if (data.answered) this.drop(data.answered);
      else if (this.stream && this.last) this.channel.postMessage(this.last);
    };
    // What is answered here is known before the gateway tells of it.
    addEventListener('question-answered', ({ detail }) => {
      this.drop(detail);
      this.channel.postMessage({ answered: detail });
    });
    document.addEventListener('visibilitychange', () => this.seen());
    this.seen();
    // Another tab may read them already.
    this.channel.postMessage({});
  }

  // A hidden tab leaves the reading to others after a while, unless it tells of questions on the desktop.
  seen() {
    clearTimeout(this.hidden);
    if (document.hidden) this.hidden = setTimeout(() => isNotifying() || this.leave(), HIDDEN_TIME);
    else this.join();
  }

  join() {
    if (this.waiting) return;
    this.waiting = new AbortController();
    const { signal } = this.waiting;
    // Without locks, as over plain HTTP from another machine, each tab reads by itself.
    if (!navigator.locks) this.read();
    else navigator.locks.request(NAME, { signal }, () => this.read()).catch(() => {});
  }

  leave() {
    this.waiting?.abort();
    this.waiting = null;
    this.stream?.stop();
    this.stream = null;
    this.done?.();
  }

  // Reads until this tab leaves.
  read() {
    this.stream = new EventStream(() => '/approvals/events', {
      event: ({ approvals, next }) => {
        this.take({ approvals, more: next !== null });
        this.channel.postMessage(this.last);
      },
      // The stream of the session says that the gateway is away.
      connected: () => {},
      gone: () => {},
      // This tab leaves by itself.
      stays: () => true,
    });
    return new Promise((done) => {
      this.done = done;
    });
  }

  // Reads again at once, as after a sign-in.
  retry() {
    this.stream?.retry();
  }

  drop(answered) {
    if (!this.last) return;
    const approvals = this.last.approvals.filter((approval) => approval.id !== answered);
    this.take({ ...this.last, approvals });
  }

  take(open) {
    this.last = open;
    this.listener(open);
  }
}

const NAME = 'jackfield-approvals';
const HIDDEN_TIME = 2_000;
