"""The main path: discover -> read -> parse -> interpret -> rules judge events -> suppress, sort.

Command line, flake8 plugin, and Python API all come through here. A mistake in a file becomes a finding; a
crash of gradlint itself is caught here, once per file, and reported as ours; the run goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

import libcst as cst

from gradlint.detect import detectors
from gradlint.documents import Pages
from gradlint.domain.clock import OutOfTimeError, limited
from gradlint.domain.event import Event
from gradlint.domain.finding import Finding
from gradlint.fixes.mend import mend, without_fix_on_other_rows
from gradlint.interpreter.interpret import interpret
from gradlint.judgement import Entrances, finding_about, findings_of, grounded, is_settled, judge, uncalled
from gradlint.outcome import Checked, Crash, Outcome
from gradlint.plugins.guard import has_failed, noting
from gradlint.rules.base import Rule
from gradlint.rules.registry import all_rules
from gradlint.running import no_collection, with_deep_stack
from gradlint.settings.config import Config
from gradlint.settings.nearest import Configs
from gradlint.settings.selection import matches
from gradlint.settings.silencing import OUT_OF_STEPS, Silencing
from gradlint.source.discover import SUFFIX, Discovery, Found
from gradlint.source.documents.document import Kind
from gradlint.source.documents.joined import Program
from gradlint.source.documents.kinds import kind_of, largest_of, text_of
from gradlint.source.files import Files, Unit
from gradlint.source.importers import importers_of
from gradlint.source.modes import called_off
from gradlint.source.parse import refusal_of_compiler
from gradlint.source.projects import Projects
from gradlint.source.read import OUTSIDE, Unusable, is_about_torch, mentions_torch, read_bytes


class Interpreted(Protocol):
    """What the interpreter hands over."""

    @property
    def events(self) -> Sequence[Event]:
        """What torch was seen to do, in order."""

    @property
    def absences(self) -> Sequence[Event]:
        """What did not happen on any path; of other files this says nothing."""

    @property
    def units(self) -> Sequence[Unit]:
        """The other files that were read; events may be about nodes of these."""

    @property
    def entrances(self) -> Entrances:
        """The calls that led to each function of an installed package."""

    @property
    def give_ups(self) -> Mapping[str, int]:
        """What the interpreter gave up, counted."""


class Interpret(Protocol):
    """What runs a module."""

    def __call__(
        self, module: cst.Module, lines: int, path: str, other_files: Files, *, assumes: bool = True
    ) -> Interpreted:
        """Take the module, its number of lines, which bounds the work, and its file with those that it may import.

        With `assumes` false nothing is taken that is not known.
        """


INTERPRET: Interpret = partial(interpret, listeners=detectors)
"""The interpreter, with the detectors listening."""

_PROJECT = 2_000
"""A project of more files is not searched for those that import one."""

FILE_SECONDS = 30.0
"""How much of the processor's time the check of one file may take."""

Progress = Callable[[int, int], None]


def check_paths(
    paths: Iterable[str | Path],
    config: Config | None = None,
    *,
    configs: Configs | None = None,
    force_exclude: bool = False,
    progress: Progress | None = None,
    checker: Checker | None = None,
) -> Outcome:
    """Check files, and Python files below directories, by the nearest configuration unless one is given.

    `force_exclude`: files that are named are left out, too, where the configuration excludes them. `progress` is told
    how many of how many files are done. `configs` and `checker` are gradlint's own.

    Raises:
        ConfigError: a configuration file that cannot be used.
        PluginError: a plugin that cannot be used.
        TypeError: `paths` is one path, and not a list of them.
    """
    names = names_of(paths)
    discovery = Discovery(configs or Configs(config), force_exclude)
    files = discovery.files(names)
    links = tuple(f"{link}: {OUTSIDE}" for link in discovery.links)
    checking = checker or Checker()
    report = progress or (lambda done, total: None)

    def run() -> Outcome:
        checked = []
        for done, found in enumerate(files, start=1):
            checked.append(checking.check_file(found))
            report(done, len(files))
        context = checking.check_importers(files, discovery)
        return Outcome(checking.gather(files, checked, context), (*checking.end(), *links, *discovery.broken))

    with no_collection():
        return with_deep_stack(run)


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

    def run() -> Outcome:
        checked = checking.check_content(content, filename, config)
        context = checking.check_importers([found], Discovery(Configs(config)))
        return Outcome(checking.gather([found], [checked], context, content), checking.end())

    with no_collection():
        return with_deep_stack(run)


class Checker:
    """The path of one file, with the rules and the interpreter to use on it."""

    def __init__(
        self,
        rules: Sequence[Rule] | None = None,
        interpret: Interpret | None = None,
        *,
        wanted: Callable[[Finding, Config, str], bool] | None = None,
        seconds: float = FILE_SECONDS,
    ) -> None:
        """`wanted` says whose fixes to make in a text; without it, none are.

        A file that takes more `seconds` of the processor's time is given up; with 0, none is.
        """
        self._seconds = seconds
        self._rules = all_rules() if rules is None else tuple(rules)
        self._wanted = wanted
        self._interpret = interpret or INTERPRET
        self._chosen: dict[Config, tuple[Rule, ...]] = {}
        self._projects = Projects()
        self._remarks: list[str] = []

    def check_file(self, found: Found) -> Checked:
        """One file of the disk; without the word torch in it, it is looked at only if it was named."""
        content = found.problem or read_bytes(found.path, largest_of(found.name))
        if isinstance(content, bytes) and not found.explicit and not mentions_torch(content):
            return Checked(found.name)
        return self.check_content(content, found.name, found.config)

    def check_importers(self, files: Sequence[Found], discovery: Discovery) -> list[Checked]:
        """Check what imports the files that are named one by one, for what that shows in them."""
        named = [found for found in files if found.explicit and found.path.suffix == SUFFIX]
        layout = self._projects.files(named[0].config) if named else None
        if layout is None:
            return []
        folders = dict.fromkeys(layout.project(str(found.path)) for found in named)
        checked = {found.path for found in files}
        around = (one for one in discovery.around(folders, _PROJECT) if one.path.suffix == SUFFIX)
        others = {str(one.path): one for one in around if one.path not in checked}
        importers = importers_of([str(found.path) for found in named], others, layout)
        wanted, self._wanted = self._wanted, None  # Nothing is mended there.
        try:
            return [self.check_file(others[path]) for path in importers]
        finally:
            self._wanted = wanted

    def check_content(self, content: bytes | str | Unusable, filename: str, config: Config) -> Checked:
        """Whatever the file holds."""
        return self._guarded(filename, lambda: self.check_whole(content, filename, config))

    def _guarded(self, filename: str, check: Callable[[], Checked]) -> Checked:
        """Check a file within its time. This is the one boundary that no crash of ours passes."""
        try:
            with limited(self._seconds), noting() as noted:
                checked = check()
        except OutOfTimeError:
            return Checked(filename, late=True)
        except Exception as error:
            return Checked(filename, crash=Crash.of(filename, error))
        house = tuple(Crash.of(filename, error, whose) for whose, error in noted.items())
        return replace(checked, house=house) if house else checked

    def check_whole(self, content: bytes | str | Unusable, filename: str, config: Config) -> Checked:
        """Check a file, or all programs of a document; crashes and the time are for the caller to see to."""
        text = text_of(content, filename) if isinstance(content, bytes) else content
        if isinstance(text, Unusable):
            return self._refuse(text, "", filename, config)
        if (kind := kind_of(filename)) is not None:
            return self._check_document(kind, text, filename, config)
        checked = self.check_text(text, filename, config)
        return checked if self._wanted is None else self._mend(text, checked, config)

    def _check_document(self, kind: Kind, text: str, filename: str, config: Config) -> Checked:
        document = kind.read(text)
        if isinstance(document, Unusable):
            return self._refuse(document, "", filename, config)

        def check(program: Program) -> tuple[Checked, Checked]:
            found = self.check_text(program.text, filename, config, whole=document.whole)
            mended = found if self._wanted is None else self._mend(program.text, found, config, program, document.whole)
            return found, mended

        refused = [
            replace(finding, span=piece.outward(finding.span))
            for piece, unusable in document.refused
            for finding in self._refuse(unusable, piece.text, filename, config).findings
        ]
        checked = Pages(kind, text, filename, document).checked(refused, check)
        doubts = (document.caveat,) if document.caveat and checked.findings else ()
        self._remarks += [f"{filename}: {remark}" for remark in (*document.remarks, *doubts)]
        return checked

    def _mend(
        self, text: str, checked: Checked, config: Config, program: Program | None = None, whole: bool = True
    ) -> Checked:
        """Make the fixes that are wanted, of a document those that stay in one of its pieces.

        The findings are those of the mended text. No file is written here.
        """
        wanted, filename = self._wanted, checked.filename
        assert wanted is not None

        def is_wanted(finding: Finding, now: str) -> bool:
            crosses = program is not None and finding.fix is not None and program.holder(finding.fix, now) is None
            return not crosses and wanted(finding, config, now)

        check = partial(self.check_text, filename=filename, config=config, whole=whole)
        last, mended = mend(text, checked, check, is_wanted)
        touched = mended.after != text or mended.broken or not mended.settled
        return replace(last, mended=replace(mended, found=checked.findings)) if touched else last

    def check_text(
        self, text: str, filename: str, config: Config, also: Sequence[Finding] = (), *, whole: bool = True
    ) -> Checked:
        """Parse, interpret, judge, suppress; a text that is not about torch, of which nothing is said, is only parsed.

        `also` is what the check of other files has found in this one. If it is not the `whole` program, it is not known
        what is missing in it.
        """
        path = os.path.abspath(filename) if os.path.isfile(filename) else ""
        files = self._projects.files(config)
        unit = files.own(path, text)
        if isinstance(unit, Unusable):
            return self._refuse(unit, text, filename, config)
        if not is_about_torch(text) and not also:
            return Checked(filename)
        try:
            return self._check_unit(unit, text, path, filename, config, also, whole)
        except OutOfTimeError:
            raise
        except Exception:
            refusal = refusal_of_compiler(text)
            if refusal is None:
                raise
            return self._refuse(refusal, text, filename, config)  # It parses, and is no program of Python's.

    def _check_unit(
        self, unit: Unit, text: str, path: str, filename: str, config: Config, also: Sequence[Finding], whole: bool
    ) -> Checked:
        """Interpret, judge, suppress."""
        files = self._projects.files(config)
        run = partial(self._interpret, unit.module, text.count("\n") + 1, path, files)
        interpretation, rules = run(), self._rules_for(config, filename)
        found, elsewhere = self._judged(interpretation, unit.module, filename, rules, whole)
        if any(finding.assumptions for finding in (*found, *elsewhere)):
            bare = self._judged(run(assumes=False), unit.module, filename, rules, whole)
            found, elsewhere = grounded(found, bare[0]), grounded(elsewhere, bare[1])
        if "\f" in text:
            found = tuple(without_fix_on_other_rows(finding, text, unit.module.code) for finding in found)
        found = tuple(finding for finding in found if not is_settled(finding, also))
        found += tuple(finding for finding in also if not any(map(finding.repeats, found)))
        complete = whole and not interpretation.give_ups.get(OUT_OF_STEPS)
        judged = [rule for rule in rules if not has_failed(rule.plugin)]
        kept, silenced = Silencing(self._rules, judged, complete).apply(found, text, filename, config)
        return Checked(
            *(filename, kept, text if kept else "", silenced, True, interpretation.give_ups),
            elsewhere=elsewhere,
            called_off=called_off(unit.module, text),
        )

    def _judged(
        self, seen: Interpreted, module: cst.Module, filename: str, rules: Sequence[Rule], whole: bool
    ) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
        """The findings in this file, and those in others, whose configuration is not known here."""
        said = judge(seen.events, self._rules if seen.units else rules)
        missing = judge(seen.absences, rules) if whole else []
        found = findings_of(said, missing, module, filename, seen.units, seen.entrances) if said or missing else ()
        codes = {rule.code for rule in rules}
        here = tuple(finding for finding in found if finding.filename == filename and finding.code in codes)
        return here, tuple(finding for finding in found if finding.filename != filename)

    def end(self) -> tuple[str, ...]:
        """Keep for later runs what was learnt of installed packages; return what could not be read, and remarks."""
        return (*dict.fromkeys(self._remarks), *self._projects.end())

    def gather(
        self,
        files: Sequence[Found],
        checked: Sequence[Checked],
        context: Sequence[Checked],
        held: bytes | str | None = None,
    ) -> tuple[Checked, ...]:
        """Hand each finding to the file in which it stands, if that is checked too; one that was mended is settled.

        Of the `context` nothing else is of interest. `held` is what the only file holds, if it is not read from disk.
        """
        others: dict[str, list[Finding]] = {}
        for one in (*checked, *context):
            for finding in one.elsewhere:
                others.setdefault(finding.filename, []).append(finding)
        off = frozenset[str]().union(*(one.called_off for one in (*checked, *context)))
        gathered = (
            _without(self._with(found, one, others.get(str(found.path), ()), held), off) if one.mended is None else one
            for found, one in zip(files, checked, strict=True)
        )
        return tuple(_graded(one, found.config) for found, one in zip(files, gathered, strict=True))

    def _with(self, found: Found, checked: Checked, others: Sequence[Finding], held: bytes | str | None) -> Checked:
        """The file checked again where other files show something new in it; what they prove rests on no assumption."""
        rules = {rule.code for rule in self._rules_for(found.config, found.name)}
        own = [replace(finding, filename=found.name) for finding in others if finding.code in rules]
        new: list[Finding] = []
        for finding in own:  # Several files may have shown the same.
            known = (one for one in checked.findings if not is_settled(one, own))
            if not any(map(finding.repeats, (*known, *new))):
                new.append(finding)
        content = (
            (held if held is not None else read_bytes(found.path, largest_of(found.name)))
            if new and checked.crash is None
            else None
        )
        text = text_of(content, found.name) if isinstance(content, bytes) else content
        if isinstance(text, str):
            order = sorted(new, key=lambda finding: finding.sort_key)
            again = partial(self.check_text, text, found.name, found.config, order)
            checked = self._guarded(found.name, again)
        return replace(checked, findings=grounded(checked.findings, own))

    def _refuse(self, unusable: Unusable, text: str, filename: str, config: Config) -> Checked:
        rules = (rule for rule in self._rules_for(config, filename) if rule.code == unusable.code)
        found = tuple(finding_about(unusable, rule, filename) for rule in rules)
        kept, silenced = Silencing(self._rules, (), False).apply(found, text, filename, config)
        return Checked(filename, kept, text, silenced)

    def _rules_for(self, config: Config, filename: str) -> tuple[Rule, ...]:
        if config not in self._chosen:
            self._chosen[config] = config.selected(self._rules)
        ignored = config.ignored(filename)
        return tuple(rule for rule in self._chosen[config] if not any(matches(word, rule) for word in ignored))


def _without(checked: Checked, off: frozenset[str]) -> Checked:
    """Leave out what callers rule out: one that is in sight has switched grad mode off."""
    kept = tuple(finding for finding in checked.findings if uncalled(finding) not in off)
    return checked if len(kept) == len(checked.findings) else replace(checked, findings=kept)


def _graded(checked: Checked, config: Config) -> Checked:
    """Leave out what is not severe enough to be shown, and give the rest the severity that is configured."""
    mended = checked.mended
    if mended is not None:
        mended = replace(mended, found=config.graded(mended.found))
    return replace(checked, findings=config.graded(checked.findings), mended=mended)
