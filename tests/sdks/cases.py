"""What the scripts for Python share: they run the cases that they are told, and write a line of JSON for each."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

URL = os.environ["JACKFIELD_URL"]
# Ways to the gateway on which every other connection breaks, the first one included.
BREAKS_BEFORE = os.environ["JACKFIELD_BREAKS_BEFORE"]
BREAKS_WITHIN = os.environ["JACKFIELD_BREAKS_WITHIN"]
TOKEN = os.environ["JACKFIELD_TOKEN"]
# Whether the vendor behind tells what its model thinks.
REASONING = bool(os.environ["JACKFIELD_REASONING"])
MODEL = "fast"
# One red pixel, a PNG.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
ADD: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}

CASES: dict[str, Callable[[], None]] = {}


def case(run: Callable[[], None]) -> Callable[[], None]:
    """Takes a function as the case of its name."""
    CASES[run.__name__] = run
    return run


def check(told: Any, wanted: Any) -> None:
    """Raises if these are not the same."""
    if told != wanted:
        raise AssertionError(f"{told!r} is not {wanted!r}")


def main() -> None:
    for name in sys.argv[1:]:
        error = None
        started = time.monotonic()
        try:
            CASES[name]()
        except Exception:  # noqa: BLE001 - whatever it is, it is told
            error = traceback.format_exc(limit=-2, chain=False)
        took = round(time.monotonic() - started, 3)
        print(json.dumps({"case": name, "error": error, "seconds": took}), flush=True)
