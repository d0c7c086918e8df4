// Reads from the gateway what the tabs of this browser follow, by one connection, as a browser has few of them for one host.
// A shared worker, which goes on when any tab is closed, hidden or frozen; without those, a tab runs it for itself.

// What is followed, by the port of its reader: a `session` from a `cursor` on, or the open questions, without a session.
const wanted = new Map();
// The questions, if they are followed.
let open = null;
// What is posted next, by port.
const told = new Map();
let life = new AbortController();
let soon = 0;
// When what is wanted is followed anew, if that is due.
let due = Infinity;

// A lock is free once the worker or the tab that held it is gone.
const NAME = `jackfield-worker-${Math.random()}`;
const isHeld = new Promise((held) => navigator.locks?.request(NAME, () => new Promise(held)));

// Takes on a reader, which says what it wants: `{ session, cursor, lock }`, `leave`, `retry` or `offline`.
export function connect(port) {
  port.onmessage = ({ data }) => {
    if (data === 'leave') leave(port);
    else if (data === 'retry') follow();
    else if (data === 'offline') follow(AWAY);
    else join(port, data);
  };
  isHeld.then(() => port.postMessage({ lock: NAME }));
}
addEventListener('connect', ({ ports: [port] }) => connect(port));

function join(port, want) {
  wanted.delete(port);
  wanted.set(port, want);
  if (want.lock) navigator.locks.request(want.lock, () => wanted.get(port) === want && leave(port));
  if (!want.session && open) port.postMessage({ events: [open] });
  else followSoon(0);
}

// What is not wanted any more is left with the next change, or after a while.
function leave(port) {
  if (wanted.delete(port)) followSoon(REST);
}

function followSoon(wait) {
  const at = performance.now() + wait;
  if (at >= due) return;
  due = at;
  clearTimeout(soon);
  soon = setTimeout(follow, wait);
}

function tell(message) {
  for (const port of wanted.keys()) port.postMessage(message);
}

// Follows what is wanted now, from the cursors on.
async function follow(failures = 0) {
  clearTimeout(soon);
  due = Infinity;
  life.abort();
  life = new AbortController();
  const { signal } = life;
  open = null;
  while (wanted.size > 0) {
    if (failures > 0) {
      tell({ isLive: false });
      const wait = Math.min(125 * 2 ** failures, LONGEST_WAIT) * (0.75 + Math.random() / 2);
      await new Promise((resume) => setTimeout(resume, wait));
      if (signal.aborted) return;
    }
    failures += 1;
    try {
      await read(signal, () => {
        failures = 1;
      });
    } catch (error) {
      if (!signal.aborted && error.problem) tell({ problem: error.problem, isGone: error.problem.status === 403 });
    }
    if (signal.aborted) return;
  }
}

// Reads until the connection ends. What is followed longest waits where there is too much of it.
async function read(signal, wasLive) {
  const all = [...wanted].filter(([, { session }]) => session).reverse();
  const sessions = all.slice(0, MOST);
  const query = new URLSearchParams({
    html: true,
    approvals: [...wanted.values()].some(({ session }) => !session),
    // The address may have anything in the place of an id.
    sessions: sessions.map(([, { session, cursor }]) => `${session.slice(0, 65).replace(/[,:]/g, '.')}:${cursor || 0}`),
  });
  const response = await fetch(`/api/v1/events?${query}`, { cache: 'no-store', signal });
  if (!response.ok) throw refusal({ ...await response.json().catch(() => ({})), status: response.status });
  tell({ isLive: true });
  for (const [port] of all.slice(MOST)) port.postMessage({ isLive: false });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  try {
    for (;;) {
      const silence = setTimeout(() => reader.cancel(), SILENCE);
      const { value, done } = await reader.read().finally(() => clearTimeout(silence));
      if (done || signal.aborted) return;
      wasLive();
      text += value;
      const frames = text.split('\n\n');
      text = frames.pop();
      for (const frame of frames) take(frame, sessions);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

const refusal = (problem) => Object.assign(new Error(problem.detail), { problem });

// The message to a reader that goes out next. Thousands of events come at once where a long session is opened.
function messageTo(port) {
  if (told.size === 0) setTimeout(post, TOGETHER);
  if (!told.has(port)) told.set(port, { events: [] });
  return told.get(port);
}

function post() {
  for (const [port, message] of told) port.postMessage(message);
  told.clear();
}

// Takes a frame. Its fields are one line each, as the gateway writes them.
function take(frame, sessions) {
  const fields = {};
  for (const line of frame.split('\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
  }
  const { id = '', event, data } = fields;
  if (data === undefined) return;
  if (event === 'approvals') {
    open = data;
    for (const [port, { session }] of wanted) if (!session) messageTo(port).events.push(data);
    return;
  }
  const [place, cursor] = id.split(' ');
  const [port, want] = sessions[place];
  // It has left.
  if (wanted.get(port) !== want) return;
  const message = messageTo(port);
  if (event === 'problem') {
    const problem = JSON.parse(data);
    const isGone = problem.status === 403 || problem.status === 404;
    if (isGone) {
      wanted.delete(port);
      Object.assign(message, { problem, isGone });
      return;
    }
    // Others, such as a journal that cannot be read, may be over soon. The rest goes on until then.
    want.failures = (want.failures || 0) + 1;
    message.isLive = false;
    followSoon(Math.min(500 * 2 ** want.failures, LONGEST_WAIT));
    return;
  }
  want.failures = 0;
  message.events.push(data);
  // Progress has no cursor. A reply that is written is read from its beginning again, as a text has its form only so.
  if (cursor && !WRITTEN.includes(event)) want.cursor = cursor;
  message.cursor = want.cursor;
}

const WRITTEN = ['block_started', 'text', 'block_ended'];
// The gateway says at least every ten seconds that it is there.
const SILENCE = 45_000;
const LONGEST_WAIT = 8_000;
// How often a connection has failed, as it were, when the network goes away: the next one is tried after two seconds.
const AWAY = 4;
const REST = 1_000;
const TOGETHER = 5;
// How many sessions the gateway gives by one connection.
const MOST = 64;
