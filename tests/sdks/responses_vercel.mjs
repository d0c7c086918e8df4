// The cases of Vercel's SDK with its provider for OpenAI, whose own language is Responses, in front of the
// gateway.
//
// Where a response is stored, as it is unless told otherwise, this SDK sends references to its items back.

import assert from "node:assert/strict";

import { ADD, MODEL, PIXEL, REASONING, TOKEN, URL_OF_GATEWAY, load, main, refused } from "./cases.mjs";

const { APICallError, Output, generateText, jsonSchema, stepCountIs, streamText, tool } = load("ai");
const { createOpenAI } = load("@ai-sdk/openai");

const made = (headers, apiKey = TOKEN) => createOpenAI({ apiKey, baseURL: `${URL_OF_GATEWAY}/v1`, headers }).responses(MODEL);
const model = made({ "X-Jackfield-Tools": "none" });
const withServers = made({ "X-Jackfield-Tools": "all" });
const add = tool({
  description: "Adds two numbers.",
  inputSchema: jsonSchema(ADD),
  execute: async ({ a, b }) => String(a + b),
});
const once = { maxRetries: 0 };
// A tool that the client runs, round after round; whether responses are stored is the provider's default, or not.
const rounds = async (prompt, store) => {
  const providerOptions = store === undefined ? undefined : { openai: { store } };
  const { text, steps } = await generateText({
    model, prompt, tools: { add }, stopWhen: stepCountIs(5), providerOptions, ...once,
  });
  assert.deepEqual([steps.length, text], [3, "It is 7."]);
};

const cases = {
  async words() {
    const { text, finishReason, usage, response } = await generateText({ model, prompt: "[words] Hello", ...once });
    assert.deepEqual([text, finishReason], ["Hello! 你好", "stop"]);
    assert.deepEqual([usage.inputTokens, usage.outputTokens], [100, 20]);
    assert.ok(response.id.startsWith("resp_"));
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
    assert.equal((await usage).outputTokens, 20);
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
    await rounds("[client_rounds] Add.");
  },

  async client_full() {
    await rounds("[client_full] Add.", false);
  },

  async client_parallel() {
    const { fullStream, text } = streamText({
      model, prompt: "[client_parallel] Add twice.", tools: { add }, stopWhen: stepCountIs(5), ...once,
    });
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
    assert.ok(text.endsWith("It is 43."));
    const [{ content }] = steps;
    const results = content.filter(({ type }) => type === "tool-result");
    assert.deepEqual(results.map(({ output }) => [output.name, output.output]), [["calculator", "42"], ["calculator", "43"]]);
    assert.equal(usage.outputTokens, 60);
  },

  async both_sides() {
    const { steps, text } = await generateText({
      model: withServers, prompt: "[both_sides] Multiply and add.", tools: { add }, stopWhen: stepCountIs(5), ...once,
    });
    assert.deepEqual([steps.length, text], [2, "42 and 3."]);
    const [{ content }] = steps;
    const calls = content.filter(({ type }) => type === "tool-call");
    assert.deepEqual(calls.map(({ providerExecuted }) => Boolean(providerExecuted)), [true, false]);
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
    const providerOptions = { openai: { reasoningEffort: "low", reasoningSummary: "auto", forceReasoning: true } };
    const messages = [{ role: "user", content: "[thinking] Two and two?" }];
    const first = await generateText({ model, messages, providerOptions, ...once });
    assert.equal(first.text, "Four.");
    if (REASONING) {
      assert.equal(first.reasoningText, "Two and two.");
    }
    messages.push(...first.response.messages, { role: "user", content: "Are you sure?" });
    const second = await generateText({ model, messages, providerOptions, ...once });
    assert.equal(second.text, "Still four.");
  },

  async errors() {
    const is = async (status, code, ask) => {
      const error = await refused(APICallError, ask);
      assert.equal(error.statusCode, status);
      assert.equal(error.data?.error.code ?? JSON.parse(error.responseBody).error.code, code);
    };
    const stranger = made({}, "sk-nobody");
    await is(401, "invalid_api_key", () => generateText({ model: stranger, prompt: "hi", ...once }));
    const nobodys = made({ "X-Session-ID": "nobodys" });
    await is(404, "session_not_found", () => generateText({ model: nobodys, prompt: "hi", ...once }));
    const providerOptions = { openai: { conversation: "conv_1" } };
    await is(400, "unsupported_parameter", () => generateText({ model, prompt: "hi", providerOptions, ...once }));
  },

  async provider_refuses() {
    const ask = () => generateText({ model, prompt: "[provider_refuses] Hello", ...once });
    const error = await refused(APICallError, ask);
    assert.equal(error.statusCode, 400);
    assert.ok(error.message.includes("not like this"));
  },

  async abort() {
    const stop = new AbortController();
    const { textStream } = streamText({
      model, prompt: "[abort] Count.", abortSignal: stop.signal, onAbort: () => {}, onError: () => {}, ...once,
    });
    for await (const piece of textStream) {
      assert.equal(piece, "O");
      stop.abort();
      break;
    }
    const { text } = await generateText({ model, prompt: "[abort] Count.", ...once });
    assert.equal(text, "Here again.");
  },
};

await main(cases);
