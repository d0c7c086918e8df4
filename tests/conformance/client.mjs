// The client that the conformance suite of MCP judges: `client.mjs PROGRAM URL` does with the program what a person would
// do with the server at this address, in a home of its own.
//
// The suite names the scenario in `MCP_CONFORMANCE_SCENARIO`, and gives what it needs in `MCP_CONFORMANCE_CONTEXT`.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const [program, url] = process.argv.slice(2);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

const home = mkdtempSync(join(tmpdir(), "conformance-"));
const config = join(home, "config", "jackfield");
const browser = join(home, "browser");
const env = { BROWSER: browser, HOME: home, PATH: process.env.PATH, XDG_CONFIG_HOME: join(home, "config") };

// The address of the document about the client, which the suite expects and does not fetch.
const metadata = "https://conformance-test.local/client-metadata.json";
// The most sign-ins for one request.
const maxSignIns = 2;
// A scenario waits no longer than 30 s.
const limit = 25_000;

function furnish() {
  const { client_id, client_secret } = context;
  const oauth = { client_id, client_metadata_url: metadata, client_secret };
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, "mcp-servers.json"), JSON.stringify({ mcpServers: { judged: { oauth, prefix: "", url } } }));
  // As the person's browser, which nobody has to look at.
  const follow = fileURLToPath(new URL("../sign-in/browser.mjs", import.meta.url));
  writeFileSync(browser, `#!/bin/sh\nexec '${process.execPath}' '${follow}' "$1"\n`, { mode: 0o755 });
}

// Runs the program to its end.
function run(...args) {
  const ran = spawnSync(program, args, { encoding: "utf8", env, stdio: ["ignore", "pipe", "pipe"], timeout: limit });
  process.stderr.write(`${args.join(" ")}: ${ran.status ?? ran.signal}\n${ran.stderr}`);
  return ran;
}

// The same as often as the program advises to sign in, with a sign-in before each further attempt.
function signedIn(...args) {
  for (let signIns = 0; ; signIns += 1) {
    const ran = run(...args);
    const isAdvised = `${ran.stdout}${ran.stderr}`.includes("jackfield mcp login judged");
    if (!isAdvised || signIns === maxSignIns) return succeeded(ran, args);
    succeeded(run("mcp", "login", "judged"), ["mcp", "login"]);
  }
}

function succeeded(ran, args) {
  if (ran.status !== 0) throw new Error(`\`${args.join(" ")}\` failed: ${ran.stdout}`);
  return ran.stdout;
}

function tools() {
  const listed = JSON.parse(signedIn("tools", "list", "--json"));
  return listed.filter((tool) => tool.toolbox === "judged");
}

// Arguments that the tool takes.
function fitting({ input_schema: { properties, required = [] } }) {
  const values = { integer: 1, number: 1, string: "text" };
  return Object.fromEntries(required.map((name) => [name, values[properties[name].type] ?? true]));
}

function call(tool, given) {
  signedIn("tools", "call", tool, JSON.stringify(given));
}

function callFirst(given) {
  const [first] = tools();
  if (first) call(first.name, given ?? fitting(first));
}

// Another program in front of this one, which passes the questions of tools on to it.
class Front {
  #waiting = new Map();
  #last = 0;
  #program = spawn(program, ["mcp", "serve", "--tools", "judged/*", "--allow", "judged/*"], {
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });

  // Answers each question by what this returns.
  constructor(answer) {
    this.ended = new Promise((resolve) => this.#program.on("close", resolve));
    createInterface({ input: this.#program.stdout }).on("line", async (line) => {
      const { error, id, method, result } = JSON.parse(line);
      if (method === "elicitation/create") {
        this.#send({ id, result: { action: "accept", content: await answer() } });
      } else if (method === undefined) {
        const { resolve, reject } = this.#waiting.get(id);
        error || result.isError ? reject(new Error(JSON.stringify(error ?? result))) : resolve(result);
      }
    });
  }

  #send(message) {
    this.#program.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #ask(method, params) {
    const id = ++this.#last;
    this.#send({ id, method, params });
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  async begin() {
    const clientInfo = { name: "front", version: "1" };
    await this.#ask("initialize", { capabilities: { elicitation: {} }, clientInfo, protocolVersion: "2025-11-25" });
    this.#send({ method: "notifications/initialized" });
    await this.#ask("tools/list", {});
  }

  call(name) {
    return this.#ask("tools/call", { arguments: {}, name });
  }

  end() {
    this.#program.stdin.end();
    return this.ended;
  }
}

async function asked(answer, play) {
  const front = new Front(answer);
  try {
    await front.begin();
    await play(front);
  } finally {
    await front.end();
  }
}

// Two calls ask, and another one is made before the first of them has its answer.
async function retryWithState() {
  let other = () => front.call("test_mrtr_unrelated");
  let front;
  const answer = async () => {
    await other();
    other = () => {};
    return { confirmed: true };
  };
  await asked(answer, async (opened) => {
    front = opened;
    await front.call("test_mrtr_echo_state");
    await front.call("test_mrtr_no_state");
    await front.call("test_mrtr_no_result_type");
  });
}

async function play() {
  switch (scenario) {
    case "elicitation-sep1034-client-defaults":
      return asked(() => ({}), (front) => front.call("test_client_elicitation_defaults"));
    case "http-custom-headers":
      return context.toolCalls.forEach((one) => call(one.name, one.arguments));
    case "http-invalid-tool-headers":
      return tools().forEach((tool) => call(tool.name, fitting(tool)));
    case "http-standard-headers":
      signedIn("mcp", "inspect", "judged");
      return callFirst();
    case "json-schema-ref-no-deref":
    case "request-metadata":
      return tools();
    case "sep-2322-client-request-state":
      return retryWithState();
    case "tools_call":
      return callFirst({ a: 2, b: 3 });
    default:
      return callFirst();
  }
}

try {
  furnish();
  await play();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(home, { force: true, recursive: true });
}
