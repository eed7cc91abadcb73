"""`gradlint rules`."""

from __future__ import annotations

import json

import pytest

from tests.entrypoints.conftest import Run


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["GRD001", "GRD002", "GRD101", "GRD102", "GRD103", "GRD801", "GRD802"]),
        (["--select", "GRD1,old-name"], ["GRD101", "GRD102", "GRD103", "GRD801"]),
        (["--severity", "warning"], ["GRD102"]),
        (["--select", "GRD1", "--severity", "info", "--severity", "error"], ["GRD101", "GRD103"]),
        (["--fixable"], ["GRD102"]),
        (["--fixable", "--severity", "info"], []),
    ],
)
def test_filters(run: Run, arguments: list[str], expected: list[str]) -> None:
    """In every format."""
    assert [line.split()[0] for line in run("rules", *arguments).out] == expected
    as_json = json.loads("\n".join(run("rules", *arguments, "--output-format", "json").out))
    assert [rule["code"] for rule in as_json] == expected
    table = run("rules", *arguments, "--output-format", "markdown").out
    assert [line.split()[1] for line in table[2:]] == expected


def test_a_line_says_what_decides(run: Run) -> None:
    """Whether there are fixes, and whether the rule is on."""
    assert run("rules", "--select", "GRD102,GRD8").out == [
        "GRD102  leaf-view-inplace  warning  leak    [*]  A view of a leaf is written in place.",
        "GRD801  old-name           info     legacy       off: A name of old; off unless selected.",
        "GRD802  new-name           info     legacy       off, preview: A new name; still being tried out.",
    ]
    assert run("rules", "--select", "GRD9").code == 2
