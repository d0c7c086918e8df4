"""Checks what our server side writes for Chat Completions against the types of the official Python SDK.

    python validate_openai_chat_replies.py REPLIES EVENTS

REPLIES holds one whole reply per `.json` file; an error reply is judged as one.
EVENTS holds one stream per `.json` file: an array with the `data` of its server-sent events, in order; the
closing `[DONE]` is a text there.
A stream is also read with the SDK's own accumulator, and what comes of it has to be a sound reply.
Two things are sent that the vendor's types have forgotten, or do not know: a call of a custom tool in pieces,
which is judged as a function's whose arguments are its input; and the fields of `de_facto.py`.
A judge that accepts everything is worse than none, so it is first proved on broken samples.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from pathlib import Path
from typing import Any

from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.shared import ErrorObject

import de_facto
from strict_types import Broken, Judge, Tally, bodies, must_refuse

DONE = "[DONE]"


class ReplyJudge:
    """Judges a whole reply, or an error in place of one."""

    def __init__(self) -> None:
        self._reply = Judge(ChatCompletion, models=True)
        self._error = Judge(ErrorObject, models=True)

    def check(self, body: bytes | str) -> None:
        """Raises `Broken` if the body is not sound."""
        value = _read(body)
        if _is_error(value):
            self._error.check(json.dumps(value["error"]))
            return
        self._reply.check(json.dumps(_without_de_facto(value, "message")))
        for choice in value["choices"]:
            message = choice["message"]
            _check_message(message)
            if choice["finish_reason"] == "tool_calls" and not message.get("tool_calls"):
                raise Broken("a reason of calls without calls")


class StreamJudge:
    """Judges a stream: each chunk, their frame, and the reply that they add up to."""

    def __init__(self) -> None:
        self._chunk = Judge(ChatCompletionChunk, models=True)
        self._error = Judge(ErrorObject, models=True)
        self._reply = ReplyJudge()

    def check(self, body: bytes | str) -> None:
        """Raises `Broken` if the stream is not sound."""
        chunks = _read(body)
        if not isinstance(chunks, list) or not chunks:
            raise Broken("a stream is an array of chunks, and not empty")
        failed = _is_error(chunks[-1])
        if failed:
            self._error.check(json.dumps(chunks.pop()["error"]))
        elif chunks.pop() != DONE:
            raise Broken("a stream ends with [DONE] or an error")
        chunks = [_with_functions(chunk) for chunk in chunks]
        for number, chunk in enumerate(chunks):
            try:
                self._chunk.check(json.dumps(_without_de_facto(chunk, "delta")))
            except Broken as error:
                raise Broken(f"chunk {number}\n{error}") from error
        # What was done meanwhile stays: clients get it by the SDK's own adding up.
        chunks = [_without_de_facto(chunk, "delta", meanwhile=True) for chunk in chunks]
        _check_frame(chunks, failed)
        if not failed:
            self._reply.check(json.dumps(_accumulated(chunks)))


def _check_frame(chunks: list[Any], failed: bool) -> None:
    """One reply under one id, begun with its role, ended with its reason, and counted at the end alone."""
    if len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in chunks}) > 1:
        raise Broken("the chunks are not of one reply")
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    if choices and choices[0]["delta"].get("role") != "assistant":
        raise Broken("the first chunk says who speaks")
    ends = [number for number, choice in enumerate(choices) if choice.get("finish_reason")]
    if not failed and ends != [len(choices) - 1]:
        raise Broken("the last choice, and no other, says why the reply ended")
    counted = [number for number, chunk in enumerate(chunks) if chunk.get("usage")]
    if counted and (counted != [len(chunks) - 1] or chunks[-1]["choices"]):
        raise Broken("the usage stands in a last chunk of its own")
    next_index = 0
    for choice in choices:
        calls = choice["delta"].get("tool_calls")
        if calls == []:
            raise Broken("a delta without calls has no list of them")
        for call in calls or []:
            if call["index"] == next_index:
                next_index += 1
                if not call.get("id") or not call.get("type") or not call.get("function", {}).get("name"):
                    raise Broken("the first piece of a call has its id, type and name")
            elif call["index"] > next_index:
                raise Broken("calls are numbered from 0, without a gap")
            elif call.get("id") or call.get("function", {}).get("name"):
                raise Broken("later pieces of a call repeat neither id nor name")


def _accumulated(chunks: list[Any]) -> Any:
    """The reply that the SDK makes of these chunks."""
    state = ChatCompletionStreamState()
    try:
        for chunk in chunks:
            state.handle_chunk(ChatCompletionChunk.model_validate(chunk))
        # Not the final completion: for one that was cut or filtered the SDK raises an error there.
        made = json.loads(state.current_completion_snapshot.to_json(exclude_unset=True))
    except (ValueError, TypeError, RuntimeError, LookupError, AttributeError, AssertionError) as error:
        raise Broken(f"the SDK cannot add up the stream: {type(error).__name__}: {error}") from error
    for choice in made["choices"]:
        message = choice["message"]
        message.pop("parsed", None)
        message.setdefault("content", None)
        message.setdefault("refusal", None)
        choice.setdefault("logprobs", None)
        for call in message.get("tool_calls") or []:
            call.pop("index", None)
            call.get("function", {}).pop("parsed_arguments", None)
    return made


def _check_message(message: Any) -> None:
    """What the types leave open: a reply says something or nothing, but no empty list of calls."""
    calls = message.get("tool_calls")
    if calls == []:
        raise Broken("a message without calls has no list of them")
    ids = [call["id"] for call in calls or []]
    if len(set(ids)) != len(ids) or not all(ids):
        raise Broken("every call has its own id")


def _without_de_facto(value: Any, where: str, *, meanwhile: bool = False) -> Any:
    """A copy without the fields that clients know and the vendor's types do not; `meanwhile` keeps Jackfield's."""
    value = copy.deepcopy(value)
    choices = value.get("choices") if isinstance(value, dict) else None
    for choice in choices if isinstance(choices, list) else []:
        if isinstance(choice, dict) and where in choice:
            choice[where] = de_facto.without(choice[where], meanwhile=meanwhile)
    return value


def _with_functions(chunk: Any) -> Any:
    """A copy whose pieces of custom calls are pieces of functions."""
    chunk = copy.deepcopy(chunk)
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    for choice in choices if isinstance(choices, list) else []:
        delta = choice.get("delta") if isinstance(choice, dict) else None
        calls = delta.get("tool_calls") if isinstance(delta, dict) else None
        for call in calls if isinstance(calls, list) else []:
            if not isinstance(call, dict) or "custom" not in call:
                continue
            piece = call.pop("custom")
            if "function" in call or call.pop("type", "custom") != "custom":
                raise Broken("a piece of a custom call is of no other type")
            if not isinstance(piece, dict) or not set(piece) <= {"name", "input"}:
                raise Broken("a piece of a custom call has a name and an input")
            call["function"] = {"name": piece.get("name"), "arguments": piece.get("input")}
            if "id" in call:
                call["type"] = "function"
    return chunk


def _is_error(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"error"}


def _read(body: bytes | str) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise Broken(str(error)) from error


USAGE: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
HEAD: dict[str, Any] = {"id": "chatcmpl-1", "created": 1, "model": "gpt-6-astra"}
CALL: dict[str, Any] = {"id": "call_1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
MESSAGE: dict[str, Any] = {"role": "assistant", "content": "One moment.", "refusal": None, "tool_calls": [CALL]}
CHOICE: dict[str, Any] = {"index": 0, "finish_reason": "tool_calls", "logprobs": None, "message": MESSAGE}
REPLY: dict[str, Any] = {**HEAD, "object": "chat.completion", "choices": [CHOICE], "usage": USAGE}
ERROR: dict[str, Any] = {"error": {"message": "Busy.", "type": "server_error", "param": None, "code": None}}


def with_message(**changes: Any) -> dict[str, Any]:
    """Returns the sound reply with its message changed."""
    return {**REPLY, "choices": [{**CHOICE, "message": {**MESSAGE, **changes}}]}


def chunk(delta: dict[str, Any] | None, finish: str | None = None, **changes: Any) -> dict[str, Any]:
    """Returns a chunk with this delta; without one it has no choice."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
    return {**HEAD, "object": "chat.completion.chunk", "choices": choices, **changes}


def piece(**call: Any) -> dict[str, Any]:
    """Returns a chunk with a piece of a call."""
    return chunk({"tool_calls": [{"index": 0, **call}]})


FIRST = piece(id="call_1", type="function", function={"name": "clock", "arguments": ""})
STREAM: list[Any] = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": "A clock."}),
    chunk({"content": "One moment."}),
    FIRST,
    piece(function={"arguments": '{"tz":'}),
    piece(function={"arguments": '"UTC"}'}),
    chunk({}, "tool_calls"),
    chunk(None, usage=USAGE),
    DONE,
]


def with_chunk(number: int, *made: Any) -> list[Any]:
    """Returns the sound stream with other chunks, or none, in the place of one."""
    return [*STREAM[:number], *made, *STREAM[number + 1 :]]


def custom(**call: Any) -> list[Any]:
    """Returns the sound stream with a call of a custom tool that begins like this."""
    begun = piece(id="call_1", type="custom", **call)
    return [*STREAM[:3], begun, piece(custom={"input": "any {"}), *STREAM[6:]]


def meanwhile(*calls: Any) -> dict[str, Any]:
    """Returns what Jackfield did meanwhile."""
    return {"jackfield": {"tool_calls": list(calls)}}


SERVER_CALL: dict[str, Any] = {"id": "call_s", "server": "notes", "name": "get", "arguments": "{}"}
OUTCOME: dict[str, Any] = {"output": "none", "is_error": True}
BROKEN_REPLIES: dict[str, Any] = {
    "an empty list of what was done meanwhile": with_message(**meanwhile()),
    "an object for the arguments of what was done": with_message(**meanwhile({**SERVER_CALL, "arguments": {}})),
    "an unknown field": {**REPLY, "type": "message"},
    "an unknown field in a message": with_message(thinking="x"),
    "reasoning that is no text": with_message(reasoning_content=["x"]),
    "parts for the content": with_message(content=[{"type": "text", "text": "x"}]),
    "an object for arguments": with_message(tool_calls=[{**CALL, "function": {"name": "clock", "arguments": {}}}]),
    "a call without an id": with_message(tool_calls=[{key: CALL[key] for key in ("type", "function")}]),
    "two calls with one id": with_message(tool_calls=[CALL, CALL]),
    "an empty list of calls": with_message(tool_calls=[]),
    "another vendor's reason": {**REPLY, "choices": [{**CHOICE, "finish_reason": "end_turn"}]},
    "a reason of calls without calls": {
        **REPLY, "choices": [{**CHOICE, "message": {"role": "assistant", "content": "x", "refusal": None}}]
    },
    "another role": with_message(role="model"),
    "a string for a number": {**REPLY, "usage": {**USAGE, "total_tokens": "15"}},
    "no choices": {key: value for key, value in REPLY.items() if key != "choices"},
    "a chunk": STREAM[0],
    "an error without a message": {"error": {"type": "server_error", "param": None, "code": None}},
    "a number for an error's code": {"error": {**ERROR["error"], "code": 500}},
}
BROKEN_STREAMS: dict[str, Any] = {
    "what was done without an index": with_chunk(2, chunk(meanwhile(SERVER_CALL)), chunk(meanwhile(OUTCOME))),
    "an unknown field": with_chunk(2, chunk({"content": "x"}, sequence_number=1)),
    "an unknown field in a delta": with_chunk(2, chunk({"text": "x"})),
    "a whole reply": with_chunk(2, REPLY),
    "another id in the middle": with_chunk(2, chunk({"content": "x"}, id="chatcmpl-2")),
    "no role": STREAM[2:],
    "a piece without an index": with_chunk(4, chunk({"tool_calls": [{"function": {"arguments": "{}"}}]})),
    "a call that was not begun": with_chunk(3),
    "a call without a name": with_chunk(3, piece(id="call_1", type="function", function={"arguments": ""})),
    "a gap in the numbers": with_chunk(3, chunk({"tool_calls": [{**CALL, "index": 1}]})),
    "an id that comes again": with_chunk(4, piece(id="call_1", function={"arguments": "{}"})),
    "an empty list of calls": with_chunk(2, chunk({"tool_calls": []})),
    "an object for a call's fragment": with_chunk(4, piece(function={"arguments": {}})),
    "a custom call with arguments": custom(custom={"name": "run", "arguments": ""}),
    "a custom call without a name": custom(custom={"input": ""}),
    "a custom call that is a function's": custom(custom={"name": "run"}, function={"name": "run"}),
    "a custom call with an object for its input": custom(custom={"name": "run", "input": {}}),
    "no reason": with_chunk(6),
    "a reason too early": with_chunk(2, chunk({}, "stop")),
    "a reason that no vendor gives": with_chunk(6, chunk({}, "end_turn")),
    "usage before the end": with_chunk(2, chunk({"content": "x"}, usage=USAGE)),
    "no end": STREAM[:-1],
    "something after the end": [*STREAM, STREAM[2]],
    "an error and a closing mark": [*STREAM[:3], ERROR, DONE],
    "nothing": [],
    "a chunk alone": STREAM[0],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replies", type=Path)
    parser.add_argument("events", type=Path)
    arguments = parser.parse_args()
    replies, streams = ReplyJudge(), StreamJudge()
    sound = {
        "a reply": REPLY,
        "one with its reasoning": with_message(reasoning_content="x"),
        "one with what was done meanwhile": with_message(**meanwhile({**SERVER_CALL, **OUTCOME})),
        "an error": ERROR,
    }
    must_refuse(replies, sound, BROKEN_REPLIES)
    done = [chunk(meanwhile({"index": 0, **piece})) for piece in (SERVER_CALL, OUTCOME)]
    streamed = {"a stream": STREAM, "one with what was done": with_chunk(2, *done), "one with a custom call": custom(custom={"name": "run", "input": ""})}
    must_refuse(streams, {**streamed, "a broken-off one": [*STREAM[:4], ERROR]}, BROKEN_STREAMS)
    tally = Tally()
    for folder, judge in ((arguments.replies, replies), (arguments.events, streams)):
        for path in bodies(folder):
            tally.record(f"{folder.name}/{path.name}", lambda path=path, judge=judge: judge.check(path.read_bytes()))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
