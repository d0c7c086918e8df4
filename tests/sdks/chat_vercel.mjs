// The cases of Vercel's SDK with its provider for OpenAI, in the language of Chat Completions, in front of the
// gateway.

import assert from "node:assert/strict";

import { ADD, BREAKS_WITHIN, MODEL, PIXEL, TOKEN, URL_OF_GATEWAY, load, main, refused } from "./cases.mjs";

const { APICallError, Output, generateText, jsonSchema, stepCountIs, streamText, tool } = load("ai");
const { createOpenAI } = load("@ai-sdk/openai");

const made = (headers, apiKey = TOKEN, url = URL_OF_GATEWAY) => (
  createOpenAI({ apiKey, baseURL: `${url}/v1`, headers }).chat(MODEL)
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
    assert.ok(response.id.startsWith("chatcmpl-"));
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
    const { steps, text, usage } = await generateText({
      model: withServers, prompt: "[server_rounds] Multiply, then add.", ...once,
    });
    // Words of several rounds are parted; what ran here is no call for the client.
    assert.equal(text, "First a product.\n\nIt is 43.");
    assert.deepEqual(steps.map(({ toolCalls }) => toolCalls), [[]]);
    assert.equal(usage.outputTokens, 60);
  },

  async both_sides() {
    const { steps, text } = await generateText({
      model: withServers, prompt: "[both_sides] Multiply and add.", ...rounds,
    });
    assert.deepEqual([steps.length, text], [2, "42 and 3."]);
    assert.deepEqual(steps[0].toolCalls.map(({ toolName }) => toolName), ["add"]);
  },

  async structured() {
    const schema = jsonSchema({
      type: "object",
      properties: { city: { type: "string" }, degrees: { type: "number" } },
      required: ["city", "degrees"],
      additionalProperties: false,
    });
    const { output } = await generateText({
      model, prompt: "[structured] How is the weather?", output: Output.object({ schema }), ...once,
    });
    assert.deepEqual(output, { city: "Oslo", degrees: 7 });
  },

  async thinking() {
    const providerOptions = { openai: { reasoningEffort: "low", forceReasoning: true } };
    const messages = [{ role: "user", content: "[thinking] Two and two?" }];
    const first = await generateText({ model, messages, providerOptions, ...once });
    assert.equal(first.text, "Four.");
    messages.push(...first.response.messages, { role: "user", content: "Are you sure?" });
    const second = await generateText({ model, messages, providerOptions, ...once });
    assert.equal(second.text, "Still four.");
  },

  async errors() {
    const is = async (status, code, by, more = {}) => {
      const error = await refused(APICallError, () => generateText({ model: by, prompt: "hi", ...once, ...more }));
      assert.equal(error.statusCode, status);
      assert.equal(JSON.parse(error.responseBody).error.code, code);
    };
    await is(401, "invalid_api_key", made({}, "sk-nobody"));
    await is(404, "session_not_found", made({ "X-Session-ID": "nobodys" }));
    await is(400, "unsupported_parameter", model, { providerOptions: { openai: { logprobs: true } } });
  },

  async provider_refuses() {
    const ask = () => generateText({ model, prompt: "[provider_refuses] Hello", ...once });
    const error = await refused(APICallError, ask);
    assert.equal(error.statusCode, 400);
    assert.ok(error.message.includes("not like this"));
  },

  async abort() {
    const leaving = new AbortController();
    const { textStream } = streamText({
      model, prompt: "[abort] Count.", abortSignal: leaving.signal, onError: () => {}, ...once,
    });
    for await (const piece of textStream) {
      assert.equal(piece.slice(0, 3), "One");
      break;
    }
    leaving.abort();
    const { text } = await generateText({ model, prompt: "[abort] Count.", ...once });
    assert.equal(text, "Here again.");
  },

  async broken_stream() {
    const by = made({}, TOKEN, BREAKS_WITHIN);
    const ask = async () => {
      const errors = [];
      const streamed = streamText({
        model: by, prompt: "[broken_stream] Once.", onError: ({ error }) => errors.push(error), ...once,
      });
      let text = "";
      for await (const piece of streamed.textStream) {
        text += piece;
      }
      return { errors, text };
    };
    const broken = await ask();
    assert.equal(broken.errors.length, 1);
    assert.notEqual(broken.text, "Said once.");
    // The program asks the same again, of its own: the answer is owed, and is not made twice.
    assert.deepEqual(await ask(), { errors: [], text: "Said once." });
  },
};

await main(cases);
