"""Code for certain versions of torch: after a test of the version, or where the program is ready to fail."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import External, Unknown
from gradlint.interpreter.machine import Machine
from gradlint.source.lower.syntax import called_name, nodes_of, parts, root_of

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
    return any(isinstance(one, cst.Name) and "version" in one.value.lower() for one in nodes_of(node))


def may_depend_on_release(module: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Return whether what stands around a node may keep it from other releases of torch, or from being run at all.

    That is a test, a decorator, or a block that speaks of versions, of what is there, or of errors that may come: the
    program's own `is_torch_greater_or_equal("2.4")` as well. So does a test before the node that leaves, or a call.
    """
    return any(_GUARDS.search(word) for guard in _around(module, node) for word in _words(guard))


_GUARDS = re.compile(
    r"(?i)torch.|.torch|version|avail|support|compat|has_?attr|^_?has_|install|suppress|type_checking|skip|"
    r"(import|attribute)_?error|module_?not_?found|(^|_)(ge|gt|lt|le)_|older|newer|greater|legacy|\d+_\d+|"
    r"xpu|mtia|maia"  # A test of a device that came later.
)


def _around(module: cst.CSTNode, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the tests, decorators, and heads of blocks around a node, and the tests before it."""
    for outer, inner in _steps(module, node):
        if isinstance(outer, (cst.If, cst.IfExp, cst.While)):
            yield outer.test
        elif isinstance(outer, cst.With):
            yield from outer.items
        elif isinstance(outer, cst.Try):
            yield from (one.type for one in outer.handlers if one.type is not None)
        elif isinstance(outer, (cst.BooleanOperation, cst.Comparison)):
            yield outer.left
        elif isinstance(outer, (cst.FunctionDef, cst.ClassDef)):
            yield from outer.decorators
        elif isinstance(outer, (cst.Module, cst.IndentedBlock)):
            before = outer.body[: next(at for at, one in enumerate(outer.body) if one is inner)]
            yield from (one.test for one in before if isinstance(one, cst.If) and _leaves(one))
            lines = (one for one in before if isinstance(one, cst.SimpleStatementLine))
            yield from (part for one in lines for part in one.body if isinstance(part, (cst.Assert, cst.Expr)))


def _leaves(test: cst.If) -> bool:
    """Return whether something below a test leaves the block: a statement, or a call such as `pytest.skip()`."""
    leaving = (cst.Return, cst.Raise, cst.Continue, cst.Break)
    return any(isinstance(one, leaving) or called_name(one) in ("skip", "exit", "_exit") for one in nodes_of(test))


def _steps(outer: cst.CSTNode, node: cst.CSTNode) -> list[tuple[cst.CSTNode, cst.CSTNode]]:
    """Return the way down to a node, each step with what it leads to; empty where it is not there."""
    led: dict[int, cst.CSTNode] = {}
    waiting = [outer]
    while waiting and id(node) not in led:
        one = waiting.pop()
        for part in parts(one):
            led[id(part)] = one
            waiting.append(part)
    steps = []
    while id(node) in led:
        steps.append((led[id(node)], node))
        node = led[id(node)]
    return steps


def _words(node: cst.CSTNode) -> Iterator[str]:
    """Yield the names and texts in a node, but `torch` and what stands after it."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, cst.Attribute) and root_of(one) == "torch":
            continue
        if isinstance(one, (cst.Name, cst.SimpleString)) and one.value != "torch":
            yield one.value
        waiting.extend(parts(one))
