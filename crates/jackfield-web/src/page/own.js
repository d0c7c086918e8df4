// What a user has of its own: keys, MCP servers, and keys at providers.

import { ask } from './api.js';
import { button, element, named, visible } from './dom.js';
import { keySection } from './keys.js';
import { loadMoreTexts, say } from './languages.js';
import { limitsText } from './limits.js';
import { sureButton } from './parts.js';
import { Section, entryCard, formButton, orNone } from './section.js';
import { signInButtons, signInOutcome } from './server_sign_in.js';

await loadMoreTexts();

export class Own {
  constructor({ user, admin, limits }) {
    const sections = user ? [keySection({ title: say('my_keys'), user, isAdmin: admin }), servers(user), providerKeys()] : [];
    this.root = element('div', { className: 'page' }, element('h1', { textContent: say('own') }), signInOutcome(), user ? limits.filter(({ of }) => of !== 'key').map(limitsOf) : '',
      user ? sections.map((section) => section.root) : element('p', { className: 'dim', textContent: say('own_none') }));
  }

  close() {}
}

// What the user and its team may use, with all keys together.
const limitsOf = ({ of, name, quota }) => element('p', { className: 'dim', textContent: visible(`${say(`budget_${of}`)} ${name} · ${limitsText(quota)}`) });

// The servers of the user and of its team, which an administrator sets.
function servers(user) {
  return new Section(say('my_servers'), async (section) => {
    const { servers: found } = await ask('/own-servers');
    return [element('p', { className: 'dim', textContent: say('my_servers_about') }), newServer(section), orNone(found.map((server) => serverCard(section, server, user)))].flat();
  });
}

function serverCard(section, server, user) {
  const path = `/own-servers/${encodeURIComponent(server.name)}`;
  const isMine = server.owner === `user:${user}`;
  const about = [isMine ? '' : server.owner, server.secrets.join(', '), server.signed_in ? say('signed_in') : ''].filter(Boolean).join(' · ');
  const turn = button(say(server.enabled ? 'disable' : 'enable'), () => section.change(path, 'PATCH', { enabled: !server.enabled }), { className: 'quiet' });
  return entryCard(server.name, { about: server.toolbox, state: say(server.enabled ? 'is_enabled' : 'is_disabled'), isOn: server.enabled },
    element('p', {}, element('code', { textContent: visible(server.url || server.program || '') })),
    about ? element('p', { className: 'dim', textContent: visible(about) }) : '',
    element('div', { className: 'buttons' }, [signInButtons(section, server)].flat(), isMine ? turn : '',
      isMine ? sureButton(say('remove'), say('remove_sure'), () => section.change(path, 'DELETE'), { className: 'quiet danger' }) : ''));
}

function newServer(section) {
  const fields = () => ({
    name: named(say('name'), element('input', { type: 'text', required: true, autocomplete: 'off', maxLength: 64 })),
    url: named(say('address'), element('input', { type: 'url', required: true, autocomplete: 'off', maxLength: 2048, placeholder: 'https://mcp.example.com/mcp' })),
    header: named(say('header'), element('input', { type: 'text', autocomplete: 'off', value: 'Authorization' })),
    value: named(say('header_value'), element('input', { type: 'password', autocomplete: 'off', placeholder: 'Bearer …' })),
  });
  return formButton(section, say('set_server'), fields, say('save'), ({ name, url, header, value }, problem) =>
    section.change(`/own-servers/${encodeURIComponent(name)}`, 'PUT', { url, headers: value ? { [header]: value } : {} }, problem));
}

function providerKeys() {
  return new Section(say('my_provider_keys'), async (section) => {
    const [{ keys }, { providers }] = await Promise.all([ask('/provider-keys'), ask('/providers')]);
    const card = (key) => entryCard(key.provider, { about: key.hint ? say('ends_in', { hint: key.hint }) : '' },
      element('div', { className: 'buttons' }, sureButton(say('remove'), say('remove_sure'),
        () => section.change(`/provider-keys/${encodeURIComponent(key.provider)}`, 'DELETE'), { className: 'quiet danger' })));
    return [element('p', { className: 'dim', textContent: say('my_provider_keys_about') }), newProviderKey(section, providers), orNone(keys.map(card))].flat();
  });
}

function newProviderKey(section, providers) {
  const options = () => providers.map(({ name }) => element('option', { value: name, textContent: visible(name) }));
  const fields = () => ({
    provider: named(say('provider'), element('select', {}, options())),
    key: named(say('key'), element('input', { type: 'password', required: true, autocomplete: 'off', maxLength: 4096 })),
  });
  return formButton(section, say('set_provider_key'), fields, say('save'), ({ provider, key }, problem) =>
    section.change(`/provider-keys/${encodeURIComponent(provider)}`, 'PUT', { key }, problem));
}
