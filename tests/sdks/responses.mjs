// The cases of OpenAI's SDK for Node in its Responses language, in front of the gateway.

import assert from "node:assert/strict";

import { ADD, BREAKS_BEFORE, MODEL, PIXEL, REASONING, TOKEN, URL_OF_GATEWAY, load, main, refused } from "./cases.mjs";

const { default: OpenAI } = load("openai");
const { zodTextFormat } = load("openai/helpers/zod");
const { z } = load("zod");

const client = new OpenAI({ apiKey: TOKEN, baseURL: `${URL_OF_GATEWAY}/v1`, maxRetries: 0, timeout: 30_000 });
const TOOL = { type: "function", name: "add", description: "Adds two numbers.", parameters: ADD, strict: false };
const OURS = { headers: { "X-Jackfield-Tools": "none" } };
const BOTH = { headers: { "X-Jackfield-Tools": "all" } };

const asked = (input, more = {}) => ({ model: MODEL, input, ...more });
// The calls of a response that its client has to run.
const calls = (response) => response.output.filter(({ type }) => type === "function_call");
// What came of the calls, as the client's next items.
const results = (response) =>
  calls(response).map(({ call_id, arguments: text }) => {
    const { a, b } = JSON.parse(text);
    return { type: "function_call_output", call_id, output: String(a + b) };
  });
const codeOf = async (wanted, code, ask) => {
  const error = await refused(wanted, ask);
  assert.equal(error.code, code);
  assert.ok(error.requestID);
  return error;
};

const cases = {
  async words() {
    const request = asked("[words] Hello", { instructions: "Be kind.", metadata: { order: "7" } });
    const { data, response } = await client.responses.create(request, OURS).withResponse();
    assert.equal(data.output_text, "Hello! 你好");
    assert.deepEqual([data.model, data.status, data.object], [MODEL, "completed", "response"]);
    const { input_tokens, output_tokens, total_tokens } = data.usage;
    assert.deepEqual([input_tokens, output_tokens, total_tokens], [100, 20, 120]);
    assert.deepEqual([data.instructions, data.metadata, data.tools], ["Be kind.", { order: "7" }, []]);
    assert.equal(data._request_id, response.headers.get("x-request-id"));
    const again = await client.responses.retrieve(data.id);
    assert.deepEqual({ ...again, created_at: 0 }, { ...data, created_at: 0 });
    const texts = [];
    for await (const item of client.responses.inputItems.list(data.id)) {
      texts.push(item.content[0].text);
    }
    assert.deepEqual(texts, ["[words] Hello"]);
  },

  async stream() {
    const pieces = [];
    const numbers = [];
    const stream = client.responses.stream(asked("[stream] Go on"), OURS);
    for await (const event of stream) {
      numbers.push(event.sequence_number);
      if (event.type === "response.output_text.delta") {
        pieces.push(event.delta);
      }
    }
    const whole = await stream.finalResponse();
    assert.equal(pieces.join(""), "One word after another, 一个字一个字地。");
    assert.deepEqual([whole.output_text, whole.model, whole.status], [pieces.join(""), MODEL, "completed"]);
    assert.deepEqual([whole.usage.input_tokens, whole.usage.output_tokens], [100, 20]);
    assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b));
  },

  async stream_again() {
    const events = [];
    for await (const event of await client.responses.create(asked("[stream_again] Go on", { stream: true }), OURS)) {
      events.push(event);
    }
    const end = events.at(-1);
    const middle = events.find(({ type }) => type === "response.output_text.delta");
    const rest = [];
    const query = { stream: true, starting_after: middle.sequence_number };
    for await (const event of await client.responses.retrieve(end.response.id, query)) {
      rest.push(event);
    }
    assert.ok(rest.every((event) => event.sequence_number > middle.sequence_number));
    const told = rest.filter(({ type }) => type === "response.output_text.delta").map(({ delta }) => delta);
    assert.equal(middle.delta + told.join(""), "One word after another, 一个字一个字地。");
    assert.equal(rest.at(-1).sequence_number, end.sequence_number);
    // The helper reads all of them again, and gives those that are new.
    const again = client.responses.stream({ response_id: end.response.id, starting_after: middle.sequence_number });
    const kinds = [];
    for await (const { type } of again) {
      kinds.push(type);
    }
    assert.equal(kinds.at(-1), "response.completed");
    assert.ok(!kinds.includes("response.created"));
  },

  async image() {
    const content = [
      { type: "input_image", image_url: `data:image/png;base64,${PIXEL}`, detail: "auto" },
      { type: "input_text", text: "[image] What is this?" },
    ];
    const response = await client.responses.create(asked([{ role: "user", content }]), OURS);
    assert.equal(response.output_text, "A red dot.");
  },

  async client_rounds() {
    let response = await client.responses.create(asked("[client_rounds] Add.", { tools: [TOOL] }));
    let rounds = 1;
    while (calls(response).length > 0) {
      // The tools are known from the first request on.
      const next = asked(results(response), { previous_response_id: response.id });
      response = await client.responses.create(next, OURS);
      rounds += 1;
    }
    assert.deepEqual([rounds, response.output_text, response.status], [3, "It is 7.", "completed"]);
  },

  async client_full() {
    const input = [{ role: "user", content: "[client_full] Add." }];
    let response;
    let rounds = 0;
    do {
      response = await client.responses.create(asked(input, { tools: [TOOL], store: false }));
      rounds += 1;
      input.push(...response.output, ...results(response));
    } while (calls(response).length > 0);
    assert.deepEqual([rounds, response.output_text], [3, "It is 7."]);
    // What is not stored is not there later.
    await codeOf(OpenAI.NotFoundError, "reply_not_found", () => client.responses.retrieve(response.id));
  },

  async client_parallel() {
    const request = asked("[client_parallel] Add twice.", { tools: [TOOL] });
    const response = await client.responses.stream(request).finalResponse();
    assert.equal(response.output_text, "Two sums.");
    assert.deepEqual(calls(response).map((call) => JSON.parse(call.arguments)), [{ a: 1, b: 2 }, { a: 3, b: 4 }]);
    const both = results(response);
    const next = (input) => asked(input, { previous_response_id: response.id, tools: [TOOL] });
    // Half of the results is none; the turn goes on waiting for all of them.
    const half = () => client.responses.create(next(both.slice(1)));
    const error = await codeOf(OpenAI.BadRequestError, "results_missing", half);
    assert.ok(error.message.includes(both[0].call_id));
    await codeOf(OpenAI.BadRequestError, "results_missing", () => client.responses.create(next("And?")));
    const answer = await client.responses.stream(next(both)).finalResponse();
    assert.deepEqual([answer.output_text, answer.previous_response_id], ["3 and 7.", response.id]);
    // The same results again tell the same again; others are too late.
    const again = await client.responses.create(next(both));
    assert.deepEqual([again.id, again.output_text], [answer.id, "3 and 7."]);
    const other = () => client.responses.create(next([{ ...both[0], output: "30" }, both[1]]));
    await codeOf(OpenAI.ConflictError, "conflict", other);
  },

  async server_rounds() {
    const stream = client.responses.stream(asked("[server_rounds] Multiply, then add."));
    const kinds = new Set();
    for await (const { type } of stream) {
      kinds.add(type);
    }
    const response = await stream.finalResponse();
    assert.deepEqual(response.output.map(({ type }) => type), ["message", "mcp_call", "mcp_call", "message"]);
    const [, first] = response.output;
    assert.deepEqual([first.name, JSON.parse(first.arguments)], ["calculator", { expression: "6*7" }]);
    assert.deepEqual([first.output, first.error, first.status], ["42", null, "completed"]);
    assert.deepEqual([response.output.at(-1).content[0].text, response.status], ["It is 43.", "completed"]);
    assert.equal(response.usage.output_tokens, 60);
    assert.ok(kinds.has("response.mcp_call.in_progress") && kinds.has("response.mcp_call.completed"));
    const again = await client.responses.retrieve(response.id);
    assert.deepEqual(again.output.map(({ id }) => id), response.output.map(({ id }) => id));
  },

  async both_sides() {
    const request = asked("[both_sides] Multiply and add.", { tools: [TOOL] });
    const response = await client.responses.stream(request, BOTH).finalResponse();
    // Its own call is told while it is written, ours when it is decided that it runs.
    assert.deepEqual(response.output.map(({ type }) => type), ["message", "function_call", "mcp_call"]);
    assert.deepEqual([response.output[2].name, response.output[2].output], ["calculator", "42"]);
    const next = asked(results(response), { previous_response_id: response.id, tools: [TOOL] });
    const answer = await client.responses.create(next, BOTH);
    assert.deepEqual([answer.output_text, answer.status], ["42 and 3.", "completed"]);
  },

  async structured() {
    const format = zodTextFormat(z.object({ city: z.string(), degrees: z.number() }), "weather");
    const request = asked("[structured] How is the weather?", { text: { format } });
    const response = await client.responses.parse(request, OURS);
    assert.deepEqual(response.output_parsed, { city: "Oslo", degrees: 7 });
  },

  async thinking() {
    const more = { reasoning: { effort: "low", summary: "auto" } };
    const response = await client.responses.stream(asked("[thinking] Two and two?", more), OURS).finalResponse();
    assert.equal(response.output_text, "Four.");
    if (REASONING) {
      const [thought] = response.output;
      assert.deepEqual([thought.type, thought.summary[0].text], ["reasoning", "Two and two."]);
    }
    // The reasoning goes back with the whole conversation.
    const input = [{ role: "user", content: "[thinking] Two and two?" }, ...response.output];
    input.push({ role: "user", content: "Are you sure?" });
    assert.equal((await client.responses.create(asked(input, more), OURS)).output_text, "Still four.");
  },

  async fork() {
    const ask = (input, previous_response_id) => client.responses.create(asked(input, { previous_response_id }), OURS);
    const first = await ask("[fork] Which colour?");
    assert.equal(first.output_text, "Red it is.");
    const second = await ask("Why?", first.id);
    assert.deepEqual([second.output_text, second.previous_response_id], ["Because it is red.", first.id]);
    // The conversation has gone on; the other way from the first answer is another one.
    assert.equal((await ask("Another one.", first.id)).output_text, "Blue, then.");
    const nobodys = () => ask("Why?", "resp_nobodys_0");
    await codeOf(OpenAI.BadRequestError, "previous_response_not_found", nobodys);
  },

  async deletion() {
    const { id } = await client.responses.create(asked("[deletion] Hello"), OURS);
    await client.responses.delete(id);
    for (const run of [
      () => client.responses.retrieve(id),
      () => client.responses.delete(id),
      () => client.responses.inputItems.list(id),
      () => client.responses.retrieve("resp_nobodys_0"),
    ]) {
      await codeOf(OpenAI.NotFoundError, "reply_not_found", run);
    }
  },

  async background() {
    const pending = ({ status }) => status === "queued" || status === "in_progress";
    let response = await client.responses.create(asked("[background] Take your time.", { background: true }), OURS);
    assert.ok(pending(response));
    while (pending(response)) {
      response = await client.responses.retrieve(response.id);
    }
    assert.deepEqual([response.output_text, response.status], ["In its own time.", "completed"]);
  },

  async cancel() {
    const { id } = await client.responses.create(asked("[cancel] Count.", { background: true }), OURS);
    const cancelled = await client.responses.cancel(id);
    assert.deepEqual([cancelled.id, cancelled.status], [id, "cancelled"]);
    assert.equal((await client.responses.retrieve(id)).status, "cancelled");
  },

  async errors() {
    const is = async (wanted, code, param, more, { by = client, ...options } = {}) => {
      const ask = () => by.responses.create(asked("hi", more), options);
      const error = await codeOf(wanted, code, ask);
      assert.equal(error.param ?? null, param);
    };
    const stranger = new OpenAI({ apiKey: "sk-nobody", baseURL: `${URL_OF_GATEWAY}/v1`, maxRetries: 0 });
    await is(OpenAI.AuthenticationError, "invalid_api_key", null, {}, { by: stranger });
    await is(OpenAI.NotFoundError, "model_not_found", "model", { model: "nobody/nothing" });
    await is(OpenAI.BadRequestError, "invalid_request", "input", { input: 7 });
    await is(OpenAI.BadRequestError, "unsupported_parameter", "tools.0", { tools: [{ type: "local_shell" }] });
    await is(OpenAI.BadRequestError, "unsupported_parameter", "conversation", { conversation: "conv_1" });
    await is(OpenAI.NotFoundError, "session_not_found", null, {}, { headers: { "X-Session-ID": "nobodys" } });
    const lone = [{ type: "function_call_output", call_id: "call_nobodys", output: "1" }];
    await is(OpenAI.BadRequestError, "call_not_found", null, { input: lone });
  },

  async models() {
    const names = [];
    for await (const { id } of client.models.list()) {
      names.push(id);
    }
    assert.ok(names.includes(MODEL));
    assert.equal((await client.models.retrieve(MODEL)).id, MODEL);
    await codeOf(OpenAI.NotFoundError, "model_not_found", () => client.models.retrieve("nobody/nothing"));
  },

  async provider_refuses() {
    const ask = () => client.responses.create(asked("[provider_refuses] Hello"), OURS);
    const error = await codeOf(OpenAI.BadRequestError, "provider_refuses_request", ask);
    assert.ok(error.message.includes("not like this"));
  },

  async abort() {
    const stream = client.responses.stream(asked("[abort] Count."), OURS);
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") {
        assert.equal(event.delta, "O");
        break;
      }
    }
    stream.abort();
    assert.equal((await client.responses.create(asked("[abort] Count."), OURS)).output_text, "Here again.");
  },

  async broken_connection() {
    const by = new OpenAI({ apiKey: TOKEN, baseURL: `${BREAKS_BEFORE}/v1`, maxRetries: 2, timeout: 30_000 });
    const response = await by.responses.create(asked("[broken_connection] Once."));
    assert.equal(response.output_text, "Said once.");
  },
};

await main(cases);
