"""Releases of torch: which one a project uses, and which names each has.

What a release has is measured under it: `python -m tools.measure_versions` writes `versions.json`, which holds what
differs between releases, as spans of them: `2.4-` is in 2.4 and all later ones, `-2.12` in none after 2.12.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple, TypedDict

from gradlint.domain.release import Release


class Absence(NamedTuple):
    """A name that a release does not have: the next later one that has it, and the last one before that had it."""

    release: Release
    since: Release | None
    last: Release | None


class _Measured(TypedDict):
    """The measured file: the releases, and by owner the spans of names and of arguments; of others all have it."""

    releases: list[str]
    names: dict[str, str]
    arguments: dict[str, str]
    deprecated: dict[str, str]


@cache
def _measured() -> _Measured:
    found: _Measured = json.loads(resources.files(__package__).joinpath("versions.json").read_text(encoding="utf-8"))
    return found


@cache
def releases() -> tuple[Release, ...]:
    """Return the releases that were measured, the oldest first."""
    found = (Release.of(text) for text in _measured()["releases"])
    return tuple(one for one in found if one is not None)


class _Stated(threading.local):
    release: Release | None = None


_STATED = _Stated()


def stated() -> Release | None:
    """Return the release that the project at hand uses; None where nothing says so, or it was not measured."""
    return _STATED.release


@contextmanager
def stating(release: Release | None) -> Iterator[None]:
    """Let what runs in the block, in this thread, be about a project that uses a release."""
    former = _STATED.release
    _STATED.release = release if release is not None and release in releases() else None
    try:
        yield
    finally:
        _STATED.release = former


Kind = Literal["names", "arguments"]
"""Of a namespace or class, and of a function."""


def absence(owner: str, name: str, kind: Kind = "names") -> Absence | None:
    """Return that the stated release lacks a name, or an argument, which other releases have."""
    release = stated()
    return None if release is None else _absence(kind, owner, name, release)


def is_there(owner: str, name: str, kind: Kind = "names") -> bool:
    """Return whether it is known that the stated release has a name, or an argument, which others have not."""
    return stated() is not None and ever(owner, name, kind) and absence(owner, name, kind) is None


def is_deprecated(path: str) -> bool:
    """Return whether the stated release warns of a name, of which the default one does."""
    release, spans = stated(), _measured()["deprecated"].get(path)
    return release is None or spans is None or release in _within(spans)


def ever(owner: str, name: str, kind: Kind = "names") -> bool:
    """Return whether some release has a name, or an argument, and another one has not."""
    return name in _spans(kind, owner)


def differing(owner: str, release: Release) -> tuple[frozenset[str], frozenset[str]]:
    """Return which names of a namespace or class a release has, and which it lacks, among those not all have."""
    spans = _spans("names", owner)
    has = frozenset(name for name, found in spans.items() if release in found)
    return has, frozenset(spans) - has


@cache
def _absence(kind: Kind, owner: str, name: str, release: Release) -> Absence | None:
    found = _spans(kind, owner).get(name)
    if found is None or release in found:
        return None
    since = min((one for one in found if one > release), default=None)
    last = max((one for one in found if one < release), default=None)
    return Absence(release, since, last)


@cache
def _spans(kind: Kind, owner: str) -> dict[str, frozenset[Release]]:
    """Return which of the releases have a name, for those names that not all of them have."""
    words = (word.partition(":") for word in _measured()[kind].get(owner, "").split())
    return {name: _within(spans) for name, _, spans in words}


def _within(text: str) -> frozenset[Release]:
    """Return the releases of a text such as `-2.3,2.6-`."""
    ends = [span.partition("-")[::2] for span in text.split(",")]
    spans = [(Release.of(first) or releases()[0], Release.of(last) or releases()[-1]) for first, last in ends]
    return frozenset(one for one in releases() if any(first <= one <= last for first, last in spans))
