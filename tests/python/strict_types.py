"""The official SDK's own types, made strict enough to be a judge.

As they are, those types are made for a caller who writes Python, and refuse little.
Four things make them strict:

- An unknown key is an error, at every depth. A `TypedDict` and a model of the SDK ignore it.
- A list is a list. pydantic reads `Iterable[X]` lazily, so its elements would never be looked at.
- What JSON cannot carry is no choice: open files and paths, and, in a request, the models that the SDK
  accepts so that a reply can be put into the history as it came.
- A union of a typed form and "any object" is the typed form.

Types are converted strictly: `"3"` is no integer and `1` is no boolean.
"""

from __future__ import annotations

import datetime
import json
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union

import pydantic
import typing_extensions
from pydantic import ConfigDict, Field, TypeAdapter

PLAIN = (str, int, float, bool, type(None), datetime.datetime, object, Any)
STRICT = ConfigDict(extra="forbid", strict=True)


class Broken(Exception):
    """A body that is refused, and why."""


class Judge:
    """Says whether a JSON text is a sound value of one type of the SDK."""

    def __init__(self, wanted: Any, *, models: bool) -> None:
        """`models`: whether the SDK's models are part of the type, as they are in replies."""
        self._adapter = TypeAdapter(_Strict(models=models).form(wanted))

    def check(self, body: bytes | str) -> None:
        """Raises `Broken` if the body is not sound."""
        try:
            json.loads(body, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
            self._adapter.validate_json(body, strict=True)
        except pydantic.ValidationError as error:
            lines = [f"{_place(e['loc'])}: {e['msg']}" for e in error.errors()]
            raise Broken("\n".join(lines)) from error
        except ValueError as error:
            raise Broken(str(error)) from error


class Tally:
    """Counts what passed and what failed, and prints the closing line."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0

    def record(self, name: str, check: Callable[[], None]) -> None:
        """Runs one check and prints it if it fails."""
        try:
            check()
        except Broken as error:
            self.failed += 1
            print(f"FAILED {name}")
            for line in str(error).splitlines():
                print(f"    {line}")
        else:
            self.passed += 1

    def close(self) -> int:
        """Prints the closing line; returns the exit code."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 0 if self.failed == 0 and self.passed > 0 else 1


def bodies(folder: Path) -> list[Path]:
    """Returns the JSON files of a folder, in order; an empty folder or a foreign file is an error."""
    if not folder.is_dir():
        raise SystemExit(f"{folder}: no such folder; nothing was written to be checked")
    found = sorted(path for path in folder.iterdir() if path.is_file())
    foreign = [path for path in folder.iterdir() if path not in found or path.suffix != ".json"]
    if foreign:
        raise SystemExit(f"{foreign[0]}: not a JSON file; it would be skipped, and nothing may be")
    if not found:
        raise SystemExit(f"{folder}: empty; nothing was written to be checked")
    return found


def must_refuse(judge: Judge, sound: Mapping[str, Any], broken: Mapping[str, Any]) -> None:
    """Proves a judge on samples: every sound one passes, every broken one is refused; ends the program if not."""
    for name, body in sound.items():
        try:
            judge.check(json.dumps(body))
        except Broken as error:
            raise SystemExit(f"self-test: a sound sample is refused: {name}\n{error}") from error
    for name, body in broken.items():
        try:
            judge.check(body if isinstance(body, str) else json.dumps(body))
        except Broken:
            continue
        raise SystemExit(f"self-test: a broken sample is accepted: {name}")
    print(f"self-test: {len(sound)} sound samples accepted, {len(broken)} broken ones refused")


class _Strict:
    """Rewrites a type into its strict form."""

    def __init__(self, *, models: bool) -> None:
        self._models = models
        self._done: dict[type, Any] = {}

    def form(self, wanted: Any) -> Any:
        origin = typing_extensions.get_origin(wanted)
        arguments = typing_extensions.get_args(wanted)
        if origin is Annotated:
            return self.form(arguments[0])
        if origin in (Union, types.UnionType):
            return self._union(arguments)
        if origin in (Iterable, Sequence, list):
            return list[self.form(arguments[0])]
        if origin in (Mapping, dict):
            return dict[self.form(arguments[0]), self.form(arguments[1])]
        if origin is Literal or wanted in PLAIN:
            return wanted
        if typing_extensions.is_typeddict(wanted):
            return self._once(wanted, self._typed_dict)
        if self._models and isinstance(wanted, type) and issubclass(wanted, pydantic.BaseModel):
            return self._once(wanted, self._model)
        raise NotImplementedError(f"no strict form is known for {wanted!r}")

    def _once(self, wanted: type, make: Callable[[type], Any]) -> Any:
        if wanted not in self._done:
            self._done[wanted] = None
            self._done[wanted] = make(wanted)
        if self._done[wanted] is None:
            raise NotImplementedError(f"{wanted.__name__} holds itself; no strict form is known for that")
        return self._done[wanted]

    def _union(self, arms: Sequence[Any]) -> Any:
        kept = [arm for arm in _flat(arms) if not self._foreign(arm)]
        if any(typing_extensions.is_typeddict(arm) for arm in kept):
            kept = [arm for arm in kept if typing_extensions.get_origin(arm) is not dict]
        if not kept:
            raise NotImplementedError(f"nothing is left of a union of {arms!r}")
        union = Union[tuple(self.form(arm) for arm in kept)]
        tag = _tag(kept)
        return Annotated[union, Field(discriminator=tag)] if tag else union

    def _foreign(self, arm: Any) -> bool:
        """Whether JSON cannot carry this arm of a union."""
        if typing_extensions.get_origin(arm) is typing.IO or arm is os.PathLike:
            return True
        return not self._models and isinstance(arm, type) and issubclass(arm, pydantic.BaseModel)

    def _typed_dict(self, wanted: type) -> Any:
        fields: dict[str, Any] = {}
        for key, hint in typing_extensions.get_type_hints(wanted, include_extras=True).items():
            origin = typing_extensions.get_origin(hint)
            marked = origin in (typing_extensions.Required, typing_extensions.NotRequired)
            inner = typing_extensions.get_args(hint)[0] if marked else hint
            # The annotations are strings, so the class itself has not seen its `Required[...]`.
            needed = origin is typing_extensions.Required if marked else key in wanted.__required_keys__
            mark = typing_extensions.Required if needed else typing_extensions.NotRequired
            fields[key] = mark[self.form(inner)]
        made = typing_extensions.TypedDict(wanted.__name__, fields)
        open_ended = getattr(wanted, "__pydantic_config__", {}).get("extra") == "allow"
        made.__pydantic_config__ = ConfigDict(extra="allow", strict=True) if open_ended else STRICT
        return made

    def _model(self, wanted: type) -> Any:
        wanted.model_rebuild()
        fields: dict[str, Any] = {}
        for name, info in wanted.model_fields.items():
            # A field that Python has no name for, such as `async`, has another one there.
            default = ... if info.is_required() else info.default
            fields[name] = (self.form(info.annotation), Field(default, alias=info.alias or name))
        return pydantic.create_model(wanted.__name__, __config__=STRICT, **fields)


def _place(steps: Sequence[str | int]) -> str:
    """The way to a value; pydantic's names for lists and unions are cut to their first word."""
    return ".".join(str(step).split("[", 1)[0] for step in steps) or "the body"


def _flat(arms: Sequence[Any]) -> list[Any]:
    """The arms of a union with the unions among them opened."""
    flat: list[Any] = []
    for arm in arms:
        inner = typing_extensions.get_args(arm)[0] if typing_extensions.get_origin(arm) is Annotated else arm
        if typing_extensions.get_origin(inner) in (Union, types.UnionType):
            flat.extend(_flat(typing_extensions.get_args(inner)))
        else:
            flat.append(inner)
    return flat


def _tag(arms: Sequence[Any]) -> str | None:
    """The field that tells the arms apart, for a message that speaks of one arm and not of all."""
    for tag in ("type", "role"):
        types_of_tag = [_type_of_field(arm, tag) for arm in arms]
        if len(arms) > 1 and all(typing_extensions.get_origin(found) is Literal for found in types_of_tag):
            return tag
    return None


def _type_of_field(arm: Any, name: str) -> Any:
    """The type of a field of a typed dictionary or a model; `None` if there is no such field."""
    if typing_extensions.is_typeddict(arm):
        found = typing_extensions.get_type_hints(arm, include_extras=True).get(name)
        # A field that may be left out cannot tell one arm from another.
        required = typing_extensions.get_origin(found) is typing_extensions.Required
        return typing_extensions.get_args(found)[0] if required else None
    if isinstance(arm, type) and issubclass(arm, pydantic.BaseModel):
        arm.model_rebuild()
        return arm.model_fields[name].annotation if name in arm.model_fields else None
    return None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError(f"an object has a key twice: {[key for key, _ in pairs]}")
    return made


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
