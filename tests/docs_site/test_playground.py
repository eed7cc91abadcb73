"""The playground: the parser that it runs on finds what the usual one does, and its archive holds what is needed."""

from __future__ import annotations

import inspect
import zipfile
from pathlib import Path

import pytest

from gradlint.check import check_source
from gradlint.domain.finding import Finding
from gradlint.rules.registry import all_rules
from gradlint.settings.config import Config
from tools.site import playground
from tools.site.playground import native

EXAMPLES = [
    f"{inspect.cleandoc(example)}\n"
    for rule in all_rules()
    for example in (rule.bad, rule.good)
    if example is not None and rule.effect != "invalid"
]


def found(program: str) -> tuple[Finding, ...]:
    """What is found in a program."""
    return check_source(program, "example.py", Config())


def test_the_parser_in_python_leads_to_the_same_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    """In all examples of rules."""
    usual = [found(one) for one in EXAMPLES]
    for name in ("parse_module", "parse_statement", "parse_expression"):
        monkeypatch.setattr(f"libcst.native.{name}", getattr(native, name))
    assert [found(one) for one in EXAMPLES] == usual


def test_what_the_parser_does_not_know_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python knows it."""
    monkeypatch.setattr("libcst.native.parse_module", native.parse_module)
    (finding,) = found("match 1:\n    case 1:\n        pass\n")
    assert finding.code == "GRD001"
    assert "Python accepts this file" in finding.message


def test_the_archive_holds_python_alone(tmp_path: Path) -> None:
    """Besides what the wheels bring."""
    downloads, folder = tmp_path / "downloads", tmp_path / "site"
    source = downloads / "node_modules" / "pyodide"
    source.mkdir(parents=True)
    for name in playground.PYODIDE:
        (source / name).write_text(name)
    with zipfile.ZipFile(downloads / "a.whl", "w") as wheel:
        wheel.writestr("a/compiled.so", "")
    playground.assemble(downloads, folder)
    assert {path.name for path in folder.iterdir()} == {*playground.PYODIDE, playground.ARCHIVE}
    with zipfile.ZipFile(folder / playground.ARCHIVE) as archive:
        names = archive.namelist()
    assert len(names) == len(set(names))
    assert {"gradlint/entrypoints/cli.py", "libcst/__init__.py", "libcst/native.py"} <= set(names)
    assert [name for name in names if name.endswith(".so")] == ["a/compiled.so"]
