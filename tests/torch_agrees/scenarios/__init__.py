"""Scenarios: what a program of the generator is about, one class of error to a file.

A file of this package registers its scenarios when it is imported; importing the package imports them all.
"""

from importlib import import_module
from pkgutil import iter_modules

from .registry import FAULTS, LEGAL, Scenario

__all__ = ["FAULTS", "LEGAL", "Scenario"]

for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")
