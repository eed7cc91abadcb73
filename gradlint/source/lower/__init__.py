"""Lowering: from libcst to the core language."""

from __future__ import annotations

import libcst as cst

from gradlint.source.core import Code


def lower_module(module: cst.Module) -> Code:
    """The code of a module's top level; function bodies are lowered when they are first interpreted."""
    return Code("<module>", module, [])
