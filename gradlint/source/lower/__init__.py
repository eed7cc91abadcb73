"""Lowering: from libcst to the core language."""

from __future__ import annotations

import libcst as cst

from gradlint.source.core import Block, Code, Return
from gradlint.source.lower.comprehension import lower_generator
from gradlint.source.lower.expression import lower_expression
from gradlint.source.lower.scope import Scope
from gradlint.source.lower.statement import lower_statements


def lower_module(module: cst.Module) -> Code:
    """Return the code of a module's top level; function bodies are lowered when they are first interpreted."""
    return Code("<module>", module, [])


def lower_body(code: Code) -> Block:
    """Return the instructions of the body of a function, lambda, kept generator expression, class or module."""
    scope = Scope(code)
    node = code.node
    if isinstance(node, cst.Lambda):
        scope.emit(Return(node, lower_expression(scope, node.body)))
    elif isinstance(node, cst.GeneratorExp):
        lower_generator(scope, node)
    elif isinstance(node, cst.Module):
        lower_statements(scope, node.body)
    else:
        lower_statements(scope, node.body.body)
    return scope.block


Code.lower = staticmethod(lower_body)
