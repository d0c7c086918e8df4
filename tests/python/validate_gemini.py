"""Checks bodies for Gemini against the types of the official Python SDK.

    python validate_gemini.py REQUESTS REPLIES EVENTS SERVED SERVED_EVENTS

Each folder holds one body per `.json` file; one of events holds a stream per file, as a list.
The types of `google-genai` refuse unknown keys by themselves.
Made strict here: an unknown value of an enumeration is a warning of theirs, and an error here, and so is a number or
a flag of another type.
What a response is not made of is no reply: an error has the form of `google.rpc.Status`.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any, Optional

import pydantic
from google.genai import types
from pydantic import ConfigDict

from strict_types import Broken, Tally, bodies, must_refuse

STRICT = ConfigDict(extra="forbid", strict=True)


class Request(pydantic.BaseModel):
    """The body of `generateContent`; the SDK makes it of parameters, each of these types."""

    model_config = STRICT
    contents: list[types.Content]
    generationConfig: Optional[types.GenerationConfig] = None  # noqa: N815 - as on the wire
    safetySettings: Optional[list[types.SafetySetting]] = None  # noqa: N815
    serviceTier: Optional[types.ServiceTier] = None  # noqa: N815
    systemInstruction: Optional[types.Content] = None  # noqa: N815
    toolConfig: Optional[types.ToolConfig] = None  # noqa: N815
    tools: Optional[list[types.Tool]] = None


class Status(pydantic.BaseModel):
    """`google.rpc.Status` in JSON."""

    model_config = STRICT
    code: int
    message: str
    status: str
    details: list[dict[str, Any]] = []


class Failure(pydantic.BaseModel):
    model_config = STRICT
    error: Status


class Listing(pydantic.BaseModel):
    model_config = STRICT
    models: list[dict[str, Any]]
    nextPageToken: Optional[str] = None  # noqa: N815


class Count(pydantic.BaseModel):
    model_config = STRICT
    totalTokens: int  # noqa: N815


def sound(wanted: type[pydantic.BaseModel], body: Any) -> Any:
    """The body as this type; raises `Broken` if it is not sound."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return wanted.model_validate_json(json.dumps(body))
        except (pydantic.ValidationError, UserWarning) as error:
            raise Broken(str(error)) from error


DESCRIBING = {"media_resolution", "part_metadata", "thought", "thought_signature", "video_metadata"}
"""The fields of a part beside what it holds."""


def parts_are_sound(contents: list[types.Content]) -> None:
    """Each part holds one thing, and has one maker."""
    for content in contents:
        if content.role not in ("model", "user"):
            raise Broken(f"nobody is a {content.role}")
        if not content.parts:
            raise Broken("a content without parts")
        for part in content.parts:
            held = part.model_dump(exclude_none=True, exclude=DESCRIBING)
            if len(held) != 1:
                raise Broken(f"a part with {sorted(held)}")


class RequestJudge:
    def check(self, body: bytes | str) -> None:
        request = sound(Request, json.loads(body))
        parts_are_sound(request.contents)


class ReplyJudge:
    """`served`: whether there are models and counts, too, and errors say what ours say."""

    def __init__(self, *, served: bool = False) -> None:
        self._served = served

    def check(self, body: bytes | str) -> None:
        self.value(json.loads(body))

    def value(self, body: Any) -> None:
        if not isinstance(body, dict):
            raise Broken("no object")
        if "error" in body:
            error = sound(Failure, body).error
            if self._served and not error.details[0].get("reason"):
                raise Broken("an error without a reason")
        elif self._served and "models" in body:
            for model in sound(Listing, body).models:
                self.model(model)
        elif self._served and "totalTokens" in body:
            sound(Count, body)
        elif self._served and "name" in body:
            self.model(body)
        else:
            self.reply(body)

    def reply(self, body: dict[str, Any]) -> types.GenerateContentResponse:
        reply = sound(types.GenerateContentResponse, body)
        if not reply.candidates or len(reply.candidates) != 1:
            raise Broken("not one candidate")
        if reply.candidates[0].content:
            # A reply may be empty.
            parts_are_sound([reply.candidates[0].content] if reply.candidates[0].content.parts else [])
        if not (reply.response_id and reply.model_version):
            raise Broken("a reply without its id or its model")
        return reply

    def model(self, body: dict[str, Any]) -> None:
        # The SDK maps some names of the wire to names of its own.
        renamed = {"supportedGenerationMethods": "supportedActions"}
        model = sound(types.Model, {renamed.get(name, name): value for name, value in body.items()})
        if not (model.name or "").startswith("models/"):
            raise Broken(f"{model.name} is no name of a model")


class StreamJudge:
    """A stream: fragments of a reply, the last one with a reason, or an error at its end."""

    def __init__(self, *, served: bool = False) -> None:
        self._replies = ReplyJudge(served=served)

    def check(self, body: bytes | str) -> None:
        events = json.loads(body)
        if not isinstance(events, list) or not events:
            raise Broken("no events")
        *fragments, last = events
        for fragment in fragments:
            if self._replies.reply(fragment).candidates[0].finish_reason:
                raise Broken("something after the end")
        if isinstance(last, dict) and "error" in last:
            self._replies.value(last)
            return
        end = self._replies.reply(last)
        if not (end.candidates[0].finish_reason and end.usage_metadata):
            raise Broken("no end")


PART: dict[str, Any] = {"text": "hi"}
REQUEST: dict[str, Any] = {
    "contents": [
        {"role": "user", "parts": [PART]},
        {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "f", "args": {"n": 1}}, "thoughtSignature": "c2ln"}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "f", "response": {"output": "1"}}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    "generationConfig": {"temperature": 0.5, "thinkingConfig": {"thinkingLevel": "LOW"}},
    "systemInstruction": {"role": "user", "parts": [PART]},
}
BROKEN_REQUESTS: dict[str, Any] = {
    "no contents": {},
    "an unknown field": {**REQUEST, "max_tokens": 5},
    "an unknown setting": {**REQUEST, "generationConfig": {"max_tokens": 5}},
    "an unknown mode": {**REQUEST, "toolConfig": {"functionCallingConfig": {"mode": "SOMETIMES"}}},
    "another vendor's author": {"contents": [{"role": "assistant", "parts": [PART]}]},
    "a part of two things": {"contents": [{"role": "user", "parts": [{**PART, "functionCall": {"name": "f"}}]}]},
    "a part of nothing": {"contents": [{"role": "user", "parts": [{"thought": True}]}]},
    "a content of nothing": {"contents": [{"role": "user", "parts": []}]},
    "a text that is none": {"contents": [{"role": "user", "parts": [{"text": 5}]}]},
}
REPLY: dict[str, Any] = {
    "candidates": [{"content": {"role": "model", "parts": [PART]}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    "modelVersion": "m",
    "responseId": "r",
}
FRAGMENT: dict[str, Any] = {
    "candidates": [{"content": {"role": "model", "parts": [PART]}, "index": 0}],
    "modelVersion": "m",
    "responseId": "r",
}
ERROR: dict[str, Any] = {"error": {"code": 400, "message": "No.", "status": "INVALID_ARGUMENT", "details": [{"reason": "x"}]}}
BROKEN_REPLIES: dict[str, Any] = {
    "no candidate": {key: value for key, value in REPLY.items() if key != "candidates"},
    "an unknown reason": {**REPLY, "candidates": [{**REPLY["candidates"][0], "finishReason": "end_turn"}]},
    "an unknown field": {**REPLY, "object": "reply"},
    "a number in words": {**REPLY, "usageMetadata": {"promptTokenCount": "one"}},
    "no model": {key: value for key, value in REPLY.items() if key != "modelVersion"},
    "an error without a number": {"error": {"message": "No.", "status": "INTERNAL"}},
    "a list": [REPLY],
}
BROKEN_STREAMS: dict[str, Any] = {
    "nothing": [],
    "no end": [FRAGMENT],
    "something after the end": [REPLY, FRAGMENT],
    "two ends": [REPLY, REPLY],
    "an event alone": REPLY,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("requests", "replies", "events", "served", "served_events"):
        parser.add_argument(name, type=Path)
    arguments = parser.parse_args()
    must_refuse(RequestJudge(), {"a request": REQUEST}, BROKEN_REQUESTS)
    for served in (False, True):
        must_refuse(ReplyJudge(served=served), {"a reply": REPLY, "an error": ERROR}, BROKEN_REPLIES)
        sound_streams = {"a stream": [FRAGMENT, REPLY], "a broken-off one": [FRAGMENT, ERROR]}
        must_refuse(StreamJudge(served=served), sound_streams, BROKEN_STREAMS)
    tally = Tally()
    for folder, judge in (
        (arguments.requests, RequestJudge()),
        (arguments.replies, ReplyJudge()),
        (arguments.events, StreamJudge()),
        (arguments.served, ReplyJudge(served=True)),
        (arguments.served_events, StreamJudge(served=True)),
    ):
        for path in bodies(folder):
            tally.record(f"{folder.name}/{path.name}", lambda path=path, judge=judge: judge.check(path.read_bytes()))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
