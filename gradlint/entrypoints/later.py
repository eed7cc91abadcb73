"""Packages that are loaded when something of them is used, rather than where a file imports them.

Half of the files import libcst, most for the types of their syntax nodes, and it takes longer to load than to look up
the results that an earlier run has kept. `importlib.util.LazyLoader` does not help: `import` asks a module for its
`__spec__`, at which it would load.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType


class _Later(ModuleType):
    """A package that is not loaded yet: it lacks all names, and its path, without which no module of it is imported."""

    def __getattr__(self, name: str) -> object:
        """Load the package, unless it is being loaded, and return what it has under a name."""
        spec = self.__spec__
        assert spec is not None and spec.loader is not None and spec.submodule_search_locations is not None
        self.__class__ = ModuleType  # type: ignore[assignment]
        self.__path__ = spec.submodule_search_locations
        spec.loader.exec_module(self)
        return getattr(self, name)


def load_later(package: str) -> None:
    """Let a package wait until something of it is used; by one thread at first, as others would see half of it."""
    spec = None if package in sys.modules else find_spec(package)
    if spec is not None:
        module = module_from_spec(spec)
        del module.__path__
        module.__class__ = _Later
        sys.modules[package] = module
