"""What the checks of files came to, kept for later runs.

A result is used again while the file holds the same, the same rules count there, and what its check has asked about
other files is answered in the same way: where imports lead, what these files hold, and what is installed. What crashed,
took too long, or was fixed is not kept. The file is signed with a secret of its owner: whoever wrote the tree may have
put one there that says that nothing is found.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import blake2b, sha256
from hmac import compare_digest
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import msgspec

from gradlint.checker import Checker, Perform, Progress, Task
from gradlint.domain.asked import Answer, Question
from gradlint.domain.finding import Finding
from gradlint.outcome import Checked
from gradlint.plugins.installed import MODELS, RULES, plugins
from gradlint.rules.base import Rule
from gradlint.source.documents.kinds import largest_of, text_of
from gradlint.source.files import LONGEST, SUFFIX, Files, digest_of
from gradlint.source.importers import may_run
from gradlint.source.kept import Kept
from gradlint.source.read import Unusable, mentions_torch, read_bytes

_PART, _NAME = "results", "results-1.json"
"""To be counted up when the form changes."""

_LARGEST = 100_000_000
_DAYS = 30
"""So long a result is kept that no run has used."""

_DAY = 24 * 60 * 60


class _Entry(msgspec.Struct, array_like=True):
    """A result: what it depends on, `asked` by index into the questions, and the day on which it was last used."""

    content: str
    rules: str
    asked: list[int]
    day: int
    findings: tuple[Finding, ...]
    elsewhere: tuple[Finding, ...]
    silenced: int
    interpreted: bool
    give_ups: dict[str, int]
    called_off: list[str]
    remarks: tuple[str, ...]


class _Context(msgspec.Struct):
    """Results of files with one environment and release of torch, checked from one directory.

    A question stands with its answer.
    """

    questions: list[tuple[Question, Answer]]
    entries: dict[str, _Entry]


class _Store(msgspec.Struct):
    """All that is kept; of another gradlint it says nothing."""

    maker: str
    contexts: dict[str, _Context]


class _Held(NamedTuple):
    """How long a file is, and what tells what it holds from others; None where it cannot be read."""

    size: int
    digest: str | None


class Results:
    """The results of earlier runs among the files that are kept, and those of this run."""

    def __init__(self, kept: Kept, checker: Checker, key: bytes) -> None:
        """`key` is the secret of the owner, of 64 bytes at most."""
        self._kept = kept
        self._key = key
        self._checker = checker
        self._day = int(time.time() // _DAY)
        self._content: bytes | None = None
        self._old = self._load()
        self._valid: dict[str, dict[int, bool]] = {}
        self._codes: dict[tuple[Rule, ...], str] = {}
        self._new: dict[str, dict[str, tuple[_Entry, Mapping[Question, Answer]]]] = {}
        self._used: dict[str, set[str]] = {}
        self._files: dict[str, _Held] = {}

    def remembered(self, perform: Perform) -> Perform:
        """Let only those tasks be done of which no result is kept."""

        def perform_rest(tasks: Sequence[Task], progress: Progress | None = None, /) -> list[Checked]:
            known = [self._get(task) for task in tasks]
            left = [task for task, checked in zip(tasks, known, strict=True) if checked is None]
            done = perform(left, progress)
            for task, checked in zip(left, done, strict=True):
                self._put(task, checked)
            rest = iter(done)
            return [next(rest) if checked is None else checked for checked in known]

        return perform_rest

    def _get(self, task: Task) -> Checked | None:
        """Return what a task came to in an earlier run, if it would come to the same now."""
        found = task.found
        if not _is_kept(task) or (found.config.fix and task.mends and self._checker.mends):
            return None
        title, key = self._context_of(task), _key(task)
        context = self._old.contexts.get(title)
        entry = None if context is None else context.entries.get(key)
        content = read_bytes(found.path, largest_of(found.name)) if entry is None or entry.findings else None
        if context is None or entry is None:
            chosen = found.explicit or task.also
            is_other = isinstance(content, bytes) and not (chosen or mentions_torch(content) or may_run(content))
            return Checked(found.name) if is_other else None
        if entry.content != self._held(str(found.path), content).digest or entry.rules != self._rules(task):
            return None
        if not self._hold(entry.asked, title, context, self._checker.files(found.config)):
            return None
        text = text_of(content, found.name) if isinstance(content, bytes) else ""
        if not isinstance(text, str):
            return None
        self._used.setdefault(title, set()).add(key)
        return Checked(
            *(found.name, entry.findings, text, entry.silenced, entry.interpreted, entry.give_ups),
            elsewhere=entry.elsewhere,
            called_off=frozenset(entry.called_off),
            remarks=entry.remarks,
        )

    def _held(self, path: str, content: bytes | Unusable | None = None) -> _Held:
        """Return what a file holds: its `content`, or what was read once for its own check and for those of others."""
        if content is None and path in self._files:
            return self._files[path]
        content = content or read_bytes(Path(path), largest_of(path))
        held = _Held(len(content), digest_of(content)) if isinstance(content, bytes) else _Held(0, None)
        self._files[path] = held
        return held

    def _put(self, task: Task, checked: Checked) -> None:
        """Keep what a task came to."""
        if checked.digest is None or checked.crash or checked.late or checked.house or checked.mended is not None:
            return
        entry = _Entry(
            *(checked.digest, self._rules(task), [], self._day, checked.findings, checked.elsewhere, checked.silenced),
            *(checked.interpreted, dict(checked.give_ups), sorted(checked.called_off), checked.remarks),
        )
        self._new.setdefault(self._context_of(task), {})[_key(task)] = entry, checked.asked

    def save(self) -> None:
        """Write what is new beside what an earlier run left, or another one meanwhile."""
        if not self._new and all(self._is_fresh(title, key) for title, keys in self._used.items() for key in keys):
            return
        store = self._load()
        for title, keys in self._used.items():
            for key in keys:
                self._refresh(store, title, key)
        for title, entries in self._new.items():
            context = store.contexts.setdefault(title, _Context([], {}))
            _add(context, entries)
        for title, context in list(store.contexts.items()):
            store.contexts[title] = _pruned(context, self._day - _DAYS)
        try:
            body = msgspec.json.encode(store)
        except UnicodeEncodeError:  # A name that is no Unicode.
            return
        if len(body) < _LARGEST:
            self._kept.write(_PART, _NAME, self._signature(body) + b"\n" + body)

    def _is_fresh(self, title: str, key: str) -> bool:
        return self._old.contexts[title].entries[key].day == self._day

    def _refresh(self, store: _Store, title: str, key: str) -> None:
        context = store.contexts.get(title)
        entry = None if context is None else context.entries.get(key)
        if entry is not None:
            entry.day = self._day

    def _load(self) -> _Store:
        """Return what is there; nothing, if it is not whole or was made by another gradlint, or somebody else."""
        empty = _Store(_maker(), {})
        try:
            content = self._kept.read(_PART, _NAME, _LARGEST)
            if content == self._content:
                return self._old
            self._content = content
            signature, _, body = content.partition(b"\n")
            if not compare_digest(signature, self._signature(body)):
                return empty
            store = msgspec.json.decode(body, type=_Store)
        except (OSError, msgspec.DecodeError, RecursionError):
            return empty
        return store if store.maker == empty.maker else empty

    def _signature(self, body: bytes) -> bytes:
        return blake2b(body, key=self._key).hexdigest().encode()

    def _context_of(self, task: Task) -> str:
        config = task.found.config
        environment, release = self._checker.files(config).environment, self._checker.release(config)
        folders = None if environment is None else environment.folders
        place = config.environment and str(config.environment)
        return repr((os.getcwd(), config.follow_links, place, folders, release and str(release)))

    def _rules(self, task: Task) -> str:
        """Return what counts in the file."""
        config = task.found.config
        rules = self._checker.rules_for(config, task.found.name)
        if rules not in self._codes:
            self._codes[rules] = " ".join(rule.code for rule in rules)
        return f"{config.ignore_noqa:d} {self._codes[rules]}"

    def _hold(self, asked: Iterable[int], title: str, context: _Context, files: Files) -> bool:
        """Return whether questions have the answers that they had; each is asked once."""
        valid = self._valid.setdefault(title, {})
        for index in asked:
            holds = valid.get(index)
            if holds is None:
                holds = valid[index] = self._holds(*context.questions[index], files)
            if not holds:
                return False
        return True

    def _holds(self, question: Question, answer: Answer, files: Files) -> bool:
        if question.kind == "text":
            held = self._held(question.place) if question.place.endswith(SUFFIX) else None
            return (held.digest if held is not None and held.size <= LONGEST else None) == answer
        if question.kind != "unread" or files.environment is None:
            return files.answer(question) == answer
        # Why a package is not read follows from the answers to other questions.
        files.environment.problems.setdefault(question.place, answer or "")
        return True


def _is_kept(task: Task) -> bool:
    return task.held is None and task.found.problem is None


def _key(task: Task) -> str:
    also = sha256(msgspec.json.encode(task.also)).hexdigest() if task.also else ""
    return f"{task.found.path}\0{task.found.name}\0{task.found.explicit:d}\0{also}"


def _add(context: _Context, entries: Mapping[str, tuple[_Entry, Mapping[Question, Answer]]]) -> None:
    """Add entries, and the questions that they depend on."""
    known = {pair: index for index, pair in enumerate(context.questions)}
    for key, (entry, asked) in entries.items():
        entry.asked = [known.setdefault(pair, len(known)) for pair in asked.items()]
        context.entries[key] = entry
    context.questions = list(known)


def _pruned(context: _Context, first: int) -> _Context:
    """Return what was used since a day, with the questions that are needed for it."""
    kept = {key: entry for key, entry in context.entries.items() if entry.day >= first}
    needed = sorted({index for entry in kept.values() for index in entry.asked})
    if len(needed) == len(context.questions):
        return _Context(context.questions, kept)
    places = {old: new for new, old in enumerate(needed)}
    for entry in kept.values():
        entry.asked = [places[index] for index in entry.asked]
    return _Context([context.questions[index] for index in needed], kept)


def can_be_kept() -> bool:
    """Return whether results are known to depend on nothing else: a plugin may change without a sign."""
    return not (plugins(RULES) or plugins(MODELS))


@cache
def _maker() -> str:
    """Return what tells this gradlint from others: what its files hold, and the versions of what parses."""
    package, made = Path(__file__).parent, sha256()
    for path in sorted(path for path in package.rglob("*") if path.suffix in (".py", ".json", ".txt")):
        made.update(f"{path.relative_to(package).as_posix()} {path.stat().st_size} ".encode())
        made.update(path.read_bytes())
    made.update(f"{sys.version_info[:3]} {version('libcst')}".encode())
    return made.hexdigest()
