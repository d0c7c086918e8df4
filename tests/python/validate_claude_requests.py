"""Checks request bodies for Claude Messages against the types of the official Python SDK.

    python validate_claude_requests.py FOLDER [--version 2023-06-01]

FOLDER holds one body per `.json` file.
The types are those of the newest version of the API, which has no `temperature`, `top_p` and `top_k`;
with `--version 2023-06-01` these three are known.
A judge that accepts everything is worse than none, so it is first proved on broken samples.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from pathlib import Path
from typing import Any

from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming

from strict_types import Judge, Tally, bodies, must_refuse

VERSIONS = ("2026-10-21", "2023-06-01")


class StreamingWithSampling(MessageCreateParamsStreaming, total=False):
    """A body of version 2023-06-01."""

    temperature: float
    top_p: float
    top_k: int


class NonStreamingWithSampling(MessageCreateParamsNonStreaming, total=False):
    """A body of version 2023-06-01."""

    temperature: float
    top_p: float
    top_k: int


class RequestJudge:
    """Judges a body by the type that its `stream` chooses, so that a refusal speaks of one type only."""

    def __init__(self, version: str) -> None:
        old = version == "2023-06-01"
        self._streaming = Judge(StreamingWithSampling if old else MessageCreateParamsStreaming, models=False)
        self._whole = Judge(NonStreamingWithSampling if old else MessageCreateParamsNonStreaming, models=False)

    def check(self, body: bytes | str) -> None:
        """Raises `Broken` if the body is not sound."""
        try:
            value = json.loads(body)
        except ValueError:
            value = None
        streams = isinstance(value, dict) and value.get("stream") is True
        (self._streaming if streams else self._whole).check(body)


SOUND: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 1024,
    "stream": True,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
    "tools": [
        {
            "name": "calculator",
            "description": "Calculates.",
            "input_schema": {
                "type": "object",
                "properties": {"expression": {"type": "string"}},
                "required": ["expression"],
                "additionalProperties": False,
            },
        }
    ],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": False},
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "messages": [
        {"role": "user", "content": "What is 6 times 7?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Multiply.", "signature": "c2ln"},
                {"type": "text", "text": "One moment."},
                {"type": "tool_use", "id": "call_1", "name": "calculator", "input": {"expression": "6*7"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "call_1",
                    "is_error": False,
                    "content": [
                        {"type": "text", "text": "42"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                    ],
                }
            ],
        },
    ],
}


def changed(*path: Any, to: Any = None, drop: bool = False) -> dict[str, Any]:
    """Returns the sound body with one place changed."""
    body = copy.deepcopy(SOUND)
    place: Any = body
    for step in path[:-1]:
        place = place[step]
    if drop:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return body


CALL = ("messages", 1, "content", 2)
RESULT = ("messages", 2, "content", 0)
BROKEN: dict[str, Any] = {
    "an unknown field at the top": changed("max_token", to=1),
    "an unknown field in a message": changed("messages", 0, "name", to="Ada"),
    "an unknown field in a text block": changed("messages", 1, "content", 1, "txt", to=""),
    "an unknown field in a call": changed(*CALL, "index", to=0),
    "an unknown field of a reply's block in a request": changed("messages", 1, "content", 1, "parsed_output", to=None),
    "an unknown field in a result's block": changed(*RESULT, "content", 0, "id", to="x"),
    "an unknown field in an image's source": changed(*RESULT, "content", 1, "source", "url", to="x"),
    "an unknown field in a tool": changed("tools", 0, "parameters", to={}),
    "an unknown field in the tool choice": changed("tool_choice", "name", to="calculator"),
    "a wrong block type": changed("messages", 1, "content", 1, "type", to="output_text"),
    "a block without a type": changed("messages", 1, "content", 1, "type", drop=True),
    "a result inside a result": changed(*RESULT, "content", 0, to=copy.deepcopy(SOUND["messages"][2]["content"][0])),
    "a string for a call's input": changed(*CALL, "input", to='{"expression":"6*7"}'),
    "a call without an id": changed(*CALL, "id", drop=True),
    "a number for a result's text": changed(*RESULT, "content", 0, "text", to=42),
    "a string for a flag": changed(*RESULT, "is_error", to="false"),
    "a field that the newest version has dropped": changed("temperature", to=1.0),
    "a word for the stream": changed("stream", to="yes"),
    "a string for a number": changed("max_tokens", to="1024"),
    "no limit of tokens": changed("max_tokens", drop=True),
    "no messages": changed("messages", drop=True),
    "an object for the messages": changed("messages", to={"role": "user", "content": "hi"}),
    "an unknown role": changed("messages", 0, "role", to="tool"),
    "a schema that is no object's": changed("tools", 0, "input_schema", "type", to="string"),
    "a schema without a type": changed("tools", 0, "input_schema", "type", drop=True),
    "an unknown media type": changed(*RESULT, "content", 1, "source", "media_type", to="image/tiff"),
    "a lifetime that is not offered": changed("system", 0, "cache_control", "ttl", to="2h"),
    "thinking that is switched on by a word": changed("thinking", to="enabled"),
    "a body that is an array": [SOUND],
    "a key twice": '{"model":"m","model":"m","max_tokens":1,"messages":[]}',
    "no JSON": '{"model":',
}


WHOLE = changed("stream", to=False)
SAMPLING = changed("temperature", to=0.5)


def prove(version: str) -> RequestJudge:
    """Returns the judge of a version, proved on samples of that version."""
    judge = RequestJudge(version)
    sound = {"a round of tools": SOUND, "without a stream": WHOLE}
    broken = dict(BROKEN)
    if version == "2023-06-01":
        sound["a temperature"] = SAMPLING
        del broken["a field that the newest version has dropped"]
        broken["a string for a temperature"] = changed("temperature", to="hot")
    must_refuse(judge, sound, broken)
    return judge


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", choices=VERSIONS, default=VERSIONS[0])
    arguments = parser.parse_args()
    judge = prove(arguments.version)
    tally = Tally()
    for path in bodies(arguments.folder):
        tally.record(path.name, lambda path=path: judge.check(path.read_bytes()))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
