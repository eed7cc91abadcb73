"""Installed distributions: which of them brings a package, in which version, and whether it requires torch."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from gradlint.source.regular import content_of

_INFO = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+)(-py[\d.]+)?\.(dist|egg)-info")
_LARGEST = 10_000_000
_TORCH = re.compile(r"(?mi)^Requires-Dist:\s*(py)?torch\b")


class Distribution(NamedTuple):
    """What brings a package: a text such as `timm-1.0.3`, and the text of its metadata."""

    title: str
    metadata: str

    @property
    def requires_torch(self) -> bool:
        """Return whether it says so, be it for an extra."""
        return _TORCH.search(self.metadata) is not None


@lru_cache(256)
def distribution_of(folder: str, package: str) -> Distribution:
    """Return what brings a package that stands in a folder; without a version where no metadata say so."""
    infos = _infos(folder)
    path = infos.get(_normal(package)) or next(
        (one for one in infos.values() if package in _text(os.path.join(one, "top_level.txt")).split()), None
    )
    if path is None:
        return Distribution(package, "")
    text = _text(os.path.join(path, "METADATA")) or _text(os.path.join(path, "PKG-INFO"))
    return Distribution(os.path.splitext(os.path.basename(path))[0], text.partition("\n\n")[0])


def version_of(folders: Iterable[str], package: str) -> str | None:
    """Return the version of a package, in the first of some folders that has it; None where no metadata say so."""
    folder = next((one for one in folders if os.path.isdir(os.path.join(one, package))), None)
    path = None if folder is None else _infos(folder).get(_normal(package))
    known = None if path is None else _INFO.fullmatch(os.path.basename(path))
    return None if known is None else known["version"]


@lru_cache(16)
def _infos(folder: str) -> dict[str, str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return {}
    found = ((_INFO.fullmatch(name), os.path.join(folder, name)) for name in names)
    return {_normal(known["name"]): path for known, path in found if known is not None}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _text(path: str) -> str:
    try:
        return content_of(path, _LARGEST).decode(errors="replace")
    except OSError:
        return ""
