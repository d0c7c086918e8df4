// The cases of OpenAI's SDK for Node in its language of Chat Completions, in front of the gateway.

import assert from "node:assert/strict";

import {
  ADD, BREAKS_BEFORE, BREAKS_WITHIN, MODEL, PIXEL, TOKEN, URL_OF_GATEWAY, load, main, refused,
} from "./cases.mjs";

const { OpenAI } = load("openai");
const { zodResponseFormat } = load("openai/helpers/zod");
const { z } = load("zod");

const to = (url, maxRetries = 0) => new OpenAI({ apiKey: TOKEN, baseURL: `${url}/v1`, maxRetries, timeout: 30_000 });
const { completions } = to(URL_OF_GATEWAY).chat;
const TOOL = { type: "function", function: { name: "add", description: "Adds two numbers.", parameters: ADD } };
const OURS = { headers: { "X-Jackfield-Tools": "none" } };
const BOTH = { headers: { "X-Jackfield-Tools": "all" } };

const asked = (content, more = {}) => ({ model: MODEL, messages: [{ role: "user", content }], ...more });
const said = ({ choices: [{ message }] }) => message.content;
const results = ({ tool_calls }) => tool_calls.map(({ id, function: { arguments: text } }) => {
  const { a, b } = JSON.parse(text);
  return { role: "tool", tool_call_id: id, content: String(a + b) };
});
const refusedWith = async (wanted, code, ask) => {
  const error = await refused(wanted, ask);
  assert.equal(error.code, code, error.message);
  assert.ok(error.requestID);
  return error;
};

const cases = {
  async words() {
    const request = asked("[words] Hello");
    request.messages.unshift({ role: "developer", content: "Be kind." });
    const { data, response } = await completions.create(request, OURS).withResponse();
    const [{ message, finish_reason }] = data.choices;
    assert.deepEqual([message.role, message.content, finish_reason], ["assistant", "Hello! 你好", "stop"]);
    assert.deepEqual([data.model, data.object, data.id.slice(0, 9)], [MODEL, "chat.completion", "chatcmpl-"]);
    assert.deepEqual([data.usage.prompt_tokens, data.usage.completion_tokens, data.usage.total_tokens], [100, 20, 120]);
    assert.ok(data._request_id);
    assert.equal(data._request_id, response.headers.get("x-request-id"));
  },

  async stream() {
    const pieces = [];
    const request = asked("[stream] Go on", { stream_options: { include_usage: true } });
    const stream = completions.stream(request, OURS).on("content", (piece) => pieces.push(piece));
    const whole = await stream.finalChatCompletion();
    assert.equal(pieces.join(""), "One word after another, 一个字一个字地。");
    assert.equal(said(whole), pieces.join(""));
    assert.deepEqual([whole.model, whole.choices[0].finish_reason], [MODEL, "stop"]);
    assert.deepEqual([whole.usage.prompt_tokens, whole.usage.completion_tokens], [100, 20]);
  },

  async image() {
    const content = [
      { type: "text", text: "[image] What is this?" },
      { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } },
    ];
    assert.equal(said(await completions.create(asked(content), OURS)), "A red dot.");
  },

  async client_rounds() {
    const request = asked("[client_rounds] Add.");
    let choice;
    let rounds = 0;
    for (;;) {
      // The tools are known from the first request on.
      [choice] = (await completions.create({ ...request, ...(rounds === 0 ? { tools: [TOOL] } : {}) })).choices;
      rounds += 1;
      if (choice.finish_reason !== "tool_calls") break;
      request.messages.push(choice.message, ...results(choice.message));
    }
    assert.deepEqual([rounds, choice.message.content, choice.finish_reason], [3, "It is 7.", "stop"]);
  },

  async client_parallel() {
    const request = asked("[client_parallel] Add twice.", { tools: [TOOL] });
    const { message, finish_reason } = (await completions.stream(request).finalChatCompletion()).choices[0];
    assert.deepEqual([message.content, finish_reason], ["Two sums.", "tool_calls"]);
    const inputs = message.tool_calls.map(({ function: { arguments: text } }) => JSON.parse(text));
    assert.deepEqual(inputs, [{ a: 1, b: 2 }, { a: 3, b: 4 }]);
    // Half of the results is none; the turn goes on waiting for all of them.
    const all = results(message);
    const next = (last) => ({ ...request, messages: [...request.messages, message, ...last] });
    const missing = () => completions.create(next([all[1]]));
    const error = await refusedWith(OpenAI.BadRequestError, "results_missing", missing);
    assert.ok(error.message.includes(message.tool_calls[0].id));
    assert.equal(said(await completions.stream(next(all)).finalChatCompletion()), "3 and 7.");
  },

  async server_rounds() {
    const request = asked("[server_rounds] Multiply, then add.", { stream_options: { include_usage: true } });
    const reply = await completions.stream(request).finalChatCompletion();
    // Words of several rounds are parted; what ran here is no call for the client.
    assert.equal(said(reply), "First a product.\n\nIt is 43.");
    assert.deepEqual([reply.choices[0].message.tool_calls, reply.choices[0].finish_reason], [undefined, "stop"]);
    assert.equal(reply.usage.completion_tokens, 60);
  },

  async both_sides() {
    const request = asked("[both_sides] Multiply and add.", { tools: [TOOL] });
    const [{ message, finish_reason }] = (await completions.stream(request, BOTH).finalChatCompletion()).choices;
    assert.deepEqual([message.content, finish_reason], ["Both at once.", "tool_calls"]);
    assert.deepEqual(message.tool_calls.map(({ function: { name } }) => name), ["add"]);
    request.messages.push(message);
    const brought = results(message);
    const next = (last) => ({ ...request, messages: [...request.messages, ...last] });
    for (let time = 0; time < 2; time += 1) {
      // The same results again get the same answer, which is not made twice.
      const [answer] = (await completions.create(next(brought), BOTH)).choices;
      assert.deepEqual([answer.message.content, answer.finish_reason], ["42 and 3.", "stop"]);
    }
    // Another result for the same call contradicts what was said.
    const others = brought.map((result) => ({ ...result, content: "8" }));
    await refusedWith(OpenAI.ConflictError, "conflict", () => completions.create(next(others), BOTH));
  },

  async structured() {
    const schema = z.object({ city: z.string(), degrees: z.number() });
    const response_format = zodResponseFormat(schema, "weather");
    const reply = await completions.parse(asked("[structured] How is the weather?", { response_format }), OURS);
    assert.deepEqual(reply.choices[0].message.parsed, { city: "Oslo", degrees: 7 });
  },

  async thinking() {
    const request = asked("[thinking] Two and two?", { reasoning_effort: "low" });
    const [{ message }] = (await completions.create(request, OURS)).choices;
    // The vendor has no field for what was thought, and a client that knows of none gets none.
    assert.deepEqual(message, { role: "assistant", content: "Four.", refusal: null });
    request.messages.push(message, { role: "user", content: "Are you sure?" });
    assert.equal(said(await completions.create(request, OURS)), "Still four.");
  },

  async models() {
    const { models } = to(URL_OF_GATEWAY);
    const names = [];
    for await (const model of models.list()) {
      assert.equal(model.object, "model");
      names.push(model.id);
    }
    assert.ok(names.includes(MODEL));
    assert.equal((await models.retrieve(MODEL)).id, MODEL);
    await refusedWith(OpenAI.NotFoundError, "model_not_found", () => models.retrieve("nobody/nothing"));
  },

  async errors() {
    const is = (wanted, code, more, options = {}, by = completions) => (
      refusedWith(wanted, code, () => by.create(asked("hi", more), options))
    );
    const stranger = new OpenAI({ apiKey: "sk-nobody", baseURL: `${URL_OF_GATEWAY}/v1`, maxRetries: 0 });
    await is(OpenAI.AuthenticationError, "invalid_api_key", {}, {}, stranger.chat.completions);
    await is(OpenAI.NotFoundError, "model_not_found", { model: "nobody/nothing" });
    await is(OpenAI.BadRequestError, "invalid_request", { messages: [] });
    await is(OpenAI.BadRequestError, "unsupported_parameter", { n: 2 });
    await is(OpenAI.BadRequestError, "unsupported_parameter", { mcp_servers: [] });
    await is(OpenAI.NotFoundError, "session_not_found", {}, { headers: { "X-Session-ID": "nobodys" } });
    const lone = [{ role: "user", content: "hi" }, { role: "tool", tool_call_id: "call_nobodys", content: "1" }];
    await is(OpenAI.BadRequestError, "call_not_found", { messages: lone });
    const error = await is(OpenAI.BadRequestError, "invalid_request", { temperature: "warm" });
    assert.deepEqual([error.param, error.type], ["temperature", "invalid_request_error"]);
  },

  async provider_refuses() {
    const ask = () => completions.create(asked("[provider_refuses] Hello"), OURS);
    const error = await refusedWith(OpenAI.BadRequestError, "provider_refuses_request", ask);
    assert.ok(error.message.includes("not like this"));
  },

  async abort() {
    const stream = completions.stream(asked("[abort] Count."), OURS);
    for await (const { choices: [choice] } of stream) {
      if (choice?.delta.content) {
        assert.equal(choice.delta.content.slice(0, 3), "One");
        break;
      }
    }
    stream.abort();
    assert.equal(said(await completions.create(asked("[abort] Count."), OURS)), "Here again.");
  },

  async broken_connection() {
    const by = to(BREAKS_BEFORE, 2).chat.completions;
    assert.equal(said(await by.create(asked("[broken_connection] Once."))), "Said once.");
  },

  async broken_stream() {
    const by = to(BREAKS_WITHIN, 2).chat.completions;
    const request = asked("[broken_stream] Once.");
    await refused(Error, () => by.stream(request).finalChatCompletion());
    // The program asks the same again, of its own: the answer is owed, and is not made twice.
    assert.equal(said(await by.stream(request).finalChatCompletion()), "Said once.");
  },
};

await main(cases);
