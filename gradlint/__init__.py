"""gradlint finds autograd mistakes in PyTorch programs, without running them and without importing torch.

    import gradlint

    findings = gradlint.check_source(text, "train.py")   # a tuple of Finding
    outcome = gradlint.check_paths(["src"])              # an Outcome: findings, and what could not be checked
    config = gradlint.make_config(select=["GRD1"])       # a Config, by the keys of the configuration file
    for outcome in gradlint.recheck(["src"]): ...        # now, and after each change
    with gradlint.watch(): ...                           # a training loop that runs, under torch

A `Finding` has a `code`, a `name`, a `message`, a `severity`, a `filename`, a `span` of rows and columns that count
from 1, and perhaps a `hint` and a `fix`. `ConfigError` says what is wrong with a configuration, and `PluginError` what
is wrong with a plugin. Mistakes in a checked file are findings; a crash of gradlint itself is in `Outcome.crashes`.

`gradlint.reveal(x)`, in a checked program, reports what is believed of x (GRD004); it returns x.

The names in `__all__`, with what docs/python-api.md says of them, are stable under semantic versioning. All other
modules are the inside of gradlint.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from gradlint.check import check_paths, check_source
    from gradlint.concrete.watch import watch
    from gradlint.domain.finding import Finding
    from gradlint.outcome import Outcome
    from gradlint.plugins.installed import PluginError
    from gradlint.settings.config import Config, ConfigError
    from gradlint.settings.file import make_config
    from gradlint.watching import recheck

    __version__: str

__all__ = [
    "Config",
    "ConfigError",
    "Finding",
    "Outcome",
    "PluginError",
    "__version__",
    "check_paths",
    "check_source",
    "make_config",
    "recheck",
    "reveal",
    "watch",
]

_HOMES = {
    "Config": "gradlint.settings.config",
    "ConfigError": "gradlint.settings.config",
    "Finding": "gradlint.domain.finding",
    "Outcome": "gradlint.outcome",
    "PluginError": "gradlint.plugins.installed",
    "check_paths": "gradlint.check",
    "check_source": "gradlint.check",
    "make_config": "gradlint.settings.file",
    "recheck": "gradlint.watching",
    "watch": "gradlint.concrete.watch",
}

_T = TypeVar("_T")


def reveal(value: _T) -> _T:
    """Return the value; where gradlint checks the program, it reports what it believes of the value (GRD004)."""
    return value


def __getattr__(name: str) -> object:
    """Load what is asked for: `import gradlint` and the flake8 plugin need next to nothing."""
    if name == "__version__":
        return importlib.import_module("gradlint.version").version()
    if name not in _HOMES:
        raise AttributeError(f"module `gradlint` has no attribute `{name}`")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
