// Messages that a fork has from the session before it.

import { element } from './dom.js';
import { ReplyText } from './reply_text.js';
import { ToolCard } from './tool_card.js';
import { fileView } from './value.js';

export function historyView(messages, toolOf) {
  const cards = new Map();
  const root = element('div', { className: 'history' });
  for (const message of messages) {
    const isAsked = message.role === 'user';
    const shown = element('div', { className: isAsked ? 'asked' : 'round' });
    for (const block of message.blocks) {
      if (block.type === 'tool_call') {
        const card = new ToolCard(block.id, block.name, toolOf(block.name));
        card.setArguments(block.arguments);
        cards.set(block.id, card);
        shown.append(card.root);
      } else if (block.type === 'tool_result') {
        const card = cards.get(block.id);
        card?.setState(block.result.is_error ? 'failed' : 'done');
        card?.showResult(block.result);
      } else if (block.source) {
        shown.append(fileView(block));
      } else if (block.text) {
        const text = new ReplyText(block.type);
        text.complete(block.text, block.html);
        shown.append(text.root);
      }
    }
    if (shown.hasChildNodes()) root.append(isAsked ? element('div', { className: 'asking' }, shown) : shown);
  }
  return root;
}
