"""Links that lead out of `docs/`: on GitHub to a file of the repository, on the site to its address."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

_LINK = re.compile(r"(?<=\]\()(?P<path>\.\./[^)#\s]+)")


def outward(text: str, folder: str, root: Path, address: str) -> str:
    """Return a page of a folder below `docs/` in which links to other files of the repository are addresses."""

    def led(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", folder, found["path"]))
        if target.startswith("docs/"):
            return found["path"]
        if not (root / target).exists():
            raise ValueError(f"docs/{folder}: the link to {found['path']} leads nowhere")
        return address + target

    return _LINK.sub(led, text)
