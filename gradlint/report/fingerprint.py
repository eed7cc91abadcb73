"""The identity of a finding: what stays the same when lines move, and changes with the statement it is about."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence

from gradlint.domain.finding import Finding
from gradlint.report.paths import path_below
from gradlint.source.documents.kinds import shown_rows

LENGTH = 32
"""How many hexadecimal digits a fingerprint has."""


def fingerprints(findings: Sequence[Finding], texts: Mapping[str, str], root: str | None = None) -> list[str]:
    """Return the fingerprint of each finding, in their order; `texts` are the files, by the names findings use.

    A fingerprint covers the path below `root` (None: the current directory), the code, the statement, and the rank of
    the finding among those that are equal in all this. Line numbers, spaces, messages and the order of `findings` have
    no part in it. Equal findings share one.
    """
    base = os.getcwd() if root is None else root
    rows: dict[tuple[str, int | None], list[str]] = {}
    alike: dict[tuple[str, ...], set[Finding]] = defaultdict(set)
    keys = []
    for finding in findings:
        place = finding.filename, finding.span.cell
        if place not in rows:
            rows[place] = shown_rows(texts.get(finding.filename, ""), finding)
        key = (path_below(base, finding.filename), finding.code, *_statement(finding, rows[place]))
        keys.append(key)
        alike[key].add(finding)
    ranks = {
        finding: rank
        for group in alike.values()
        for rank, finding in enumerate(sorted(group, key=lambda one: (one.sort_key, one.message)))
    }
    return [_digest((*key, str(ranks[finding]))) for key, finding in zip(keys, findings, strict=True)]


def by_finding(findings: Sequence[Finding], texts: Mapping[str, str], root: str | None = None) -> dict[Finding, str]:
    """Return the same by finding."""
    return dict(zip(findings, fingerprints(findings, texts, root), strict=True))


def _statement(finding: Finding, rows: Sequence[str]) -> tuple[str, ...]:
    """Return the rows of the finding's statement, each without the spaces that only lay it out."""
    first, last = finding.lines
    return tuple(" ".join(row.split()) for row in rows[first - 1 : last])


def _digest(parts: Sequence[str]) -> str:
    """Hash the parts; a name that is not UTF-8 stands in them as lone surrogates."""
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:LENGTH]
