// Notices on the desktop that something waits, with the consent of the reader.

import { visible } from './dom.js';
import { say } from './languages.js';
import { keep, kept } from './storage.js';

const known = new Set();

// Whether this browser can show them here: only where the page is at a safe address.
export const canNotify = () => 'Notification' in window && isSecureContext;
export const isNotifying = () => canNotify() && kept('notify') === 'yes' && Notification.permission === 'granted';

// Asks the reader, by the browser. Whether there are notices from now on.
export async function setNotifying(isWanted) {
  const isGiven = isWanted && (await Notification.requestPermission()) === 'granted';
  keep('notify', isGiven ? 'yes' : '');
  return isGiven;
}

// Tells of questions that are new, while no one looks. Of several tabs, each shows the same notice, which stands once.
export function notify(approvals) {
  for (const { id, tool, session } of approvals) {
    const isNew = !known.has(id);
    known.add(id);
    if (!isNew || !document.hidden || !isNotifying()) continue;
    const notice = new Notification('Jackfield', { body: say('notified', { tool: visible(tool || '?') }), tag: id });
    notice.onclick = () => {
      window.focus();
      location.hash = `#/sessions/${encodeURIComponent(session)}`;
    };
  }
}
