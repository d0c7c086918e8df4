"""The cases of OpenAI's SDK for Python in its language of Chat Completions, in front of the gateway."""

from __future__ import annotations

import json
from typing import Any

import openai
import pydantic
from openai import OpenAI

from cases import ADD, BREAKS_BEFORE, BREAKS_WITHIN, MODEL, PIXEL, TOKEN, URL, case, check, main

CLIENT = OpenAI(api_key=TOKEN, base_url=f"{URL}/v1", max_retries=0, timeout=30)
TOOL: Any = {"type": "function", "function": {"name": "add", "description": "Adds two numbers.", "parameters": ADD}}
OURS = {"X-Jackfield-Tools": "none"}
BOTH = {"X-Jackfield-Tools": "all"}


def user(text: str) -> list[Any]:
    """A conversation that begins with these words."""
    return [{"role": "user", "content": text}]


def ask(text: str, **more: Any) -> Any:
    """Asks with no tools but the client's own, unless it says otherwise."""
    return CLIENT.chat.completions.create(
        **{"model": MODEL, "messages": user(text), "extra_headers": OURS, **more}
    )


def results(message: Any) -> list[Any]:
    """What came of the calls, as the client's next messages."""

    def added(call: Any) -> str:
        arguments = json.loads(call.function.arguments)
        return str(arguments["a"] + arguments["b"])

    return [{"role": "tool", "tool_call_id": call.id, "content": added(call)} for call in message.tool_calls]


def status_error(wanted: type[openai.APIStatusError], code: str, run: Any) -> openai.APIStatusError:
    """What it is refused with, which has to be this."""
    try:
        run()
    except wanted as error:
        check(error.code, code)
        check(bool(error.request_id), True)
        return error
    raise AssertionError("nothing is wrong with it")


@case
def words() -> None:
    raw = CLIENT.chat.completions.with_raw_response.create(
        model=MODEL,
        messages=[{"role": "developer", "content": "Be kind."}, *user("[words] Hello")],
        extra_headers=OURS,
    )
    reply = raw.parse()
    choice = reply.choices[0]
    check((choice.message.role, choice.message.content), ("assistant", "Hello! 你好"))
    check((choice.message.tool_calls, choice.message.refusal, choice.finish_reason), (None, None, "stop"))
    check((reply.model, reply.object, reply.id[:9]), (MODEL, "chat.completion", "chatcmpl-"))
    usage = reply.usage
    check((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (100, 20, 120))
    check(bool(reply._request_id), True)
    check(reply._request_id, raw.headers["x-request-id"])


@case
def stream() -> None:
    asked: Any = {"model": MODEL, "messages": user("[stream] Go on"), "extra_headers": OURS}
    pieces = []
    with CLIENT.chat.completions.stream(**asked, stream_options={"include_usage": True}) as streamed:
        for event in streamed:
            if event.type == "content.delta":
                pieces.append(event.delta)
        whole = streamed.get_final_completion()
    check("".join(pieces), "One word after another, 一个字一个字地。")
    check(whole.choices[0].message.content, "".join(pieces))
    check((whole.model, whole.choices[0].finish_reason), (MODEL, "stop"))
    check((whole.usage.prompt_tokens, whole.usage.completion_tokens), (100, 20))


@case
def image() -> None:
    content: Any = [
        {"type": "text", "text": "[image] What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
    ]
    check(ask("", messages=[{"role": "user", "content": content}]).choices[0].message.content, "A red dot.")


@case
def client_rounds() -> None:
    messages: Any = user("[client_rounds] Add.")
    rounds = 0
    while True:
        # The tools are known from the first request on.
        more: Any = {"tools": [TOOL]} if rounds == 0 else {}
        choice = CLIENT.chat.completions.create(model=MODEL, messages=messages, **more).choices[0]
        rounds += 1
        if choice.finish_reason != "tool_calls":
            break
        if rounds == 1:
            check(choice.message.content, None)
        messages += [choice.message.to_dict(), *results(choice.message)]
    check((rounds, choice.message.content, choice.finish_reason), (3, "It is 7.", "stop"))


@case
def client_parallel() -> None:
    messages: Any = user("[client_parallel] Add twice.")
    asked: Any = {"model": MODEL, "tools": [TOOL]}
    with CLIENT.chat.completions.stream(messages=messages, **asked) as streamed:
        choice = streamed.get_final_completion().choices[0]
    message = choice.message
    check((message.content, choice.finish_reason), ("Two sums.", "tool_calls"))
    calls = [json.loads(call.function.arguments) for call in message.tool_calls]
    check(calls, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    # Half of the results is none; the turn goes on waiting for all of them.
    spoken = {"role": "assistant", "content": message.content}
    spoken["tool_calls"] = [
        {"id": call.id, "type": "function", "function": {"name": "add", "arguments": call.function.arguments}}
        for call in message.tool_calls
    ]
    all_of_them = results(message)
    error = status_error(
        openai.BadRequestError,
        "results_missing",
        lambda: CLIENT.chat.completions.create(messages=[*messages, spoken, all_of_them[1]], **asked),
    )
    check(message.tool_calls[0].id in error.message, True)
    with CLIENT.chat.completions.stream(messages=[*messages, spoken, *all_of_them], **asked) as streamed:
        check(streamed.get_final_completion().choices[0].message.content, "3 and 7.")


@case
def server_rounds() -> None:
    asked: Any = {"model": MODEL, "messages": user("[server_rounds] Multiply, then add.")}
    with CLIENT.chat.completions.stream(**asked, stream_options={"include_usage": True}) as streamed:
        reply = streamed.get_final_completion()
    message = reply.choices[0].message
    # Words of several rounds are parted; what ran here is no call for the client.
    check(message.content, "First a product.\n\nIt is 43.")
    check((message.tool_calls, reply.choices[0].finish_reason), (None, "stop"))
    check(reply.usage.completion_tokens, 60)


@case
def both_sides() -> None:
    messages: Any = user("[both_sides] Multiply and add.")
    asked: Any = {"model": MODEL, "tools": [TOOL], "extra_headers": BOTH}
    choice = CLIENT.chat.completions.create(messages=messages, **asked).choices[0]
    check((choice.finish_reason, choice.message.content), ("tool_calls", "Both at once."))
    check([call.function.name for call in choice.message.tool_calls], ["add"])
    messages.append(choice.message.to_dict())
    brought = results(choice.message)
    for _ in range(2):
        # The same results again get the same answer, which is not made twice.
        again = CLIENT.chat.completions.create(messages=[*messages, *brought], **asked)
        check((again.choices[0].message.content, again.choices[0].finish_reason), ("42 and 3.", "stop"))
    # Another result for the same call contradicts what was said.
    others = [*messages, {**brought[0], "content": "8"}]
    status_error(
        openai.ConflictError, "conflict", lambda: CLIENT.chat.completions.create(messages=others, **asked)
    )


class Weather(pydantic.BaseModel):
    city: str
    degrees: int


@case
def structured() -> None:
    asked: Any = {"model": MODEL, "messages": user("[structured] How is the weather?"), "extra_headers": OURS}
    reply = CLIENT.chat.completions.parse(response_format=Weather, **asked)
    check(reply.choices[0].message.parsed, Weather(city="Oslo", degrees=7))


@case
def thinking() -> None:
    messages: Any = user("[thinking] Two and two?")
    asked: Any = {"model": MODEL, "reasoning_effort": "low", "extra_headers": OURS}
    message = CLIENT.chat.completions.create(messages=messages, **asked).choices[0].message
    check(message.content, "Four.")
    # The vendor has no field for what was thought, and a client that knows of none gets none.
    check(message.model_extra, {})
    messages += [message.to_dict(), *user("Are you sure?")]
    check(CLIENT.chat.completions.create(messages=messages, **asked).choices[0].message.content, "Still four.")


@case
def models() -> None:
    listed = CLIENT.models.list()
    check(MODEL in [model.id for model in listed], True)
    check({model.object for model in listed.data}, {"model"})
    check(CLIENT.models.retrieve(MODEL).id, MODEL)
    status_error(openai.NotFoundError, "model_not_found", lambda: CLIENT.models.retrieve("nobody/nothing"))


@case
def errors() -> None:
    stranger = OpenAI(api_key="sk-nobody", base_url=f"{URL}/v1", max_retries=0)
    asked: Any = {"model": MODEL, "messages": user("hi")}
    status_error(
        openai.AuthenticationError, "invalid_api_key", lambda: stranger.chat.completions.create(**asked)
    )
    lone: Any = [*user("hi"), {"role": "tool", "tool_call_id": "call_nobodys", "content": "1"}]
    nobodys = {"X-Session-ID": "nobodys"}
    for wanted, code, more in [
        (openai.NotFoundError, "model_not_found", {"model": "nobody/nothing"}),
        (openai.BadRequestError, "invalid_request", {"messages": []}),
        (openai.BadRequestError, "unsupported_parameter", {"n": 2}),
        (openai.BadRequestError, "unsupported_parameter", {"extra_body": {"mcp_servers": []}}),
        (openai.NotFoundError, "session_not_found", {"extra_headers": nobodys}),
        (openai.BadRequestError, "call_not_found", {"messages": lone}),
    ]:
        status_error(wanted, code, lambda more=more: CLIENT.chat.completions.create(**{**asked, **more}))
    error = status_error(openai.BadRequestError, "invalid_request", lambda: ask("hi", temperature="warm"))
    check((error.param, error.type), ("temperature", "invalid_request_error"))


@case
def provider_refuses() -> None:
    error = status_error(
        openai.BadRequestError, "provider_refuses_request", lambda: ask("[provider_refuses] Hello")
    )
    check("not like this" in error.message, True)


@case
def abort() -> None:
    asked: Any = {"model": MODEL, "messages": user("[abort] Count."), "extra_headers": OURS}
    with CLIENT.chat.completions.stream(**asked) as streamed:
        for event in streamed:
            if event.type == "content.delta" and event.delta:
                check(event.delta[:3], "One")
                break
    check(CLIENT.chat.completions.create(**asked).choices[0].message.content, "Here again.")


@case
def broken_connection() -> None:
    client = OpenAI(api_key=TOKEN, base_url=f"{BREAKS_BEFORE}/v1", max_retries=2, timeout=30)
    reply = client.chat.completions.create(model=MODEL, messages=user("[broken_connection] Once."))
    check(reply.choices[0].message.content, "Said once.")


@case
def broken_stream() -> None:
    client = OpenAI(api_key=TOKEN, base_url=f"{BREAKS_WITHIN}/v1", max_retries=2, timeout=30)
    asked: Any = {"model": MODEL, "messages": user("[broken_stream] Once.")}
    whole = None
    try:
        with client.chat.completions.stream(**asked) as streamed:
            whole = streamed.get_final_completion()
    except (openai.APIError, KeyError):
        pass
    if whole is not None:
        # The SDK takes what came for all there is, but nobody told it so.
        check(whole.choices[0].finish_reason, None)
    # The program asks the same again, of its own: the answer is owed, and is not made twice.
    with client.chat.completions.stream(**asked) as streamed:
        check(streamed.get_final_completion().choices[0].message.content, "Said once.")


if __name__ == "__main__":
    main()
