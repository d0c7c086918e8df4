"""The fields of Chat Completions that servers and clients know, and the vendor's types do not.

They go back to the server that they came from, and are shown to clients that read them.
"""

from __future__ import annotations

from typing import Any

# How compatible servers call the reasoning of a message, and the type that it has.
OF_MESSAGES: dict[str, type] = {"reasoning": str, "reasoning_content": str, "reasoning_details": list}
# What Jackfield did meanwhile: the calls that it ran itself, and the type of each of their fields.
MEANWHILE = "jackfield"
OF_SERVER_CALLS: dict[str, type] = {
    "id": str, "server": str, "name": str, "arguments": str, "output": str, "is_error": bool, "index": int
}
# Where Gemini's compatible endpoint keeps the signature of a call.
OF_CALLS: dict[str, type] = {"extra_content": dict}


def without(message: Any, *, meanwhile: bool = False) -> Any:
    """A message, or a delta of one, without those of them that have their type; `meanwhile` keeps Jackfield's."""
    if not isinstance(message, dict):
        return message
    message = _without(message, OF_MESSAGES)
    if not meanwhile and _is_meanwhile(message.get(MEANWHILE)):
        message.pop(MEANWHILE)
    if isinstance(message.get("tool_calls"), list):
        message["tool_calls"] = [_without(call, OF_CALLS) for call in message["tool_calls"]]
    return message


def _without(value: Any, known: dict[str, type]) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: held for key, held in value.items() if not isinstance(held, known.get(key, ()))}


def _is_meanwhile(value: Any) -> bool:
    calls = value.get("tool_calls") if isinstance(value, dict) and set(value) == {"tool_calls"} else None
    return isinstance(calls, list) and bool(calls) and all(map(_is_server_call, calls))


def _is_server_call(call: Any) -> bool:
    return isinstance(call, dict) and all(
        key in OF_SERVER_CALLS and isinstance(held, OF_SERVER_CALLS[key]) for key, held in call.items()
    )
