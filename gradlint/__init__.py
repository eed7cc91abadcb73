"""gradlint finds autograd mistakes in PyTorch programs, without running them and without importing torch.

From Python:

    import gradlint

    outcome = gradlint.check_paths(["src"])          # an Outcome: findings, and crashes of gradlint's own
    findings = gradlint.check_source(text, "a.py")   # a tuple of Finding
    gradlint.reveal(x)                               # in a checked program: report what is believed of x

`check_paths(paths, config=None)` checks files and the Python files below directories, each by its nearest
configuration unless a `Config` is given. `check_source(text, filename, config=None)` checks a text. A `Finding` has a
`code`, a `name`, a `message`, a `severity`, a `span` of rows and columns that count from 1, and perhaps a `fix`.
Mistakes in a checked file are findings; a crash of gradlint itself stands in `Outcome.crashes`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, TypeVar

__version__ = "0.1.0"

__all__ = ["Config", "Finding", "Outcome", "__version__", "check_paths", "check_source", "reveal"]

if TYPE_CHECKING:
    from gradlint.check import check_paths, check_source
    from gradlint.domain.finding import Finding
    from gradlint.outcome import Outcome
    from gradlint.settings.config import Config

_HOMES = {
    "Config": "gradlint.settings.config",
    "Finding": "gradlint.domain.finding",
    "Outcome": "gradlint.outcome",
    "check_paths": "gradlint.check",
    "check_source": "gradlint.check",
}


_T = TypeVar("_T")


def reveal(value: _T) -> _T:
    """Return the value; where gradlint checks the program, it reports what it believes of the value (GRD004)."""
    return value


def __getattr__(name: str) -> object:
    """Load what is asked for: `gradlint --version` and the flake8 plugin need next to nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module `gradlint` has no attribute `{name}`")
    return getattr(importlib.import_module(_HOMES[name]), name)
