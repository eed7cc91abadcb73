"""`gradlint confirm FILE:LINE[:CODE]`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import click

from gradlint.check import check_content, check_paths
from gradlint.confirm.run.bubblewrap import Choice
from gradlint.domain.finding import Finding
from gradlint.entrypoints.plugin_options import plugin_options
from gradlint.entrypoints.problem import Problem, config_errors_as_problems, no_such_file
from gradlint.entrypoints.proving import Terms, asked
from gradlint.entrypoints.sandbox_options import sandbox_options
from gradlint.outcome import Outcome
from gradlint.report.concise import on_one_line
from gradlint.report.place import place_of
from gradlint.report.printable import printable
from gradlint.settings.nearest import Configs


@click.command()
@click.argument("place", metavar="FILE[:cell N]:LINE[:CODE]")
@click.option("--stdin", is_flag=True, help="Read the text of FILE from standard input, as an editor has it.")
@sandbox_options
@plugin_options
@click.pass_context
def confirm(context: click.Context, place: str, stdin: bool, sandbox: Choice, trust: bool) -> None:
    """Confirm the findings on one line by running torch in a sandbox, and print a program that reproduces each.

    Exit code 0: all are refuted; 1: at least one is confirmed, or is not refuted; 2: bad usage, or no finding there.
    """
    path, cell, row, code = _parse(place, is_there=not stdin)
    terms = Terms(sandbox, trust=trust)
    with config_errors_as_problems():
        outcome = _piped(path) if stdin else check_paths([path])
    found = [one for one in outcome.findings if one.span.cell == cell and _is_at(one, row, code)]
    if not found:
        lines = sorted({one.lines[0] for one in outcome.findings if one.span.cell == cell and code in _names(one)})
        word = "line" if len(lines) == 1 else "lines"
        elsewhere = f"; there are findings on {word} {', '.join(map(str, lines))}" if lines else ""
        raise Problem(f"{place}: nothing is found there{elsewhere}")
    with terms.prover(shrink=True) as torch:
        verdicts = [asked(torch, finding, outcome.texts[finding.filename]) for finding in found]
    for finding in verdicts:
        click.echo(_shown(finding))
    context.exit(1 if any(finding.stands for finding in verdicts) else 0)


def _piped(path: Path) -> Outcome:
    """Check standard input under the name of a file."""
    return check_content(sys.stdin.buffer.read(), str(path), Configs().of(path.absolute().parent))


_CELL = re.compile(r"(?P<file>.+):cell (?P<cell>\d+)", re.DOTALL)


def _parse(place: str, *, is_there: bool) -> tuple[Path, int | None, int, str]:
    rest, _, last = place.rpartition(":")
    file, row, code = (rest, last, "") if last.isdigit() else (*rest.rpartition(":")[::2], last)
    if not file or not row.isdigit():
        raise Problem(f"`{place}` is not of the form FILE:LINE or FILE:LINE:CODE")
    in_cell = None if os.path.lexists(file) else _CELL.fullmatch(file)
    if in_cell is not None:
        file = in_cell["file"]
    if is_there and not os.path.lexists(file):
        raise Problem(no_such_file(file))
    return Path(file), int(in_cell["cell"]) if in_cell else None, int(row), code


def _is_at(finding: Finding, row: int, code: str) -> bool:
    first, last = finding.lines
    return first <= row <= last and code in _names(finding)


def _names(finding: Finding) -> tuple[str, str, str]:
    """Return what a place may name it by; nothing stands for all."""
    return "", finding.code, finding.name


def _shown(finding: Finding) -> str:
    verdict = finding.confirmation
    assert verdict is not None, "torch has just been asked"
    place = (
        f"{place_of(printable(finding.filename), finding.span)}: {finding.severity}: {finding.code} {finding.name}: "
    )
    place += on_one_line(finding.message)
    said = f"{verdict.verdict}: {verdict.reason} (torch {verdict.torch}, {verdict.seconds:.1f} s)"
    parts = [f"{place}\n{printable(said)}", *(_lines(text) for text in (verdict.error, verdict.repro) if text)]
    return "\n\n".join(parts)


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.splitlines()))
