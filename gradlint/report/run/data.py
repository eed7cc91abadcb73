"""The summary of a run as JSON; docs/run.md describes it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from gradlint.domain.run import Run
from gradlint.report.as_json import as_data
from gradlint.report.report import Report
from gradlint.report.run.reading import KIND, VERSION


def as_json(run: Run, report: Report) -> str:
    """Return the summary, with the findings as `--output-format json` writes them."""
    data = {"kind": KIND, "version": VERSION, **asdict(run), "findings": list(as_data(report))}
    return json.dumps(_finite(data))


def _finite(value: Any) -> Any:
    """Return data in which numbers that JSON does not have are texts: NaN, Infinity, -Infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return value
