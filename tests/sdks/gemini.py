"""The cases of Google's SDK for Python, in front of the gateway."""

from __future__ import annotations

import base64
from typing import Any

import pydantic
from google import genai
from google.genai import errors as wrong
from google.genai import types

from cases import ADD, BREAKS_BEFORE, BREAKS_WITHIN, MODEL, PIXEL, REASONING, TOKEN, URL, case, check, main


def client(url: str = URL, token: str = TOKEN, **more: Any) -> genai.Client:
    """A client that asks at this address."""
    return genai.Client(api_key=token, http_options=types.HttpOptions(base_url=url, timeout=10_000, **more))


CLIENT = client()
TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(name="add", description="Adds two numbers.", parameters_json_schema=ADD)
    ]
)
OURS = {"headers": {"X-Jackfield-Tools": "none"}}
BOTH = {"headers": {"X-Jackfield-Tools": "all"}}


def config(**more: Any) -> types.GenerateContentConfig:
    """No tools but the client's own, unless it says otherwise."""
    return types.GenerateContentConfig(**{"http_options": OURS, **more})


def user(text: str) -> Any:
    """The first words of a conversation."""
    return types.Content(role="user", parts=[types.Part.from_text(text=text)])


def ask(contents: Any, by: genai.Client = CLIENT, model: str = MODEL, **more: Any) -> Any:
    """The whole reply."""
    return by.models.generate_content(model=model, contents=contents, config=config(**more))


def streamed(contents: Any, by: genai.Client = CLIENT, **more: Any) -> list[Any]:
    """All that comes of a stream."""
    return list(by.models.generate_content_stream(model=MODEL, contents=contents, config=config(**more)))


def parts_of(replies: list[Any]) -> list[Any]:
    """The parts of a streamed reply."""
    return [part for reply in replies for part in reply.candidates[0].content.parts]


def text_of(parts: list[Any]) -> str:
    """What was said and not only thought."""
    return "".join(part.text or "" for part in parts if not part.thought)


def results(parts: list[Any], *, ids: bool = True) -> Any:
    """What came of the calls, as the client's next content."""

    def result(call: Any) -> types.Part:
        response = {"result": call.args["a"] + call.args["b"]}
        known = call.id if ids else None
        return types.Part(function_response=types.FunctionResponse(id=known, name=call.name, response=response))

    calls = [part.function_call for part in parts if part.function_call]
    return types.Content(role="user", parts=[result(call) for call in calls])


def refused(status: int, code: str, run: Any) -> wrong.APIError:
    """What it is refused with, which has to be this."""
    try:
        run()
    except wrong.APIError as error:
        reasons = [detail.get("reason") for detail in error.details["error"]["details"]]
        check((error.code, reasons[0]), (status, code))
        check(bool(error.details["error"]["details"][1]["requestId"]), True)
        return error
    raise AssertionError("nothing is wrong with it")


@case
def words() -> None:
    reply = ask([user("[words] Hello")], system_instruction="Be kind.")
    check((reply.text, reply.model_version), ("Hello! 你好", MODEL))
    candidate = reply.candidates[0]
    check((candidate.content.role, candidate.finish_reason), ("model", types.FinishReason.STOP))
    usage = reply.usage_metadata
    check((usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count), (100, 20, 120))
    check(bool(reply.response_id), True)


@case
def stream() -> None:
    replies = streamed([user("[stream] Go on")])
    check(text_of(parts_of(replies)), "One word after another, 一个字一个字地。")
    check(len(replies) > 1, True)
    last = replies[-1]
    check((last.candidates[0].finish_reason, last.model_version), (types.FinishReason.STOP, MODEL))
    check((last.usage_metadata.prompt_token_count, last.usage_metadata.candidates_token_count), (100, 20))


@case
def image() -> None:
    pixel = types.Part.from_bytes(data=base64.b64decode(PIXEL), mime_type="image/png")
    asked = types.Content(role="user", parts=[types.Part.from_text(text="[image] What is this?"), pixel])
    check(ask([asked]).text, "A red dot.")


@case
def client_rounds() -> None:
    contents = [user("[client_rounds] Add.")]
    rounds = 0
    while True:
        # The tools are known from the first request on.
        more: Any = {"tools": [TOOL]} if rounds == 0 else {}
        reply = ask(contents, http_options=None, **more)
        rounds += 1
        if not reply.function_calls:
            break
        # Results name no call, as in most examples of the vendor.
        parts = reply.candidates[0].content.parts
        contents += [reply.candidates[0].content, results(parts, ids=False)]
    check((rounds, reply.text, reply.candidates[0].finish_reason), (3, "It is 7.", types.FinishReason.STOP))


@case
def client_full() -> None:
    added = []

    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        added.append((a, b))
        return a + b

    chat = CLIENT.chats.create(model=MODEL, config=types.GenerateContentConfig(tools=[add]))
    check(chat.send_message("[client_full] Add.").text, "It is 7.")
    check(added, [(1, 2), (3, 4)])


@case
def client_parallel() -> None:
    asked: Any = {"tools": [TOOL], "http_options": None}
    contents = [user("[client_parallel] Add twice.")]
    parts = parts_of(streamed(contents, **asked))
    check(text_of(parts), "Two sums.")
    calls = [part.function_call for part in parts if part.function_call]
    check([call.args for call in calls], [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    contents.append(types.Content(role="model", parts=parts))
    # Half of the results is none; the turn goes on waiting for all of them.
    whole = results(parts)
    half = types.Content(role="user", parts=whole.parts[1:])
    error = refused(400, "results_missing", lambda: ask([*contents, half], **asked))
    check(calls[0].id in error.message, True)
    check(text_of(parts_of(streamed([*contents, whole], **asked))), "3 and 7.")


@case
def server_rounds() -> None:
    replies = streamed([user("[server_rounds] Multiply, then add.")], http_options=None)
    # What ran here is no call for the client.
    check([part.function_call for part in parts_of(replies) if part.function_call], [])
    check(text_of(parts_of(replies)), "First a product.It is 43.")
    check(replies[-1].usage_metadata.candidates_token_count, 60)


@case
def both_sides() -> None:
    asked: Any = {"tools": [TOOL], "http_options": BOTH}
    contents = [user("[both_sides] Multiply and add.")]
    reply = ask(contents, **asked)
    check([call.name for call in reply.function_calls], ["add"])
    content = reply.candidates[0].content
    contents += [content, results(content.parts)]
    for _ in range(2):
        # The same results again get the same answer, which is not made twice.
        check(ask(contents, **asked).text, "42 and 3.")
    other = results(content.parts)
    other.parts[0].function_response.response = {"result": 8}
    refused(409, "conflict", lambda: ask([*contents[:2], other], **asked))


class Weather(pydantic.BaseModel):
    city: str
    degrees: int


@case
def structured() -> None:
    more: Any = {"response_mime_type": "application/json", "response_schema": Weather}
    reply = ask([user("[structured] How is the weather?")], **more)
    check(reply.parsed, Weather(city="Oslo", degrees=7))


@case
def thinking() -> None:
    more: Any = {"thinking_config": types.ThinkingConfig(include_thoughts=True, thinking_level="LOW")}
    contents = [user("[thinking] Two and two?")]
    parts = parts_of(streamed(contents, **more))
    check(text_of(parts), "Four.")
    if REASONING:
        check("".join(part.text for part in parts if part.thought), "Two and two.")
    contents += [types.Content(role="model", parts=parts), user("Are you sure?")]
    check(ask(contents, **more).text, "Still four.")


@case
def count_tokens() -> None:
    counted = CLIENT.models.count_tokens(model=MODEL, contents="x" * 400)
    check(100 <= counted.total_tokens < 200, True)


@case
def models() -> None:
    listed = list(CLIENT.models.list())
    check(f"models/{MODEL}" in [model.name for model in listed], True)
    check(CLIENT.models.get(model=MODEL).name, f"models/{MODEL}")
    refused(404, "model_not_found", lambda: CLIENT.models.get(model="nobody/nothing"))


@case
def errors() -> None:
    refused(401, "authentication_required", lambda: ask("hi", by=client(token="sk-nobody")))
    lone = types.Part(function_response=types.FunctionResponse(id="call_nobodys", name="add", response={}))
    for status, code, contents, more in [
        (404, "model_not_found", "hi", {"model": "nobody/nothing"}),
        (400, "invalid_request", [types.Content(role="user", parts=[])], {}),
        (400, "not_supported", "hi", {"cached_content": "cachedContents/1"}),
        (400, "not_supported", "hi", {"tools": [types.Tool(computer_use=types.ComputerUse())]}),
        (404, "session_not_found", "hi", {"http_options": {"headers": {"X-Session-ID": "nobodys"}}}),
        (400, "call_not_found", [user("hi"), types.Content(role="user", parts=[lone])], {}),
    ]:
        refused(status, code, lambda contents=contents, more=more: ask(contents, **more))


@case
def provider_refuses() -> None:
    error = refused(400, "provider_refuses_request", lambda: ask([user("[provider_refuses] Hello")]))
    check("not like this" in error.message, True)


@case
def abort() -> None:
    contents = [user("[abort] Count.")]
    replies = CLIENT.models.generate_content_stream(model=MODEL, contents=contents, config=config())
    for reply in replies:
        if reply.text:
            check(reply.text[:3], "One")
            break
    replies.close()
    check(ask(contents).text, "Here again.")


@case
def broken_connection() -> None:
    retries = types.HttpRetryOptions(attempts=3, initial_delay=0.1)
    by = client(BREAKS_BEFORE, retry_options=retries)
    contents = [user("[broken_connection] Once.")]
    once = {"headers": {"Idempotency-Key": "broken_connection"}}
    try:
        ask(contents, by=by, http_options=once)
    except Exception:  # noqa: BLE001 - what breaks there is the transport's
        # The SDK retries a refused connection, and none that closes without a response. It marks no retry, so
        # the program names the request.
        check(ask(contents, by=by, http_options=once).text, "Said once.")
        return
    raise AssertionError("nothing broke")


@case
def broken_stream() -> None:
    by = client(BREAKS_WITHIN)
    contents = [user("[broken_stream] Once.")]
    finished = None
    try:
        finished = streamed(contents, by=by, http_options=None)[-1].candidates[0].finish_reason
    except Exception:  # noqa: BLE001 - what breaks there is the transport's
        pass
    # The SDK may take what arrived as complete, but the gateway did not say that.
    check(finished, None)
    # The program asks the same again, of its own: the answer is owed, and is not made twice.
    check(text_of(parts_of(streamed(contents, by=by, http_options=None))), "Said once.")


if __name__ == "__main__":
    main()
