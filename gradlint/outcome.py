"""What a run came to: for each file its findings, or the crash of ours that kept us from them."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path

from gradlint.domain.asked import Answer, Question
from gradlint.domain.finding import Finding
from gradlint.domain.frozen import Frozen

_PACKAGE = Path(__file__).parent
_LONGEST = 300
"""How many characters of what an exception says stand in the line that reports it."""


class Crash(Frozen):
    """A mistake of gradlint's own while it checked a file, or of a plugin: `whose` is the rule or detector then.

    `killed`: the process that checked it ended before it answered.
    """

    filename: str
    summary: str
    trace: str
    whose: str = ""
    killed: bool = False

    @property
    def line(self) -> str:
        """Return the line that reports it."""
        if self.whose:
            return f"internal error in {self.whose}, in {self.filename}: {self.summary}"
        return f"internal error in {self.filename}: {self.summary}; please report it"

    @classmethod
    def of(cls, filename: str, error: Exception, whose: str = "") -> Crash:
        """Describe the exception in one line, with the innermost line of ours, or of the plugin's, on its way."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE) is not bool(whose)]
        where = ""
        if own:
            file = Path(own[-1].filename)
            shown = Path(*file.parts[-2:]) if whose else file.relative_to(_PACKAGE.parent)
            where = f" ({shown.as_posix()}, line {own[-1].lineno})"
        # The last frames of a RecursionError say as much as its thousands.
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-20))
        words = " ".join(str(error).split())
        words = words if len(words) <= _LONGEST else f"{words[:_LONGEST]} ..."
        return cls(filename, f"{type(error).__name__}: {words}{where}", trace, whose)


class Mended(Frozen):
    """What fixes made of a text: the counts of (code, name), and the codes whose fixes were of no use.

    `found` is what was found in the text before. Of a notebook, whose text is JSON, `cells` are the sources that
    changed, before and after.
    """

    before: str
    after: str
    made: Mapping[tuple[str, str], int] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    settled: bool = True
    found: tuple[Finding, ...] = ()
    cells: Mapping[int, tuple[str, str]] | None = None


class Checked(Frozen):
    """What became of one file; `text` is kept only where findings may have to be shown.

    `mended` is set where fixes were asked for; the findings are those that are left then. `elsewhere` is what
    was found in other files by running this one: it counts where those are checked too. `called_off` are the names
    of what it calls with grad mode off. `late`: it was given up, as it took more time than a file may. `house` are the
    mistakes of plugins: what all others have found is there. `remarks` are what people should know of how it was read,
    `asked` is what was asked about other files, and `digest` tells what the file holds from other contents. `seconds`
    are those of the processor that a scan has measured.
    """

    filename: str
    findings: tuple[Finding, ...] = ()
    text: str = ""
    silenced: int = 0
    interpreted: bool = False
    give_ups: Mapping[str, int] = field(default_factory=dict)
    crash: Crash | None = None
    mended: Mended | None = None
    elsewhere: tuple[Finding, ...] = ()
    called_off: frozenset[str] = frozenset()
    late: bool = False
    house: tuple[Crash, ...] = ()
    remarks: tuple[str, ...] = ()
    asked: Mapping[Question, Answer] = field(default_factory=dict, compare=False)
    digest: str | None = field(default=None, compare=False)
    seconds: float = field(default=0.0, compare=False)


class Outcome(Frozen):
    """What became of all files; the `warnings` are of what had to be done without."""

    files: tuple[Checked, ...]
    warnings: tuple[str, ...] = ()

    def without_fixes(self, filenames: Collection[str]) -> Outcome:
        """Return what there is where the mended texts of some files could not be written: what there was before."""
        files = (
            replace(file, findings=file.mended.found, text=file.mended.before, mended=None)
            if file.mended is not None and file.filename in filenames
            else file
            for file in self.files
        )
        return replace(self, files=tuple(files))

    def after(self, fixed: Outcome) -> Outcome:
        """Return what there is after fixes were written, with what they changed."""
        mended = fixed.mended
        return replace(self, files=tuple(replace(file, mended=mended.get(file.filename)) for file in self.files))

    def keeping(self, wanted: Callable[[Finding], bool]) -> Outcome:
        """Return the outcome with these findings alone; each is asked about once, in order."""
        kept = {id(finding) for finding in self.findings if wanted(finding)}
        files = (
            replace(file, findings=tuple(finding for finding in file.findings if id(finding) in kept))
            for file in self.files
        )
        return replace(self, files=tuple(files))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All findings by file, then place, then code."""
        findings = [finding for file in self.files for finding in file.findings]
        return tuple(sorted(findings, key=lambda finding: finding.sort_key))

    @property
    def crashes(self) -> tuple[Crash, ...]:
        """The files about which we cannot say anything, by our own fault."""
        return tuple(file.crash for file in self.files if file.crash is not None)

    @property
    def house(self) -> tuple[Crash, ...]:
        """The mistakes of plugins, once for each file and each rule or detector."""
        return tuple(crash for file in self.files for crash in file.house)

    @property
    def late(self) -> tuple[str, ...]:
        """The files that were given up, as they took more time than a file may."""
        return tuple(file.filename for file in self.files if file.late)

    @property
    def mended(self) -> dict[str, Mended]:
        """The texts that fixes changed or should have changed, by the name of the file."""
        return {file.filename: file.mended for file in self.files if file.mended is not None}

    @property
    def texts(self) -> dict[str, str]:
        """The texts of the files with findings, by the name that the findings use."""
        return {file.filename: file.text for file in self.files if file.findings}

    @property
    def give_ups(self) -> Counter[str]:
        """How often the interpreter gave up what kind of thing."""
        total: Counter[str] = Counter()
        for file in self.files:
            total.update(file.give_ups)
        return total
