"""Which rows have changed since a commit of git, uncommitted changes and new files among them.

git is asked for what it stores only; the files of the working tree are compared here. So neither filters, drivers,
hooks nor monitors run that the configuration of a repository may name.
"""

from __future__ import annotations

import difflib
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from gradlint.domain.finding import Finding
from gradlint.domain.frozen import Frozen
from gradlint.settings.config import ConfigError
from gradlint.source.documents.kinds import kind_of, largest_of
from gradlint.source.documents.notebook import NOTEBOOK
from gradlint.source.read import decode, is_below, read_bytes, split_lines

_GIT = (
    "git",
    "--no-optional-locks",
    "--no-replace-objects",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "protocol.allow=never",
)
_ENVIRONMENT = {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


class Rows(Frozen):
    """The rows of a file that changed; None for all of them."""

    changed: frozenset[int] | None

    def touch(self, first: int, last: int) -> bool:
        """Return whether one of these rows has changed."""
        return self.changed is None or any(row in self.changed for row in range(first, last + 1))


class Changes:
    """The changes of a working tree since its history left that of a commit."""

    def __init__(self, reference: str, texts: Mapping[str, str]) -> None:
        """Ask git in the current directory; `texts` are the files that were read, by name.

        Raises:
            ConfigError: there is no git, no repository, or no such commit.
        """
        if not reference or reference.startswith("-"):
            raise ConfigError(f"--diff-base: `{reference}` names no commit")
        self._texts = {os.path.realpath(name): text for name, text in texts.items()}
        self._top = os.path.realpath(os.fsdecode(_git("rev-parse", "--show-toplevel").rstrip(b"\n")))
        commit = _git("rev-parse", "--verify", "--end-of-options", f"{reference}^{{commit}}", why=_no_commit(reference))
        related = f"--diff-base: `{reference}` and HEAD have no commit in common; a shallow clone has too few of them"
        base = _git("merge-base", commit.decode().strip(), "HEAD", why=related).decode().strip()
        self._blobs = dict(_blobs(_git("ls-tree", "-r", "-z", "--full-tree", base)))
        self._known: dict[str, Rows] = {}

    def concern(self, finding: Finding) -> bool:
        """Return whether the finding's statement has changed, or a place that it is related to."""
        first, last = finding.lines
        start, end = finding.span.start.row, finding.span.end.row
        if self._rows(finding.filename).touch(min(first, start), max(last, end)):
            return True
        return any(
            self._rows(place.filename or finding.filename).touch(place.span.start.row, place.span.end.row)
            for place in finding.related
        )

    def _rows(self, filename: str) -> Rows:
        path = os.path.realpath(filename)
        if path not in self._known:
            self._known[path] = self._compared(path)
        return self._known[path]

    def _compared(self, path: str) -> Rows:
        """Return what has changed in one file; of files outside of the repository nothing has."""
        if not is_below(path, self._top):
            return Rows(frozenset())
        blob = self._blobs.get(os.fsencode(os.path.relpath(path, self._top).replace(os.sep, "/")))
        if blob is None:
            return Rows(None)
        before = decode(_git("cat-file", "blob", blob))
        now = self._texts.get(path)
        if now is None:
            content = read_bytes(Path(path), largest_of(path))
            text = decode(content) if isinstance(content, bytes) else content
            now = text if isinstance(text, str) else None
        if not isinstance(before, str) or now is None:
            return Rows(None)
        if kind_of(path) is NOTEBOOK and now != before:
            return Rows(None)  # Its findings count rows of cells, and not those of the file.
        return Rows(frozenset(_changed(before, now)))


def _changed(before: str, now: str) -> Iterator[int]:
    """Yield the rows that are new; where some were deleted, those next to them."""
    old, new = split_lines(before), split_lines(now)
    same = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), None)
    if same is None:
        same = min(len(old), len(new))
    for kind, first, last, start, end in difflib.SequenceMatcher(None, old[same:], new[same:], False).get_opcodes():
        if kind != "equal":
            fewer = last - first > end - start
            yield from range(same + start + (0 if fewer else 1), same + end + (2 if fewer else 1))


def _blobs(listing: bytes) -> Iterator[tuple[bytes, str]]:
    for entry in listing.split(b"\0"):
        head, tab, name = entry.partition(b"\t")
        if tab and head.split()[1] == b"blob":
            yield name, head.split()[2].decode()


def _no_commit(reference: str) -> str:
    return f"--diff-base: `{reference}` names no commit of this repository"


def _git(*arguments: str, why: str | None = None) -> bytes:
    """Run git, and say in one line why it failed."""
    try:
        ran = subprocess.run([*_GIT, *arguments], capture_output=True, check=False, env={**os.environ, **_ENVIRONMENT})
    except OSError as error:
        raise ConfigError(f"--diff-base: git cannot be run: {error.strerror or error}") from error
    if ran.returncode:
        said = ran.stderr.decode(errors="replace").strip().splitlines()
        reason = said[0].removeprefix("fatal: ") if said else "git failed"
        if reason.startswith("not a git repository"):
            reason = "the current directory is not inside a git repository"
        raise ConfigError(why or f"--diff-base: {reason}")
    return ran.stdout
