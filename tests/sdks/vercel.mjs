// What the scripts for Vercel's SDK share: the cases that are the same whichever of its providers asks.

import assert from "node:assert/strict";

import { ADD, MODEL, PIXEL, load, refused } from "./cases.mjs";

const { APICallError, Output, generateText, jsonSchema, stepCountIs, streamText, tool } = load("ai");

export const once = { maxRetries: 0 };
const add = tool({
  description: "Adds two numbers.",
  inputSchema: jsonSchema(ADD),
  execute: async ({ a, b }) => String(a + b),
});
// The client's tools, run by the SDK, round after round.
export const rounds = { tools: { add }, stopWhen: stepCountIs(5), ...once };

// The cases for this model. `ids` is what the ids of its replies begin with; `structured` and `thinking` are what
// its provider has to be told for those, and `thoughts` is whether it shows what was thought.
export const shared = ({ model, ids, structured, thinking, thoughts = false }) => ({
  async words() {
    const { text, finishReason, usage, response } = await generateText({ model, prompt: "[words] Hello", ...once });
    assert.deepEqual([text, finishReason], ["Hello! 你好", "stop"]);
    assert.deepEqual([usage.inputTokens, usage.outputTokens], [100, 20]);
    assert.ok(response.id.startsWith(ids));
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

  async structured() {
    const schema = jsonSchema({
      type: "object",
      properties: { city: { type: "string" }, degrees: { type: "number" } },
      required: ["city", "degrees"],
      additionalProperties: false,
    });
    const output = Output.object({ schema });
    const prompt = "[structured] How is the weather?";
    const answer = await generateText({ model, prompt, output, providerOptions: structured, ...once });
    assert.deepEqual(answer.output, { city: "Oslo", degrees: 7 });
  },

  async thinking() {
    const messages = [{ role: "user", content: "[thinking] Two and two?" }];
    const first = await generateText({ model, messages, providerOptions: thinking, ...once });
    assert.equal(first.text, "Four.");
    if (thoughts) {
      assert.equal(first.reasoningText, "Two and two.");
    }
    messages.push(...first.response.messages, { role: "user", content: "Are you sure?" });
    const second = await generateText({ model, messages, providerOptions: thinking, ...once });
    assert.equal(second.text, "Still four.");
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
      model, prompt: "[abort] Count.", abortSignal: leaving.signal, onAbort: () => {}, onError: () => {}, ...once,
    });
    for await (const piece of textStream) {
      assert.ok("One".startsWith(piece.slice(0, 3)), piece);
      leaving.abort();
      break;
    }
    const { text } = await generateText({ model, prompt: "[abort] Count.", ...once });
    assert.equal(text, "Here again.");
  },
});
