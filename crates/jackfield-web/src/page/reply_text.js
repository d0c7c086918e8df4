// Parts of a reply: text, in form while it is written; and folded reasoning.

import { element, visible } from './dom.js';
import { say } from './languages.js';
import { copyButton } from './parts.js';

// The gateway makes this HTML of Markdown, without HTML of the text, and with links to the web alone.
const trusted = window.trustedTypes
  ? window.trustedTypes.createPolicy('jackfield-html', { createHTML: (html) => html })
  : { createHTML: (html) => html };

export class ReplyText {
  constructor(kind) {
    this.kind = kind;
    this.body = element('div', { className: 'text', dir: 'auto' });
    if (kind === 'thinking') {
      this.root = element('details', { className: 'reasoning' }, element('summary', { textContent: say('reasoning') }), this.body);
    } else {
      this.root = this.body;
      if (kind === 'refusal') this.body.classList.add('refusal');
    }
    this.waiting = '';
    this.completed = '';
    this.rest = element('div');
    this.body.append(this.rest);
  }

  // More of the text, and what it looks like so far, if the gateway says so. A model may write a hundred pieces a second; a
  // page that draws each of them does nothing else.
  append(text, html) {
    this.waiting += text;
    if (html) {
      this.completed += html.complete;
      this.growing = html.rest;
      this.waiting = '';
    }
    if (this.body.textContent) this.timer ||= setTimeout(() => this.draw(), DRAWN_EVERY);
    else this.draw();
  }

  // Draws the blocks that have become complete, and anew only the one that grows.
  draw() {
    clearTimeout(this.timer);
    this.timer = 0;
    if (this.completed) {
      const blocks = element('div');
      show(blocks, this.completed);
      this.rest.before(...blocks.childNodes);
      this.completed = '';
    }
    if (this.growing !== undefined) {
      this.body.classList.add('rendered');
      show(this.rest, this.growing);
      this.growing = undefined;
    }
    if (!this.waiting) return;
    const last = this.rest.lastElementChild;
    const place = last?.matches('.code') ? last.querySelector('code') : last?.matches('p') ? last : this.rest;
    place.append(this.waiting);
    this.waiting = '';
  }

  // The whole text, and its HTML if the gateway made it.
  complete(text, html) {
    clearTimeout(this.timer);
    if (html === undefined) {
      this.body.textContent = visible(text);
      return;
    }
    this.body.classList.add('rendered');
    show(this.body, html);
  }
}

// Shows HTML that the gateway made.
function show(place, html) {
  place.innerHTML = trusted.createHTML(html);
  for (const one of place.querySelectorAll('pre, table, .formula')) one.tabIndex = 0;
  const lines = place.querySelectorAll('p:has(> math)');
  if (lines.length) requestAnimationFrame(() => {
    for (const line of lines) if (line.scrollWidth > line.clientWidth) line.tabIndex = 0;
  });
  // A link may not seem to lead elsewhere.
  if (TURNS.test(html)) nameTurns(place);
  for (const pre of place.querySelectorAll('pre')) withHead(pre);
}

// Names the marks that turn the direction of a text against its letters.
function nameTurns(place) {
  const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    text.data = text.data.replace(EACH_TURN, visible);
  }
}

const TURNS = /[\u202d\u202e]/;
const EACH_TURN = /[\u202d\u202e]/g;

// A block of code with its language and a button that copies it.
function withHead(pre) {
  const language = /language-([\w+#.-]{1,20})/.exec(pre.firstElementChild?.className)?.[1] || '';
  const head = element('div', { className: 'code-head' }, element('span', { className: 'dim', textContent: language }),
    copyButton(say('copy_code'), () => pre.textContent));
  const block = element('div', { className: 'code' });
  pre.replaceWith(block);
  block.append(head, pre);
}

// Milliseconds between two drawings of a text that is written.
const DRAWN_EVERY = 80;
