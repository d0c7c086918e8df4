// The search in a session: a bar below its title, which marks what it finds and goes from hit to hit. It changes nothing of what
// it searches, but opens what is folded around the current hit.

import { element, number } from './dom.js';
import { loadMoreTexts, say } from './languages.js';
import { iconButton } from './parts.js';

await loadMoreTexts();

export class FindBar {
  constructor(conversation, closed) {
    this.conversation = conversation;
    this.scroll = conversation.scroll;
    this.log = conversation.log;
    this.closed = closed;
    this.hits = [];
    this.field = element('input', { type: 'search', placeholder: say('find'), 'aria-label': say('find'), maxLength: 200 });
    this.count = element('span', { className: 'dim', role: 'status' });
    this.root = element('div', { className: 'find', role: 'search', on: { keydown: (event) => this.key(event) } }, this.field, this.count,
      iconButton('chevron', say('find_up'), () => this.step(-1), { className: 'up' }),
      iconButton('chevron', say('find_down'), () => this.step(1), { className: 'down' }),
      iconButton('cross', say('close'), () => this.close()));
    this.field.addEventListener('input', () => this.soon());
    this.observer = new MutationObserver(() => this.soon());
    this.observer.observe(this.log, { childList: true, characterData: true, subtree: true });
  }

  // Shows the bar, with these words if there are any.
  show(words) {
    if (!this.root.contains(document.activeElement)) this.before = document.activeElement;
    if (words) this.field.value = words;
    this.field.select();
    this.field.focus();
    if (this.field.value) this.search();
  }

  close() {
    this.leave();
    const back = this.before?.isConnected && this.before !== document.body ? this.before : this.scroll;
    this.root.remove();
    back.focus();
    this.closed();
  }

  // The session goes away.
  leave() {
    clearTimeout(this.timer);
    this.searching = null;
    this.observer.disconnect();
    this.fold();
    this.unmark();
  }

  unmark() {
    if (globalThis.CSS?.highlights) {
      CSS.highlights.delete(ALL);
      CSS.highlights.delete(NOW);
    }
  }

  key(event) {
    if (event.isComposing) return;
    if (event.key === 'Escape') this.close();
    else if (event.key === 'Enter' && event.target === this.field) this.step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Searches once the writer, or the session, rests.
  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.search(), PAUSE);
  }

  // Searches in slices, so that the page stays quick; a later search ends an earlier one.
  async search() {
    clearTimeout(this.timer);
    const mine = (this.searching = {});
    const wanted = plain(this.field.value);
    const hits = [];
    let until = performance.now() + SLICE;
    for (const run of wanted.trim() ? textRuns(this.log) : []) {
      addHits(run, wanted, hits);
      if (hits.length >= MOST) break;
      if (performance.now() < until) continue;
      await new Promise((resume) => setTimeout(resume));
      if (mine !== this.searching) return;
      until = performance.now() + SLICE;
    }
    const isSame = this.words === wanted;
    const now = isSame ? this.hits[this.now] : undefined;
    this.words = wanted;
    this.hits = hits;
    // New text leaves the reader where one is.
    const at = now ? hits.findIndex((hit) => hit.startContainer === now.startContainer && hit.startOffset === now.startOffset) : -1;
    const stays = isSame && hits.length > 0;
    this.now = at >= 0 ? at : stays ? Math.min(this.now ?? 0, hits.length - 1) : 0;
    this.mark();
    if (!stays || now === undefined) this.reveal();
  }

  step(by) {
    if (this.words !== plain(this.field.value)) {
      this.search();
      return;
    }
    if (this.hits.length === 0) return;
    this.now = (this.now + by + this.hits.length) % this.hits.length;
    this.mark();
    this.reveal();
  }

  mark() {
    const { hits, now } = this;
    const all = hits.length >= MOST ? `${number(MOST)}+` : number(hits.length);
    this.count.textContent = !this.words.trim() ? '' : hits.length ? say('find_count', { n: number(now + 1), all }) : say('nothing_found');
    if (!globalThis.CSS?.highlights) return;
    const current = new Highlight(...hits.slice(now, now + 1));
    current.priority = 1;
    CSS.highlights.set(ALL, new Highlight(...hits));
    CSS.highlights.set(NOW, current);
  }

  // Opens what is folded around the current hit, and scrolls to it.
  reveal() {
    const hit = this.hits[this.now];
    this.fold(hit);
    if (!hit) return;
    // A reader who looks at a hit does not follow the newest text.
    this.conversation.follows = false;
    for (let one = hit.startContainer.parentElement; one !== this.log; one = one.parentElement) {
      if (one.matches('details:not([open])')) this.unfold(one, () => { one.open = true; }, () => { one.open = false; });
      const head = one.matches('.call > .body[hidden]') && one.parentElement.querySelector('button.head');
      if (head) this.unfold(one, () => head.click(), () => one.hidden || head.click());
    }
    if (!globalThis.CSS?.highlights) {
      getSelection().removeAllRanges();
      getSelection().addRange(hit);
    }
    // What was not drawn yet has another height than was thought.
    hit.startContainer.parentElement.scrollIntoView({ block: 'center' });
    let times = 3;
    const toHit = () => {
      if (hit !== this.hits[this.now]) return;
      bringIn(hit, this.scroll);
      if ((times -= 1) > 0) requestAnimationFrame(toHit);
    };
    requestAnimationFrame(toHit);
  }

  unfold(root, open, close) {
    open();
    this.folded = [...(this.folded || []), { root, close }];
  }

  // Folds again what was opened here, unless the next hit is in it.
  fold(next) {
    const stays = ({ root }) => next && root.contains(next.startContainer);
    for (const one of this.folded || []) if (!stays(one)) one.close();
    this.folded = (this.folded || []).filter(stays);
  }
}

// The texts between the borders of blocks, each with the nodes that it is made of: a word may stand in several.
function* textRuns(root) {
  let run = { text: '', nodes: [] };
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) => (
    node.nodeType === Node.ELEMENT_NODE && node.matches(SKIPPED) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT));
  let block = root;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const isText = node.nodeType === Node.TEXT_NODE;
    // A line break and the like is a border without a text.
    const own = isText ? blockOf(node) : node.matches(INLINE) ? block : node;
    if (own !== block && run.nodes.length) {
      yield run;
      run = { text: '', nodes: [] };
    }
    block = own;
    if (!isText) continue;
    run.nodes.push([run.text.length, node]);
    run.text += plain(node.data);
  }
  if (run.nodes.length) yield run;
}

function blockOf(node) {
  let one = node.parentElement;
  while (one.matches(INLINE)) one = one.parentElement;
  return one;
}

// Adds the places of the words in a text.
function addHits({ text, nodes }, wanted, hits) {
  for (let at = text.indexOf(wanted); at >= 0 && hits.length < MOST; at = text.indexOf(wanted, at + wanted.length)) {
    const hit = new Range();
    hit.setStart(...placeOf(nodes, at));
    const [node, offset] = placeOf(nodes, at + wanted.length - 1);
    hit.setEnd(node, offset + 1);
    hits.push(hit);
  }
}

function placeOf(nodes, at) {
  let [low, high] = [0, nodes.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (nodes[middle][0] <= at) low = middle;
    else high = middle - 1;
  }
  const [begin, node] = nodes[low];
  return [node, at - begin];
}

// A text of the same length in which neither capitals nor the kind of space make a difference.
function plain(text) {
  const lower = text.toLowerCase();
  const same = lower.length === text.length ? lower : Array.from(text, (one) => (one.toLowerCase().length === one.length ? one.toLowerCase() : one)).join('');
  return same.replace(/\s/g, ' ');
}

// Scrolls all that is around a hit, as far as it has to be.
function bringIn(hit, scroll) {
  for (let one = hit.startContainer.parentElement; one; one = one.parentElement) {
    const [place, frame] = [hit.getBoundingClientRect(), one.getBoundingClientRect()];
    if (one.scrollHeight > one.clientHeight && (place.top < frame.top || place.bottom > frame.bottom)) one.scrollTop += place.top - frame.top - one.clientHeight / 3;
    if (one.scrollWidth > one.clientWidth && (place.left < frame.left || place.right > frame.right)) one.scrollLeft += place.left - frame.left - one.clientWidth / 3;
    if (one === scroll) return;
  }
}

const ALL = 'found';
const NOW = 'found-now';
const INLINE = 'a, abbr, b, bdi, code, del, em, i, ins, kbd, mark, s, small, span, strong, sub, sup, u';
// What is no text of the session, or stands there twice; a folded card is searched.
const SKIPPED = '.foot, .busy, .label, .summary, summary, .state, .code-head, .timeline, .switch, .unseen, .question, select, svg, textarea, button:not(.head), [hidden]:not(.body)';
const MOST = 1_000;
const PAUSE = 300;
// Milliseconds of a search until the page may do something else.
const SLICE = 10;
