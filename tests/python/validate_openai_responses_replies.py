"""Checks what our server side writes for Responses against the types of the official Python SDK.

    python validate_openai_responses_replies.py REPLIES EVENTS

REPLIES holds one whole response per `.json` file; an error in place of one is judged as one.
EVENTS holds one stream per `.json` file: an array with the `data` of its server-sent events, in order.
A stream is also read with the SDK's own accumulator, and what its pieces say has to be what its ends say.
The vendor says `store` in every response and has forgotten it in its types; it may stand there as a flag.
A judge that accepts everything is worse than none, so it is first proved on broken samples.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from openai._types import omit
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.shared import ErrorObject
from pydantic import TypeAdapter

from strict_types import Broken, Judge, Tally, bodies, must_refuse

ENDS = ("response.completed", "response.incomplete", "response.failed", "error")
# The event that carries a piece, the one that ends it, and where the pieces are one text.
PIECES = {
    "response.output_text.delta": "response.output_text.done",
    "response.refusal.delta": "response.refusal.done",
    "response.function_call_arguments.delta": "response.function_call_arguments.done",
    "response.custom_tool_call_input.delta": "response.custom_tool_call_input.done",
    "response.reasoning_text.delta": "response.reasoning_text.done",
    "response.reasoning_summary_text.delta": "response.reasoning_summary_text.done",
    "response.mcp_call_arguments.delta": "response.mcp_call_arguments.done",
}
TEXTS = ("text", "refusal", "arguments", "input")


class ReplyJudge:
    """Judges a whole response, or an error in place of one."""

    def __init__(self) -> None:
        self._reply = Judge(Response, models=True)
        self._error = Judge(ErrorObject, models=True)

    def check(self, body: bytes | str) -> None:
        """Raises `Broken` if the body is not sound."""
        value = _read(body)
        if isinstance(value, dict) and set(value) == {"error"}:
            self._error.check(json.dumps(value["error"]))
            return
        self._reply.check(json.dumps(_without_store(value)))
        _check_reply(value)


class StreamJudge:
    """Judges a stream: each event, their frame, and the response that they add up to."""

    def __init__(self) -> None:
        self._event = Judge(ResponseStreamEvent, models=True)
        self._reply = ReplyJudge()
        self._model = TypeAdapter(ResponseStreamEvent)

    def check(self, body: bytes | str) -> None:
        """Raises `Broken` if the stream is not sound."""
        events = _read(body)
        if not isinstance(events, list) or not events:
            raise Broken("a stream is an array of events, and not empty")
        for number, event in enumerate(events):
            try:
                if isinstance(event, dict) and "response" in event:
                    event = {**event, "response": _without_store(event["response"])}
                self._event.check(json.dumps(event))
            except Broken as error:
                raise Broken(f"event {number}\n{error}") from error
            if event["sequence_number"] != number:
                raise Broken(f"event {number} has the number {event['sequence_number']}")
        kinds = [event["type"] for event in events]
        if kinds[0] != "response.created":
            raise Broken("a stream begins with response.created")
        if kinds[-1] not in ENDS or any(kind in ENDS for kind in kinds[:-1]):
            raise Broken("a stream ends with the one event that ends it")
        self._accumulate(events)
        _check_pieces(events)
        if kinds[-1] != "error":
            final = events[-1]["response"]
            self._reply.check(json.dumps(final))
            if kinds[-1] != f"response.{final['status']}":
                raise Broken(f"{kinds[-1]} with the status {final['status']}")
            # What the server runs goes on beside what comes after it.
            ends = [event for event in events if event["type"] == "response.output_item.done"]
            done = [event["item"] for event in sorted(ends, key=lambda event: event["output_index"])]
            if kinds[-1] != "response.failed" and done != final["output"]:
                raise Broken("the items that were done are not the output")

    def _accumulate(self, events: list[Any]) -> None:
        """Lets the SDK add up the stream."""
        state = ResponseStreamState(input_tools=omit, text_format=omit)
        try:
            for event in events:
                state.handle_event(self._model.validate_python(event))
        except (ValueError, TypeError, RuntimeError, LookupError, AttributeError, AssertionError) as error:
            raise Broken(f"the SDK cannot add up the stream: {type(error).__name__}: {error}") from error


def _check_reply(reply: Any) -> None:
    """What the types leave open: the ids, and what belongs to which status."""
    ids = [item["id"] for item in reply["output"] if item.get("id")]
    calls = [item["call_id"] for item in reply["output"] if item["type"] in ("function_call", "custom_tool_call")]
    if len(set(ids)) != len(ids) or len(set(calls)) != len(calls) or not all(calls):
        raise Broken("every item has its own id, and every call its own")
    status = reply["status"]
    if (status == "incomplete") != bool(reply.get("incomplete_details")):
        raise Broken(f"{status}, and incomplete_details: {reply.get('incomplete_details')}")
    if (status == "failed") != bool(reply.get("error")):
        raise Broken(f"{status}, and error: {reply.get('error')}")


def _check_pieces(events: list[Any]) -> None:
    """Every item and text is begun, goes on under its own number and id, and ends as what its pieces are."""
    items: dict[int, Any] = {}
    texts: dict[tuple[Any, ...], str] = {}
    for number, event in enumerate(events):
        kind, index = event["type"], event.get("output_index")
        if kind == "response.output_item.added":
            if index != len(items):
                raise Broken(f"event {number}: items are numbered from 0, without a gap")
            items[index] = event["item"]
        elif index is not None:
            if index not in items:
                raise Broken(f"event {number}: item {index} was not begun")
            if event.get("item_id", items[index].get("id")) != items[index].get("id"):
                raise Broken(f"event {number}: item {index} has another id")
        place = (index, event.get("content_index"), event.get("summary_index"))
        if kind in PIECES:
            key = (PIECES[kind], *place)
            texts[key] = texts.get(key, "") + event["delta"]
        elif kind in PIECES.values():
            whole = next(event[name] for name in TEXTS if name in event)
            if texts.pop((kind, *place), "") != whole:
                raise Broken(f"event {number}: the pieces are not the text")
    if texts and events[-1]["type"] in ("response.completed", "response.incomplete"):
        raise Broken(f"a text was not ended: {next(iter(texts))[0]}")


def _without_store(response: Any) -> Any:
    """The response without the flag that the types do not know."""
    if not isinstance(response, dict) or not isinstance(response.get("store"), bool):
        return response
    return {key: value for key, value in response.items() if key != "store"}


def _read(body: bytes | str) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise Broken(str(error)) from error


USAGE: dict[str, Any] = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 15,
}
TEXT: dict[str, Any] = {"type": "output_text", "text": "One moment.", "annotations": []}
MESSAGE: dict[str, Any] = {
    "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [TEXT]
}
CALL: dict[str, Any] = {
    "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "clock", "arguments": '{"tz":1}',
    "status": "completed",
}
REPLY: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "gpt-6-astra",
    "output": [MESSAGE, CALL],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": USAGE,
}
ERROR: dict[str, Any] = {"error": {"message": "Busy.", "type": "server_error", "param": None, "code": None}}


def numbered(*events: dict[str, Any]) -> list[Any]:
    """Returns a stream with its numbers."""
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def of(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    """Returns an event of one of the two items."""
    return {"type": f"response.{kind}", "output_index": index, "item_id": ("msg_1", "fc_1")[index], **fields}


BEGUN: dict[str, Any] = {**REPLY, "status": "in_progress", "output": [], "usage": None}
EVENTS: list[dict[str, Any]] = [
    {"type": "response.created", "response": BEGUN},
    {
        "type": "response.output_item.added", "output_index": 0,
        "item": {**MESSAGE, "status": "in_progress", "content": []},
    },
    of(0, "content_part.added", content_index=0, part={**TEXT, "text": ""}),
    of(0, "output_text.delta", content_index=0, delta="One ", logprobs=[]),
    of(0, "output_text.delta", content_index=0, delta="moment.", logprobs=[]),
    of(0, "output_text.done", content_index=0, text="One moment.", logprobs=[]),
    of(0, "content_part.done", content_index=0, part=TEXT),
    {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE},
    {
        "type": "response.output_item.added", "output_index": 1,
        "item": {**CALL, "status": "in_progress", "arguments": ""},
    },
    of(1, "function_call_arguments.delta", delta='{"tz":1}'),
    of(1, "function_call_arguments.done", arguments='{"tz":1}'),
    {"type": "response.output_item.done", "output_index": 1, "item": CALL},
    {"type": "response.completed", "response": REPLY},
]
FAILED: dict[str, Any] = {**REPLY, "status": "failed", "error": {"code": "server_error", "message": "Busy."}}
STOPPED: dict[str, Any] = {"type": "error", "code": "server_error", "message": "Busy.", "param": None}


def with_event(number: int, *made: dict[str, Any]) -> list[Any]:
    """Returns the sound stream with other events, or none, in the place of one."""
    return numbered(*EVENTS[:number], *made, *EVENTS[number + 1 :])


def but(number: int, **changes: Any) -> list[Any]:
    """Returns the sound stream with one event changed."""
    return with_event(number, {**EVENTS[number], **changes})


BROKEN_REPLIES: dict[str, Any] = {
    "an unknown field": {**REPLY, "choices": []},
    "an unknown field in an item": {**REPLY, "output": [{**CALL, "index": 0}]},
    "an unknown item": {**REPLY, "output": [{"type": "tool_use", "id": "x", "name": "clock", "input": {}}]},
    "an output in a reply to nobody": {**REPLY, "output": [{**MESSAGE, "content": [{"type": "input_text", "text": ""}]}]},
    "text without annotations": {**REPLY, "output": [{**MESSAGE, "content": [{"type": "output_text", "text": ""}]}]},
    "an object for arguments": {**REPLY, "output": [{**CALL, "arguments": {}}]},
    "two calls with one id": {**REPLY, "output": [CALL, {**CALL, "id": "fc_2"}]},
    "two items with one id": {**REPLY, "output": [CALL, {**CALL, "call_id": "call_2"}]},
    "another vendor's status": {**REPLY, "status": "stop"},
    "a word for whether it is stored": {**REPLY, "store": "no"},
    "no output": {key: value for key, value in REPLY.items() if key != "output"},
    "no list of tools": {key: value for key, value in REPLY.items() if key != "tools"},
    "cut, and no reason": {**REPLY, "status": "incomplete"},
    "a reason, and not cut": {**REPLY, "incomplete_details": {"reason": "max_output_tokens"}},
    "failed, and no error": {**REPLY, "status": "failed"},
    "an error's code that is none": {**FAILED, "error": {"code": "busy", "message": "Busy."}},
    "usage without its details": {**REPLY, "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}},
    "an error without a message": {"error": {"type": "server_error", "param": None, "code": None}},
}
BROKEN_STREAMS: dict[str, Any] = {
    "an unknown event": but(6, type="response.content_part.end"),
    "an unknown field": but(3, index=0),
    "no number": EVENTS,
    "a number twice": [*numbered(*EVENTS[:2]), *numbered(*EVENTS)[1:]],
    "an item that was not begun": with_event(8),
    "a gap between items": but(8, output_index=2),
    "another item's id": but(4, item_id="msg_2"),
    "a part that was not begun": with_event(2),
    "pieces that are not the text": with_event(4),
    "arguments that are not their pieces": but(10, arguments="{}"),
    "a text that does not end": with_event(5),
    "an object for a fragment": but(9, delta={}),
    "an item that comes out as another": but(7, item={**MESSAGE, "id": "msg_2"}),
    "an output of other items": but(12, response={**REPLY, "output": [MESSAGE]}),
    "another response at the end": but(12, response={**REPLY, "id": "resp_2"}),
    "a status that is not the event's": but(12, response=FAILED),
    "no beginning": numbered(*EVENTS[1:]),
    "no end": numbered(*EVENTS[:-1]),
    "something after the end": numbered(*EVENTS, EVENTS[4]),
    "an error in the middle": with_event(4, STOPPED),
    "nothing": [],
    "an event alone": EVENTS[0],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replies", type=Path)
    parser.add_argument("events", type=Path)
    arguments = parser.parse_args()
    replies, streams = ReplyJudge(), StreamJudge()
    whole = {"a response": REPLY, "one that is not stored": {**REPLY, "store": False}, "one that failed": FAILED}
    must_refuse(replies, {**whole, "an error": ERROR}, BROKEN_REPLIES)
    sound = {
        "a stream": numbered(*EVENTS),
        "a broken-off one": numbered(*EVENTS[:4], STOPPED),
        "one that failed": numbered(*EVENTS[:4], {"type": "response.failed", "response": FAILED}),
    }
    must_refuse(streams, sound, BROKEN_STREAMS)
    tally = Tally()
    for folder, judge in ((arguments.replies, replies), (arguments.events, streams)):
        for path in bodies(folder):
            tally.record(f"{folder.name}/{path.name}", lambda path=path, judge=judge: judge.check(path.read_bytes()))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
