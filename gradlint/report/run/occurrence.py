"""What a run of a program says of what a check finds: what was seen, and what did not occur."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace

from gradlint.domain.finding import Finding
from gradlint.domain.run import Observed, Rows, Run
from gradlint.outcome import Outcome


def digest(text: str) -> str:
    """Return what tells a text from others, whatever its line ends."""
    return hashlib.sha256("\n".join(text.splitlines()).encode(errors="surrogateescape")).hexdigest()


class Occurrence:
    """The places of a run, by the files that are there now. `changed` are those that had another text then."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._files = {os.path.realpath(os.path.join(run.folder, name)): rows for name, rows in run.files.items()}
        self._occurred = [
            (code, os.path.realpath(os.path.join(run.folder, name)), range(first, last + 1))
            for code, name, first, last in run.occurred
        ]
        self.changed: set[str] = set()

    def marked(self, outcome: Outcome) -> Outcome:
        """Return an outcome whose findings say whether they were seen in the run."""
        texts = outcome.texts
        return replace(
            outcome,
            files=tuple(
                replace(file, findings=tuple(self._marked(one, texts) for one in file.findings))
                for file in outcome.files
            ),
        )

    def _marked(self, finding: Finding, texts: Mapping[str, str]) -> Finding:
        path = os.path.realpath(finding.filename)
        rows = self._files.get(path)
        if rows is not None and rows.digest != digest(texts.get(finding.filename, "")):
            self.changed.add(finding.filename)
            return finding
        return replace(finding, run=self._observed(finding, path, rows))

    def _observed(self, finding: Finding, path: str, rows: Rows | None) -> Observed | None:
        """Return what is known; None for what the machine does not look for, and where torch raised something else."""
        first, last = finding.lines
        watched, here = self._run.watched, range(first, last + 1)
        if any(
            code == finding.code and file == path and max(there.start, first) <= min(there.stop - 1, last)
            for code, file, there in self._occurred
        ):
            return Observed("seen", watched)
        if rows is None or not any(row in here for row in rows.rows):
            return Observed("not run", watched)
        if finding.effect == "raises":
            return None if any(row in here for row in rows.raised) else Observed("not seen", watched)
        return Observed("not seen", watched) if finding.code in self._run.sought else None
