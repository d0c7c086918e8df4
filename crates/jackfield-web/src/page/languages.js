// The texts of the page, in the language of the reader.

import { keep, kept } from './storage.js';

export const LANGUAGES = { en: 'English', ru: 'Русский', zh: '中文' };

let texts = {};
let more = null;

// Loads the texts: of the chosen language, or else of the first language of the browser that there is.
export async function loadTexts() {
  const wanted = [kept('language'), ...navigator.languages].map((name) => String(name).slice(0, 2).toLowerCase());
  const language = wanted.find((name) => Object.hasOwn(LANGUAGES, name)) || 'en';
  texts = (await import(`./texts/${language}.js`)).default;
  document.documentElement.lang = language;
}

// Loads the texts that the first view does not need.
export function loadMoreTexts() {
  more ??= import(`./texts/more/${document.documentElement.lang}.js`).then(({ default: others }) => { texts = { ...texts, ...others }; });
  return more;
}

// A text by its name; `{n}` and the like are replaced.
export function say(name, values = {}) {
  const text = Object.hasOwn(texts, name) ? texts[name] : name;
  return text.replace(/\{(\w+)\}/g, (all, key) => (Object.hasOwn(values, key) ? values[key] : all));
}

// A text by its name, or another one if there is none.
export const sayOr = (name, other) => (Object.hasOwn(texts, name) ? texts[name] : other);

export function chooseLanguage(language) {
  // Without a place to keep it, the next page would not know it, nor what is written.
  if (keep('language', language)) location.reload();
}
