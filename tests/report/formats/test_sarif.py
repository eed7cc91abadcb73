"""`sarif`: held against the schema of OASIS, and read by sarif-tools."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from sarif.loader import load_sarif_file
from sarif.operations import codeclimate_op
from sarif.sarif_file import SarifFileSet

from gradlint.domain.confirmation import Confirmation
from gradlint.report.fingerprint import fingerprints
from gradlint.report.report import Report
from gradlint.rules.registry import all_rules
from tests.harness.report import FIX, MESSAGE, NAMES, TEXT, finding, odd_findings, report_of, written
from tests.harness.schema import PUBLISHED, mistakes, read

SCHEMA = read(PUBLISHED / "sarif-2.1.0.json")


def run_of(report: Report) -> dict[str, Any]:
    """The only run of the document, which the schema allows."""
    document = json.loads(written("sarif", report))
    assert mistakes(document, SCHEMA) == []
    [run] = document["runs"]
    assert isinstance(run, dict)
    return run


def test_nothing_found() -> None:
    """A run without results; the tool is named."""
    run = run_of(report_of())
    assert (run["results"], run["tool"]["driver"]["rules"], run["columnKind"]) == ([], [], "unicodeCodePoints")


def test_every_rule_can_be_described() -> None:
    """With its level, its page, and the address of that."""
    run = run_of(report_of(*(finding(code=rule.code, severity=rule.severity) for rule in all_rules())))
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.code for rule in all_rules()]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == [rule["id"] for rule in rules]
    assert all(rule["help"]["text"].startswith(f"# {rule['id']} {rule['name']}\n") for rule in rules)
    assert all(rule["helpUri"].endswith(f"/rules/{rule['id']}-{rule['name']}.md") for rule in rules)
    levels = {result["level"] for result in run["results"]}
    assert levels == {rule["defaultConfiguration"]["level"] for rule in rules} == {"error", "warning", "note"}


def test_a_result_has_places_and_a_fix() -> None:
    """Rows and columns count from 1, the end is the place after the last character."""
    one = finding(fix=FIX, hint="a hint")
    [result] = run_of(report_of(one))["results"]
    here = {"uri": "a.py", "uriBaseId": "%SRCROOT%"}
    assert result["message"]["text"] == "torch raises\nhelp: a hint"
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": here,
                "region": {"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 8},
            }
        }
    ]
    related = [place["physicalLocation"]["artifactLocation"]["uri"] for place in result["relatedLocations"]]
    assert related == ["a.py", "b%20c.py"]
    assert result["partialFingerprints"] == {"gradlint/v1": fingerprints([one], {"a.py": TEXT})[0]}
    [change] = result["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"] == here
    assert [one["insertedContent"]["text"] for one in change["replacements"]] == ["import torch\n", "-="]


def test_odd_names_come_back_from_their_uris() -> None:
    """Byte for byte, relative to the root; outside of it, absolute."""
    uris = [
        urlsplit(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        for result in run_of(report_of(*odd_findings()))["results"]
    ]
    assert [(uri.scheme, os.fsdecode(unquote_to_bytes(uri.path))) for uri in uris] == [("", name) for name in NAMES]
    outside = os.path.abspath(os.path.join(os.sep, "elsewhere", "a b.py"))
    [result] = run_of(report_of(finding(outside)))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": Path(outside).as_uri()}


def test_what_torch_refuted_is_left_out() -> None:
    """As the exit code does; what it confirmed says so."""
    refuted = finding(verdict=Confirmation("refuted", "nothing was raised"))
    shown = finding("b.py", verdict=Confirmation("confirmed", "it raised"))
    [result] = run_of(report_of(refuted, shown))["results"]
    assert result["message"]["text"] == "torch raises (confirmed)"


def test_sarif_tools_reads_it(tmp_path: Path) -> None:
    """Records for its tables, and the report of GitLab that it makes of them."""
    path = tmp_path / "out.sarif"
    path.write_text(written("sarif", report_of(finding(), *odd_findings())), encoding="utf-8")
    records = load_sarif_file(str(path)).get_records()
    assert len(records) == 1 + len(NAMES)
    first = next(record for record in records if record["Location"] == "a.py")
    assert {first["Tool"], first["Severity"], first["Line"]} == {"gradlint", "error", 2}
    assert first["Code"] == "GRD101"
    files = SarifFileSet()
    files.add_file(load_sarif_file(str(path)))
    codeclimate_op.generate(files, str(tmp_path / "climate.json"), False)
    assert len(json.loads((tmp_path / "climate.json").read_text())) == len(records)
    assert MESSAGE.split()[0] in (tmp_path / "climate.json").read_text()
