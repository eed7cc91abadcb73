"""Run a text under the concrete machine, in this process."""

from __future__ import annotations

import contextlib
import io
import warnings
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from gradlint.concrete.findings import judged
from gradlint.concrete.places import Line, Places
from gradlint.concrete.schedule import Schedule
from gradlint.concrete.watching import Watch
from gradlint.domain.drawing import Drawing
from gradlint.domain.finding import Finding
from gradlint.settings.config import Config
from gradlint.settings.nearest import Configs


class Found(NamedTuple):
    """What was found, what the machine had to complain of, and what the program raised and left in its globals."""

    findings: tuple[Finding, ...]
    complaints: list[str]
    error: Exception | None
    names: dict[str, object]
    operations: int = 0
    drawing: Drawing | None = None


def watched(
    text: str,
    folder: Path,
    *,
    config: Config | None = None,
    schedule: Schedule | None = None,
    explain: bool = False,
    checksums: bool = False,
    row: int | None = None,
) -> Found:
    """Run a text as a program and report what was seen, and draw the tape of a row.

    `explain` an error by a check of its file if nothing was seen.
    """
    file = folder / "program.py"
    file.write_text(text, encoding="utf-8")
    complaints: list[str] = []
    names: dict[str, object] = {"__name__": "__main__", "nn": nn}
    line = None if row is None else Line(str(file.resolve()), row)
    watch = Watch(Places(), complaints.append, schedule, checksums=checksums, line=line)
    error: Exception | None = None
    torch.manual_seed(0)
    watch.begin()
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, str(file), "exec"), names)
    except Exception as raised:
        error = raised
    finally:
        watch.end(error)
        torch.set_grad_enabled(True)
    unseen = error if explain else None
    findings = judged(watch.seen, Configs(config or Config()), unseen, scope=watch.scope).outcome.findings
    drawing = None if watch.machine.asked is None else watch.machine.asked.drawing
    return Found(findings, complaints, error, names, watch.machine.operations, drawing)


def codes_at(found: Found) -> set[tuple[str, int]]:
    """Return the codes, with the rows where they are reported."""
    return {(finding.code, finding.span.start.row) for finding in found.findings}
