"""What torch is made of, to see whether a repro has replaced some of it: what such a torch does proves nothing."""

from __future__ import annotations

import builtins
from collections.abc import Mapping

import torch
import torch.autograd.graph
import torch.nn.functional


class Snapshot:
    """The functions and classes that stand in torch's namespaces now."""

    def __init__(self) -> None:
        self._then = _namespaces()
        self._sizes = {path: len(vars(owner)) for owner, path, _ in self._then}

    def replaced(self) -> str | None:
        """Return the dotted name of something that is no longer what it was."""
        for owner, path, then in self._then:
            now = vars(owner)
            for name, value in then.items():
                if now.get(name) is not value:
                    return f"{path}.{name}"
            # A new name in a class may hide one that the class inherits; modules do get new names, of submodules.
            if isinstance(owner, type) and len(now) != self._sizes[path]:
                return path
        return None


def _namespaces() -> list[tuple[object, str, Mapping[str, object]]]:
    modules = (torch, torch.nn, torch.nn.functional, torch.autograd, torch.autograd.graph, torch.optim, torch.linalg)
    owners: dict[int, tuple[object, str]] = {id(builtins): (builtins, "builtins")}
    for module in modules:
        owners[id(module)] = (module, module.__name__)
        for name, value in vars(module).items():
            if isinstance(value, type) and value.__module__.startswith("torch"):
                owners.setdefault(id(value), (value, f"{module.__name__}.{name}"))
    return [
        (owner, path, {n: v for n, v in vars(owner).items() if _is_lasting(n, v)}) for owner, path in owners.values()
    ]


def _is_lasting(name: str, value: object) -> bool:
    """Return whether a name is code: settings and caches change in innocence, and `Storage` with the default type."""
    return name != "Storage" and (callable(value) or isinstance(value, (property, staticmethod, classmethod)))
