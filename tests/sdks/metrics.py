"""Reads a page of metrics with the strict parser of Prometheus' own client, and writes its samples as JSON."""

from __future__ import annotations

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

FAMILIES = text_string_to_metric_families(sys.stdin.read())
print(json.dumps([[family.name, family.type, family.unit, len(family.samples)] for family in FAMILIES]))
