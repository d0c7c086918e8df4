// The prompts of MCP servers behind a `/` in an empty message: a menu that is filtered while one types, a form for the arguments
// of a prompt, and its text in the field. All of it is foreign text.

import { ask } from './api.js';
import { MOST_BYTES, MOST_FILES, PICTURES } from './attachments.js';
import { announce, element, named, number, visible } from './dom.js';
import { loadMoreTexts, say } from './languages.js';
import { openForm } from './section.js';

await loadMoreTexts();

let open = null;
// What the servers said, for a minute.
let known = { until: 0 };

// Opens the menu of a composer, unless its text is another one by now.
export function openPrompts(composer) {
  if (!composer.text.value.startsWith('/') || (open && open.text === composer.text)) return;
  open?.close();
  open = new PromptMenu(composer);
}

class PromptMenu {
  constructor(composer) {
    this.composer = composer;
    this.text = composer.text;
    const isKnown = Date.now() < known.until;
    this.prompts = isKnown ? known.prompts : [];
    this.failures = isKnown ? known.failures : [];
    this.chosen = 0;
    this.list = element('ul', { id: 'prompts', role: 'listbox', 'aria-label': say('prompts') });
    this.notes = element('div', { className: 'dim', role: 'status' });
    this.root = element('div', { className: 'panel prompts', tabIndex: 0 }, this.list, this.notes);
    // The field keeps the focus.
    this.root.addEventListener('pointerdown', (event) => event.preventDefault());
    this.text.parentNode.append(this.root);
    this.life = new AbortController();
    const { signal } = this.life;
    this.text.addEventListener('input', () => (this.text.value.startsWith('/') ? this.filter() : this.close()), { signal });
    this.text.addEventListener('keydown', (event) => this.key(event), { signal, capture: true });
    this.text.addEventListener('blur', () => this.close(), { signal });
    for (const [name, value] of Object.entries(ATTRIBUTES)) this.text.setAttribute(name, value);
    if (isKnown) this.filter();
    else this.load();
  }

  close() {
    this.life.abort();
    this.root.remove();
    for (const name of [...Object.keys(ATTRIBUTES), 'aria-activedescendant']) this.text.removeAttribute(name);
    if (open === this) open = null;
  }

  // A server that fails or is slow stops no other one.
  async load() {
    const { signal } = this.life;
    this.loading = true;
    this.filter();
    const fail = ({ message }, server) => this.failures.push([server, message].filter(Boolean).join(': '));
    try {
      const servers = (await ask('/servers', { signal })).servers.filter((server) => server.state !== 'off').values();
      await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        for (const { id, state, reason } of servers) {
          await ask(`${pathOf(id)}/prompts`, { signal }).then(({ prompts }) => this.add(id, prompts), (error) => {
            if (state === 'failed') fail({ message: reason || say('server_failed') }, id);
            else if (!HAS_NONE.includes(error.kind)) fail(error, id);
          });
          if (signal.aborted) return;
          this.filter();
        }
      }));
    } catch (error) {
      fail(error);
    }
    this.loading = false;
    if (signal.aborted) return;
    known = { until: Date.now() + MINUTE, prompts: this.prompts, failures: this.failures };
    this.filter();
  }

  add(server, prompts) {
    for (const { name, title, description, arguments: given } of prompts.slice(0, MOST_PROMPTS)) {
      if (typeof name !== 'string') continue;
      const call = `${server}:${name}`;
      const words = [call, title].filter((one) => typeof one === 'string').map((one) => one.slice(0, LONG).toLowerCase());
      this.prompts.push({ server, name, call, title, description, words, arguments: Array.isArray(given) ? given.slice(0, MOST_ARGUMENTS) : [] });
    }
  }

  // The prompts that the text may mean, as the terminal has them: `/SERVER:NAME`, or `/NAME`, with arguments behind it.
  found() {
    const [, name, rest] = /^\/(\S*)([^]*)$/.exec(this.text.value);
    if (rest) {
      const exact = this.prompts.find((one) => one.call === name);
      const called = this.prompts.filter((one) => one.name === name);
      return exact ? [exact] : called.length === 1 ? called : [];
    }
    const wanted = name.toLowerCase();
    const begins = (one) => one.words[0].startsWith(wanted) || one.words[0].slice(one.server.length + 1).startsWith(wanted);
    const fits = this.prompts.filter((one) => one.words.some((words) => words.includes(wanted)));
    return [...fits.filter(begins), ...fits.filter((one) => !begins(one))];
  }

  filter() {
    const found = this.found();
    this.shown = found.slice(0, MOST_SHOWN);
    this.chosen = 0;
    this.list.hidden = found.length === 0;
    this.list.replaceChildren(...this.shown.map((prompt, nth) => element('li', { id: `prompt-${nth}`, role: 'option', on: {
      click: () => this.choose(prompt),
      pointermove: () => this.mark(nth),
    } }, element('bdi', { className: 'tool', textContent: `/${shortly(prompt.call, 80)}` }),
      element('span', { textContent: shortly(prompt.title, 80) }), element('span', { className: 'dim', textContent: shortly(prompt.description, 200) }))));
    const more = found.length - this.shown.length;
    const isAll = this.text.value === '/';
    const lines = [
      more ? say('and_more', { n: number(more) }) : '',
      this.loading ? say('prompts_loading') : '',
      isAll && !this.loading && found.length === 0 ? say('prompts_none') : '',
      ...(isAll ? this.failures.slice(0, MOST_FAILURES).map((one) => say('prompts_failed', { why: shortly(one, LONG) })) : []),
      isAll && this.failures.length > MOST_FAILURES ? say('and_more', { n: this.failures.length - MOST_FAILURES }) : '',
    ].filter(Boolean);
    this.notes.replaceChildren(...lines.map((textContent) => element('p', { textContent })));
    this.root.hidden = this.list.hidden && lines.length === 0;
    this.mark(0);
  }

  mark(nth) {
    this.chosen = nth;
    [...this.list.children].forEach((option, at) => option.setAttribute('aria-selected', String(at === nth)));
    const option = this.list.children[nth];
    if (option) this.text.setAttribute('aria-activedescendant', option.id);
    else this.text.removeAttribute('aria-activedescendant');
    option?.scrollIntoView({ block: 'nearest' });
  }

  key(event) {
    if (event.isComposing || this.root.hidden || event.shiftKey) return;
    const count = this.shown.length;
    const does = {
      ArrowDown: () => count && this.mark((this.chosen + 1) % count),
      ArrowUp: () => count && this.mark((this.chosen + count - 1) % count),
      Escape: () => this.close(),
    };
    const prompt = this.shown[this.chosen];
    // What is not loaded yet may be what is meant.
    if (prompt || this.loading) does.Enter = () => prompt && this.choose(prompt);
    if (prompt) does.Tab = () => this.choose(prompt);
    if (!Object.hasOwn(does, event.key)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    does[event.key]();
  }

  choose(prompt) {
    const { composer, text } = this;
    const written = text.value;
    this.close();
    const make = (given) => ask(`${pathOf(prompt.server)}/prompts`, { method: 'POST', body: { name: prompt.name, arguments: given } });
    if (prompt.arguments.length) {
      askArguments(prompt, written, text, async (given) => insert(composer, await make(given), written));
      return;
    }
    // What is written meanwhile stays behind it.
    composer.problem.textContent = '';
    // What stands behind the name, too.
    const rest = written.replace(/^\/\S*\s*/, '');
    composer.fill(rest);
    announce(say('prompts_loading'));
    make({}).then((made) => insert(composer, made, written)).catch((error) => {
      if (text.value === rest) composer.fill(written);
      composer.problem.textContent = `${shortly(prompt.call, 80)}: ${shortly(error.message, LONG)}`;
    });
  }
}

// Asks for the arguments of a prompt; what stands behind its name is in the fields. `make` fails with what is wrong.
function askArguments(prompt, written, text, make) {
  const names = prompt.arguments.map(({ name }) => String(name));
  const values = valuesOf(names, written.replace(/^\S+/, ''));
  const { suggest, stop } = suggestions(prompt);
  const fields = Object.fromEntries(prompt.arguments.map(({ name, title, description, required }, nth) => {
    const input = element('input', { type: 'text', required: required === true, autocomplete: 'off', dir: 'auto', value: values[nth] ?? '' });
    named(`${shortly(title, 80) || shortly(names[nth], 80)}${required === true ? ' *' : ''}`, input);
    if (description) input.parentNode.append(element('span', { textContent: shortly(description, LONG) }));
    return [nth, input];
  }));
  const given = (values) => Object.fromEntries(names.map((name, nth) => [name, values[nth]]).filter(([, value]) => value !== ''));
  names.forEach((name, nth) => suggest(name, fields[nth], () => {
    const others = Object.fromEntries(Object.entries(fields).map(([at, field]) => [at, Number(at) === nth ? '' : field.value]));
    return given(others);
  }));
  const send = async (all, problem) => {
    problem.textContent = '';
    try {
      await make(given(all));
      return true;
    } catch (error) {
      problem.textContent = shortly(error.message, LONG);
      return false;
    }
  };
  const about = prompt.description ? [element('p', { className: 'dim', textContent: shortly(prompt.description, LONG) })] : [];
  const title = `/${shortly(prompt.call, 80)}`;
  openForm({ title: text }, title, fields, say('prompt_insert'), send, ...about).finally(() => {
    stop();
    text.focus();
  });
}

// What a server suggests for the fields of a prompt: asked after a pause, and never again where it completes nothing.
function suggestions({ server, name: prompt }) {
  const life = new AbortController();
  let completes = true;
  const suggest = (argument, input, known) => {
    const list = element('datalist', { id: `values-of-${(lists += 1)}` });
    input.setAttribute('list', list.id);
    input.after(list);
    let newest = 0;
    let pause = 0;
    const load = async () => {
      const asked = (newest += 1);
      const body = { prompt, argument, value: input.value, known: known() };
      try {
        const { values } = await ask(`${pathOf(server)}/complete`, { method: 'POST', body, signal: life.signal });
        // A later question may have been answered before.
        if (asked !== newest) return;
        const plain = values.filter((value) => value.length <= LONG && visible(value) === value);
        list.replaceChildren(...plain.map((value) => element('option', { value })));
      } catch (error) {
        if (error.kind === 'invalid') completes = false;
      }
    };
    const soon = () => {
      clearTimeout(pause);
      if (completes) pause = setTimeout(() => completes && !life.signal.aborted && load(), PAUSE);
    };
    input.addEventListener('input', soon);
    input.addEventListener('focus', soon, { once: true });
  };
  return { suggest, stop: () => life.abort() };
}

// The values in a text, by the place of their argument: `name=value`, or else in order; quotes keep spaces.
function valuesOf(names, text) {
  const values = [];
  for (const [, name, ...forms] of text.matchAll(/(?:([^\s"'=]+)=)?(?:"([^"]*)"|'([^']*)'|(\S+))/g)) {
    const value = forms.find((form) => form !== undefined);
    const at = names.indexOf(name);
    const free = names.findIndex((other, nth) => values[nth] === undefined);
    if (at >= 0) values[at] = value;
    else if (free >= 0) values[free] = name === undefined ? value : `${name}=${value}`;
  }
  return values;
}

// Puts a prompt into the field, to be read and sent: its text, and what else it has as attachments.
function insert(composer, { messages }, written) {
  const left = [];
  const files = [];
  const texts = messages.map(({ role, content }) => {
    const own = [content].flat().map((part) => partOf(part)).map((part) => {
      if (typeof part === 'string') return part;
      const isSmall = (part.data?.length ?? 0) <= (MOST_BYTES * 4) / 3;
      if (part.left || !isSmall || files.length + composer.files.parts.length >= MOST_FILES) left.push(part.left || part.title || part.media_type);
      else files.push(part);
      return '';
    }).filter(Boolean).join('\n');
    return role === 'assistant' && own ? `<assistant>\n${own}\n</assistant>` : own;
  });
  let text = visible(texts.filter(Boolean).join('\n'));
  if (!text.trim() && files.length === 0 && left.length === 0) throw new Error(say('prompt_empty'));
  if (text.length > MOST_LETTERS) {
    text = text.slice(0, MOST_LETTERS);
    left.push('…');
  }
  composer.files.parts = [...composer.files.parts, ...files];
  const rest = composer.text.value === written ? '' : composer.text.value;
  composer.fill([text, rest].filter(Boolean).join('\n'));
  composer.changed();
  composer.problem.textContent = left.length ? say('prompt_left_out', { what: shortly(left.join(', '), LONG) }) : '';
}

// A part of a prompt: a text, a part of a message, or what is left out.
function partOf(part) {
  const { type, text, data, mimeType, resource } = part || {};
  const field = (value) => (typeof value === 'string' ? value : '');
  if (type === 'text') return field(text);
  if (type === 'resource_link') return `[resource: ${field(part.title) || field(part.name)} <${field(part.uri)}>]`;
  if (type === 'image' || type === 'audio') return binary(field(data), field(mimeType), type);
  if (type === 'resource' && typeof resource?.text === 'string') return { type: 'document', title: field(resource.uri) || 'resource', text: resource.text };
  if (type === 'resource') return binary(field(resource?.blob), field(resource?.mimeType), field(resource?.uri));
  return { left: field(type) || '?' };
}

function binary(data, media_type, name) {
  if (data && PICTURES.includes(media_type)) return { type: 'image', media_type, data };
  if (data && media_type.startsWith('audio/')) return { type: 'audio', media_type, data };
  if (data && media_type === 'application/pdf') return { type: 'document', title: name, media_type, data };
  return { left: [name, media_type].filter(Boolean).join(' ') };
}

const pathOf = (server) => `/servers/${encodeURIComponent(server)}`;
// Before all is looked at, as a server may send a megabyte.
const shortly = (text, most) => (typeof text === 'string' ? visible(text.slice(0, most)) + (text.length > most ? '…' : '') : '');

let lists = 0;
// A text area takes no other role, and says so of its list.
const ATTRIBUTES = { 'aria-autocomplete': 'list', 'aria-controls': 'prompts' };
// How many servers are asked at once: a browser has few connections for one host.
const AT_ONCE = 3;
// A server without prompts, or one that this person may not use them of.
const HAS_NONE = ['invalid', 'not_found', 'forbidden'];
const LONG = 300;
const MINUTE = 60_000;
const MOST_ARGUMENTS = 50;
const MOST_FAILURES = 5;
const MOST_LETTERS = 100_000;
const MOST_PROMPTS = 10_000;
const MOST_SHOWN = 50;
// Milliseconds after the last letter until a server is asked what may follow.
const PAUSE = 250;
