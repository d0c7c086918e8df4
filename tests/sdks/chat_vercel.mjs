// The cases of Vercel's SDK with its provider for OpenAI, in the language of Chat Completions, in front of the
// gateway.

import assert from "node:assert/strict";

import { BREAKS_WITHIN, MODEL, TOKEN, URL_OF_GATEWAY, load, main, refused } from "./cases.mjs";
import { once, rounds, shared } from "./vercel.mjs";

const { APICallError, generateText, streamText } = load("ai");
const { createOpenAI } = load("@ai-sdk/openai");

const made = (headers, apiKey = TOKEN, url = URL_OF_GATEWAY) => (
  createOpenAI({ apiKey, baseURL: `${url}/v1`, headers }).chat(MODEL)
);
const model = made({ "X-Jackfield-Tools": "none" });
const withServers = made({ "X-Jackfield-Tools": "all" });

const cases = {
  ...shared({
    model,
    ids: "chatcmpl-",
    thinking: { openai: { reasoningEffort: "low", forceReasoning: true } },
  }),

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
