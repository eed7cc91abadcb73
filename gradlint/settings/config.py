"""What can be configured, and which configuration holds for which file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from gradlint.domain.finding import Finding
from gradlint.domain.frozen import Frozen
from gradlint.rules.base import Rule
from gradlint.settings.selection import Selection, longest, matches
from gradlint.source.patterns import Patterns

DEFAULT_EXCLUDE = (
    *(".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pytype"),
    *(".pytest_cache", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__"),
    *("_build", "buck-out", "dist", "node_modules", "site-packages", "venv"),
)


class ConfigError(Exception):
    """A mistake in a configuration or on the command line, in one line for the user."""


class FileIgnore(NamedTuple):
    """Codes that do not count in the files that a pattern, as in `.gitignore`, matches below `root`."""

    root: Path
    pattern: str
    codes: tuple[str, ...]

    def covers(self, rule: Rule, path: Path) -> bool:
        """Return whether findings of the rule in the file at the absolute path do not count."""
        if not any(matches(code, rule) for code in self.codes) or not path.is_relative_to(self.root):
            return False
        return _spec(self.pattern).match(path.relative_to(self.root).as_posix(), is_directory=False) is True


class Config(Frozen):
    """The settings of one tree; `exclude` is relative to `root`, the directory of the file they stand in.

    `environment` is an interpreter or the directory of an environment, whose packages are read as source.
    `follow_links`: files are read to which links lead that leave the tree; only the command line says so.
    """

    root: Path = field(default_factory=Path.cwd)
    selections: tuple[Selection, ...] = ()
    per_file_ignores: tuple[FileIgnore, ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    respect_gitignore: bool = True
    output_format: str = "concise"
    ignore_noqa: bool = False
    fix: bool = False
    unsafe_fixes: bool = False
    fixable: tuple[str, ...] = ("ALL",)
    unfixable: tuple[str, ...] = ()
    environment: Path | None = None
    follow_links: bool = False
    baseline: Path | None = None

    def fixes(self, finding: Finding) -> bool:
        """Return whether the fix of a finding may be made."""
        if finding.fix is None or not (finding.fix.safe or self.unsafe_fixes):
            return False
        return longest(finding, self.fixable) > longest(finding, self.unfixable)

    def ignores(self, rule: Rule, filename: str) -> bool:
        """Return whether the rule is switched off for this one file."""
        return any(ignore.covers(rule, Path(filename).absolute()) for ignore in self.per_file_ignores)


class Overrides(Frozen):
    """What the command line adds to whichever configuration is found."""

    selection: Selection = field(default_factory=Selection)
    per_file_ignores: tuple[FileIgnore, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore_noqa: bool = False
    fix: bool | None = None
    unsafe_fixes: bool | None = None
    fixable: tuple[str, ...] | None = None
    unfixable: tuple[str, ...] = ()
    python: Path | None = None
    no_environment: bool = False
    follow_links: bool = False

    def apply(self, config: Config) -> Config:
        """Return the configuration with these options on top."""
        return replace(
            config,
            selections=(*config.selections, self.selection),
            per_file_ignores=(*config.per_file_ignores, *self.per_file_ignores),
            exclude=(*config.exclude, *self.exclude),
            ignore_noqa=config.ignore_noqa or self.ignore_noqa,
            fix=config.fix if self.fix is None else self.fix,
            unsafe_fixes=config.unsafe_fixes if self.unsafe_fixes is None else self.unsafe_fixes,
            fixable=config.fixable if self.fixable is None else self.fixable,
            unfixable=(*config.unfixable, *self.unfixable),
            environment=None if self.no_environment else self.python or config.environment,
            follow_links=self.follow_links,
        )


def parse_file_ignores(root: Path, items: Iterable[str]) -> tuple[FileIgnore, ...]:
    """Read `PATTERN:CODE`, more of them or more codes after commas: `tests/*:GRD1,GRD301,demo.py:GRD2`."""
    collected: list[tuple[str, list[str]]] = []
    for word in (word.strip() for item in items for word in item.split(",") if word.strip()):
        pattern, colon, code = word.rpartition(":")
        if colon:
            collected.append((pattern.strip(), [code.strip()]))
        elif collected:
            collected[-1][1].append(word)
        else:
            raise ConfigError(f"--per-file-ignores: `{word}` has no pattern; write it as PATTERN:CODE")
    return tuple(FileIgnore(root, pattern, tuple(codes)) for pattern, codes in collected)


@lru_cache(maxsize=256)
def _spec(pattern: str) -> Patterns:
    return Patterns([pattern])
