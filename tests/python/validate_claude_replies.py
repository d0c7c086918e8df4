"""Checks what our server side writes for Claude Messages against the types of the official Python SDK.

    python validate_claude_replies.py [--served] REPLIES EVENTS

REPLIES holds one whole reply per `.json` file; an error reply is judged as one.
With `--served` both are what the gateway tells: replies of the beta API, which knows the tools of MCP servers,
errors with a code, models and counts of tokens.
EVENTS holds one stream per `.json` file: an array with the `data` of its server-sent events, in order.
A stream is also read with the SDK's own accumulator, and what comes of it has to be a sound reply.
A judge that accepts everything is worse than none, so it is first proved on broken samples.
"""

from __future__ import annotations

import argparse
import copy
import functools
import json
import sys
import typing
from pathlib import Path
from typing import Any

import httpx2
from anthropic.lib.streaming._beta_messages import accumulate_event as accumulate_beta_event
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.pagination import SyncPage
from anthropic.types import Message, MessageTokensCount, ModelInfo, RawMessageStreamEvent
from anthropic.types.beta import BetaMessage, BetaRawMessageStreamEvent
from anthropic.types.shared import ErrorResponse
from anthropic.types.shared.error_type import ErrorType

from strict_types import Broken, Judge, Tally, bodies, must_refuse


class ServedErrorJudge:
    """Judges an error of the gateway.

    The SDK's closed form of an error has neither the code nor every type; it reads both from the body itself.
    """

    def __init__(self) -> None:
        self._error = Judge(ErrorResponse, models=True)

    def check(self, body: bytes | str) -> None:
        """Raises `Broken` if the body is not sound."""
        value = json.loads(body)
        error = value.get("error")
        details = error.pop("details", None) if isinstance(error, dict) else None
        if not isinstance(details, dict) or list(details) != ["error_code"] or not isinstance(details["error_code"], str):
            raise Broken("an error of the gateway has a code, and nothing else in its details")
        if error.get("type") not in typing.get_args(ErrorType):
            raise Broken(f"the SDK knows no error of type {error.get('type')}")
        if not isinstance(value.get("request_id"), str):
            raise Broken("an error of the gateway names the request")
        if error["type"] == "conflict_error":
            error["type"] = "api_error"
        self._error.check(json.dumps(value))


class ReplyJudge:
    """Judges a whole reply, or what stands in place of one."""

    def __init__(self, *, served: bool) -> None:
        self._reply = Judge(BetaMessage if served else Message, models=True)
        self._error = ServedErrorJudge() if served else Judge(ErrorResponse, models=True)
        self._served = served
        self._model = Judge(ModelInfo, models=True)
        self._models = Judge(SyncPage[ModelInfo], models=True)
        self._count = Judge(MessageTokensCount, models=True)

    def check(self, body: bytes | str) -> None:
        """Raises `Broken` if the body is not sound."""
        self._judge_of(body).check(body)

    def _judge_of(self, body: bytes | str) -> Any:
        value = _value_of(body)
        if value.get("type") == "error":
            return self._error
        if self._served and value.get("type") == "model":
            return self._model
        if self._served and "data" in value:
            return self._models
        if self._served and "input_tokens" in value:
            return self._count
        return self._reply


class StreamJudge:
    """Judges a stream: each event, their frame, and the reply that they add up to."""

    def __init__(self, *, served: bool) -> None:
        self._event = Judge(BetaRawMessageStreamEvent if served else RawMessageStreamEvent, models=True)
        self._error = ServedErrorJudge() if served else Judge(ErrorResponse, models=True)
        self._reply = Judge(BetaMessage if served else Message, models=True)
        self._served = served

    def check(self, body: bytes | str) -> None:
        """Raises `Broken` if the stream is not sound."""
        try:
            events = json.loads(body)
        except ValueError as error:
            raise Broken(str(error)) from error
        if not isinstance(events, list) or not events:
            raise Broken("a stream is an array of events, and not empty")
        for number, event in enumerate(events):
            try:
                self._check_event(event)
            except Broken as error:
                raise Broken(f"event {number}\n{error}") from error
        told = [event for event in events if event["type"] != "ping"]
        kinds = [event["type"] for event in told]
        if "error" in kinds[:-1] or "message_stop" in kinds[:-1]:
            raise Broken("something follows the end of the stream")
        if kinds[-1:] == ["error"]:
            return
        if kinds[:1] != ["message_start"] or kinds[-1] != "message_stop":
            raise Broken("a stream runs from message_start to message_stop")
        self._reply.check(json.dumps(_accumulated(told, served=self._served)))

    def _check_event(self, event: Any) -> None:
        kind = event.get("type") if isinstance(event, dict) else None
        if kind == "ping":
            # The SDK skips pings before it looks at their type.
            if event != {"type": "ping"}:
                raise Broken("a ping holds its type and nothing else")
        elif kind == "error":
            self._error.check(json.dumps(event))
        else:
            self._event.check(json.dumps(event))


def _accumulated(events: list[Any], *, served: bool) -> Any:
    """The reply that the SDK makes of these events."""
    snapshot: Any = None
    fragments: dict[int, bytes] = {}
    accumulate: Any = accumulate_event
    if served:
        accumulate = functools.partial(accumulate_beta_event, request_headers=httpx2.Headers())
    try:
        for event in events:
            snapshot = accumulate(event=event, current_snapshot=snapshot, json_bufs=fragments)
    except (ValueError, TypeError, RuntimeError, IndexError, AttributeError) as error:
        raise Broken(f"the SDK cannot add up the stream: {error}") from error
    for index, text in fragments.items():
        # While a stream runs the SDK reads unfinished JSON too; at its end the text has to be whole.
        try:
            json.loads(text or b"{}")
        except ValueError as error:
            raise Broken(f"block {index}: the input's fragments are no JSON: {error}") from error
    made = snapshot.to_dict()
    for block in made["content"]:
        block.pop("parsed_output", None)
    return made


def _value_of(body: bytes | str) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


USAGE: dict[str, Any] = {"input_tokens": 10, "output_tokens": 5}
TEXT: dict[str, Any] = {"type": "text", "text": "One moment.", "citations": None}
CALL: dict[str, Any] = {"type": "tool_use", "id": "call_1", "name": "calculator", "input": {"expression": "6*7"}}
REPLY: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [TEXT, CALL],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": USAGE,
}
ERROR: dict[str, Any] = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}}
STREAM: list[Any] = [
    {"type": "message_start", "message": {**REPLY, "content": [], "stop_reason": None}},
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "One moment."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {**CALL, "input": {}}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"expression":'}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '"6*7"}'}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": USAGE},
    {"type": "message_stop"},
]


def with_event(number: int, **changes: Any) -> list[Any]:
    """Returns the sound stream with one event changed."""
    stream = copy.deepcopy(STREAM)
    stream[number].update(changes)
    return stream


BROKEN_REPLIES: dict[str, Any] = {
    "an unknown field": {**REPLY, "object": "message"},
    "an unknown field in a block": {**REPLY, "content": [{**TEXT, "annotations": []}]},
    "an unknown field in the usage": {**REPLY, "usage": {**USAGE, "total_tokens": 15}},
    "an unknown block": {**REPLY, "content": [{"type": "output_text", "text": "hi"}]},
    "a result in a reply": {**REPLY, "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "42"}]},
    "a string for a call's input": {**REPLY, "content": [{**CALL, "input": "{}"}]},
    "another vendor's reason": {**REPLY, "stop_reason": "stop"},
    "no usage": {key: value for key, value in REPLY.items() if key != "usage"},
    "a string for a number": {**REPLY, "usage": {**USAGE, "output_tokens": "5"}},
    "an unknown error": {"type": "error", "error": {"type": "busy", "message": "Busy."}},
    "an error without a message": {"type": "error", "error": {"type": "overloaded_error"}},
}
BROKEN_STREAMS: dict[str, Any] = {
    "an unknown event": with_event(4, type="content_block_end"),
    "an unknown field": with_event(4, reason="done"),
    "an unknown delta": with_event(3, delta={"type": "text", "text": "hi"}),
    "an object for a call's fragment": with_event(6, delta={"type": "input_json_delta", "partial_json": {}}),
    "a ping that says more": with_event(1, at=1),
    "a block that was not begun": with_event(3, index=2),
    "fragments that are no JSON": [*STREAM[:7], *STREAM[8:]],
    "no beginning": STREAM[1:],
    "no end": STREAM[:-1],
    "something after the end": [*STREAM, STREAM[3]],
    "nothing": [],
    "an event alone": STREAM[0],
}


SHOWN: dict[str, Any] = {"type": "mcp_tool_use", "id": "call_2", "name": "read", "server_name": "files", "input": {"a": 1}}
CAME: dict[str, Any] = {"type": "mcp_tool_result", "tool_use_id": "call_2", "is_error": False, "content": [{"type": "text", "text": "hi"}]}
SERVED_ERROR: dict[str, Any] = {
    "type": "error",
    "error": {"type": "conflict_error", "message": "Busy.", "details": {"error_code": "session_busy"}},
    "request_id": "req_1",
}
MODEL: dict[str, Any] = {
    "type": "model",
    "id": "m",
    "display_name": "M",
    "created_at": "1970-01-01T00:00:00Z",
    "lifecycle": "active",
}
SERVED: dict[str, Any] = {
    "a reply": {**REPLY, "content": [SHOWN, CAME, TEXT, CALL]},
    "an error": SERVED_ERROR,
    "a model": MODEL,
    "a page": {"data": [MODEL], "has_more": False, "first_id": "m", "last_id": "m"},
    "a count": {"input_tokens": 7},
}
BROKEN_SERVED: dict[str, Any] = {
    "a picture as an outcome": {**REPLY, "content": [{**CAME, "content": [{"type": "image"}]}]},
    "no server's name": {**REPLY, "content": [{key: value for key, value in SHOWN.items() if key != "server_name"}]},
    "an error without a code": {**ERROR, "request_id": "req_1"},
    "an error of an unknown type": {**SERVED_ERROR, "error": {**SERVED_ERROR["error"], "type": "busy"}},
    "an error that names no request": {key: value for key, value in SERVED_ERROR.items() if key != "request_id"},
    "a model without a day": {key: value for key, value in MODEL.items() if key != "created_at"},
    "a page of names": {"data": ["m"], "has_more": False},
    "a count in words": {"input_tokens": "seven"},
}
SERVED_STREAM: list[Any] = [
    STREAM[0],
    {"type": "content_block_start", "index": 0, "content_block": SHOWN},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": CAME},
    {"type": "content_block_stop", "index": 1},
    *STREAM[-2:],
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replies", type=Path)
    parser.add_argument("events", type=Path)
    parser.add_argument("--served", action="store_true")
    arguments = parser.parse_args()
    replies, streams = ReplyJudge(served=arguments.served), StreamJudge(served=arguments.served)
    if arguments.served:
        must_refuse(replies, SERVED, {**BROKEN_REPLIES, **BROKEN_SERVED})
        broken_off = [*SERVED_STREAM[:3], SERVED_ERROR]
        must_refuse(streams, {"a stream": SERVED_STREAM, "a broken-off one": broken_off}, BROKEN_STREAMS)
    else:
        must_refuse(replies, {"a reply": REPLY, "an error": ERROR}, BROKEN_REPLIES)
        must_refuse(streams, {"a stream": STREAM, "a broken-off one": [*STREAM[:4], ERROR]}, BROKEN_STREAMS)
    tally = Tally()
    for folder, judge in ((arguments.replies, replies), (arguments.events, streams)):
        for path in bodies(folder):
            tally.record(f"{folder.name}/{path.name}", lambda path=path, judge=judge: judge.check(path.read_bytes()))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
