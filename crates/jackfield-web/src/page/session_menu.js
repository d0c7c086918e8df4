// The actions of a session, beside its title.

import { address, ask, sessionPath } from './api.js';
import { element } from './dom.js';
import { icon } from './icons.js';
import { say } from './languages.js';
import { confirmed, iconButton, menu, menuItem } from './parts.js';

// `conversation` is the one that shows the session, with the `view` of it.
export function sessionMenu(conversation) {
  const { session, view, app } = conversation;
  const opener = iconButton('more', say('session_menu'), () => {});
  const options = menuItem('tool', say('session_options'), () => conversation.composer.askOptions());
  const link = (format, text) => element('a', { className: 'menu-item', href: address(`${sessionPath(session)}/export?format=${format}`), download: '' }, icon('file'), text);
  const label = (name) => conversation.trying(async () => {
    await ask(sessionPath(session), { method: 'PATCH', body: { [name]: !view[name] } });
    await conversation.loadTitle();
    app.sessionsChanged();
  });
  const remove = async () => (await confirmed(say('delete_sure'), say('delete'))) && conversation.trying(async () => {
    const before = view.forked_from && (conversation.versions.get(1) || []).filter((one) => one !== session).pop();
    await ask(sessionPath(session), { method: 'DELETE' });
    conversation.close();
    // The version before comes back in its place.
    if (before && !view.archived) await ask(sessionPath(before), { method: 'PATCH', body: { archived: false } }).catch(() => {});
    app.sessionsChanged();
    location.hash = before ? `#/sessions/${encodeURIComponent(before)}` : '#/';
  });
  return menu(opener, options, menuItem('search', say('find'), () => conversation.find()),
    menuItem('edit', say('rename'), () => rename(conversation)),
    menuItem('pin', say(view.pinned ? 'unpin' : 'pin'), () => label('pinned')),
    menuItem('archive', say(view.archived ? 'unarchive' : 'archive'), () => label('archived')),
    link('markdown', say('export_markdown')), link('json', say('export_json')),
    element('hr'), menuItem('trash', say('delete'), remove, { className: 'danger' }));
}

// A field in the place of the title; Enter and leaving it save, Esc leaves it as it was.
function rename(conversation) {
  const { title: shown, tools, session } = conversation;
  const before = conversation.view.title || '';
  const field = element('input', { type: 'text', maxLength: 200, value: before, 'aria-label': say('session_title') });
  const done = (isLeft) => {
    const hadFocus = field === document.activeElement;
    field.onblur = null;
    field.replaceWith(shown);
    if (hadFocus && !isLeft) tools.querySelector('button')?.focus();
  };
  const save = (isLeft) => conversation.trying(async () => {
    if (field.value !== before) await ask(sessionPath(session), { method: 'PATCH', body: { title: field.value } });
    await conversation.loadTitle();
    conversation.app.sessionsChanged();
    done(isLeft);
  });
  field.onblur = () => save(true);
  field.addEventListener('keydown', (event) => {
    if (event.isComposing || (event.key !== 'Enter' && event.key !== 'Escape')) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === 'Enter') save();
    else done();
  });
  shown.replaceWith(field);
  field.select();
}
