// The cases of Vercel's SDK with its provider for OpenAI, whose own language is Responses, in front of the
// gateway.
//
// Where a response is stored, as it is unless told otherwise, this SDK sends references to its items back.

import assert from "node:assert/strict";

import { MODEL, REASONING, TOKEN, URL_OF_GATEWAY, load, main, refused } from "./cases.mjs";
import { once, rounds, shared } from "./vercel.mjs";

const { APICallError, generateText } = load("ai");
const { createOpenAI } = load("@ai-sdk/openai");

const made = (headers, apiKey = TOKEN) => createOpenAI({ apiKey, baseURL: `${URL_OF_GATEWAY}/v1`, headers }).responses(MODEL);
const model = made({ "X-Jackfield-Tools": "none" });
const withServers = made({ "X-Jackfield-Tools": "all" });

const cases = {
  ...shared({
    model,
    ids: "resp_",
    thinking: { openai: { reasoningEffort: "low", reasoningSummary: "auto", forceReasoning: true } },
    thoughts: REASONING,
  }),

  // Nothing is stored, and the items themselves are sent back.
  async client_full() {
    const providerOptions = { openai: { store: false } };
    const { text, steps } = await generateText({ model, prompt: "[client_full] Add.", providerOptions, ...rounds });
    assert.deepEqual([steps.length, text], [3, "It is 7."]);
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
      model: withServers, prompt: "[both_sides] Multiply and add.", ...rounds,
    });
    assert.deepEqual([steps.length, text], [2, "42 and 3."]);
    const [{ content }] = steps;
    const calls = content.filter(({ type }) => type === "tool-call");
    assert.deepEqual(calls.map(({ providerExecuted }) => Boolean(providerExecuted)), [true, false]);
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
};

await main(cases);
