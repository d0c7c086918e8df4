// The cases of Vercel's SDK with its provider for Anthropic, in front of the gateway.

import assert from "node:assert/strict";

import { MODEL, TOKEN, URL_OF_GATEWAY, load, main, refused } from "./cases.mjs";
import { once, rounds, shared } from "./vercel.mjs";

const { APICallError, generateText, streamText } = load("ai");
const { createAnthropic } = load("@ai-sdk/anthropic");

const made = (headers, apiKey = TOKEN, url = URL_OF_GATEWAY) => (
  createAnthropic({ apiKey, baseURL: `${url}/v1`, headers })(MODEL)
);
const model = made({ "X-Jackfield-Tools": "none" });
const withServers = made({ "X-Jackfield-Tools": "all" });

const cases = {
  ...shared({
    model,
    ids: "msg_",
    structured: { anthropic: { structuredOutputMode: "outputFormat" } },
    thinking: { anthropic: { thinking: { type: "adaptive" } } },
  }),

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

  async errors() {
    const is = async (status, code, by, more = {}) => {
      const error = await refused(APICallError, () => generateText({ model: by, prompt: "hi", ...once, ...more }));
      assert.equal(error.statusCode, status);
      assert.equal(JSON.parse(error.responseBody).error.details.error_code, code);
    };
    await is(401, "authentication_required", made({}, "sk-nobody"));
    await is(404, "session_not_found", made({ "X-Session-ID": "nobodys" }));
    await is(400, "not_supported", made({ "anthropic-beta": "managed-agents-2026-04-01" }));
  },
};

await main(cases);
