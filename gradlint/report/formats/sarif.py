"""The `sarif` format: SARIF 2.1.0 (OASIS, errata 01), for GitHub's code scanning, editors, and tools that compare runs.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os.html
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from urllib.parse import quote

from gradlint import __version__
from gradlint.domain.finding import Finding, Fix, Severity, Span
from gradlint.report.address import DOCS
from gradlint.report.concise import said_with_hint
from gradlint.report.report import Report
from gradlint.report.rule_page import page, summary_of, url_of
from gradlint.rules.base import Rule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}


def write(report: Report) -> Iterator[str]:
    """Yield one document; of the rules it describes those that have findings."""
    found = {finding.code for finding in report.placed}
    rules = [rule for rule in report.rules if rule.code in found]
    order = {rule.code: index for index, rule in enumerate(rules)}
    driver = {
        "name": "gradlint",
        "version": __version__,
        "informationUri": DOCS,
        "rules": [_rule(rule) for rule in rules],
    }
    results = [
        {
            "ruleIndex": order[finding.code],
            "partialFingerprints": {"gradlint/v1": report.marks[finding]},
            **_result(finding, report),
        }
        for finding in report.placed
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    yield json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(rule: Rule) -> dict[str, object]:
    text, url = page(rule), url_of(rule)
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": summary_of(rule)},
        "help": {"text": text, "markdown": text},
        **({"helpUri": url} if url else {}),
        "defaultConfiguration": {"enabled": rule.default, "level": _LEVELS[rule.severity]},
        "properties": {"tags": ["pytorch", "autograd", rule.effect]},
    }


def _result(finding: Finding, report: Report) -> dict[str, object]:
    fixes = [_fix(finding.fix, finding.filename, report)] if finding.fix and report.fixes(finding) else []
    return {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": said_with_hint(finding)},
        "locations": [{"physicalLocation": _place(finding.filename, finding.span, report)}],
        "relatedLocations": [
            {
                "id": number,
                "physicalLocation": _place(other.filename or finding.filename, other.span, report),
                "message": {"text": other.message},
            }
            for number, other in enumerate(finding.related, start=1)
        ],
        **({"fixes": fixes} if fixes else {}),
        **({} if finding.run is None else {"properties": {"run": asdict(finding.run)}}),
    }


def _fix(fix: Fix, filename: str, report: Report) -> dict[str, object]:
    replacements = [
        {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.content}} for edit in fix.edits
    ]
    change = {"artifactLocation": _artifact(filename, report), "replacements": replacements}
    return {"description": {"text": fix.message}, "artifactChanges": [change]}


def _place(filename: str, span: Span, report: Report) -> dict[str, object]:
    return {"artifactLocation": _artifact(filename, report), "region": _region(span)}


def _region(span: Span) -> dict[str, int]:
    """Return a stretch; as with us, rows and columns count from 1, and the end column is the one after the last."""
    return {
        "startLine": span.start.row,
        "startColumn": span.start.column,
        "endLine": span.end.row,
        "endColumn": span.end.column,
    }


def _artifact(filename: str, report: Report) -> dict[str, str]:
    """Return a file as a URI: relative to the root of the sources, or absolute if the file is not below it."""
    path = report.path(filename)
    uri = quote(os.fsencode(path), safe="/")
    if os.path.isabs(path):
        return {"uri": f"file://{'' if uri.startswith('/') else '/'}{uri}"}
    return {"uri": uri, "uriBaseId": "%SRCROOT%"}
