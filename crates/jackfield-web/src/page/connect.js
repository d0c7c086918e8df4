// How a program connects to this gateway: its address, the variable with the key, and what to write in each language.

import { ask } from './api.js';
import { element, visible } from './dom.js';
import { loadMoreTexts, say } from './languages.js';
import { copyButton, skeleton, tabs } from './parts.js';

await loadMoreTexts();

export class Connect {
  constructor({ key_needed: isKeyNeeded }) {
    this.root = element('div', { className: 'page' }, element('h1', { textContent: say('connect') }), waysToConnect(isKeyNeeded));
  }

  close() {}
}

// The address, the key and the snippets. The key itself is in none of them: they name its variable.
export function waysToConnect(isKeyNeeded) {
  const root = element('div', {}, skeleton());
  show(root, isKeyNeeded);
  return root;
}

async function show(root, isKeyNeeded) {
  // Without a list of models, the snippets still say where a model goes.
  const { default: standard, models } = await ask('/models').catch(() => ({ models: [] }));
  const model = visible(standard || models[0]?.id || 'provider/model');
  const ways = WAYS.map(([words, snippets]) => [words, () => snippets({ at: location.origin, model, isKeyNeeded }).map(snippet)]);
  root.replaceChildren(
    element('p', { textContent: say('connect_address') }), snippet([location.origin]),
    element('p', { textContent: say(isKeyNeeded ? 'connect_key' : 'connect_open') }),
    ...(isKeyNeeded ? [snippet(['read -rs JACKFIELD_KEY && export JACKFIELD_KEY'])] : []),
    element('p', { textContent: say('connect_model', { model }) }), tabs(say('connect_ways'), ways));
}

// A piece of code with a button that copies it, and the file that it belongs in.
function snippet([code, file]) {
  const pre = element('pre', { tabIndex: 0 }, element('code', { textContent: code }));
  return element('div', {}, file ? element('p', { className: 'dim', textContent: file }) : null,
    element('div', { className: 'code snippet' }, pre, copyButton(say('copy_code'), () => code)));
}

// A text between quotes in Python, JavaScript, JSON and TOML, and one for a shell.
const quoted = (text) => JSON.stringify(text);
const shell = (text) => (/^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const QUESTION = 'What is 15% of 2500?';
const python = (isKeyNeeded) => (isKeyNeeded ? ['import os\n\n', 'os.environ["JACKFIELD_KEY"]'] : ['', '"any"']);
const script = (isKeyNeeded) => (isKeyNeeded ? 'process.env.JACKFIELD_KEY' : '"any"');
const inShell = (isKeyNeeded) => (isKeyNeeded ? '"$JACKFIELD_KEY"' : 'any');

const WAYS = [
  ['curl', ({ at, model, isKeyNeeded }) => {
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: QUESTION }] });
    const key = isKeyNeeded ? '  -H "Authorization: Bearer $JACKFIELD_KEY" \\\n' : '';
    return [[`curl ${at}/v1/chat/completions \\\n${key}  -H 'Content-Type: application/json' \\\n  -d '${body.replaceAll("'", "'\\''")}'\n`]];
  }],
  ['OpenAI · Python', ({ at, model, isKeyNeeded }) => {
    const [head, key] = python(isKeyNeeded);
    return [['pip install openai\n'], [`${head}from openai import OpenAI

client = OpenAI(base_url="${at}/v1", api_key=${key})
reply = client.chat.completions.create(
    model=${quoted(model)},
    messages=[{"role": "user", "content": "${QUESTION}"}],
)
print(reply.choices[0].message.content)
`]];
  }],
  ['OpenAI · JS', ({ at, model, isKeyNeeded }) => [['npm install openai\n'], [`import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${at}/v1", apiKey: ${script(isKeyNeeded)} });
const reply = await client.chat.completions.create({
  model: ${quoted(model)},
  messages: [{ role: "user", content: "${QUESTION}" }],
});
console.log(reply.choices[0].message.content);
`]]],
  ['Anthropic · Python', ({ at, model, isKeyNeeded }) => {
    const [head, key] = python(isKeyNeeded);
    return [['pip install anthropic\n'], [`${head}from anthropic import Anthropic

client = Anthropic(base_url="${at}", api_key=${key})
reply = client.messages.create(
    model=${quoted(model)},
    max_tokens=500,
    messages=[{"role": "user", "content": "${QUESTION}"}],
)
print(next(block.text for block in reply.content if block.type == "text"))
`]];
  }],
  ['Anthropic · JS', ({ at, model, isKeyNeeded }) => [['npm install @anthropic-ai/sdk\n'], [`import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: "${at}", apiKey: ${script(isKeyNeeded)} });
const reply = await client.messages.create({
  model: ${quoted(model)},
  max_tokens: 500,
  messages: [{ role: "user", content: "${QUESTION}" }],
});
console.log(reply.content.find((block) => block.type === "text").text);
`]]],
  ['Google GenAI · Python', ({ at, model, isKeyNeeded }) => {
    const [head, key] = python(isKeyNeeded);
    return [['pip install google-genai\n'], [`${head}from google import genai

client = genai.Client(api_key=${key}, http_options={"base_url": "${at}"})
reply = client.models.generate_content(model=${quoted(model)}, contents="${QUESTION}")
print(reply.text)
`]];
  }],
  // A key of Anthropic in its own variable would win over the token.
  ['Claude Code', ({ at, model, isKeyNeeded }) => [[`unset ANTHROPIC_API_KEY
export ANTHROPIC_BASE_URL=${at}
export ANTHROPIC_AUTH_TOKEN=${inShell(isKeyNeeded)}
export ANTHROPIC_MODEL=${shell(model)}
export ANTHROPIC_SMALL_FAST_MODEL=${shell(model)}
claude
`]]],
  ['Codex', ({ at, model, isKeyNeeded }) => [[`model = ${quoted(model)}
model_provider = "jackfield"

[model_providers.jackfield]
name = "Jackfield"
base_url = "${at}/v1"
wire_api = "responses"
env_key = "JACKFIELD_KEY"
`, '~/.codex/config.toml'], [`${isKeyNeeded ? '' : 'JACKFIELD_KEY=any '}codex\n`]]],
];
