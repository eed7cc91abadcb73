"""What `--baseline`, `--write-baseline`, `--diff-base` and `--add-noqa` do with what was found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gradlint.domain.frozen import Frozen
from gradlint.entrypoints.changes import Changes
from gradlint.entrypoints.fixing import NotWrittenError, write_files
from gradlint.entrypoints.replacing import replace_file
from gradlint.entrypoints.signals import signals_as_exits
from gradlint.fixes.suppress import suppressed
from gradlint.outcome import Mended, Outcome
from gradlint.report.baseline import Baseline
from gradlint.report.summary import counted
from gradlint.rules.registry import all_rules
from gradlint.settings.config import ConfigError
from gradlint.settings.silenced import Suppressions
from gradlint.source.documents.kinds import kind_of
from gradlint.source.suppressions import comments


class Adopting(Frozen):
    """How much of what is found counts: what a baseline does not have, and what stands on changed lines."""

    baseline: Baseline | None
    written: Path | None
    diff_base: str | None
    add_noqa: bool

    @classmethod
    def of(
        cls, baseline: Path | None, written: Path | None, diff_base: str | None, add_noqa: bool, rewrites: bool
    ) -> Adopting:
        """Read the baseline, and refuse what does not go together.

        Raises:
            ConfigError: a mistake of the user.
        """
        asked = {
            "--write-baseline": written is not None,
            "--add-noqa": add_noqa,
            "--diff-base": diff_base is not None,
            "--baseline": baseline is not None,
            "--fix, --diff and standard input": rewrites,
        }
        for one, other in _EXCLUSIVE:
            if asked[one] and asked[other]:
                raise ConfigError(f"{one} cannot be combined with {other}")
        if diff_base is not None:
            Changes(diff_base, {})
        return cls(None if baseline is None else Baseline.read(baseline), written, diff_base, add_noqa)

    def settle(self, outcome: Outcome) -> tuple[Outcome, list[str], list[str]]:
        """Return what counts, what is to be said of the rest, and what went wrong; write what is to be written."""
        if self.written is not None:
            return _write_baseline(self.written, outcome)
        notes: list[str] = []
        if self.baseline is not None:
            outcome, known, stale = self.baseline.apply(outcome)
            notes += _on_baseline(self.baseline.path, known, stale)
        if self.diff_base is not None:
            found, changes = len(outcome.findings), Changes(self.diff_base, outcome.texts)
            outcome = outcome.keeping(changes.concern)
            if found > len(outcome.findings):
                unchanged = counted(found - len(outcome.findings), "finding")
                notes.append(f"{unchanged} on lines unchanged since {self.diff_base}.")
        if not self.add_noqa:
            return outcome, notes, []
        outcome, added, problems = _add_comments(outcome)
        notes += [f"Silenced {counted(added, 'finding')} by comments."] if added else []
        return outcome, notes, problems


_EXCLUSIVE = (
    ("--write-baseline", "--add-noqa"),
    ("--write-baseline", "--diff-base"),
    ("--write-baseline", "--baseline"),
    ("--add-noqa", "--fix, --diff and standard input"),
    ("--diff-base", "--fix, --diff and standard input"),
    ("--write-baseline", "--fix, --diff and standard input"),
)


def _on_baseline(path: Path, known: int, stale: int) -> Iterator[str]:
    if known:
        yield f"{counted(known, 'finding')} known from {os.path.relpath(path)}."
    if stale:
        gone, them = ("is", "it") if stale == 1 else ("are", "them")
        again = f"`--write-baseline {os.path.relpath(path)}` removes {them}"
        yield f"{counted(stale, 'finding')} of the baseline {gone} no longer found; {again}."


def _write_baseline(path: Path, outcome: Outcome) -> tuple[Outcome, list[str], list[str]]:
    """Write all that was found; nothing is left to be reported."""
    baseline = Baseline.of(path, outcome)
    try:
        if path.exists() and not path.is_file():
            raise NotWrittenError("it is not a regular file")
        with signals_as_exits():
            replace_file(Path(os.path.realpath(path)), baseline.text().encode("utf-8"))
    except (OSError, NotWrittenError) as error:
        why = error.strerror or error if isinstance(error, OSError) else error
        return outcome, [], [f"{path}: the baseline cannot be written: {why}"]
    written = f"Wrote {counted(len(outcome.findings), 'finding')} to {path}."
    return outcome.keeping(lambda finding: False), [written], []


def _add_comments(outcome: Outcome) -> tuple[Outcome, int, list[str]]:
    """Write comments to the files that were checked; return what they do not silence, and how much they do."""
    programs = [file for file in outcome.files if file.findings and kind_of(file.filename) is None]
    mended = {file.filename: suppressed(file.text, file.findings) for file in programs}
    files = tuple(replace(file, mended=Mended(file.text, mended[file.filename])) for file in programs)
    unwritten = write_files(Outcome(files))
    read = {
        filename: Suppressions.of(comments(text), all_rules())
        for filename, text in mended.items()
        if filename not in unwritten
    }
    left = outcome.keeping(lambda finding: finding.filename not in read or not read[finding.filename].cover(finding))
    problems = [f"{filename}: {why}" for filename, why in unwritten.items()]
    documents = [file.filename for file in outcome.files if file.findings and kind_of(file.filename) is not None]
    problems += [f"{filename}: comments are written to Python files only" for filename in documents]
    return left, len(outcome.findings) - len(left.findings), problems
