// The menu of the person: as whom one is signed in, the colours and the language of the page, documents, the version, sign out.

import { element, visible } from './dom.js';
import { icon } from './icons.js';
import { LANGUAGES, chooseLanguage, say } from './languages.js';
import { signOut } from './login.js';
import { canNotify, isNotifying, setNotifying } from './notices.js';
import { menu, menuItem } from './parts.js';
import { keep, kept } from './storage.js';

const THEMES = ['system', 'light', 'dark'];

// Shows the page in the chosen colours, or else in those of the system.
export function applyTheme(theme = kept('theme')) {
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

export function personMenu(login, sessionsChanged) {
  const name = login.key_needed ? visible(login.user || login.name || '') : say('open_gateway');
  const opener = element('button', { type: 'button', className: 'person' }, icon('person'), element('bdi', { textContent: name }), icon('chevron'));
  const about = element('p', { className: 'dim', textContent: say(login.admin && login.key_needed ? 'signed_in_admin' : 'signed_in_as', { name }) });
  const version = element('p', { className: 'dim' });
  opener.addEventListener('click', () => showVersion(version), { once: true });
  return menu(opener,
    login.key_needed ? about : element('p', { className: 'dim', textContent: say('open_gateway_about') }),
    choice('colours', THEMES.map((theme) => [theme, say(`colours_${theme}`)]), kept('theme') || 'system', (theme) => {
      keep('theme', theme);
      applyTheme(theme);
    }),
    choice('language', Object.entries(LANGUAGES), document.documentElement.lang, chooseLanguage),
    canNotify() && !login.no_approvals ? notices() : null,
    menuItem('message', say('import_title'), async () => (await import('./import_conversations.js')).importConversations(sessionsChanged)),
    menuItem('keyboard', say('keys_help'), async () => (await import('./keys_help.js')).showKeys()),
    element('a', { className: 'menu-item', href: '/api/v1/docs' }, icon('help'), say('api_documents')),
    login.key_needed ? menuItem('cross', say('sign_out'), signOut) : null,
    version);
}

function choice(name, options, value, change) {
  const field = element('select', { on: { change: () => change(field.value) } }, options.map(([one, textContent]) => element('option', { value: one, textContent })));
  field.value = value;
  return element('label', {}, element('span', { textContent: say(name) }), field);
}

function notices() {
  const box = element('input', { type: 'checkbox', checked: isNotifying() });
  box.addEventListener('change', async () => {
    box.checked = await setNotifying(box.checked);
  });
  return element('label', {}, element('span', { textContent: say('notify') }), box);
}

async function showVersion(place) {
  const health = await fetch('/healthz').then((answer) => answer.json()).catch(() => ({}));
  if (health.version) place.textContent = `Jackfield ${health.version}`;
}
