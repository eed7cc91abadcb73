"""What can be configured, and what it says of a rule or a finding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, cast

from gradlint.domain.finding import Finding, Severity, is_at_least
from gradlint.domain.frozen import Frozen
from gradlint.domain.release import Release
from gradlint.rules.base import Rule
from gradlint.settings.keys import (
    DEFAULT_EXCLUDE,
    DEFAULT_FAIL_ON,
    DEFAULT_FORMAT,
    DEFAULT_MIN_SEVERITY,
    NEVER,
    Layer,
)
from gradlint.settings.selection import Selection, longest, matches, select
from gradlint.source.patterns import Patterns


class ConfigError(Exception):
    """A mistake in a configuration or on the command line, in one line for the user."""


class FileIgnore(NamedTuple):
    """Codes that do not count in the files that a pattern, as in `.gitignore`, matches below `root`."""

    root: Path
    pattern: str
    codes: tuple[str, ...]

    def covers(self, path: Path) -> bool:
        """Return whether the file at an absolute path is one of them."""
        if not path.is_relative_to(self.root):
            return False
        return _spec(self.pattern).match(path.relative_to(self.root).as_posix(), is_directory=False) is True


class Config(Frozen):
    """The settings of one tree; patterns are relative to `root`, the directory of the file they are found in.

    `environment` is an interpreter or the directory of an environment, whose packages are read as source.
    `follow_links`: files are read to which links lead that leave the tree; only the command line says so.
    `layers` are what the settings come from, the last one on top. The other fields are those of `keys.py`.
    """

    root: Path = field(default_factory=Path.cwd)
    preset: str = "default"
    selections: tuple[Selection, ...] = ()
    preview: bool = False
    per_file_ignores: tuple[FileIgnore, ...] = ()
    severity: tuple[tuple[str, Severity], ...] = ()
    min_severity: Severity = DEFAULT_MIN_SEVERITY
    fail_on: str = DEFAULT_FAIL_ON
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    extend_include: tuple[str, ...] = ()
    respect_gitignore: bool = True
    output_format: str = DEFAULT_FORMAT
    ignore_noqa: bool = False
    fix: bool = False
    unsafe_fixes: bool = False
    fixable: tuple[str, ...] = ("ALL",)
    unfixable: tuple[str, ...] = ()
    environment: Path | None = None
    torch: Release | None = None
    follow_links: bool = False
    layers: tuple[Layer, ...] = field(default=(), compare=False)
    baseline: Path | None = None

    def selected(self, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        """Return the rules that are used."""
        return select(rules, self.selections, stable=self.preset == "strict", preview=self.preview)

    def fixes(self, finding: Finding) -> bool:
        """Return whether the fix of a finding may be made."""
        return finding.fix is not None and (finding.fix.safe or self.unsafe_fixes) and self.may_fix(finding)

    def may_fix(self, finding: Finding) -> bool:
        """Return whether findings like this one may be fixed, be it by an unsafe fix."""
        if not self._shows(finding):
            return False
        return longest(finding, self.fixable) > longest(finding, self.unfixable)

    def ignored(self, filename: str) -> list[str]:
        """Return the words for the rules that are switched off for this one file."""
        path = Path(filename).absolute()
        return list(dict.fromkeys(code for one in self.per_file_ignores if one.covers(path) for code in one.codes))

    def graded(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return the findings that are severe enough to be shown, each with the severity that is configured for it."""
        shown = ((one, self._severity_of(one)) for one in findings)
        return tuple(
            one if severity == one.severity else replace(one, severity=severity)
            for one, severity in shown
            if is_at_least(severity, self.min_severity)
        )

    def fails(self, finding: Finding) -> bool:
        """Return whether a finding makes the run fail."""
        if self.fail_on == NEVER or not finding.stands:
            return False
        return is_at_least(finding.severity, cast("Severity", self.fail_on))

    def _shows(self, finding: Finding) -> bool:
        return is_at_least(self._severity_of(finding), self.min_severity)

    def _severity_of(self, finding: Finding) -> Severity:
        """Return what the word that names the rule most exactly says; the later one of two that are the same."""
        said = [(longest(finding, [word]), severity) for word, severity in self.severity if matches(word, finding)]
        return max(reversed(said), key=lambda one: one[0])[1] if said else finding.severity


@lru_cache(maxsize=256)
def _spec(pattern: str) -> Patterns:
    return Patterns([pattern])
