"""The check of one file: read -> parse -> examine -> suppress, sort.

A mistake in a file becomes a finding; a crash of gradlint itself is caught here, once per file, and reported as ours;
the run goes on.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from gradlint.documents import Pages
from gradlint.domain.clock import OutOfTimeError, limited
from gradlint.domain.finding import Finding
from gradlint.domain.frozen import Frozen
from gradlint.domain.release import Release
from gradlint.facts.versions import stating
from gradlint.fixes.mend import mend
from gradlint.outcome import Checked, Crash
from gradlint.plugins.guard import has_failed, noting
from gradlint.rules.base import Rule
from gradlint.rules.registry import all_rules
from gradlint.settings.config import Config
from gradlint.settings.selection import matches
from gradlint.settings.silencing import Silencing
from gradlint.settled import finding_about
from gradlint.source.discover import Found
from gradlint.source.documents.document import Kind
from gradlint.source.documents.joined import Program
from gradlint.source.documents.kinds import kind_of, largest_of, text_of
from gradlint.source.files import Files, Unit, digest_of
from gradlint.source.importers import may_run, runs_torch
from gradlint.source.kept import Keeping
from gradlint.source.parse import refusal_of_compiler
from gradlint.source.projects import Projects
from gradlint.source.read import Unusable, is_about_torch, mentions_torch, read_bytes

if TYPE_CHECKING:
    from gradlint.examine import Interpret

Progress = Callable[[int, int], None]
"""Is told how many of how many files are done."""


_COLLECTED = 4_000_000
"""After so many bytes of files, garbage in cycles is collected: more than a hundred MB, in half a second."""

FILE_SECONDS = 30.0
"""How much of the processor's time the check of one file may take."""


class Task(Frozen):
    """The check of one file: `also` is what that of others has found in it, in order.

    `held` is what it holds, if it is not to be read from disk. With `mends` false no fixes are made.
    """

    found: Found
    also: tuple[Finding, ...] = ()
    held: bytes | str | None = None
    mends: bool = True

    @property
    def size(self) -> int:
        """Return how many bytes the file has, 0 where that is not known: what it costs can only be guessed anyway."""
        try:
            return os.stat(self.found.path).st_size
        except OSError:
            return 0


class Perform(Protocol):
    """What does tasks, here or in other processes, and gives what came of each, in order."""

    def __call__(self, tasks: Sequence[Task], progress: Progress | None = None, /) -> list[Checked]:
        """Do all of them."""


class Checker:
    """The path of one file, with the rules and the interpreter to use on it."""

    def __init__(
        self,
        rules: Sequence[Rule] | None = None,
        interpret: Interpret | None = None,
        *,
        wanted: Callable[[Finding, Config, str], bool] | None = None,
        seconds: float = FILE_SECONDS,
        keeping: Keeping | None = None,
    ) -> None:
        """`wanted` says whose fixes to make in a text; without it, none are.

        A file that takes more `seconds` of the processor's time is given up; with 0, none is. `keeping` says where to
        keep what is learnt of installed packages.
        """
        self._made = partial(Checker, rules, interpret, wanted=wanted, seconds=seconds, keeping=keeping)
        self._seconds = seconds
        self._rules = all_rules() if rules is None else tuple(rules)
        self._wanted = wanted
        self._interpret = interpret
        self._chosen: dict[Config, tuple[Rule, ...]] = {}
        self.projects = Projects(keeping)
        self._since = 0

    def __reduce__(self) -> tuple[Callable[[], Checker], tuple[()]]:
        """Let another process have such a checker: without what this one has learnt."""
        return self._made, ()

    @property
    def mends(self) -> bool:
        """Return whether it makes fixes."""
        return self._wanted is not None

    def perform(self, task: Task) -> Checked:
        """Do a task; a file that does not speak of torch, and runs none that does, is looked at only if it was named.

        Never raises.
        """
        found, also = task.found, task.also
        content = (
            task.held if task.held is not None else found.problem or read_bytes(found.path, largest_of(found.name))
        )
        chosen = task.held is not None or found.explicit or also
        if isinstance(content, bytes) and not (chosen or mentions_torch(content)):
            if not may_run(content):
                return Checked(found.name)
            with self.files(found.config).asked.recording() as asked:
                runs = runs_torch(os.path.abspath(found.name), content, self.files(found.config))
            if not runs:
                return Checked(found.name, asked=asked, digest=digest_of(content))
        wanted, self._wanted = self._wanted, self._wanted if task.mends else None
        try:
            with self.files(found.config).asked.recording() as asked:
                if also:
                    checked = self._guarded(found.name, lambda: self._check_again(content, found, also))
                else:
                    checked = self.check_content(content, found.name, found.config)
        finally:
            self._wanted = wanted
        if isinstance(content, bytes):
            self._collect(len(content))
        return replace(checked, asked=asked, digest=digest_of(content if isinstance(content, bytes) else None))

    def _collect(self, size: int) -> None:
        """Collect what is in cycles now and then: Python itself does not meanwhile (`running.no_collection`)."""
        self._since += size
        if self._since > _COLLECTED:
            self._since = 0
            gc.collect()

    def _check_again(self, content: bytes | str | Unusable, found: Found, also: Sequence[Finding]) -> Checked:
        text = text_of(content, found.name) if isinstance(content, bytes) else content
        if isinstance(text, Unusable):
            return self._refuse(text, "", found.name, found.config)
        return self.check_text(text, found.name, found.config, also)

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
        return replace(checked, remarks=(*document.remarks, *doubts))

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
        unit = self.files(config).own(path, text)
        if isinstance(unit, Unusable):
            return self._refuse(unit, text, filename, config)
        if not (is_about_torch(text) or also or runs_torch(path, text.encode(), self.files(config))):
            return Checked(filename)
        try:
            with stating(self.release(config)):
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
        """Examine a program, and suppress what is silenced."""
        from gradlint.examine import Rules, examine

        rules = Rules(self._rules, self.rules_for(config, filename))
        seen = examine(
            *(unit, text, path, filename, self.files(config), rules, also), whole=whole, interpreter=self._interpret
        )
        judged = [rule for rule in rules.chosen if not has_failed(rule.plugin)]
        kept, silenced = Silencing(self._rules, judged, seen.complete).apply(seen.found, text, filename, config)
        return Checked(
            *(filename, kept, text if kept else "", silenced, True, seen.give_ups),
            elsewhere=seen.elsewhere,
            called_off=seen.called_off,
        )

    def files(self, config: Config) -> Files:
        """Return the files that those of a configuration may import."""
        return self.projects.files(config)

    def hold(self, path: str, text: str | None) -> None:
        """Let a text count instead of what a file holds for those that import it, or, with None, the file again."""
        self.projects.hold(path, text)

    def release(self, config: Config) -> Release | None:
        """Return the release of torch that the files of a configuration are for, where that is known."""
        return self.projects.release(config)

    @staticmethod
    def load() -> None:
        """Load now what the first check would load."""
        import_module("gradlint.examine")

    def end(self) -> tuple[str, ...]:
        """Keep for later runs what was learnt of installed packages; return what could not be read of them."""
        return self.projects.end()

    def _refuse(self, unusable: Unusable, text: str, filename: str, config: Config) -> Checked:
        rules = (rule for rule in self.rules_for(config, filename) if rule.code == unusable.code)
        found = tuple(finding_about(unusable, rule, filename) for rule in rules)
        kept, silenced = Silencing(self._rules, (), False).apply(found, text, filename, config)
        return Checked(filename, kept, text, silenced)

    def rules_for(self, config: Config, filename: str) -> tuple[Rule, ...]:
        """Return the rules that count in a file."""
        if config not in self._chosen:
            self._chosen[config] = config.selected(self._rules)
        if not config.per_file_ignores:
            return self._chosen[config]
        ignored = config.ignored(filename)
        return tuple(rule for rule in self._chosen[config] if not any(matches(word, rule) for word in ignored))
