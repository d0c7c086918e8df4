// Conversations of other programs, brought along: the file, the choice, the progress, and what came of it.

import { Problem, ask } from './api.js';
import { announce, button, date, element, number, visible } from './dom.js';
import { loadMoreTexts, say, sayOr } from './languages.js';
import { modal } from './parts.js';
import { archive } from './zip.js';

await loadMoreTexts();

// The most text that one file may have: a browser holds no longer one.
const MAX_TEXT = 500_000_000;
// One request has at most so many conversations, of about so many characters.
const MAX_ASKED = 20;
const MAX_SENT = 1_000_000;
// More lines than this are found by the search.
const MAX_LINES = 300;

export function importConversations(changed) {
  const body = element('div', { className: 'import' });
  const state = { stopped: false };
  const dialog = modal(say('import_title'), () => {
    state.stopped = true;
  }, body);
  const close = () => button(say('close'), () => dialog.close());
  const show = (...parts) => body.replaceChildren(...parts.filter(Boolean));

  const pick = (problem) => {
    const field = element('input', { type: 'file', accept: '.zip,.json,application/zip,application/json', 'aria-label': say('import_file'), on: { change: () => field.files[0] && open(field.files[0]) } });
    const place = element('label', { className: 'drop', on: {
      dragover: (event) => event.preventDefault(),
      drop: (event) => {
        event.preventDefault();
        if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
      },
    } }, element('span', { textContent: say('import_file') }), field);
    show(element('p', { textContent: say('import_about') }), problem ? element('p', { className: 'error', role: 'alert', textContent: problem }) : null, place, element('div', { className: 'buttons end' }, close()));
    field.focus();
  };

  const open = async (file) => {
    show(element('p', { role: 'status', textContent: say('import_reading', { name: visible(file.name) }) }), element('progress', { 'aria-label': say('import_title') }), element('div', { className: 'buttons end' }, close()));
    await painted();
    try {
      const all = await conversationsOf(file);
      if (!state.stopped) choose(all);
    } catch (error) {
      if (!state.stopped) pick(say('import_unreadable', { why: visible(error.message) }));
    }
  };

  const choose = (all) => {
    const chosen = new Set(all);
    const search = element('input', { type: 'search', placeholder: say('search_people'), 'aria-label': say('search_people'), on: { input: () => list() } });
    const lines = element('ul', { className: 'choices' });
    const note = element('p', { className: 'dim', role: 'status' });
    let found = all;
    const count = () => {
      go.textContent = say('import_some', { n: number(chosen.size) });
      go.disabled = chosen.size === 0;
      every.checked = found.length > 0 && found.every((one) => chosen.has(one));
      every.indeterminate = !every.checked && found.some((one) => chosen.has(one));
    };
    const mark = (one, isChosen) => (isChosen ? chosen.add(one) : chosen.delete(one));
    const every = element('input', { type: 'checkbox', on: { change: () => {
      for (const one of found) mark(one, every.checked);
      list();
    } } });
    const list = () => {
      const wanted = search.value.trim().toLowerCase();
      found = all.filter((one) => one.title.toLowerCase().includes(wanted));
      lines.replaceChildren(...found.slice(0, MAX_LINES).map((one) => {
        const box = element('input', { type: 'checkbox', checked: chosen.has(one), on: { change: () => {
          mark(one, box.checked);
          count();
        } } });
        return element('li', {}, element('label', {}, box, element('bdi', { textContent: visible(one.title) || say('untitled') }), element('span', { className: 'dim', textContent: one.created ? date(one.created) : '' })));
      }));
      note.textContent = found.length > MAX_LINES ? say('import_more', { n: number(found.length - MAX_LINES) }) : found.length ? '' : say('nothing_found');
      count();
    };
    const go = button('', () => bring(all.filter((one) => chosen.has(one))), { className: 'primary' });
    show(search, element('label', { className: 'every' }, every, say('import_all')), lines, note, element('div', { className: 'buttons end' }, close(), go));
    list();
    search.focus();
  };

  const bring = async (chosen) => {
    const bar = element('progress', { max: chosen.length, value: 0, 'aria-label': say('import_title') });
    const words = element('p', { role: 'status' });
    let isOver = false;
    const stop = button(say('stop'), () => {
      isOver = true;
      stop.disabled = true;
    });
    show(words, bar, element('div', { className: 'buttons end' }, stop));
    const outcomes = [];
    let problem = null;
    // The oldest comes first, so that the newest is the one that changed last.
    const waiting = [...chosen].sort((one, other) => (one.created || 0) - (other.created || 0));
    let at = 0;
    while (at < waiting.length && !isOver && !state.stopped) {
      words.textContent = say('import_progress', { n: number(at), all: number(waiting.length) });
      const part = [];
      let size = 0;
      while (at + part.length < waiting.length && part.length < MAX_ASKED && (part.length === 0 || size < MAX_SENT)) {
        const { value } = waiting[at + part.length];
        size += JSON.stringify(value)?.length || 0;
        if (part.length > 0 && size > MAX_SENT) break;
        part.push(value);
      }
      try {
        const answer = await asked(part, () => isOver || state.stopped);
        if (answer) outcomes.push(...answer.map((one, nth) => ({ ...one, title: one.title || waiting[at + nth].title })));
      } catch (error) {
        if (!(error instanceof Problem) || error.kind !== 'too_large' || part.length > 1) {
          problem = error;
          break;
        }
        outcomes.push({ status: 'failed', title: waiting[at].title, why: error.message });
      }
      at += part.length;
      bar.value = at;
    }
    changed();
    if (!state.stopped) over(outcomes, problem);
  };

  const over = (outcomes, problem) => {
    const of = (status) => outcomes.filter((one) => one.status === status);
    const lines = ['imported', 'exists', 'failed'].filter((status) => of(status).length || status === 'imported')
      .map((status) => element('p', { textContent: say(`import_${status}`, { n: number(of(status).length) }) }));
    const left = new Map();
    for (const { kind, count } of of('imported').flatMap((one) => one.left_out || [])) left.set(kind, (left.get(kind) || 0) + count);
    const parts = [...left].map(([kind, count]) => element('li', { textContent: `${sayOr(`left_${kind}`, kind)}: ${number(count)}` }));
    const failed = of('failed').slice(0, MAX_LINES).map((one) => element('li', {}, element('bdi', { textContent: visible(one.title || '') || say('untitled') }), `: ${visible(one.why)}`));
    const done = close();
    show(problem ? element('p', { className: 'error', role: 'alert', textContent: problem.message }) : null, ...lines,
      ...(failed.length ? [element('ul', { className: 'choices' }, failed)] : []),
      ...(parts.length ? [element('p', { textContent: say('import_left_out') }), element('ul', {}, parts)] : []),
      element('div', { className: 'buttons end' }, done));
    announce(say('import_imported', { n: number(of('imported').length) }));
    done.focus();
  };

  pick();
}

// What became of some conversations; a gateway that is asked too often is asked again later.
async function asked(part, isOver) {
  for (;;) {
    try {
      return (await ask('/sessions/import', { method: 'POST', body: { conversations: part } })).conversations;
    } catch (error) {
      if (error.status !== 429 || isOver()) throw error;
      await new Promise((resume) => setTimeout(resume, 2000));
    }
  }
}

// Lets the browser show what was said before something that takes long.
const painted = () => new Promise((resume) => requestAnimationFrame(() => setTimeout(resume)));

async function conversationsOf(file) {
  const magic = await file.slice(0, 2).text();
  const texts = magic === 'PK'
    ? (await archive(file)).filter((entry) => /(^|\/)conversations[-\d]*\.json$/.test(entry.name)).map((entry) => () => entry.text(MAX_TEXT))
    : [() => (file.size > MAX_TEXT ? Promise.reject(new RangeError('too large')) : file.text())];
  if (texts.length === 0) throw new RangeError('conversations.json?');
  const all = [];
  for (const text of texts) {
    const read = JSON.parse((await text()).replace(/^\ufeff/, ''));
    await painted();
    for (const one of Array.isArray(read) ? read : [read]) all.push(line(one));
  }
  return all.sort((one, other) => (other.created || 0) - (one.created || 0));
}

// A line of the choice; anything is one, as the gateway says why it is not read.
function line(one) {
  const title = one?.title ?? one?.chat?.title;
  let created = Number(one?.create_time ?? one?.created_at ?? one?.chat?.timestamp) || 0;
  if (created < 1e11) created *= 1000;
  return { title: typeof title === 'string' ? title : '', created: Math.abs(created) < 8e15 ? created : 0, value: one };
}
