"""The summary of a run as one page that needs nothing beside it: figures, plots, the parameters, and the findings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from importlib import resources

from gradlint import __version__
from gradlint.domain.run import Run
from gradlint.report.printable import printable
from gradlint.report.report import Report
from gradlint.report.run.modules import Module, modules
from gradlint.report.run.plots import chart, spark
from gradlint.report.run.table import growth, number, percent
from gradlint.report.summary import counted
from gradlint.report.webpage.article import articles

_HEADS = ("Module", "Parameters", "Gradient norm", "", "Update / weight", "", "Zeros", "Dead units", "Inactive")
_LEAD = (
    "Norms of the gradients that steps have used, and of what a step has changed, divided by that of the weights: the "
    "median over the measured iterations, and its course on a logarithmic scale. Zeros are the share of a gradient's "
    "elements; a unit, an output of a linear or convolutional layer, is dead if it got no gradient in any of them. "
    "Inactive units were zero behind a rectifier for the whole last sample."
)


def page(run: Run, report: Report) -> Iterator[str]:
    """Yield the page."""
    name = escape(printable(run.program))
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>gradlint run: {name}</title>"
    yield f"<style>\n{_read('webpage', 'report.css')}{_read('run', 'run.css')}</style></head><body>"
    yield f"<header><h1>{name}</h1><p>{_watched(run)}</p></header><main>"
    yield '<dl class="figures">'
    yield from (f"<div><dt>{title}</dt><dd>{said}</dd></div>" for title, said in _figures(run, report))
    yield "</dl>"
    if any(one is not None for one in run.losses):
        yield f'<section class="part"><h2>Loss</h2>{chart("loss by iteration", run.points, run.losses)}</section>'
    yield from _parameters(run)
    yield f"<h2>{counted(len(report.standing), 'finding').capitalize()}</h2>"
    yield from articles(report)
    yield "</main>"
    yield f"<footer>gradlint {escape(__version__)}, torch {escape(run.torch)}</footer></body></html>"


def _watched(run: Run) -> str:
    if not run.iterations:
        return "No optimizer has stepped; all of the run was watched."
    part = "all" if run.watched == run.iterations else f"{run.watched:,} of {run.iterations:,}"
    return f"Watched: {part} iterations, in {counted(run.samples, 'sample')}."


def _figures(run: Run, report: Report) -> Iterator[tuple[str, str]]:
    yield "Findings", f"{len(report.standing):,}"
    yield "Iterations", f"{run.iterations:,}"
    yield "Backwards watched", f"{run.backwards:,}"
    yield "Operations watched", f"{run.operations:,}"
    yield "Seconds", f"{run.seconds:,.1f}"
    if run.slowdown is not None:
        yield "Slowdown, watched", f"{run.slowdown:.2f} times"
    if run.holder is not None:
        yield "Tensors in variables", growth(run)
    yield "Exit code", str(run.exit_code)


def _parameters(run: Run) -> Iterator[str]:
    every = modules(run) if run.points else []
    yield '<section class="part"><h2>Parameters by module</h2>'
    if run.unmeasured is not None:
        yield f"<p>Measuring has ended: {escape(printable(run.unmeasured))}</p>"
    if not every:
        yield "<p>No step of an optimizer was measured.</p></section>"
        return
    yield f'<p class="lead">{_LEAD}</p><div class="wide" tabindex="0" role="region" aria-label="Parameters by module">'
    yield "<table><thead><tr>"
    yield from (f'<th scope="col">{head}</th>' if head else '<td aria-hidden="true"></td>' for head in _HEADS)
    yield "</tr></thead><tbody>"
    yield from map(_row, every)
    yield "</tbody></table></div></section>"


def _row(module: Module) -> str:
    name, layer = escape(printable(module.name)), escape(module.layer)
    dead = "" if module.units is None else f"{module.dead:,} of {module.units:,}"
    cells = (
        _cell(f"{module.elements:,}"),
        _cell(number(module.gradient), _mark(module.gradient)),
        _cell(spark(f"gradient norm of {module.name}", module.gradients)),
        _cell(number(module.update), _mark(module.update)),
        _cell(spark(f"update to weight ratio of {module.name}", module.updates)),
        _cell("" if module.zeros is None else escape(percent(module.zeros)), "odd" if module.zeros == 1 else ""),
        _cell(dead, "odd" if module.dead else ""),
        _cell("" if module.inactive is None else f"{module.inactive:,}", "odd" if module.inactive else ""),
    )
    below = f"<small>{layer}</small>" if layer != name else ""
    return f'<tr><th scope="row">{name}{below}</th>{"".join(cells)}</tr>'


def _mark(value: float | None) -> str:
    return "odd" if not value else "" if math.isfinite(value) else "bad"


def _cell(said: str, mark: str = "") -> str:
    return f"<td{f' class={chr(34)}{mark}{chr(34)}' if mark else ''}>{said}</td>"


def _read(folder: str, name: str) -> str:
    return resources.files(f"gradlint.report.{folder}").joinpath(name).read_text(encoding="utf-8")
