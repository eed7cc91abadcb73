"""The `json-lines` format: the objects of `json`, one a line, for programs that read a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator

from gradlint.report.as_json import as_data
from gradlint.report.report import Report


def write(report: Report) -> Iterator[str]:
    """Yield a document for each finding."""
    return map(json.dumps, as_data(report))
