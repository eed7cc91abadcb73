"""Deep syntax under Python 3.12, which bounds calls by `f(**options)` by a depth that nobody can set.

libcst writes out every node by such a call, so that chains of 900 links, which Python compiles, end in a
RecursionError. Plain calls are not bounded; the other versions of Python do not need this (measured with 3.10, 3.11
and 3.13).
"""

from __future__ import annotations

import sys
from typing import Any

import libcst as cst


def _codegen(node: Any, state: Any, **options: Any) -> None:
    """Do what `CSTNode._codegen` does; of what nests, only `elif` has an option."""
    state.before_codegen(node)
    if not options:
        node._codegen_impl(state)
    elif options.keys() == {"is_elif"}:
        node._codegen_impl(state, is_elif=options["is_elif"])
    else:
        node._codegen_impl(state, **options)
    state.after_codegen(node)


def allow_deep_syntax() -> None:
    """Have libcst write out what is nested deeply."""
    if sys.version_info[:2] == (3, 12):
        cst.CSTNode._codegen = _codegen
