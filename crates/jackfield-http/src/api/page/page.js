// Shows the document of the API, and sends requests by hand. It sends requests only to the server that it is from.
'use strict';

const element = (name, fields = {}, ...children) => {
  const made = Object.assign(document.createElement(name), fields);
  made.append(...children.filter((child) => child != null));
  return made;
};
const byId = (id) => document.getElementById(id);
const nameOf = (reference) => reference.split('/').pop();

// A text in which `words` are code.
function prose(text) {
  const parts = (text || '').split('`').map((part, at) => (at % 2 ? element('code', { textContent: part }) : part));
  return element('span', {}, ...parts);
}

// A schema in a word or a few, with links to the forms that it names.
function typeOf(schema) {
  if (!schema) return 'anything';
  if (schema.$ref) {
    const name = nameOf(schema.$ref);
    return element('a', { href: '#form-' + name, textContent: name });
  }
  const some = schema.oneOf || schema.anyOf || schema.allOf;
  if (some) {
    const kinds = some.filter((one) => one.type !== 'null');
    const parts = kinds.map(typeOf).flatMap((part, at) => (at ? [' or ', part] : [part]));
    return element('span', {}, ...parts, kinds.length < some.length ? ' or null' : null);
  }
  if (schema.enum) return schema.enum.map((word) => JSON.stringify(word)).join(' | ');
  const types = [].concat(schema.type || 'anything');
  const word = types.filter((type) => type !== 'null').join(' | ') || 'null';
  const rest = types.includes('null') && word !== 'null' ? ' or null' : '';
  if (word === 'array') return element('span', {}, 'list of ', typeOf(schema.items), rest);
  return word + rest;
}

// The fields of a form, one a line.
function fieldsOf(schema) {
  const body = element('tbody');
  const add = (schema, need) => {
    for (const [name, field] of Object.entries(schema.properties || {})) {
      body.append(element('tr', {},
        element('td', {}, element('code', { textContent: name }), need.includes(name) ? ' *' : ''),
        element('td', {}, typeOf(field)),
        element('td', {}, prose(field.description))));
    }
  };
  for (const part of [schema].concat(schema.allOf || [])) add(part, part.required || []);
  const kinds = element('div');
  for (const kind of schema.oneOf || []) {
    kinds.append(element('p', { className: 'dim' }, prose(kind.description || kind.title)), element('p', {}, typeOf(kind)), fieldsOf(kind));
  }
  return element('div', {}, body.children.length ? element('table', {}, body) : typeOf(schema), kinds);
}

// An example of what a form takes: only what has to be there.
function exampleOf(schema, all) {
  if (!schema) return {};
  if (schema.$ref) return exampleOf(all[nameOf(schema.$ref)], all);
  if (schema.example !== undefined) return schema.example;
  const some = (schema.oneOf || schema.anyOf || []).find((one) => one.type !== 'null');
  if (some) return exampleOf(some, all);
  if (schema.type === 'array') return [exampleOf(schema.items, all)];
  if (schema.type === 'object' || schema.properties) {
    const need = schema.required || [];
    return Object.fromEntries(need.map((name) => [name, exampleOf(schema.properties[name], all)]));
  }
  if (schema.enum) return schema.enum[0];
  return { string: '', integer: 0, number: 0, boolean: false }[schema.type] ?? null;
}

async function send(verb, path, inputs, text, output) {
  const query = new URLSearchParams();
  const headers = {};
  let address = path;
  for (const { parameter, input } of inputs) {
    if (!input.value) {
      if (!parameter.required) continue;
      output.textContent = parameter.name + ' is needed';
      input.focus();
      return;
    }
    if (parameter.in === 'path') address = address.replace('{' + parameter.name + '}', encodeURIComponent(input.value));
    if (parameter.in === 'query') query.set(parameter.name, input.value);
    if (parameter.in === 'header') headers[parameter.name] = input.value;
  }
  if (byId('token').value) headers.authorization = 'Bearer ' + byId('token').value;
  if (text) headers['content-type'] = 'application/json';
  if (String(query)) address += '?' + query;
  output.textContent = verb.toUpperCase() + ' ' + address + '\n';
  try {
    const response = await fetch(address, { method: verb, headers, body: text || undefined });
    output.textContent += response.status + ' ' + (response.headers.get('content-type') || '') + '\n\n';
    if (!response.body) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let whole = '';
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      whole += piece.value;
      output.textContent += piece.value;
    }
    if ((response.headers.get('content-type') || '').includes('json') && whole) {
      output.textContent = output.textContent.replace(whole, () => JSON.stringify(JSON.parse(whole), null, 2));
    }
  } catch (error) {
    output.textContent += String(error);
  }
}

function operationOf(path, verb, operation, all) {
  const inputs = (operation.parameters || []).map((parameter) => ({ parameter, input: element('input') }));
  const rows = inputs.map(({ parameter, input }) => element('tr', {},
    element('td', {}, element('code', { textContent: parameter.name }), parameter.required ? ' *' : ''),
    element('td', { className: 'dim', textContent: parameter.in }),
    element('td', {}, typeOf(parameter.schema), ' ', prose(parameter.description)),
    element('td', {}, input)));
  const taken = operation.requestBody?.content?.['application/json']?.schema;
  const text = taken && element('textarea', { value: JSON.stringify(exampleOf(taken, all), null, 2) });
  const output = element('pre');
  const answers = Object.entries(operation.responses || {}).map(([status, response]) => {
    const kinds = Object.entries(response.content || {}).map(([kind, { schema }]) =>
      element('div', {}, element('span', { className: 'dim', textContent: kind + ' ' }), typeOf(schema)));
    return element('tr', {}, element('td', {}, element('code', { textContent: status })), element('td', {}, prose(response.description), ...kinds));
  });
  const button = element('button', { textContent: 'Send', onclick: () => send(verb, path, inputs, text && text.value, output) });
  return element('details', {},
    element('summary', {}, element('span', { className: 'verb ' + verb, textContent: verb }), element('code', { textContent: path }), ' ', element('span', { className: 'dim' }, prose(operation.summary))),
    element('div', {},
      element('p', {}, prose(operation.description)),
      rows.length ? element('table', {}, ...rows) : null,
      taken ? element('p', {}, 'Takes ', typeOf(taken)) : null, text,
      element('p', { textContent: 'Answers' }), element('table', {}, ...answers),
      button, output));
}

async function show() {
  const api = await (await fetch('openapi.json')).json();
  const all = api.components?.schemas || {};
  byId('about').append(prose((api.info.description || '') + ' Version ' + api.info.version + '.'));
  const byTag = new Map((api.tags || []).map((tag) => [tag.name, []]));
  for (const [path, verbs] of Object.entries(api.paths)) {
    for (const [verb, operation] of Object.entries(verbs)) {
      const tag = (operation.tags || ['others'])[0];
      if (!byTag.has(tag)) byTag.set(tag, []);
      byTag.get(tag).push(operationOf(path, verb, operation, all));
    }
  }
  for (const [tag, operations] of byTag) {
    byId('tags').append(element('a', { href: '#' + tag, textContent: tag }));
    byId('operations').append(element('h2', { id: tag, textContent: tag }), ...operations);
  }
  for (const [name, schema] of Object.entries(all).sort()) {
    byId('schemas').append(element('details', { id: 'form-' + name },
      element('summary', {}, element('code', { textContent: name }), ' ', element('span', { className: 'dim' }, prose(schema.description))),
      element('div', {}, fieldsOf(schema))));
  }
  const open = () => { const aim = byId(decodeURIComponent(location.hash.slice(1))); if (aim?.tagName === 'DETAILS') aim.open = true; };
  addEventListener('hashchange', open);
  open();
}

show().catch((error) => byId('operations').append(String(error)));
