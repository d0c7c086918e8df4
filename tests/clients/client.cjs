// The official client for JavaScript in front of the server that the arguments start, or of the one at an address.
"use strict";

const assert = require("node:assert");
const { createRequire } = require("node:module");

const [modules, command, ...args] = process.argv.slice(2);
const load = createRequire(modules + "/package.json");
const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");

function transport() {
  return command.startsWith("http://")
    ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args });
}

async function check() {
  const client = new Client({ name: "slice", version: "1" });
  const connection = transport();
  await client.connect(connection);
  assert.strictEqual(client.getServerVersion().name, "jackfield");
  const { tools } = await client.listTools();
  assert.deepStrictEqual(tools.map((tool) => tool.name), ["calculator", "current_datetime"]);
  const call = (name, given) => client.callTool({ name, arguments: given });
  const called = await call("calculator", { expression: "15% of 2500" });
  assert.strictEqual(called.content[0].text, "375");
  assert.strictEqual(called.structuredContent.result, "375");
  const wrong = await call("calculator", { expr: "15% of 2500" });
  assert.strictEqual(wrong.isError, true);
  await assert.rejects(call("calc", {}), { code: -32602 });
  const numbers = Array.from({ length: 100 }, (_, n) => n);
  const answers = await Promise.all(numbers.map((n) => call("calculator", { expression: `${n} * 2` })));
  assert.deepStrictEqual(answers.map((answer) => answer.content[0].text), numbers.map((n) => `${n * 2}`));
  // Over HTTP, a session is ended by a request of its own.
  await connection.terminateSession?.();
  await client.close();
  console.log("done");
}

check().catch((error) => {
  console.error(error);
  process.exit(1);
});
