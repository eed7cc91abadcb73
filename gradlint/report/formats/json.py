"""The `json` format: a list of findings in the shape of ruff's; `schemas/findings-1.json` describes it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from gradlint.report.as_json import as_data
from gradlint.report.report import Report


def write(report: Report) -> Iterator[str]:
    """Yield one document."""
    yield json.dumps(list(as_data(report)), indent=2)
