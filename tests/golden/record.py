"""What gradlint finds in a program, as plain data: nothing in it depends on the machine or on the process."""

from __future__ import annotations

import os
import re
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from gradlint import Config, check_paths, check_source
from gradlint.domain.finding import Finding, Fix, Related, Span
from gradlint.settings.selection import Selection
from tests.golden.corpus import ONLY_FILE, Program, Unit
from tests.golden.packages import Package

Entry = dict[str, Any]
"""One line of a golden file: a `key`, and `findings`, or the `crash` of gradlint."""

EVERY_RULE = (Selection(extend_select=("ALL",)),)
"""With those that are off by default, so that one entry serves wherever a program stands."""

_OUR_LINE = re.compile(r" \([^()]*, line \d+\)$")


def entries_of(unit: Unit) -> list[Entry]:
    """The entries of a program, which is one, or of a package: one of its own, and one for each file with findings."""
    if isinstance(unit, Package):
        return _package_entries(unit)
    return [{"key": unit.key, **_program_content(unit)}]


def _program_content(program: Program) -> Entry:
    try:
        if len(program.files) > 1:
            return _project_content(program)
        found = check_source(program.files[0][1], ONLY_FILE, Config(selections=EVERY_RULE))
        return {"findings": [as_data(finding, Path.cwd()) for finding in found]}
    except Exception as error:
        return {"crash": f"{type(error).__name__}: {' '.join(str(error).split())}"}


def _project_content(program: Program) -> Entry:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for file, text in program.files:
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        by_file, crashes, _ = _checked(folder)
    if crashes:
        return {"crash": "; ".join(f"{file}: {crash}" for file, crash in crashes.items())}
    return {"findings": [finding for findings in by_file.values() for finding in findings]}


def _package_entries(package: Package) -> list[Entry]:
    by_file, crashes, count = _checked(package.folder)
    count_of = {"files": count, "findings": sum(map(len, by_file.values()))}
    found = [{"key": f"{package.key}/{file}", "findings": findings} for file, findings in by_file.items()]
    crashed = [{"key": f"{package.key}/{file}", "crash": crash} for file, crash in crashes.items()]
    return [{"key": package.key, "counts": count_of}, *found, *crashed]


def _checked(folder: Path) -> tuple[dict[str, list[Entry]], dict[str, str], int]:
    """The findings by file, the crashes by file, and the number of files."""
    config = Config(root=folder, selections=EVERY_RULE, respect_gitignore=False)
    outcome = check_paths([folder], config)
    by_file: defaultdict[str, list[Entry]] = defaultdict(list)
    for finding in outcome.findings:
        by_file[_below(finding.filename, folder)].append(as_data(finding, folder))
    # Where in gradlint it crashed is not recorded: files of ours are moved.
    crashes = {_below(crash.filename, folder): _OUR_LINE.sub("", crash.summary) for crash in outcome.crashes}
    return dict(sorted(by_file.items())), crashes, len(outcome.files)


def as_data(finding: Finding, folder: Path) -> Entry:
    """All of a finding; file names are relative to the folder."""
    data = {
        "code": finding.code,
        "name": finding.name,
        "at": _at(finding.span),
        "lines": list(finding.lines),
        "severity": finding.severity,
        "effect": finding.effect,
        "file": _below(finding.filename, folder),
        "message": finding.message,
        "hint": finding.hint,
        "related": [_related(related, folder) for related in finding.related],
        "fix": finding.fix and _fix(finding.fix),
    }
    return {name: value for name, value in data.items() if value not in (None, [])}


def _related(related: Related, folder: Path) -> Entry:
    file = {} if related.filename is None else {"file": _below(related.filename, folder)}
    return {"at": _at(related.span), "message": related.message, **file}


def _fix(fix: Fix) -> Entry:
    edits = [[_at(edit.span), edit.content] for edit in fix.edits]
    return {"message": fix.message, "safe": fix.safe, "edits": edits}


def _at(span: Span) -> str:
    return f"{span.start.row}:{span.start.column}-{span.end.row}:{span.end.column}"


def _below(filename: str, folder: Path) -> str:
    """A file name as seen from the folder; gradlint shortens some to what they are from the working directory."""
    return Path(os.path.abspath(filename)).relative_to(folder).as_posix()
