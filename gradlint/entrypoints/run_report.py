"""What `gradlint run` writes at the end: findings, a summary, and what a check of the same files finds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from gradlint.check import check_paths
from gradlint.concrete.findings import judged
from gradlint.concrete.start import Ended
from gradlint.concrete.summary import summary
from gradlint.concrete.watching import Watch
from gradlint.domain.drawing import MOST_NODES
from gradlint.domain.finding import Finding
from gradlint.domain.run import Observed, Run
from gradlint.entrypoints.output_options import write_output_file
from gradlint.entrypoints.problem import Problem, complain
from gradlint.entrypoints.rendering import rendered
from gradlint.entrypoints.tape_options import Wanted
from gradlint.outcome import Checked, Outcome
from gradlint.report.formats import writer
from gradlint.report.paint import Paint
from gradlint.report.paths import checkout
from gradlint.report.report import Report
from gradlint.report.run.data import as_json
from gradlint.report.run.occurrence import Occurrence
from gradlint.report.run.page import page
from gradlint.report.run.table import table
from gradlint.report.summary import counted
from gradlint.rules.registry import all_rules
from gradlint.settings.nearest import Configs


def write(watch: Watch, ended: Ended, program: str, configs: Configs, options: dict[str, Any]) -> bool:
    """Write what was asked for, and return whether all of it could be written."""
    outcome = judged(watch.seen, configs, ended.error, scope=watch.scope).outcome
    caught = judged(watch.machine.met.values(), configs).outcome.findings
    run = summary(watch, program, ended.code, (*outcome.findings, *caught))
    if options["checks"]:
        outcome = _with_check(outcome, run, configs)
    output: Path | None = options["output_file"]
    paint = Paint.for_stream(sys.stderr if output is None else None, choice=options["color"])
    report = Report(outcome.findings, outcome.texts, all_rules(), configs.fixes, paint=paint, root=checkout())
    pieces: Iterable[str] = writer(options["output_format"] or configs.of(Path.cwd()).output_format)(report)
    problems: list[str | None] = []
    if output is None:
        for piece in pieces:
            click.echo(piece, err=True, color=paint.enabled)
    else:
        problems.append(write_output_file(output, pieces))
    for path in options["summary"]:
        plain = replace(report, paint=Paint())
        problems.append(write_output_file(path, page(run, plain) if path.suffix == ".html" else [as_json(run, plain)]))
    if options["tape"] is not None:
        problems.append(_draw(watch, options["tape"]))
    if not options["quiet"]:
        for line in _remarks(watch, run, ended, outcome):
            click.echo(line, err=True)
    said = [one for one in problems if one is not None]
    for problem in said:
        complain(f"error: {problem}")
    return not said


def _draw(watch: Watch, wanted: Wanted) -> str | None:
    """Write the drawing of the line that is asked for; return why there is none."""
    asked = watch.machine.asked
    assert asked is not None, "the line is watched"
    if asked.too_large is not None:
        return f"{wanted.place}: the graph of `{asked.too_large}` has more than {MOST_NODES:,} nodes, too many to draw"
    if asked.drawing is None:
        why = "no tensor of this line lives on after it" if asked.is_reached else "torch was not called at this line"
        unseen = " while the program was watched: `--all` watches all of it" if watch.scope is not None else ""
        return f"{wanted.place}: {why}{unseen}"
    try:
        text = rendered(wanted.place, asked.drawing, wanted.form, wanted.depth)
    except Problem as problem:
        return problem.message
    if wanted.file is not None:
        return write_output_file(wanted.file, [text])
    click.echo(text, err=True)
    return None


def _remarks(watch: Watch, run: Run, ended: Ended, outcome: Outcome) -> Iterator[str]:
    if watch.was_paused and isinstance(ended.error, RuntimeError):
        yield "gradlint: the program failed while nothing was watched: `--all` watches all of it"
    yield from table(run)
    slower = "" if run.slowdown is None else f"; a watched iteration took {run.slowdown:.1f} times as long as others"
    yield f"gradlint: {watch.summary}{slower}; {counted(len(outcome.findings), 'finding')}"


def _with_check(outcome: Outcome, run: Run, configs: Configs) -> Outcome:
    """Return what was seen, and what a check of the files that have run finds besides, each with what the run says."""
    seen = Observed("seen", run.watched)
    files = [replace(file, findings=tuple(replace(one, run=seen) for one in file.findings)) for file in outcome.files]
    names = [name for name in run.files if os.path.isfile(name)]
    if names:
        checked = Occurrence(run).marked(check_paths(names, configs=configs))
        files += (_besides(file, outcome.findings) for file in checked.files)
    return Outcome(tuple(files))


def _besides(file: Checked, known: Sequence[Finding]) -> Checked:
    """Return what a check has found in a file, without what is known already."""
    return replace(file, findings=tuple(one for one in file.findings if not any(_same(one, other) for other in known)))


def _same(one: Finding, other: Finding) -> bool:
    is_near = max(one.lines[0], other.lines[0]) <= min(one.lines[1], other.lines[1])
    return (one.code, one.filename) == (other.code, other.filename) and is_near
