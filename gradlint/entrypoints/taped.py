"""The tapes behind the findings of a report: each file is run once more, and drawn at the rows that findings name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from gradlint.domain.drawing import Drawing
from gradlint.domain.finding import SEVERITIES, Finding
from gradlint.entrypoints.problem import complain
from gradlint.graph import graphs
from gradlint.outcome import Crash
from gradlint.settings.nearest import Configs
from gradlint.source.documents.kinds import kind_of

MOST = 200
"""A page has pictures of so many findings, the most severe first: each picture takes as much room as a file."""


def tapes_of(
    findings: Iterable[Finding], texts: Mapping[str, str], configs: Configs
) -> Callable[[Finding], Drawing | None]:
    """Return what draws the tape of a finding: where a backward raises, else where a graph is cut, else at its row.

    What ends in a mistake of gradlint's own is said in a line, and its file has no pictures.
    """
    drawable = [one for one in findings if texts.get(one.filename) and kind_of(one.filename) is None]
    chosen = sorted(drawable, key=lambda one: SEVERITIES.index(one.severity))[:MOST]
    rows: defaultdict[str, set[int]] = defaultdict(set)
    for one in chosen:
        rows[one.filename].update(_rows(one))
    drawings: dict[str, Mapping[int, Drawing]] = {}

    def draw(finding: Finding) -> Drawing | None:
        name = finding.filename
        if finding not in wanted:
            return None
        if name not in drawings:
            try:
                drawings[name] = graphs(texts[name], name, rows[name], configs.of(Path(name).absolute().parent))
            except Exception as error:
                complain(f"no tapes are drawn: {Crash.of(name, error).line}")
                drawings[name] = {}
        found = (drawings[name].get(row) for row in _rows(finding))
        worthy = [one for one in found if one is not None and len(one.steps) > 1]
        return min(worthy, key=lambda one: (_dullness(one), -len(one.steps)), default=None)

    wanted = frozenset(chosen)
    return draw


def _rows(finding: Finding) -> Iterator[int]:
    """Yield the row of the finding, and those of the places in the same file that explain it."""
    yield finding.span.start.row
    yield from (one.span.start.row for one in finding.related if one.filename is None)


def _dullness(drawing: Drawing) -> int:
    if any(step.raises for step in drawing.steps):
        return 0
    return 1 if any(step.kind == "cut" for step in drawing.steps) else 2
