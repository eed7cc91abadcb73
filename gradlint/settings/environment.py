"""Which Python environment belongs to a project: the one that is named, or lies beside it, or is active."""

from __future__ import annotations

import os
from pathlib import Path

from gradlint.domain.release import Release
from gradlint.facts.versions import releases
from gradlint.source.environment.distribution import version_of
from gradlint.source.environment.index import Unread
from gradlint.source.environment.place import interpreter, site_packages

_BESIDE = (".venv", "venv")
_ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")


def environment_of(root: Path, named: str | None = None) -> Path | None:
    """Return the interpreter or the directory of the environment of the project at a root; None for none."""
    if named is not None:
        path = Path(os.path.normpath(root / os.path.expanduser(named)))
        return path if os.path.exists(path) or os.path.dirname(named) else interpreter(named)
    beside = (root / name for name in _BESIDE)
    found = next((folder for folder in beside if os.path.isfile(folder / "pyvenv.cfg")), None)
    active = next((os.environ[name] for name in _ACTIVE if os.environ.get(name)), None)
    return found or (None if active is None else Path(active))


def torch_in(environment: Path) -> Release | None:
    """Return the release of torch that is installed in an environment, if it is one that gradlint knows."""
    folders = site_packages(environment)
    version = None if isinstance(folders, Unread) else version_of(folders, "torch")
    release = Release.of(version or "")
    return release if release in releases() else None
