// The AI SDK's chat, as its front ends have it, on the UI message stream of the gateway.
// It asks the test with a line on standard output for what it cannot do itself, and waits for one on standard input.

import assert from "node:assert/strict";
import { createInterface } from "node:readline";

import { URL_OF_GATEWAY, load } from "./cases.mjs";

const {
  AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} = load("ai");

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function wish(text) {
  console.log(text);
  assert.equal((await answers.next()).value, "done");
}

// What a framework's chat adds: where its messages are.
class State {
  constructor(messages) {
    this.messages = messages;
    this.status = "ready";
    this.error = undefined;
  }

  pushMessage = (message) => {
    this.messages = [...this.messages, message];
  };

  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };

  replaceMessage = (at, message) => {
    this.messages = this.messages.map((other, nth) => (nth === at ? structuredClone(message) : other));
  };

  snapshot = (thing) => structuredClone(thing);
}

class Chat extends AbstractChat {
  constructor(id, { messages = [], body, ...more } = {}) {
    const transport = new DefaultChatTransport({ api: `${URL_OF_GATEWAY}/api/v1/ui/chat`, body });
    super({ id, transport, state: new State(messages), ...more });
  }
}

const text = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text).join("");
const tools = (message) => message.parts.filter((part) => part.type === "dynamic-tool");
const states = (message) => tools(message).map((part) => part.state);

async function until(holds) {
  for (let nth = 0; !holds(); nth += 1) {
    assert.ok(nth < 1_000, "it never holds");
    await new Promise((resume) => setTimeout(resume, 20));
  }
}

// Text, and two calls of which one is allowed and one denied.
async function approvals() {
  const chat = new Chat("approvals", { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
  await chat.sendMessage({ text: "What is 1+1, and 2+2?" });
  assert.equal(chat.error, undefined);
  const asked = tools(chat.lastMessage);
  assert.deepEqual(states(chat.lastMessage), ["approval-requested", "approval-requested"]);
  assert.deepEqual(asked.map((part) => [part.toolName, part.input]), [
    ["calculator", { expression: "1+1" }], ["calculator", { expression: "2+2" }]]);
  await chat.addToolApprovalResponse({ id: asked[0].approval.id, approved: true });
  await chat.addToolApprovalResponse({ id: asked[1].approval.id, approved: false, reason: "too easy" });
  await until(() => chat.status === "ready" && text(chat.lastMessage).includes("not allowed"));
  assert.equal(chat.messages.length, 2);
  assert.deepEqual(states(chat.lastMessage), ["output-available", "output-denied"]);
  assert.equal(tools(chat.lastMessage)[0].output.result, "2");
  assert.equal(text(chat.lastMessage), "Two sums.2, and not allowed.");
  // Another front end resumes the same message, with everything in it.
  const other = new Chat("approvals", { messages: chat.messages.slice(0, 1) });
  await other.resumeStream();
  assert.equal(other.lastMessage.id, chat.lastMessage.id);
  assert.deepEqual([text(other.lastMessage), states(other.lastMessage)], [text(chat.lastMessage), states(chat.lastMessage)]);
  // Once more, in a fork.
  await chat.regenerate();
  assert.equal(text(chat.lastMessage), "Again.");
  assert.equal(chat.messages.length, 2);
}

// A tool of the front end.
async function own_tool() {
  const chat = new Chat("own tool", {
    body: { tools: [{ name: "weather", input_schema: { type: "object" } }] },
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall }) => {
      void chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: { rain: true } });
    },
  });
  await chat.sendMessage({ text: "Is it raining in Porto?" });
  await until(() => chat.status === "ready" && text(chat.lastMessage) === "Rain until noon.");
  assert.deepEqual(states(chat.lastMessage), ["output-available"]);
}

// The gateway is killed in the middle of a message.
async function crash() {
  const chat = new Chat("crash");
  const sent = chat.sendMessage({ text: "Write something long" });
  await until(() => chat.messages.length === 2 && text(chat.lastMessage).includes("A word after the other"));
  await wish("kill");
  await sent;
  assert.equal(chat.status, "error");
  await wish("start");
  await chat.resumeStream();
  assert.equal(chat.status, "ready", String(chat.error));
  assert.equal(text(chat.lastMessage), "The reply after the restart.");
  assert.equal(chat.messages.length, 2);
}

try {
  await approvals();
  await own_tool();
  await crash();
  process.stdin.destroy();
} catch (error) {
  console.error(error);
  process.exit(1);
}
