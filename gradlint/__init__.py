"""gradlint runs a Python program on an abstract torch, and says what autograd would refuse or compute
wrongly.

The map:

    check        the main path: discover -> read -> parse -> interpret -> rules judge events -> suppress, sort
    source       files and text: discover, read, parse, places, suppressions; core and lower, the small
    language domain       what is known of a tensor, the tape, a state; events and findings facts        what
    torch does in each operation: a table measured from torch itself semantics    the abstract machine that
    runs the small language and emits events rules        one file for each fault: documentation, examples,
    and judgement of one event report       findings as text, as frames of source, as JSON entrypoints
    command line and flake8 plugin; what follows is the Python API"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = ["Config", "Finding", "Outcome", "__version__", "check_paths", "check_source"]

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


def __getattr__(name: str) -> object:
    """Load what is asked for: `gradlint --version` and the flake8 plugin need next to nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module `gradlint` has no attribute `{name}`")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
