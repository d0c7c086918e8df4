// A question to a person about a call: may it run, or run again? The first click disables all buttons.

import { Problem, ask } from './api.js';
import { announce, button, byId, element, time, visible } from './dom.js';
import { say } from './languages.js';
import { isMe } from './login.js';

export class Question {
  // `wait` has `id`, `kind` and `expires`, and of a server's own question `question`, `schema` and `url`; `found()` gives the
  // arguments of the call.
  constructor(wait, found) {
    this.wait = wait;
    this.found = found;
    this.root = element('div', { className: 'question', role: 'group', 'aria-label': say('question') });
    this.state = element('p', { role: 'status' });
    this.show();
  }

  show() {
    const { kind, question, url } = this.wait;
    const words = sayKind(kind);
    this.root.replaceChildren(element('p', {}, element('strong', { textContent: words })));
    for (const line of question ? question.split('\n') : []) this.root.append(element('p', { textContent: visible(line) }));
    if (/^https?:/.test(url)) this.root.append(element('p', {}, element('a', { href: url, target: '_blank', rel: 'noopener noreferrer', textContent: visible(url) })));
    if (kind === 'approval') {
      this.root.append(this.buttons([
        button(say('allow_once'), () => this.answer('allow', {}), { className: 'primary' }),
        button(say('allow_session'), () => this.answer('allow', { for_session: true })),
        button(say('edit_arguments'), () => this.edit()),
        button(say('deny'), () => this.deny(), { className: 'danger' }),
      ]));
    } else if (kind === 'unknown_outcome') {
      this.root.append(this.buttons([
        button(say('report_unknown'), () => this.answer('deny', {}), { className: 'primary' }),
        button(say('run_again'), () => this.runAgain()),
      ]));
    } else if (kind === 'budget') {
      this.root.append(this.buttons([
        button(say('try_again'), () => this.answer('allow', {}), { className: 'primary' }),
        button(say('end_turn'), () => this.answer('deny', {}), { className: 'danger' }),
      ]));
    } else if (kind === 'elicitation') {
      const place = element('div');
      this.root.append(place);
      import('./form.js').then(({ formOf }) => place.replaceWith(this.form(formOf)), () => {
        this.state.textContent = say('unreachable');
      });
    }
    this.root.append(this.state);
  }

  // What the server of a tool asks, as a form.
  form(formOf) {
    const { root, value } = formOf(this.wait.schema);
    const submit = (event) => {
      event.preventDefault();
      try {
        this.answer('allow', { content: value() });
      } catch (error) {
        this.state.textContent = say('not_json', { why: error.message });
      }
    };
    return element('form', { on: { submit } }, root, this.buttons([
      element('button', { type: 'submit', className: 'primary', textContent: say('answer') }),
      button(say('decline'), () => this.answer('deny', {}), { className: 'danger' }),
    ]));
  }

  buttons(list) {
    return element('div', { className: 'buttons' }, list);
  }

  edit() {
    const text = element('textarea', { rows: 6, spellcheck: false, value: this.argumentsText(), 'aria-label': say('arguments') });
    const allow = button(say('allow_edited'), () => {
      let edited;
      try {
        edited = JSON.parse(text.value);
      } catch (error) {
        this.state.textContent = say('not_json', { why: error.message });
        text.focus();
        return;
      }
      this.answer('allow', { arguments: edited });
    }, { className: 'primary' });
    this.ask(text, allow);
  }

  deny() {
    const reason = element('input', { type: 'text', maxLength: 2000, placeholder: say('deny_reason'), 'aria-label': say('deny_reason') });
    const deny = button(say('deny'), () => this.answer('deny', reason.value.trim() ? { reason: reason.value } : {}), { className: 'danger' });
    reason.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.isComposing) deny.click();
    });
    this.ask(reason, deny);
  }

  // Runs a call again; one that may act a second time only after another question, which says what the tool does.
  async runAgain() {
    this.state.textContent = '';
    let asked;
    try {
      asked = await ask(`/approvals/${encodeURIComponent(this.wait.id)}`);
    } catch (error) {
      this.state.textContent = say('not_sent', { why: error.message });
      return;
    }
    const run = () => this.answer('allow', { again: true });
    if (asked.safety === 'read_only') {
      run();
      return;
    }
    const about = [say('may_act_twice', { tool: visible(asked.tool || '?') }), visible(asked.description || '').slice(0, 300)];
    const words = element('div', {}, about.filter(Boolean).map((textContent) => element('p', { textContent })));
    this.ask(words, button(say('run_again_sure'), run, { className: 'danger' }));
  }

  // Asks for more before the answer; `Esc` goes back.
  ask(field, answer) {
    const back = button(say('back'), () => {
      this.state.textContent = '';
      this.show();
      this.root.querySelector('button')?.focus();
    });
    this.root.replaceChildren(field, this.buttons([answer, back]), this.state);
    this.root.onkeydown = (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      back.click();
    };
    (field.matches('input, textarea') ? field : back).focus();
  }

  argumentsText() {
    const found = this.found();
    return typeof found === 'string' ? found : JSON.stringify(found ?? {}, null, 2);
  }

  async answer(how, body) {
    const fields = this.root.querySelectorAll(FIELDS);
    // A field that is disabled loses the focus.
    this.hadFocus = this.root.querySelector(':focus-visible') !== null;
    for (const field of fields) field.disabled = true;
    this.state.textContent = say('sending');
    try {
      const answered = await ask(`/approvals/${encodeURIComponent(this.wait.id)}/${how}`, { method: 'POST', body });
      this.close(answered.ended || {});
      dispatchEvent(new CustomEvent('question-answered', { detail: this.wait.id }));
    } catch (error) {
      if (error instanceof Problem && error.kind === 'closed') {
        this.close(error.document);
        return;
      }
      for (const field of fields) field.disabled = false;
      this.state.textContent = say('not_sent', { why: error.message });
    }
  }

  // It is answered, here or elsewhere, or over.
  close({ how = 'answered', by, at, answer }) {
    if (this.closed) return;
    const hadFocus = this.hadFocus || this.root.querySelector(':focus-visible') !== null;
    const words = by ? answeredBy(by, at, answer) : say(`wait_${how}`);
    this.root.replaceChildren(element('p', { className: 'dim', textContent: words }));
    announce(words);
    this.closed = true;
    if (hadFocus) focusNext(this.root);
  }
}

function sayKind(kind) {
  return say(`ask_${kind}`);
}

// Who answered, in words of the reader.
function answeredBy(by, at, answer) {
  const did = { denied: 'denied', granted: 'allowed' }[answer] || 'answered';
  const name = by.replace(/, (at the prompt|by `jackfield approvals`|by the API)$/, '');
  return say(isMe(by) ? `you_${did}` : `other_${did}`, { at: time(at), by: visible(name) });
}

// Who answers by keyboard goes on at the next question, or else at the message.
function focusNext(root) {
  const open = [...document.querySelectorAll('.question')].map((one) => one.querySelector(FIELDS)).filter((field) => field && !field.disabled);
  const next = open.find((field) => root.compareDocumentPosition(field) & Node.DOCUMENT_POSITION_FOLLOWING);
  (next || open[0] || document.querySelector('.composer textarea') || byId('main')).focus();
}

const FIELDS = 'button, input, select, textarea';
