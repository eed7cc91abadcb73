"""What `gradlint --version` says: it is read when it is asked for."""

from __future__ import annotations

from gradlint import __version__
from gradlint.facts.table import load


def version() -> str:
    """Return the version, and that of torch on which its facts were measured."""
    return f"gradlint {__version__}, facts of torch {load().torch.partition('+')[0]}"
