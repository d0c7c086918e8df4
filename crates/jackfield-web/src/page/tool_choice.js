// The tools that the next message offers: all of them, or those that a person chose, server by server.

import { ask } from './api.js';
import { element, visible } from './dom.js';
import { say } from './languages.js';

export class ToolChoice {
  constructor() {
    this.summary = element('summary', { textContent: say('tools_chosen', { n: 0, all: 0 }) });
    this.list = element('div', { className: 'tool-list' });
    this.root = element('details', { className: 'tool-choice', hidden: true }, this.summary, this.list);
    this.boxes = [];
    this.root.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || !this.root.open) return;
      event.stopPropagation();
      this.root.open = false;
      this.summary.focus();
    });
    this.load();
  }

  async load() {
    const { tools } = await ask('/tools').catch(() => ({ tools: [] }));
    const usable = tools.filter((tool) => tool.permission !== 'deny');
    const servers = [...new Set(usable.map((tool) => tool.server))];
    this.list.replaceChildren(...servers.map((server) => this.server(server, usable.filter((tool) => tool.server === server))));
    this.root.hidden = usable.length === 0;
    this.count();
  }

  server(server, tools) {
    const boxes = tools.map((tool) => ({ tool, box: element('input', { type: 'checkbox', checked: true, on: { change: () => this.count() } }) }));
    this.boxes.push(...boxes);
    const all = element('input', { type: 'checkbox', checked: true, on: { change: () => {
      for (const { box } of boxes) box.checked = all.checked;
      this.count();
    } } });
    const labels = boxes.map(({ tool, box }) => element('label', { title: visible(tool.description).slice(0, 300) }, box, ` ${visible(tool.tool)}`));
    return element('fieldset', {}, element('legend', {}, element('label', {}, all, ` ${visible(server)}`)), labels);
  }

  count() {
    const n = this.boxes.filter(({ box }) => box.checked).length;
    this.summary.textContent = say('tools_chosen', { n, all: this.boxes.length });
  }

  // Patterns of the chosen tools; nothing where all are chosen, as the gateway then offers what it always does.
  get chosen() {
    const chosen = this.boxes.filter(({ box }) => box.checked);
    if (chosen.length === this.boxes.length) return undefined;
    return chosen.map(({ tool }) => `${tool.server}/${tool.tool}`);
  }
}
