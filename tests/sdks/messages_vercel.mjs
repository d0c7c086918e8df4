// The cases of Vercel's SDK with its provider for Anthropic, in front of the gateway.

import assert from "node:assert/strict";

import { ADD, MODEL, PIXEL, TOKEN, URL_OF_GATEWAY, load, main, refused } from "./cases.mjs";

const { APICallError, Output, generateText, jsonSchema, stepCountIs, streamText, tool } = load("ai");
const { createAnthropic } = load("@ai-sdk/anthropic");

const made = (headers, apiKey = TOKEN, url = URL_OF_GATEWAY) => (
  createAnthropic({ apiKey, baseURL: `${url}/v1`, headers })(MODEL)
);
const model = made({ "X-Jackfield-Tools": "none" });
const withServers = made({ "X-Jackfield-Tools": "all" });
const add = tool({
  description: "Adds two numbers.",
  inputSchema: jsonSchema(ADD),
  execute: async ({ a, b }) => String(a + b),
});
const once = { maxRetries: 0 };
// The client's tools, run by the SDK, round after round.
const rounds = { tools: { add }, stopWhen: stepCountIs(5), ...once };

const cases = {
  async words() {
    const { text, finishReason, usage, response } = await generateText({ model, prompt: "[words] Hello", ...once });
    assert.deepEqual([text, finishReason], ["Hello! 你好", "stop"]);
    assert.deepEqual([usage.inputTokens, usage.outputTokens], [100, 20]);
    assert.ok(response.id.startsWith("msg_"));
    assert.equal(response.modelId, MODEL);
  },

  async stream() {
    const { textStream, finishReason, usage } = streamText({ model, prompt: "[stream] Go on", ...once });
    const pieces = [];
    for await (const piece of textStream) {
      pieces.push(piece);
    }
    assert.equal(pieces.join(""), "One word after another, 一个字一个字地。");
    assert.equal(await finishReason, "stop");
    assert.deepEqual([(await usage).inputTokens, (await usage).outputTokens], [100, 20]);
  },

  async image() {
    const content = [
      { type: "image", image: PIXEL, mediaType: "image/png" },
      { type: "text", text: "[image] What is this?" },
    ];
    const { text } = await generateText({ model, messages: [{ role: "user", content }], ...once });
    assert.equal(text, "A red dot.");
  },

  async client_rounds() {
    const { text, steps } = await generateText({ model, prompt: "[client_rounds] Add.", ...rounds });
    assert.deepEqual([steps.length, text], [3, "It is 7."]);
    assert.deepEqual(steps.map(({ finishReason }) => finishReason), ["tool-calls", "tool-calls", "stop"]);
  },

  async client_parallel() {
    const { fullStream, text } = streamText({ model, prompt: "[client_parallel] Add twice.", ...rounds });
    const results = [];
    for await (const part of fullStream) {
      if (part.type === "tool-result") {
        results.push(part.output);
      }
    }
    assert.deepEqual(results.sort(), ["3", "7"]);
    assert.equal(await text, "3 and 7.");
  },

  async server_rounds() {
    const { fullStream, text, usage } = streamText({
      model: withServers, prompt: "[server_rounds] Multiply, then add.", ...once,
    });
    const shown = [];
    for await (const part of fullStream) {
      if (part.type === "tool-call") {
        assert.ok(part.providerExecuted);
        shown.push([part.toolName, part.input.expression]);
      } else if (part.type === "tool-result") {
        shown.push(part.output.map((block) => block.text).join(""));
      }
    }
    assert.deepEqual(shown, [["calculator", "6*7"], "42", ["calculator", "42+1"], "43"]);
    assert.equal(await text, "First a product.It is 43.");
    assert.equal((await usage).outputTokens, 60);
  },

  async both_sides() {
    const { steps, text } = await generateText({
      model: withServers, prompt: "[both_sides] Multiply and add.", ...rounds,
    });
    assert.deepEqual([steps.length, text], [2, "42 and 3."]);
    const own = steps[0].toolCalls.filter(({ providerExecuted }) => !providerExecuted);
    assert.deepEqual(own.map(({ toolName }) => toolName), ["add"]);
  },

  async structured() {
    const schema = jsonSchema({
      type: "object",
      properties: { city: { type: "string" }, degrees: { type: "number" } },
      required: ["city", "degrees"],
      additionalProperties: false,
    });
    const providerOptions = { anthropic: { structuredOutputMode: "outputFormat" } };
    const { output } = await generateText({
      model, prompt: "[structured] How is the weather?", output: Output.object({ schema }), providerOptions, ...once,
    });
    assert.deepEqual(output, { city: "Oslo", degrees: 7 });
  },

  async errors() {
    const is = async (status, code, by, more = {}) => {
      const error = await refused(APICallError, () => generateText({ model: by, prompt: "hi", ...once, ...more }));
      assert.equal(error.statusCode, status);
      assert.equal(JSON.parse(error.responseBody).error.details.error_code, code);
    };
    await is(401, "authentication_required", made({}, "sk-nobody"));
    await is(404, "session_not_found", made({ "X-Session-ID": "nobodys" }));
    await is(400, "not_supported", made({ "anthropic-beta": "message-threads-2026-08-12" }));
  },

  async provider_refuses() {
    const ask = () => generateText({ model, prompt: "[provider_refuses] Hello", ...once });
    const error = await refused(APICallError, ask);
    assert.equal(error.statusCode, 400);
    assert.ok(error.message.includes("not like this"));
  },

  async abort() {
    const abortion = new AbortController();
    const { textStream } = streamText({ model, prompt: "[abort] Count.", abortSignal: abortion.signal, ...once });
    for await (const piece of textStream) {
      assert.equal(piece.slice(0, 3), "One");
      abortion.abort();
      break;
    }
    assert.equal((await generateText({ model, prompt: "[abort] Count.", ...once })).text, "Here again.");
  },

  async thinking() {
    const providerOptions = { anthropic: { thinking: { type: "adaptive" } } };
    const messages = [{ role: "user", content: "[thinking] Two and two?" }];
    const first = await generateText({ model, messages, providerOptions, ...once });
    assert.equal(first.text, "Four.");
    messages.push(...first.response.messages, { role: "user", content: "Are you sure?" });
    const second = await generateText({ model, messages, providerOptions, ...once });
    assert.equal(second.text, "Still four.");
  },
};

await main(cases);
