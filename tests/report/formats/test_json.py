"""`json` and `json-lines`: read by their own schema."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gradlint.domain.confirmation import Confirmation
from gradlint.domain.run import Observed
from gradlint.report.as_json import VERSION
from tests.harness.report import FIX, NAMES, finding, odd_findings, report_of, written
from tests.harness.schema import OURS, mistakes, read

CONFIRMED = Confirmation("confirmed", "it raised", "RuntimeError", "2.13.0", 0.5, "x")
FULL = replace(finding(fix=FIX, hint="a hint", verdict=CONFIRMED), run=Observed("not seen", 20))


def test_documents_are_as_the_schema_says() -> None:
    """The schema is of this version, knows every key, and an empty report has a document as well."""
    schema = read(OURS)
    document = json.loads(written("json", report_of(FULL, *odd_findings())))
    assert mistakes(document, schema) == []
    assert schema["$defs"]["finding"]["properties"]["version"] == {"const": VERSION}
    for part, data in (("finding", document[0]), ("fix", document[0]["fix"]), ("run", document[0]["run"])):
        assert schema["$defs"][part]["properties"].keys() == data.keys()
    assert [one["filename"] for one in document[1:]] == list(NAMES)
    assert json.loads(written("json", report_of())) == []


@pytest.mark.parametrize("change", [{"version": 2}, {"location": {"row": 0, "column": 1}}, {"severity": "fatal"}])
def test_the_schema_refuses_what_is_wrong(change: dict[str, Any]) -> None:
    """So that it says something."""
    document = json.loads(written("json", report_of(FULL)))
    assert mistakes([{**document[0], **change}], read(OURS)) != []


def test_lines_are_the_same_objects() -> None:
    """One a line, whatever names hold; none at all where nothing is found."""
    report = report_of(FULL, *odd_findings())
    lines = written("json-lines", report).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(written("json", report))
    assert written("json-lines", report_of()) == ""
