"""Becomes rotel, an OpenTelemetry collector, which writes all that it receives to its standard output."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

SPEC = importlib.util.find_spec("rotel")
PROGRAM = Path(SPEC.origin).with_name("rotel-agent")
HTTP, GRPC = sys.argv[1:]
SHOWN = [word for kind in ("traces", "metrics", "logs") for word in ("--debug-log", kind)]
os.execv(
    PROGRAM,
    [
        str(PROGRAM),
        "start",
        *("--otlp-http-endpoint", HTTP),
        *("--otlp-grpc-endpoint", GRPC),
        *("--exporter", "blackhole"),
        *("--debug-log-verbosity", "detailed"),
        *SHOWN,
    ],
)
