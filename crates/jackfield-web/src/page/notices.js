// Notices on the desktop that something waits, with the consent of the reader.

import { visible } from './dom.js';
import { say } from './languages.js';
import { keep, kept } from './storage.js';

const known = new Set();

// Each tab that is seen holds this lock.
const SEEN = 'jackfield-seen';

function holdWhileSeen() {
  if (document.hidden || !navigator.locks) return;
  const hidden = new Promise((done) => document.addEventListener('visibilitychange', done, { once: true }));
  navigator.locks.request(SEEN, { mode: 'shared' }, () => hidden).catch(() => {});
}
document.addEventListener('visibilitychange', holdWhileSeen);
holdWhileSeen();

async function isSeen() {
  const locks = await navigator.locks?.query();
  return !document.hidden || locks?.held.some((lock) => lock.name === SEEN);
}

// Whether this browser can show them here: only where the page is at a safe address.
export const canNotify = () => 'Notification' in window && isSecureContext;
export const isNotifying = () => canNotify() && kept('notify') === 'yes' && Notification.permission === 'granted';

// Asks the reader, by the browser. Whether there are notices from now on.
export async function setNotifying(isWanted) {
  const isGiven = isWanted && (await Notification.requestPermission()) === 'granted';
  keep('notify', isGiven ? 'yes' : '');
  return isGiven;
}

// Tells of questions that are new, while no tab is seen. Several tabs show the same notice, which stands once.
export async function notify(approvals) {
  const news = approvals.filter(({ id }) => !known.has(id));
  for (const { id } of news) known.add(id);
  if (news.length === 0 || !isNotifying() || (await isSeen())) return;
  for (const { id, tool, session } of news) {
    try {
      const notice = new Notification('Jackfield', { body: say('notified', { tool: visible(tool || '?') }), tag: id });
      notice.onclick = () => {
        window.focus();
        location.hash = `#/sessions/${encodeURIComponent(session)}`;
      };
    } catch {
      // Some browsers have notices for installed pages alone.
    }
  }
}
