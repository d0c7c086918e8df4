"""The cases of Anthropic's SDK for Python, in front of the gateway."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2
import pydantic
from anthropic import Anthropic

from cases import ADD, BREAKS_BEFORE, BREAKS_WITHIN, MODEL, PIXEL, REASONING, TOKEN, URL, case, check, main

CLIENT = Anthropic(api_key=TOKEN, base_url=URL, max_retries=0, timeout=30)
TOOL: Any = {"name": "add", "description": "Adds two numbers.", "input_schema": ADD}
OURS = {"X-Jackfield-Tools": "none"}
BOTH = {"X-Jackfield-Tools": "all"}


def said(message: Any) -> str:
    """The words of a message."""
    return "".join(block.text for block in message.content if block.type == "text")


def calls(message: Any) -> list[Any]:
    """The calls of a message that its client has to run."""
    return [block for block in message.content if block.type == "tool_use"]


def results(message: Any) -> Any:
    """What came of the calls, as the client's next words."""
    content = [
        {"type": "tool_result", "tool_use_id": call.id, "content": str(call.input["a"] + call.input["b"])}
        for call in calls(message)
    ]
    return {"role": "user", "content": content}


@case
def words() -> None:
    raw = CLIENT.messages.with_raw_response.create(
        model=MODEL, max_tokens=100, messages=[{"role": "user", "content": "[words] Hello"}], extra_headers=OURS
    )
    message = raw.parse()
    check(said(message), "Hello! 你好")
    check((message.model, message.role, message.stop_reason), (MODEL, "assistant", "end_turn"))
    check((message.usage.input_tokens, message.usage.output_tokens), (100, 20))
    check(message.id[:4], "msg_")
    check(bool(message._request_id), True)
    check(message._request_id, raw.headers["request-id"])


@case
def stream() -> None:
    asked: Any = [{"role": "user", "content": "[stream] Go on"}]
    kinds = set()
    with CLIENT.messages.stream(model=MODEL, max_tokens=100, messages=asked, extra_headers=OURS) as streamed:
        pieces = []
        for event in streamed:
            kinds.add(event.type)
            if event.type == "text":
                pieces.append(event.text)
        whole = streamed.get_final_message()
    check("".join(pieces), "One word after another, 一个字一个字地。")
    check(said(whole), "".join(pieces))
    check((whole.model, whole.stop_reason), (MODEL, "end_turn"))
    check((whole.usage.input_tokens, whole.usage.output_tokens), (100, 20))
    check({"message_start", "content_block_start", "content_block_stop", "message_stop"} <= kinds, True)


@case
def image() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    content: Any = [{"type": "image", "source": source}, {"type": "text", "text": "[image] What is this?"}]
    message = CLIENT.messages.create(
        model=MODEL, max_tokens=100, messages=[{"role": "user", "content": content}], extra_headers=OURS
    )
    check(said(message), "A red dot.")


@case
def client_rounds() -> None:
    messages: Any = [{"role": "user", "content": "[client_rounds] Add."}]
    rounds = 0
    while True:
        # The tools are known from the first request on.
        more: Any = {"tools": [TOOL]} if rounds == 0 else {}
        message = CLIENT.messages.create(model=MODEL, max_tokens=100, messages=messages, **more)
        rounds += 1
        if message.stop_reason != "tool_use":
            break
        messages += [message.to_param(), results(message)]
    check((rounds, said(message), message.stop_reason), (3, "It is 7.", "end_turn"))


@case
def client_parallel() -> None:
    messages: Any = [{"role": "user", "content": "[client_parallel] Add twice."}]
    with CLIENT.messages.stream(model=MODEL, max_tokens=100, messages=messages, tools=[TOOL]) as streamed:
        message = streamed.get_final_message()
    check((said(message), message.stop_reason), ("Two sums.", "tool_use"))
    check([call.input for call in calls(message)], [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    # Half of the results is none; the turn goes on waiting for all of them.
    half: Any = results(message)
    first = half["content"].pop(0)
    asked = {"model": MODEL, "max_tokens": 100, "tools": [TOOL]}
    try:
        CLIENT.messages.create(messages=[*messages, message.to_param(), half], **asked)
        raise AssertionError("a result is missing")
    except anthropic.BadRequestError as error:
        check(error.error_code, "results_missing")
        check(first["tool_use_id"] in error.message, True)
    with CLIENT.messages.stream(messages=[*messages, message.to_param(), results(message)], **asked) as streamed:
        check(streamed.get_final_text(), "3 and 7.")


@case
def server_rounds() -> None:
    asked: Any = [{"role": "user", "content": "[server_rounds] Multiply, then add."}]
    with CLIENT.beta.messages.stream(
        model=MODEL, max_tokens=100, messages=asked, betas=["mcp-client-2025-11-20"]
    ) as streamed:
        message = streamed.get_final_message()
    kinds = [block.type for block in message.content]
    shown = ["mcp_tool_use", "mcp_tool_result"]
    check(kinds, ["text", *shown, *shown, "text"])
    check(message.content[1].name, "calculator")
    check(message.content[1].input, {"expression": "6*7"})
    check(message.content[2].tool_use_id, message.content[1].id)
    check((message.content[2].is_error, message.content[2].content[0].text), (False, "42"))
    check((message.content[-1].text, message.stop_reason), ("It is 43.", "end_turn"))
    check(message.usage.output_tokens, 60)


@case
def both_sides() -> None:
    messages: Any = [{"role": "user", "content": "[both_sides] Multiply and add."}]
    message = CLIENT.beta.messages.create(
        model=MODEL, max_tokens=100, messages=messages, tools=[TOOL], extra_headers=BOTH
    )
    check(message.stop_reason, "tool_use")
    check([block.name for block in calls(message)], ["add"])
    check([block.name for block in message.content if block.type == "mcp_tool_use"], ["calculator"])
    messages += [{"role": "assistant", "content": message.content}, results(message)]
    message = CLIENT.beta.messages.create(
        model=MODEL, max_tokens=100, messages=messages, tools=[TOOL], extra_headers=BOTH
    )
    check((said(message), message.stop_reason), ("42 and 3.", "end_turn"))


class Weather(pydantic.BaseModel):
    city: str
    degrees: int


@case
def structured() -> None:
    asked: Any = [{"role": "user", "content": "[structured] How is the weather?"}]
    message = CLIENT.messages.parse(
        model=MODEL, max_tokens=100, messages=asked, output_format=Weather, extra_headers=OURS
    )
    check(message.parsed_output, Weather(city="Oslo", degrees=7))


@case
def thinking() -> None:
    messages: Any = [{"role": "user", "content": "[thinking] Two and two?"}]
    thoughts: Any = {"type": "adaptive", "display": "summarized"}
    with CLIENT.messages.stream(
        model=MODEL, max_tokens=2000, messages=messages, thinking=thoughts, extra_headers=OURS
    ) as streamed:
        message = streamed.get_final_message()
    check(said(message), "Four.")
    if REASONING:
        check((message.content[0].type, message.content[0].thinking), ("thinking", "Two and two."))
    messages += [message.to_param(), {"role": "user", "content": "Are you sure?"}]
    message = CLIENT.messages.create(
        model=MODEL, max_tokens=2000, messages=messages, thinking=thoughts, extra_headers=OURS
    )
    check(said(message), "Still four.")


@case
def count_tokens() -> None:
    asked: Any = [{"role": "user", "content": "x" * 400}]
    counted = CLIENT.messages.with_raw_response.count_tokens(model=MODEL, messages=asked, tools=[TOOL])
    tokens = counted.parse().input_tokens
    check(100 < tokens < 200, True)
    check("estimated" in counted.headers.get("x-jackfield-notes", ""), True)


@case
def models() -> None:
    page = CLIENT.models.list()
    names = [model.id for model in page]
    check(MODEL in names, True)
    check({model.type for model in page.data}, {"model"})
    check(CLIENT.models.retrieve(MODEL).id, MODEL)
    try:
        CLIENT.models.retrieve("nobody/nothing")
        raise AssertionError("there is no such model")
    except anthropic.NotFoundError as error:
        check((error.type, error.error_code), ("not_found_error", "model_not_found"))


@case
def errors() -> None:
    def refused(wanted: type[anthropic.APIStatusError], code: str, client: Any = CLIENT, **more: Any) -> None:
        asked = {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}], **more}
        try:
            client.beta.messages.create(**asked)
        except wanted as error:
            check(error.error_code, code)
            check(error.request_id, error.body["request_id"])
            return
        raise AssertionError(f"nothing is wrong with {more}")

    stranger = Anthropic(api_key="sk-nobody", base_url=URL, max_retries=0)
    refused(anthropic.AuthenticationError, "authentication_required", stranger)
    refused(anthropic.NotFoundError, "model_not_found", model="nobody/nothing")
    refused(anthropic.BadRequestError, "invalid_request", messages=[])
    refused(anthropic.BadRequestError, "not_supported", betas=["managed-agents-2026-04-01"])
    refused(anthropic.BadRequestError, "not_supported", extra_body={"mcp_servers": [{"type": "url"}]})
    refused(anthropic.NotFoundError, "session_not_found", extra_headers={"X-Session-ID": "nobodys"})
    lone = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_nobodys", "content": "1"}]}
    refused(anthropic.BadRequestError, "call_not_found", messages=[lone])
    # The SDK sends its key as a bearer's token; older ones, and other programs, in a header of its own.
    body = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}
    counted = httpx2.post(f"{URL}/v1/messages/count_tokens", headers={"x-api-key": TOKEN}, json=body)
    check(counted.status_code, 200)


@case
def provider_refuses() -> None:
    try:
        CLIENT.messages.create(
            model=MODEL,
            max_tokens=100,
            messages=[{"role": "user", "content": "[provider_refuses] Hello"}],
            extra_headers=OURS,
        )
        raise AssertionError("the provider refuses it")
    except anthropic.BadRequestError as error:
        check((error.type, error.error_code), ("invalid_request_error", "provider_refuses_request"))
        check("not like this" in error.message, True)


@case
def abort() -> None:
    asked: Any = [{"role": "user", "content": "[abort] Count."}]
    with CLIENT.messages.stream(model=MODEL, max_tokens=100, messages=asked, extra_headers=OURS) as streamed:
        for text in streamed.text_stream:
            check(text[:3], "One")
            break
    message = CLIENT.messages.create(model=MODEL, max_tokens=100, messages=asked, extra_headers=OURS)
    check(said(message), "Here again.")


@case
def broken_connection() -> None:
    client = Anthropic(api_key=TOKEN, base_url=BREAKS_BEFORE, max_retries=2, timeout=30)
    message = client.messages.create(
        model=MODEL, max_tokens=100, messages=[{"role": "user", "content": "[broken_connection] Once."}]
    )
    check(said(message), "Said once.")


@case
def broken_stream() -> None:
    client = Anthropic(api_key=TOKEN, base_url=BREAKS_WITHIN, max_retries=2, timeout=30)
    asked: Any = [{"role": "user", "content": "[broken_stream] Once."}]
    first = ""
    try:
        with client.messages.stream(model=MODEL, max_tokens=100, messages=asked) as streamed:
            first = streamed.get_final_message().id
        raise AssertionError("the stream breaks")
    except (anthropic.APIError, httpx2.HTTPError):
        check(first, "")
    # The program asks the same again, of its own: the answer is owed, and is not made twice.
    with client.messages.stream(model=MODEL, max_tokens=100, messages=asked) as streamed:
        check(streamed.get_final_text(), "Said once.")


if __name__ == "__main__":
    main()
