// The cases of Anthropic's SDK for Node, in front of the gateway.

import assert from "node:assert/strict";

import {
  ADD, BREAKS_BEFORE, BREAKS_WITHIN, MODEL, PIXEL, REASONING, TOKEN, URL_OF_GATEWAY, load, main, refused,
} from "./cases.mjs";

const { Anthropic } = load("@anthropic-ai/sdk");
const { zodOutputFormat } = load("@anthropic-ai/sdk/helpers/zod");
const { z } = load("zod");

const client = new Anthropic({ apiKey: TOKEN, baseURL: URL_OF_GATEWAY, maxRetries: 0, timeout: 30_000 });
const TOOL = { name: "add", description: "Adds two numbers.", input_schema: ADD };
const OURS = { headers: { "X-Jackfield-Tools": "none" } };
const BOTH = { headers: { "X-Jackfield-Tools": "all" } };

const asked = (content, more = {}) => ({
  model: MODEL, max_tokens: 100, messages: [{ role: "user", content }], ...more,
});
const said = (message) => message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
const calls = (message) => message.content.filter((block) => block.type === "tool_use");
const codeOf = (error) => error.error?.error?.details?.error_code;
const results = (message) => ({
  role: "user",
  content: calls(message).map(({ id, input }) => ({
    type: "tool_result", tool_use_id: id, content: String(input.a + input.b),
  })),
});
const spoken = ({ content }) => ({ role: "assistant", content });

const cases = {
  async words() {
    const { data, response } = await client.messages.create(asked("[words] Hello"), OURS).withResponse();
    assert.equal(said(data), "Hello! 你好");
    assert.deepEqual([data.model, data.role, data.stop_reason], [MODEL, "assistant", "end_turn"]);
    assert.deepEqual([data.usage.input_tokens, data.usage.output_tokens], [100, 20]);
    assert.ok(data._request_id);
    assert.equal(data._request_id, response.headers.get("request-id"));
  },

  async stream() {
    const pieces = [];
    const stream = client.messages.stream(asked("[stream] Go on"), OURS).on("text", (text) => pieces.push(text));
    const whole = await stream.finalMessage();
    assert.equal(pieces.join(""), "One word after another, 一个字一个字地。");
    assert.equal(said(whole), pieces.join(""));
    assert.deepEqual([whole.model, whole.stop_reason], [MODEL, "end_turn"]);
    assert.deepEqual([whole.usage.input_tokens, whole.usage.output_tokens], [100, 20]);
  },

  async image() {
    const source = { type: "base64", media_type: "image/png", data: PIXEL };
    const content = [{ type: "image", source }, { type: "text", text: "[image] What is this?" }];
    assert.equal(said(await client.messages.create(asked(content), OURS)), "A red dot.");
  },

  async client_rounds() {
    const request = asked("[client_rounds] Add.");
    let message;
    let rounds = 0;
    do {
      // The tools are known from the first request on.
      message = await client.messages.create({ ...request, ...(rounds === 0 ? { tools: [TOOL] } : {}) });
      rounds += 1;
      request.messages.push(spoken(message), results(message));
    } while (message.stop_reason === "tool_use");
    assert.deepEqual([rounds, said(message), message.stop_reason], [3, "It is 7.", "end_turn"]);
  },

  async client_parallel() {
    const request = asked("[client_parallel] Add twice.", { tools: [TOOL] });
    const message = await client.messages.stream(request).finalMessage();
    assert.deepEqual([said(message), message.stop_reason], ["Two sums.", "tool_use"]);
    assert.deepEqual(calls(message).map(({ input }) => input), [{ a: 1, b: 2 }, { a: 3, b: 4 }]);
    // Half of the results is none; the turn goes on waiting for all of them.
    const half = results(message);
    const [missing] = half.content.splice(0, 1);
    const next = (last) => ({ ...request, messages: [...request.messages, spoken(message), last] });
    const error = await refused(Anthropic.BadRequestError, () => client.messages.create(next(half)));
    assert.equal(codeOf(error), "results_missing");
    assert.ok(error.message.includes(missing.tool_use_id));
    assert.equal(await client.messages.stream(next(results(message))).finalText(), "3 and 7.");
  },

  async server_rounds() {
    const request = asked("[server_rounds] Multiply, then add.", { betas: ["mcp-client-2025-11-20"] });
    const message = await client.beta.messages.stream(request).finalMessage();
    const shown = ["mcp_tool_use", "mcp_tool_result"];
    assert.deepEqual(message.content.map(({ type }) => type), ["text", ...shown, ...shown, "text"]);
    assert.equal(message.content[1].name, "calculator");
    assert.deepEqual(message.content[1].input, { expression: "6*7" });
    assert.equal(message.content[2].tool_use_id, message.content[1].id);
    assert.equal(message.content[2].content[0].text, "42");
    assert.deepEqual([message.content.at(-1).text, message.stop_reason], ["It is 43.", "end_turn"]);
    assert.equal(message.usage.output_tokens, 60);
  },

  async both_sides() {
    const request = asked("[both_sides] Multiply and add.", { tools: [TOOL] });
    const message = await client.beta.messages.stream(request, BOTH).finalMessage();
    assert.equal(message.stop_reason, "tool_use");
    assert.deepEqual(calls(message).map(({ name }) => name), ["add"]);
    const ours = message.content.filter(({ type }) => type === "mcp_tool_use");
    assert.deepEqual(ours.map(({ name }) => name), ["calculator"]);
    request.messages.push(spoken(message), results(message));
    const answer = await client.beta.messages.create(request, BOTH);
    assert.deepEqual([said(answer), answer.stop_reason], ["42 and 3.", "end_turn"]);
  },

  async structured() {
    const format = zodOutputFormat(z.object({ city: z.string(), degrees: z.number() }));
    const request = asked("[structured] How is the weather?", { output_config: { format } });
    const message = await client.messages.parse(request, OURS);
    assert.deepEqual(message.parsed_output, { city: "Oslo", degrees: 7 });
  },

  async thinking() {
    const thinking = { type: "adaptive", display: "summarized" };
    const request = asked("[thinking] Two and two?", { max_tokens: 2000, thinking });
    const message = await client.messages.stream(request, OURS).finalMessage();
    assert.equal(said(message), "Four.");
    if (REASONING) {
      assert.deepEqual([message.content[0].type, message.content[0].thinking], ["thinking", "Two and two."]);
    }
    request.messages.push(spoken(message), { role: "user", content: "Are you sure?" });
    assert.equal(said(await client.messages.create(request, OURS)), "Still four.");
  },

  async count_tokens() {
    const messages = [{ role: "user", content: "x".repeat(400) }];
    const counting = client.messages.countTokens({ model: MODEL, messages, tools: [TOOL] });
    const { data, response } = await counting.withResponse();
    assert.ok(data.input_tokens > 100 && data.input_tokens < 200);
    assert.ok(response.headers.get("x-jackfield-notes").includes("estimated"));
  },

  async models() {
    const names = [];
    for await (const model of client.models.list()) {
      assert.equal(model.type, "model");
      names.push(model.id);
    }
    assert.ok(names.includes(MODEL));
    assert.equal((await client.models.retrieve(MODEL)).id, MODEL);
    const error = await refused(Anthropic.NotFoundError, () => client.models.retrieve("nobody/nothing"));
    assert.equal(codeOf(error), "model_not_found");
  },

  async errors() {
    const is = async (wanted, code, more, { by = client, ...options } = {}) => {
      const ask = () => by.beta.messages.create(asked("hi", more), options);
      const error = await refused(wanted, ask);
      assert.equal(codeOf(error), code);
      assert.equal(error.requestID, error.error.request_id);
    };
    const stranger = new Anthropic({ apiKey: "sk-nobody", baseURL: URL_OF_GATEWAY, maxRetries: 0 });
    await is(Anthropic.AuthenticationError, "authentication_required", {}, { by: stranger });
    await is(Anthropic.NotFoundError, "model_not_found", { model: "nobody/nothing" });
    await is(Anthropic.BadRequestError, "invalid_request", { messages: [] });
    await is(Anthropic.BadRequestError, "not_supported", { betas: ["managed-agents-2026-04-01"] });
    await is(Anthropic.BadRequestError, "not_supported", { mcp_servers: [{ type: "url", url: "https://a.example", name: "a" }] });
    await is(Anthropic.NotFoundError, "session_not_found", {}, { headers: { "X-Session-ID": "nobodys" } });
    const lone = [{ type: "tool_result", tool_use_id: "call_nobodys", content: "1" }];
    await is(Anthropic.BadRequestError, "call_not_found", { messages: [{ role: "user", content: lone }] });
  },

  async provider_refuses() {
    const ask = () => client.messages.create(asked("[provider_refuses] Hello"), OURS);
    const error = await refused(Anthropic.BadRequestError, ask);
    assert.equal(codeOf(error), "provider_refuses_request");
    assert.ok(error.message.includes("not like this"));
  },

  async abort() {
    const stream = client.messages.stream(asked("[abort] Count."), OURS);
    for await (const event of stream) {
      if (event.type === "content_block_delta") {
        assert.equal(event.delta.text.slice(0, 3), "One");
        break;
      }
    }
    stream.abort();
    assert.equal(said(await client.messages.create(asked("[abort] Count."), OURS)), "Here again.");
  },

  async broken_connection() {
    const by = new Anthropic({ apiKey: TOKEN, baseURL: BREAKS_BEFORE, maxRetries: 2, timeout: 30_000 });
    assert.equal(said(await by.messages.create(asked("[broken_connection] Once."))), "Said once.");
  },

  async broken_stream() {
    const by = new Anthropic({ apiKey: TOKEN, baseURL: BREAKS_WITHIN, maxRetries: 2, timeout: 30_000 });
    const request = asked("[broken_stream] Once.");
    await refused(Error, () => by.messages.stream(request).finalMessage());
    // The program asks the same again, of its own: the answer is owed, and is not made twice.
    assert.equal(await by.messages.stream(request).finalText(), "Said once.");
  },
};

await main(cases);
