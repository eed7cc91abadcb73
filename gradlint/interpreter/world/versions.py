"""Code for certain versions of torch: after a test of the version, or where the program is ready to fail."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import External, Unknown
from gradlint.interpreter.machine import Machine
from gradlint.source.lower.syntax import nodes_of

_VERSION = "__version__"


def is_for_some_versions(machine: Machine, state: State) -> bool:
    """Return whether a name that torch lacks is no mistake here: `try`, `if torch.__version__ < "1.8"`."""
    return machine.guarded > 0 or tests_version(state)


def tests_version(state: State) -> bool:
    """Return whether a test on this path asks for the version of a package."""
    return any(isinstance(test, Unknown) and _is_of_version(test) for test in state.facts)


def _is_of_version(value: object) -> bool:
    """Return whether something unknown is computed from the version of a package."""
    if isinstance(value, tuple):
        return any(_is_of_version(part) for part in value)
    if isinstance(value, External):
        return value.path.rpartition(".")[2] == _VERSION
    if not isinstance(value, Unknown):
        return False
    return _is_of_version(value.key) or (value.syntax is not None and _names_version(value.syntax))


def _names_version(node: cst.CSTNode) -> bool:
    return any(isinstance(one, cst.Name) and one.value == _VERSION for one in nodes_of(node))
