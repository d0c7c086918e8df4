"""The cases of OpenAI's SDK for Python in its Responses language, in front of the gateway."""

from __future__ import annotations

import json
from typing import Any

import openai
import pydantic
from openai import OpenAI

from cases import ADD, BREAKS_BEFORE, MODEL, PIXEL, REASONING, TOKEN, URL, case, check, main

CLIENT = OpenAI(api_key=TOKEN, base_url=f"{URL}/v1", max_retries=0, timeout=30)
TOOL: Any = {"type": "function", "name": "add", "description": "Adds two numbers.", "parameters": ADD, "strict": False}
OURS = {"X-Jackfield-Tools": "none"}
BOTH = {"X-Jackfield-Tools": "all"}


def calls(response: Any) -> list[Any]:
    """The calls of a response that its client has to run."""
    return [item for item in response.output if item.type == "function_call"]


def results(response: Any) -> list[Any]:
    """What came of the calls, as the client's next items."""

    def added(call: Any) -> str:
        arguments = json.loads(call.arguments)
        return str(arguments["a"] + arguments["b"])

    return [{"type": "function_call_output", "call_id": call.call_id, "output": added(call)} for call in calls(response)]


def ask(text: str, **more: Any) -> Any:
    """Asks for a response, with no tools but the client's own unless it says otherwise."""
    return CLIENT.responses.create(**{"model": MODEL, "input": text, "extra_headers": OURS, **more})


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
    raw = CLIENT.responses.with_raw_response.create(
        model=MODEL, input="[words] Hello", instructions="Be kind.", metadata={"order": "7"}, extra_headers=OURS
    )
    response = raw.parse()
    check(response.output_text, "Hello! 你好")
    check((response.model, response.status, response.object), (MODEL, "completed", "response"))
    check((response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens), (100, 20, 120))
    check((response.id[:5], response.output[0].id[:4]), ("resp_", "msg_"))
    check((response.instructions, response.metadata, response.tools), ("Be kind.", {"order": "7"}, []))
    check(response._request_id, raw.headers["x-request-id"])
    again = CLIENT.responses.retrieve(response.id)
    check(again.to_dict() | {"created_at": 0}, response.to_dict() | {"created_at": 0})
    asked = CLIENT.responses.input_items.list(response.id)
    check([item.content[0].text for item in asked], ["[words] Hello"])


@case
def stream() -> None:
    kinds, pieces, numbers = set(), [], []
    with CLIENT.responses.stream(model=MODEL, input="[stream] Go on", extra_headers=OURS) as streamed:
        for event in streamed:
            kinds.add(event.type)
            numbers.append(event.sequence_number)
            if event.type == "response.output_text.delta":
                pieces.append(event.delta)
        whole = streamed.get_final_response()
    check("".join(pieces), "One word after another, 一个字一个字地。")
    check((whole.output_text, whole.model, whole.status), ("".join(pieces), MODEL, "completed"))
    check((whole.usage.input_tokens, whole.usage.output_tokens), (100, 20))
    check(numbers, sorted(set(numbers)))
    wanted = {"response.created", "response.in_progress", "response.output_item.added", "response.content_part.done"}
    check(wanted <= kinds, True)


@case
def stream_again() -> None:
    with CLIENT.responses.stream(model=MODEL, input="[stream_again] Go on", extra_headers=OURS) as streamed:
        events = list(streamed)
    end = events[-1].response
    # From the middle of the text, and from there to the end.
    middle = next(event for event in events if event.type == "response.output_text.delta")
    rest = CLIENT.responses.retrieve(end.id, stream=True, starting_after=middle.sequence_number)
    rest = list(rest)
    check(all(event.sequence_number > middle.sequence_number for event in rest), True)
    told = "".join(event.delta for event in rest if event.type == "response.output_text.delta")
    check(middle.delta + told, "One word after another, 一个字一个字地。")
    check(rest[-1].sequence_number, events[-1].sequence_number)
    check(rest[-1].response.output_text, end.output_text)
    # The helper reads all of them again, and gives those that are new.
    with CLIENT.responses.stream(response_id=end.id, starting_after=middle.sequence_number) as streamed:
        new = [event.type for event in streamed]
    check(new[-1], "response.completed")
    check("response.created" in new, False)


@case
def image() -> None:
    content: Any = [
        {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"},
        {"type": "input_text", "text": "[image] What is this?"},
    ]
    check(ask([{"role": "user", "content": content}]).output_text, "A red dot.")


@case
def client_rounds() -> None:
    response = CLIENT.responses.create(model=MODEL, input="[client_rounds] Add.", tools=[TOOL])
    rounds = 1
    while calls(response):
        # The tools are known from the first request on.
        response = CLIENT.responses.create(
            model=MODEL, previous_response_id=response.id, input=results(response), extra_headers=OURS
        )
        rounds += 1
    check((rounds, response.output_text, response.status), (3, "It is 7.", "completed"))


@case
def client_full() -> None:
    items: Any = [{"role": "user", "content": "[client_full] Add."}]
    rounds = 0
    while True:
        response = CLIENT.responses.create(model=MODEL, input=items, tools=[TOOL], store=False)
        rounds += 1
        if not calls(response):
            break
        items += [*response.output, *results(response)]
    check((rounds, response.output_text), (3, "It is 7."))
    # What is not stored is not there later.
    status_error(openai.NotFoundError, "reply_not_found", lambda: CLIENT.responses.retrieve(response.id))


@case
def client_parallel() -> None:
    with CLIENT.responses.stream(model=MODEL, input="[client_parallel] Add twice.", tools=[TOOL]) as streamed:
        response = streamed.get_final_response()
    check(response.output_text, "Two sums.")
    check([json.loads(call.arguments) for call in calls(response)], [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    # Half of the results is none; the turn goes on waiting for all of them.
    both = results(response)
    more: Any = {"model": MODEL, "previous_response_id": response.id, "tools": [TOOL]}
    error = status_error(
        openai.BadRequestError, "results_missing", lambda: CLIENT.responses.create(input=both[1:], **more)
    )
    check(both[0]["call_id"] in error.message, True)
    status_error(openai.BadRequestError, "results_missing", lambda: CLIENT.responses.create(input="And?", **more))
    with CLIENT.responses.stream(input=both, **more) as streamed:
        answer = streamed.get_final_response()
    check(answer.output_text, "3 and 7.")
    check(answer.previous_response_id, response.id)
    # The same results again tell the same again; others are too late.
    again = CLIENT.responses.create(input=both, **more)
    check((again.id, again.output_text), (answer.id, "3 and 7."))
    other = [{**both[0], "output": "30"}, both[1]]
    status_error(openai.ConflictError, "conflict", lambda: CLIENT.responses.create(input=other, **more))


@case
def server_rounds() -> None:
    kinds = set()
    with CLIENT.responses.stream(model=MODEL, input="[server_rounds] Multiply, then add.") as streamed:
        for event in streamed:
            kinds.add(event.type)
        response = streamed.get_final_response()
    check([item.type for item in response.output], ["message", "mcp_call", "mcp_call", "message"])
    first: Any = response.output[1]
    check((first.name, json.loads(first.arguments)), ("calculator", {"expression": "6*7"}))
    check((first.output, first.error, first.status), ("42", None, "completed"))
    check((response.output[-1].content[0].text, response.status), ("It is 43.", "completed"))
    check(response.usage.output_tokens, 60)
    wanted = {"response.mcp_call.in_progress", "response.mcp_call_arguments.done", "response.mcp_call.completed"}
    check(wanted <= kinds, True)
    again = CLIENT.responses.retrieve(response.id)
    check([item.id for item in again.output], [item.id for item in response.output])
    check(again.output[1].to_dict(), first.to_dict())


@case
def both_sides() -> None:
    more: Any = {"model": MODEL, "tools": [TOOL], "extra_headers": BOTH}
    response = CLIENT.responses.create(input="[both_sides] Multiply and add.", **more)
    check([item.type for item in response.output], ["message", "mcp_call", "function_call"])
    check((response.output[1].name, response.output[1].output), ("calculator", "42"))
    answer = CLIENT.responses.create(input=results(response), previous_response_id=response.id, **more)
    check((answer.output_text, answer.status), ("42 and 3.", "completed"))


class Weather(pydantic.BaseModel):
    city: str
    degrees: int


@case
def structured() -> None:
    response = CLIENT.responses.parse(
        model=MODEL, input="[structured] How is the weather?", text_format=Weather, extra_headers=OURS
    )
    check(response.output_parsed, Weather(city="Oslo", degrees=7))


@case
def thinking() -> None:
    more: Any = {"model": MODEL, "reasoning": {"effort": "low", "summary": "auto"}, "extra_headers": OURS}
    with CLIENT.responses.stream(input="[thinking] Two and two?", **more) as streamed:
        response = streamed.get_final_response()
    check(response.output_text, "Four.")
    if REASONING:
        check((response.output[0].type, response.output[0].summary[0].text), ("reasoning", "Two and two."))
    # The reasoning goes back with the whole conversation.
    items: Any = [{"role": "user", "content": "[thinking] Two and two?"}, *response.output]
    items.append({"role": "user", "content": "Are you sure?"})
    check(CLIENT.responses.create(input=items, **more).output_text, "Still four.")


@case
def fork() -> None:
    first = ask("[fork] Which colour?")
    check(first.output_text, "Red it is.")
    second = ask("Why?", previous_response_id=first.id)
    check((second.output_text, second.previous_response_id), ("Because it is red.", first.id))
    # The conversation has gone on; the other way from the first answer is another one.
    other = ask("Another one.", previous_response_id=first.id)
    check(other.output_text, "Blue, then.")
    status_error(
        openai.BadRequestError,
        "previous_response_not_found",
        lambda: ask("Why?", previous_response_id="resp_nobodys_0"),
    )


@case
def deletion() -> None:
    response = ask("[deletion] Hello")
    CLIENT.responses.delete(response.id)
    for run in (
        lambda: CLIENT.responses.retrieve(response.id),
        lambda: CLIENT.responses.delete(response.id),
        lambda: CLIENT.responses.input_items.list(response.id),
        lambda: CLIENT.responses.retrieve("resp_nobodys_0"),
    ):
        status_error(openai.NotFoundError, "reply_not_found", run)


@case
def background() -> None:
    response = ask("[background] Take your time.", background=True)
    check(response.status in ("queued", "in_progress"), True)
    while response.status in ("queued", "in_progress"):
        response = CLIENT.responses.retrieve(response.id)
    check((response.output_text, response.status, response.background), ("In its own time.", "completed", True))


@case
def cancel() -> None:
    response = ask("[cancel] Count.", background=True)
    cancelled = CLIENT.responses.cancel(response.id)
    check((cancelled.id, cancelled.status), (response.id, "cancelled"))
    check(CLIENT.responses.retrieve(response.id).status, "cancelled")
    check(CLIENT.responses.cancel(response.id).status, "cancelled")


@case
def errors() -> None:
    def refused(wanted: type[openai.APIStatusError], code: str, param: str | None = None, **more: Any) -> None:
        client = more.pop("client", CLIENT)
        asked = {"model": MODEL, "input": "hi", **more}
        error = status_error(wanted, code, lambda: client.responses.create(**asked))
        check(error.param, param)

    stranger = OpenAI(api_key="sk-nobody", base_url=f"{URL}/v1", max_retries=0)
    refused(openai.AuthenticationError, "invalid_api_key", client=stranger)
    refused(openai.NotFoundError, "model_not_found", "model", model="nobody/nothing")
    refused(openai.BadRequestError, "invalid_request", "input", input=7)
    refused(openai.BadRequestError, "invalid_request", "input.0.role", input=[{"role": "bot", "content": "hi"}])
    refused(openai.BadRequestError, "unsupported_parameter", "tools.0", tools=[{"type": "local_shell"}])
    mcp = {"type": "mcp", "server_label": "a", "server_url": "https://mcp.example"}
    refused(openai.BadRequestError, "unsupported_parameter", "tools.0", tools=[mcp])
    refused(openai.BadRequestError, "unsupported_parameter", "conversation", conversation="conv_1")
    refused(openai.NotFoundError, "session_not_found", extra_headers={"X-Session-ID": "nobodys"})
    lone = [{"type": "function_call_output", "call_id": "call_nobodys", "output": "1"}]
    refused(openai.BadRequestError, "call_not_found", None, input=lone)


@case
def models() -> None:
    names = [model.id for model in CLIENT.models.list()]
    check(MODEL in names, True)
    check(CLIENT.models.retrieve(MODEL).id, MODEL)
    status_error(openai.NotFoundError, "model_not_found", lambda: CLIENT.models.retrieve("nobody/nothing"))


@case
def provider_refuses() -> None:
    error = status_error(
        openai.BadRequestError, "provider_refuses_request", lambda: ask("[provider_refuses] Hello")
    )
    check("not like this" in error.message, True)


@case
def abort() -> None:
    with CLIENT.responses.stream(model=MODEL, input="[abort] Count.", extra_headers=OURS) as streamed:
        for event in streamed:
            if event.type == "response.output_text.delta":
                check(event.delta, "O")
                break
    check(ask("[abort] Count.").output_text, "Here again.")


@case
def broken_connection() -> None:
    client = OpenAI(api_key=TOKEN, base_url=f"{BREAKS_BEFORE}/v1", max_retries=2, timeout=30)
    response = client.responses.create(model=MODEL, input="[broken_connection] Once.")
    check(response.output_text, "Said once.")


if __name__ == "__main__":
    main()
