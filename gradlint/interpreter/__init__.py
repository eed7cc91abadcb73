"""The abstract machine: what a program does on the abstract torch, as events."""

from gradlint.interpreter.interpret import Interpretation, interpret

__all__ = ["Interpretation", "interpret"]
