"""The main path: discover -> check each file -> hand findings over to the files in which they stand.

Command line, flake8 plugin, and Python API all come through here.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from gradlint.checker import Checker, Perform, Progress, Task
from gradlint.domain.finding import Finding
from gradlint.outcome import Checked, Outcome
from gradlint.results import Results
from gradlint.running import no_collection, with_deep_stack
from gradlint.settings.config import Config
from gradlint.settings.nearest import Configs
from gradlint.settled import grounded, is_settled, uncalled
from gradlint.source.discover import SUFFIX, Discovery, Found
from gradlint.source.importers import importers_of
from gradlint.source.read import OUTSIDE
from gradlint.workers import Workers

_PROJECT = 2_000
"""A project of more files is not searched for those that import one."""


def check_paths(
    paths: Iterable[str | Path],
    config: Config | None = None,
    *,
    configs: Configs | None = None,
    force_exclude: bool = False,
    progress: Progress | None = None,
    checker: Checker | None = None,
    results: Results | None = None,
    jobs: int = 1,
) -> Outcome:
    """Check files, and Python files below directories, by the nearest configuration unless one is given.

    `force_exclude`: files that are named are left out, too, where the configuration excludes them. `progress` is told
    how many of how many files are done. At most `jobs` processes check; what is found does not depend on their number.
    `configs`, `checker`, and `results` are gradlint's own.

    Raises:
        ConfigError: a configuration file that cannot be used.
        PluginError: a plugin that cannot be used.
        TypeError: `paths` is one path, and not a list of them.
    """
    names = names_of(paths)
    discovery = Discovery(configs or Configs(config), force_exclude)
    files = discovery.files(names)
    checking = checker or Checker()
    links = tuple(f"{link}: {OUTSIDE}" for link in discovery.links)

    with no_collection(), Workers(checking, jobs) as workers:
        perform = workers.perform if results is None else results.remembered(workers.perform)
        checked = perform([Task(found) for found in files], progress)
        context = perform(importing(files, discovery, checking))
        outcome = Outcome(gathered(files, checked, context, checking, perform))
        ends = workers.end()
    if results is not None:
        results.save()
    return replace(outcome, warnings=(*_remarks(outcome), *ends, *links, *discovery.broken))


def check_found(
    files: Sequence[Found], checker: Checker, perform: Perform, progress: Progress | None = None
) -> tuple[Checked, ...]:
    """Check files that import nothing but one another."""
    return gathered(files, perform([Task(found) for found in files], progress), (), checker, perform)


def _remarks(outcome: Outcome) -> Iterable[str]:
    return [f"{checked.filename}: {remark}" for checked in outcome.files for remark in checked.remarks]


def names_of(paths: Iterable[str | Path]) -> list[str]:
    """Return paths as texts; a single one is refused, as a text would be read letter by letter."""
    if isinstance(paths, (str, os.PathLike)):
        raise TypeError(f"`paths` must be a list of paths, such as [{str(paths)!r}]")
    return [str(path) for path in paths]


def check_source(text: str, filename: str = "<string>", config: Config | None = None) -> tuple[Finding, ...]:
    """Check a text; the filename is for the findings and for patterns. No configuration file is read.

    A crash of gradlint, or of a plugin, is raised.
    """
    checker, used = Checker(), config or Config()
    with no_collection():
        return used.graded(with_deep_stack(lambda: checker.check_whole(text, filename, used)).findings)


def check_content(content: bytes | str, filename: str, config: Config, checker: Checker | None = None) -> Outcome:
    """Check what is no file of ours to read: standard input, or what flake8 holds; never raises."""
    checking = checker or Checker()
    path = Path(os.path.abspath(filename))
    found = Found(filename, path, config, explicit=os.path.isfile(path))

    with Workers(checking) as workers:
        checked = workers.perform([Task(found, held=content)])
        context = workers.perform(importing([found], Discovery(Configs(config)), checking))
        outcome = Outcome(gathered([found], checked, context, checking, workers.perform, content))
        return replace(outcome, warnings=(*_remarks(outcome), *workers.end()))


def importing(files: Sequence[Found], discovery: Discovery, checker: Checker) -> list[Task]:
    """Return the checks of what imports the files that are named one by one, for what that shows in them."""
    named = [found for found in files if found.explicit and found.path.suffix == SUFFIX]
    if not named:
        return []
    layout = checker.files(named[0].config)
    folders = dict.fromkeys(layout.project(str(found.path)) for found in named)
    checked = {found.path for found in files}
    around = (one for one in discovery.around(folders, _PROJECT) if one.path.suffix == SUFFIX)
    others = {str(one.path): one for one in around if one.path not in checked}
    importers = with_deep_stack(lambda: importers_of([str(found.path) for found in named], others, layout))
    return [Task(others[path], mends=False) for path in importers]


def gathered(
    files: Sequence[Found],
    checked: Sequence[Checked],
    context: Sequence[Checked],
    checker: Checker,
    perform: Perform,
    held: bytes | str | None = None,
) -> tuple[Checked, ...]:
    """Hand each finding to the file in which it stands, if that is checked too; one that was mended is settled.

    Of the `context` nothing else is of interest. `held` is what the only file holds, if it is not read from disk. A
    file is checked again where others show something new in it; what they prove rests on no assumption.
    """
    others: dict[str, list[Finding]] = {}
    for one in (*checked, *context):
        for finding in one.elsewhere:
            others.setdefault(finding.filename, []).append(finding)
    own = [
        _in_file(found, others.get(str(found.path), ()), checker) if one.mended is None else []
        for found, one in zip(files, checked, strict=True)
    ]
    again: dict[int, Task] = {}
    for index, (found, one) in enumerate(zip(files, checked, strict=True)):
        new = _new(one, own[index]) if one.crash is None else ()
        if new:
            again[index] = Task(found, new, held)
    results = list(checked)
    for index, one in zip(again, perform(list(again.values())), strict=True):
        results[index] = replace(one, remarks=results[index].remarks)
    off = frozenset[str]().union(*(one.called_off for one in (*checked, *context)))
    gathered = (
        _without(_having(one, grounded(one.findings, shown)), off) if one.mended is None else one
        for one, shown in zip(results, own, strict=True)
    )
    return tuple(_graded(one, found.config) for found, one in zip(files, gathered, strict=True))


def _in_file(found: Found, others: Collection[Finding], checker: Checker) -> list[Finding]:
    """Return what other files have found in one, by the rules that count there and the name that the user knows."""
    if not others:
        return []
    rules = {rule.code for rule in checker.rules_for(found.config, found.name)}
    return [replace(finding, filename=found.name) for finding in others if finding.code in rules]


def _new(checked: Checked, own: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return what its own check has not found, once, in order: several files may have shown the same."""
    new: list[Finding] = []
    for finding in own:
        known = (one for one in checked.findings if not is_settled(one, own))
        if not any(map(finding.repeats, (*known, *new))):
            new.append(finding)
    return tuple(sorted(new, key=lambda finding: finding.sort_key))


def _without(checked: Checked, off: frozenset[str]) -> Checked:
    """Leave out what callers rule out: one that is in sight has switched grad mode off."""
    return _having(checked, tuple(finding for finding in checked.findings if uncalled(finding) not in off))


def _having(checked: Checked, findings: tuple[Finding, ...]) -> Checked:
    """Return the same with these findings; of most files, which have none, no copy is made."""
    return checked if findings == checked.findings else replace(checked, findings=findings)


def _graded(checked: Checked, config: Config) -> Checked:
    """Leave out what is not severe enough to be shown, and give the rest the severity that is configured."""
    mended = checked.mended
    if mended is not None:
        checked = replace(checked, mended=replace(mended, found=config.graded(mended.found)))
    return _having(checked, config.graded(checked.findings))
