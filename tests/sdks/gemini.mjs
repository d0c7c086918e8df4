// The cases of Google's SDK for Node, in front of the gateway.

import assert from "node:assert/strict";

import {
  ADD, BREAKS_WITHIN, MODEL, PIXEL, REASONING, TOKEN, URL_OF_GATEWAY, load, main, refused,
} from "./cases.mjs";

const { ApiError, FinishReason, GoogleGenAI, Type } = load("@google/genai");

const at = (baseUrl, apiKey = TOKEN) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl, timeout: 10_000 } });
const client = at(URL_OF_GATEWAY);
const TOOL = { functionDeclarations: [{ name: "add", description: "Adds two numbers.", parametersJsonSchema: ADD }] };
const OURS = { headers: { "X-Jackfield-Tools": "none" } };
const BOTH = { headers: { "X-Jackfield-Tools": "all" } };

const user = (text) => ({ role: "user", parts: [{ text }] });
const asked = (contents, { model = MODEL, ...more } = {}) => ({
  model, contents, config: { httpOptions: OURS, ...more },
});
const ask = (contents, more = {}, by = client) => by.models.generateContent(asked(contents, more));
const streamed = async (contents, more = {}, by = client) => {
  const replies = [];
  for await (const reply of await by.models.generateContentStream(asked(contents, more))) {
    replies.push(reply);
  }
  return replies;
};
const partsOf = (replies) => replies.flatMap((reply) => reply.candidates[0].content.parts);
const textOf = (parts) => parts.filter(({ thought }) => !thought).map(({ text }) => text ?? "").join("");
const calls = (parts) => parts.flatMap(({ functionCall }) => (functionCall ? [functionCall] : []));
const results = (parts) => ({
  role: "user",
  parts: calls(parts).map(({ id, name, args }) => ({
    functionResponse: { id, name, response: { result: args.a + args.b } },
  })),
});
const codeOf = (error) => JSON.parse(error.message).error.details[0].reason;

const cases = {
  async words() {
    const reply = await ask([user("[words] Hello")], { systemInstruction: "Be kind." });
    assert.deepEqual([reply.text, reply.modelVersion], ["Hello! 你好", MODEL]);
    const { content, finishReason } = reply.candidates[0];
    assert.deepEqual([content.role, finishReason], ["model", FinishReason.STOP]);
    const { promptTokenCount, candidatesTokenCount, totalTokenCount } = reply.usageMetadata;
    assert.deepEqual([promptTokenCount, candidatesTokenCount, totalTokenCount], [100, 20, 120]);
    assert.ok(reply.responseId);
  },

  async stream() {
    const replies = await streamed([user("[stream] Go on")]);
    assert.equal(textOf(partsOf(replies)), "One word after another, 一个字一个字地。");
    assert.ok(replies.length > 1);
    const last = replies.at(-1);
    assert.deepEqual([last.candidates[0].finishReason, last.modelVersion], [FinishReason.STOP, MODEL]);
    assert.deepEqual([last.usageMetadata.promptTokenCount, last.usageMetadata.candidatesTokenCount], [100, 20]);
  },

  async image() {
    const inlineData = { mimeType: "image/png", data: PIXEL };
    const content = { role: "user", parts: [{ text: "[image] What is this?" }, { inlineData }] };
    assert.equal((await ask([content])).text, "A red dot.");
  },

  async client_rounds() {
    const contents = [user("[client_rounds] Add.")];
    let reply;
    let rounds = 0;
    do {
      // The tools are known from the first request on.
      reply = await ask(contents, { httpOptions: {}, ...(rounds === 0 ? { tools: [TOOL] } : {}) });
      rounds += 1;
      const { content } = reply.candidates[0];
      contents.push(content, results(content.parts));
    } while (reply.functionCalls);
    assert.deepEqual([rounds, reply.text], [3, "It is 7."]);
  },

  async client_parallel() {
    const more = { tools: [TOOL], httpOptions: {} };
    const contents = [user("[client_parallel] Add twice.")];
    const parts = partsOf(await streamed(contents, more));
    assert.equal(textOf(parts), "Two sums.");
    assert.deepEqual(calls(parts).map(({ args }) => args), [{ a: 1, b: 2 }, { a: 3, b: 4 }]);
    contents.push({ role: "model", parts });
    // Half of the results is none; the turn goes on waiting for all of them.
    const whole = results(parts);
    const half = { role: "user", parts: whole.parts.slice(1) };
    const error = await refused(ApiError, () => ask([...contents, half], more));
    assert.equal(codeOf(error), "results_missing");
    assert.ok(error.message.includes(calls(parts)[0].id));
    assert.equal(textOf(partsOf(await streamed([...contents, whole], more))), "3 and 7.");
  },

  async server_rounds() {
    const replies = await streamed([user("[server_rounds] Multiply, then add.")], { httpOptions: {} });
    // What ran here is no call for the client.
    assert.deepEqual(calls(partsOf(replies)), []);
    assert.equal(textOf(partsOf(replies)), "First a product.It is 43.");
    assert.equal(replies.at(-1).usageMetadata.candidatesTokenCount, 60);
  },

  async both_sides() {
    const more = { tools: [TOOL], httpOptions: BOTH };
    const contents = [user("[both_sides] Multiply and add.")];
    const reply = await ask(contents, more);
    assert.deepEqual(reply.functionCalls.map(({ name }) => name), ["add"]);
    const { content } = reply.candidates[0];
    contents.push(content, results(content.parts));
    assert.equal((await ask(contents, more)).text, "42 and 3.");
  },

  async structured() {
    const properties = { city: { type: Type.STRING }, degrees: { type: Type.INTEGER } };
    const responseSchema = { type: Type.OBJECT, properties, required: ["city", "degrees"] };
    const more = { responseMimeType: "application/json", responseSchema };
    const reply = await ask([user("[structured] How is the weather?")], more);
    assert.deepEqual(JSON.parse(reply.text), { city: "Oslo", degrees: 7 });
  },

  async thinking() {
    const more = { thinkingConfig: { includeThoughts: true, thinkingLevel: "LOW" } };
    const contents = [user("[thinking] Two and two?")];
    const parts = partsOf(await streamed(contents, more));
    assert.equal(textOf(parts), "Four.");
    if (REASONING) {
      const thoughts = parts.filter(({ thought }) => thought);
      assert.equal(thoughts.map(({ text }) => text).join(""), "Two and two.");
    }
    contents.push({ role: "model", parts }, user("Are you sure?"));
    assert.equal((await ask(contents, more)).text, "Still four.");
  },

  async count_tokens() {
    const { totalTokens } = await client.models.countTokens({ model: MODEL, contents: "x".repeat(400) });
    assert.ok(totalTokens >= 100 && totalTokens < 200);
  },

  async models() {
    const names = [];
    for await (const model of await client.models.list()) {
      names.push(model.name);
    }
    assert.ok(names.includes(`models/${MODEL}`));
    assert.equal((await client.models.get({ model: MODEL })).name, `models/${MODEL}`);
    const error = await refused(ApiError, () => client.models.get({ model: "nobody/nothing" }));
    assert.deepEqual([error.status, codeOf(error)], [404, "model_not_found"]);
  },

  async errors() {
    const is = async (status, code, more = {}, contents = "hi", by = client) => {
      const error = await refused(ApiError, () => ask(contents, more, by));
      assert.deepEqual([error.status, codeOf(error)], [status, code]);
    };
    await is(401, "authentication_required", {}, "hi", at(URL_OF_GATEWAY, "sk-nobody"));
    await is(404, "model_not_found", { model: "nobody/nothing" });
    await is(400, "not_supported", { cachedContent: "cachedContents/1" });
    await is(400, "not_supported", { tools: [{ computerUse: {} }] });
    await is(404, "session_not_found", { httpOptions: { headers: { "X-Session-ID": "nobodys" } } });
    const functionResponse = { id: "call_nobodys", name: "add", response: {} };
    await is(400, "call_not_found", {}, [user("hi"), { role: "user", parts: [{ functionResponse }] }]);
  },

  async provider_refuses() {
    const error = await refused(ApiError, () => ask([user("[provider_refuses] Hello")]));
    assert.equal(codeOf(error), "provider_refuses_request");
    assert.ok(error.message.includes("not like this"));
  },

  async abort() {
    const stopping = new AbortController();
    const contents = [user("[abort] Count.")];
    const more = { abortSignal: stopping.signal };
    for await (const reply of await client.models.generateContentStream(asked(contents, more))) {
      if (reply.text) {
        assert.equal(reply.text.slice(0, 3), "One");
        break;
      }
    }
    stopping.abort();
    assert.equal((await ask(contents)).text, "Here again.");
  },

  async broken_stream() {
    const by = at(BREAKS_WITHIN);
    const contents = [user("[broken_stream] Once.")];
    const more = { httpOptions: {} };
    await refused(Error, () => streamed(contents, more, by));
    // The program asks the same again, of its own: the answer is owed, and is not made twice.
    assert.equal(textOf(partsOf(await streamed(contents, more, by))), "Said once.");
  },
};

await main(cases);
