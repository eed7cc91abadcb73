"""A baseline: the findings that a project had when it began, which are not reported until they change."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gradlint.domain.finding import Finding
from gradlint.domain.frozen import Frozen
from gradlint.outcome import Outcome
from gradlint.report.fingerprint import fingerprints
from gradlint.report.paths import path_below
from gradlint.settings.config import ConfigError
from gradlint.source.read import Unusable, read_bytes

VERSION = 1
LARGEST = 50_000_000
"""A larger file is none of ours: that is one of some 300 000 findings."""


class Entry(Frozen):
    """A finding of a baseline: its file below the baseline's folder, its code, and what tells it from others."""

    file: str
    code: str
    fingerprint: str


class Baseline(Frozen):
    """How often each finding was there; the paths are relative to the folder of the baseline itself."""

    path: Path
    entries: Counter[Entry]

    @classmethod
    def of(cls, path: Path, outcome: Outcome) -> Baseline:
        """Return a baseline of all that was found."""
        return cls(path, Counter(_entries(path, outcome)))

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Read a file.

        Raises:
            ConfigError: it is no baseline, or cannot be read.
        """
        try:
            if path.stat().st_size > LARGEST and path.is_file():
                raise ConfigError(f"{path}: no baseline: more than {LARGEST // 1_000_000} MB")
        except FileNotFoundError as error:
            raise ConfigError(f"there is no baseline {path}; `--write-baseline` writes one") from error
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
        content = read_bytes(path)
        if isinstance(content, Unusable):
            raise ConfigError(f"{path}: {content.message.partition(';')[0]}")
        try:
            document = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{path}: no baseline: {error}") from error
        return cls(path, _parsed(path, document))

    def text(self) -> str:
        """Return what the file holds: sorted, an entry a line, so that a change of it can be read."""
        order = sorted(self.entries.items(), key=lambda item: (item[0].file, item[0].code, item[0].fingerprint))
        lines = [
            json.dumps({"file": one.file, "code": one.code, "fingerprint": one.fingerprint, "count": count})
            for one, count in order
        ]
        body = ",\n".join(f"    {line}" for line in lines)
        listed = f"[\n{body}\n  ]" if lines else "[]"
        return f'{{\n  "version": {VERSION},\n  "count": {self.entries.total()},\n  "findings": {listed}\n}}\n'

    def apply(self, outcome: Outcome) -> tuple[Outcome, int, int]:
        """Return what is new; how much was known; and how many entries are stale: fixed, or changed meanwhile.

        Of files that were not checked, and are still there, nothing is known.
        """
        left = Counter(self.entries)
        known: Counter[Finding] = Counter()
        for finding, entry in zip(outcome.findings, _entries(self.path, outcome), strict=True):
            if left[entry] > 0:
                left[entry] -= 1
                known[finding] += 1
        new = outcome.keeping(lambda finding: not _taken(known, finding))
        folder = _folder(self.path)
        checked = {path_below(folder, os.path.abspath(file.filename)) for file in outcome.files}
        stale = sum(
            count
            for entry, count in left.items()
            if count and (entry.file in checked or not os.path.lexists(os.path.join(folder, entry.file)))
        )
        return new, len(outcome.findings) - len(new.findings), stale


def _taken(known: Counter[Finding], finding: Finding) -> bool:
    if not known[finding]:
        return False
    known[finding] -= 1
    return True


def _folder(path: Path) -> str:
    return os.path.dirname(os.path.abspath(path))


def _entries(path: Path, outcome: Outcome) -> list[Entry]:
    """Return the entry of each finding, in their order."""
    folder = _folder(path)
    found = [replace(finding, filename=os.path.abspath(finding.filename)) for finding in outcome.findings]
    texts = {os.path.abspath(filename): text for filename, text in outcome.texts.items()}
    told = zip(found, fingerprints(found, texts, folder), strict=True)
    return [Entry(path_below(folder, finding.filename), finding.code, one) for finding, one in told]


def _parsed(path: Path, document: object) -> Counter[Entry]:
    if not isinstance(document, dict) or not isinstance(document.get("findings"), list):
        raise ConfigError(f"{path}: no baseline: it has no list of `findings`")
    if document.get("version") != VERSION:
        raise ConfigError(f"{path}: a baseline of version {document.get('version')!r}, and not of {VERSION}")
    return Counter(_flat(path, document["findings"]))


def _flat(path: Path, entries: Sequence[object]) -> Counter[Entry]:
    counted: Counter[Entry] = Counter()
    for number, entry in enumerate(entries, start=1):
        given = entry if isinstance(entry, dict) else {}
        texts = [given.get(key) for key in ("file", "code", "fingerprint")]
        count = given.get("count")
        if not all(isinstance(text, str) for text in texts) or type(count) is not int or count < 1:
            raise ConfigError(f"{path}: finding {number}: not a file, a code, a fingerprint and a count")
        counted[Entry(*map(str, texts))] += count
    return counted
