"""Which Python environment belongs to a project: the one that is named, or lies beside it, or is active."""

from __future__ import annotations

import os
from pathlib import Path

from gradlint.source.environment.place import interpreter

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
