"""Checks request bodies for OpenAI against the types of the official Python SDK.

    python validate_openai_requests.py FOLDER --dialect {chat,responses}

FOLDER holds one body per `.json` file. What a server of Chat Completions gets back under names that the vendor
does not know is taken out before: see `de_facto.py`.
A judge that accepts everything is worse than none, so it is first proved on broken samples.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from pathlib import Path
from typing import Any

from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)

import de_facto
from strict_types import Judge, Tally, bodies, must_refuse

TYPES: dict[str, tuple[Any, Any]] = {
    "chat": (CompletionCreateParamsStreaming, CompletionCreateParamsNonStreaming),
    "responses": (ResponseCreateParamsStreaming, ResponseCreateParamsNonStreaming),
}


class RequestJudge:
    """Judges a body by the type that its `stream` chooses, so that a refusal speaks of one type only."""

    def __init__(self, dialect: str) -> None:
        streaming, whole = TYPES[dialect]
        self._streaming = Judge(streaming, models=False)
        self._whole = Judge(whole, models=False)

    def check(self, body: bytes | str) -> None:
        """Raises `Broken` if the body is not sound."""
        try:
            value = json.loads(body)
        except ValueError:
            value = None
        streams = isinstance(value, dict) and value.get("stream") is True
        if isinstance(value, dict) and isinstance(value.get("messages"), list):
            taken = [de_facto.without(message) for message in value["messages"]]
            if taken != value["messages"]:
                body = json.dumps({**value, "messages": taken})
        (self._streaming if streams else self._whole).check(body)


SCHEMA: dict[str, Any] = {"type": "object", "properties": {"tz": {"type": "string"}}}
CHAT: dict[str, Any] = {
    "model": "gpt-6-astra",
    "stream": True,
    "stream_options": {"include_usage": True},
    "reasoning_effort": "none",
    "tools": [
        {"type": "function", "function": {"name": "clock", "parameters": SCHEMA, "strict": False}},
        {
            "type": "custom",
            "custom": {
                "name": "run",
                "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /a/"}},
            },
        },
    ],
    "tool_choice": {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "clock"}}]},
    },
    "messages": [
        {"role": "developer", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "When?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "12:01"},
    ],
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-6-astra",
    "stream": True,
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "low", "summary": "auto"},
    "tools": [
        {"type": "function", "name": "clock", "parameters": SCHEMA, "strict": False},
        {"type": "custom", "name": "run", "format": {"type": "grammar", "syntax": "lark", "definition": "start: /a/"}},
    ],
    "tool_choice": {"type": "function", "name": "clock"},
    "text": {"format": {"type": "text"}, "verbosity": "low"},
    "input": [
        {"type": "message", "role": "developer", "content": "Be brief."},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "When?"},
                {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
            ],
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "A clock."}],
            "encrypted_content": "gAAA",
        },
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "clock", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "12:01"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Noon.", "annotations": []}],
        },
        {"type": "message", "role": "user", "content": "Thanks."},
    ],
}


def changed(sound: dict[str, Any], *path: Any, to: Any = None, drop: bool = False) -> dict[str, Any]:
    """Returns a sound body with one place changed."""
    body = copy.deepcopy(sound)
    place: Any = body
    for step in path[:-1]:
        place = place[step]
    if drop:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return body


CALL = ("messages", 2, "tool_calls", 0)
BROKEN: dict[str, dict[str, Any]] = {
    "chat": {
        "a field of the other dialect": changed(CHAT, "max_output_tokens", to=1),
        "an unknown field in a message": changed(CHAT, "messages", 0, "id", to="x"),
        "an unknown field in a part": changed(CHAT, "messages", 1, "content", 0, "annotations", to=[]),
        "an unknown field in a call": changed(CHAT, *CALL, "index", to=0),
        "an unknown field in a tool": changed(CHAT, "tools", 0, "function", "input_schema", to={}),
        "a name beside the function": changed(CHAT, "tools", 0, "name", to="clock"),
        "a part of the other dialect": changed(CHAT, "messages", 1, "content", 0, "type", to="input_text"),
        "an image in a result": changed(CHAT, "messages", 3, "content", to=[CHAT["messages"][1]["content"][1]]),
        "an address for an image": changed(CHAT, "messages", 1, "content", 1, "image_url", to="https://x.example"),
        "an object for arguments": changed(CHAT, *CALL, "function", "arguments", to={}),
        "a call without an id": changed(CHAT, *CALL, "id", drop=True),
        "a result without its call": changed(CHAT, "messages", 3, "tool_call_id", drop=True),
        "nothing for a user's words": changed(CHAT, "messages", 1, "content", to=None),
        "an unknown role": changed(CHAT, "messages", 0, "role", to="model"),
        "an unknown effort": changed(CHAT, "reasoning_effort", to="most"),
        "an unknown choice": changed(CHAT, "tool_choice", to="any"),
        "a flat choice": changed(CHAT, "tool_choice", to={"type": "function", "name": "clock"}),
        "a string for a number": changed(CHAT, "max_completion_tokens", to="10"),
        "no messages": changed(CHAT, "messages", drop=True),
        "no model": changed(CHAT, "model", drop=True),
        "a body that is an array": [CHAT],
        "a key twice": '{"model":"m","model":"m","messages":[]}',
        "no JSON": '{"model":',
    },
    "responses": {
        "a field of the other dialect": changed(RESPONSES, "max_completion_tokens", to=1),
        "an unknown field in a message": changed(RESPONSES, "input", 0, "name", to="Ada"),
        "an unknown field in a part": changed(RESPONSES, "input", 1, "content", 0, "annotations", to=[]),
        "an unknown field in a call": changed(RESPONSES, "input", 3, "function", to={}),
        "an error flag in an output": changed(RESPONSES, "input", 4, "is_error", to=True),
        "a part of the other dialect": changed(RESPONSES, "input", 1, "content", 0, "type", to="text"),
        "a model's part in a user's words": changed(RESPONSES, "input", 1, "content", 0, "type", to="output_text"),
        "a model's words without annotations": changed(
            RESPONSES, "input", 5, "content", 0, "annotations", drop=True
        ),
        "a model's words without an id": changed(RESPONSES, "input", 5, "id", drop=True),
        "an object for arguments": changed(RESPONSES, "input", 3, "arguments", to={}),
        "a call without its call id": changed(RESPONSES, "input", 3, "call_id", drop=True),
        "reasoning without a summary": changed(RESPONSES, "input", 2, "summary", drop=True),
        "reasoning without an id": changed(RESPONSES, "input", 2, "id", drop=True),
        "an unknown item": changed(RESPONSES, "input", 4, "type", to="tool_result"),
        "an unknown role": changed(RESPONSES, "input", 0, "role", to="tool"),
        "a nested function": changed(
            RESPONSES, "tools", 0, to={"type": "function", "function": {"name": "clock"}}
        ),
        "a function that does not say whether it is strict": changed(RESPONSES, "tools", 0, "strict", drop=True),
        "a nested grammar": changed(
            RESPONSES, "tools", 1, "format", to={"type": "grammar", "grammar": {"syntax": "lark", "definition": ""}}
        ),
        "an unknown choice": changed(RESPONSES, "tool_choice", to="any"),
        "an unknown inclusion": changed(RESPONSES, "include", to=["usage"]),
        "an unknown effort": changed(RESPONSES, "reasoning", "effort", to="most"),
        "a string for a flag": changed(RESPONSES, "store", to="false"),
        "a body that is an array": [RESPONSES],
        "no JSON": '{"model":',
    },
}


def prove(dialect: str) -> RequestJudge:
    """Returns the judge of a dialect, proved on samples of it."""
    judge = RequestJudge(dialect)
    streamed = CHAT if dialect == "chat" else RESPONSES
    whole = {key: value for key, value in streamed.items() if not key.startswith("stream")}
    must_refuse(judge, {"a stream": streamed, "a whole reply": whole}, BROKEN[dialect])
    return judge


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dialect", choices=tuple(TYPES), required=True)
    arguments = parser.parse_args()
    judge = prove(arguments.dialect)
    tally = Tally()
    for path in bodies(arguments.folder):
        tally.record(path.name, lambda path=path: judge.check(path.read_bytes()))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
