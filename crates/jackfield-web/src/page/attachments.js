// Files of a message: chosen, dropped or pasted.

import { element, visible } from './dom.js';
import { say } from './languages.js';
import { iconButton } from './parts.js';

export class Attachments {
  // Files may be dropped on, or pasted into, the `target`.
  constructor(target) {
    this.entries = [];
    this.input = element('input', { type: 'file', multiple: true, hidden: true, 'aria-label': say('attach'), on: { change: () => this.chosen() } });
    this.button = iconButton('attach', say('attach'), () => this.input.click());
    this.problem = element('p', { className: 'error', role: 'alert' });
    this.list = element('ul', { className: 'files', 'aria-label': say('attached') });
    target.addEventListener('dragover', (event) => {
      if (event.dataTransfer.types.includes('Files')) event.preventDefault();
    });
    target.addEventListener('dragenter', (event) => target.classList.toggle('dropping', event.dataTransfer.types.includes('Files')));
    target.addEventListener('dragleave', (event) => target.contains(event.relatedTarget) || target.classList.remove('dropping'));
    target.addEventListener('drop', (event) => {
      target.classList.remove('dropping');
      this.take(event, event.dataTransfer);
    });
    target.addEventListener('paste', (event) => this.take(event, event.clipboardData));
    this.show();
  }

  take(event, transfer) {
    if (transfer.files.length === 0) return;
    event.preventDefault();
    this.add(transfer.files);
  }

  async chosen() {
    await this.add(this.input.files);
    this.input.value = '';
  }

  async add(files) {
    this.problem.textContent = '';
    for (const file of files) {
      try {
        if (this.entries.length >= MOST_FILES || file.size > MOST_BYTES) throw new Error(say('file_limit', { n: MOST_FILES, mb: MOST_BYTES >> 20 }));
        const part = await partOf(file);
        this.entries.push({ name: file.name || part.media_type, part });
      } catch (error) {
        this.problem.textContent = `${visible(file.name)}: ${error.message}`;
      }
    }
    this.show();
  }

  get parts() {
    return this.entries.map((entry) => entry.part);
  }

  set parts(parts) {
    this.entries = parts.map((part) => ({ name: part.title || part.media_type || part.type, part }));
    this.show();
  }

  clear() {
    this.entries = [];
    this.show();
  }

  show() {
    this.list.hidden = this.entries.length === 0;
    this.list.replaceChildren(...this.entries.map((entry) => element('li', {}, preview(entry.part), element('bdi', { textContent: visible(entry.name) }),
      iconButton('cross', say('remove_file', { name: visible(entry.name) }), () => {
        this.entries = this.entries.filter((other) => other !== entry);
        this.show();
      }))));
  }
}

// The files of an earlier message, to be sent again; those that the gateway keeps are not known here.
export function partsOf(blocks) {
  const known = blocks.filter((block) => !block.source.file);
  return known.map(({ type, source, title }) => ({ type, ...source, ...(title ? { title } : {}) }));
}

// A small picture of a picture.
const preview = ({ type, media_type, data }) => (type === 'image' && PICTURES.includes(media_type) ? element('img', { src: `data:${media_type};base64,${data}`, alt: '' }) : null);

// A part of a message: a picture, a sound, or a document.
async function partOf(file) {
  if (PICTURES.includes(file.type)) return { type: 'image', media_type: file.type, data: await base64(file) };
  if (file.type.startsWith('audio/')) return { type: 'audio', media_type: file.type, data: await base64(file) };
  if (file.type === 'application/pdf') return { type: 'document', title: file.name, media_type: file.type, data: await base64(file) };
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    return { type: 'document', title: file.name, text };
  } catch {
    throw new Error(say('file_kind'));
  }
}

function base64(file) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });
}

export const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
export const MOST_FILES = 10;
export const MOST_BYTES = 5 << 20;
