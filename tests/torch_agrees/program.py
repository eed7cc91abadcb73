"""A program under construction: the lines so far, the names taken, the imports and definitions they need."""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

Option = TypeVar("Option")

MODULES: dict[str, tuple[tuple[str, str, int], ...]] = {
    "t": (("import torch", "torch", 12), ("import torch as T", "T", 1), ("import torch as th", "th", 1)),
    "nn": (
        ("import torch.nn as nn", "nn", 6),
        ("from torch import nn", "nn", 6),
        ("import torch", "torch.nn", 1),
        ("from torch import nn as N", "N", 1),
    ),
    "F": (
        ("import torch.nn.functional as F", "F", 8),
        ("from torch.nn import functional as F", "F", 3),
        ("import torch", "torch.nn.functional", 2),
        ("from torch import nn", "nn.functional", 1),
    ),
    "optim": (
        ("import torch.optim as optim", "optim", 5),
        ("from torch import optim", "optim", 4),
        ("import torch", "torch.optim", 5),
    ),
    "init": (
        ("from torch import nn", "nn.init", 4),
        ("import torch.nn.init as init", "init", 2),
        ("import torch", "torch.nn.init", 2),
        ("from torch.nn import init", "init", 1),
    ),
    "autograd": (
        ("import torch", "torch.autograd", 8),
        ("from torch import autograd", "autograd", 2),
        ("import torch.autograd as autograd", "autograd", 1),
    ),
    "np": (("import numpy as np", "np", 9), ("import numpy", "numpy", 1)),
    "copy": (("import copy", "copy.deepcopy", 3), ("from copy import deepcopy", "deepcopy", 2)),
    "sys": (("import sys", "sys", 1),),
    "math": (("import math", "math", 1),),
    "Variable": (("from torch.autograd import Variable", "Variable", 1),),
    "checkpoint": (("from torch.utils.checkpoint import checkpoint", "checkpoint", 1),),
    "checkpoint_sequential": (
        ("from torch.utils.checkpoint import checkpoint_sequential", "checkpoint_sequential", 1),
    ),
    "checkpoint_module": (("import torch.utils.checkpoint", "torch", 1),),
    "forward_ad": (("import torch.autograd.forward_ad as fwAD", "fwAD", 1),),
}
"""How a program may import what it needs: the statement, the name it then uses, and how often."""


@dataclass(frozen=True)
class Var:
    """A tensor of the program: the name it goes by and its shape. Printed in a template, it is its name."""

    name: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return self.name

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def numel(self) -> int:
        """The number of elements."""
        total = 1
        for size in self.shape:
            total *= size
        return total


class _Names(dict[str, object]):
    """Names for a template: what the caller gave, and the modules of `MODULES`, imported when first used."""

    def __init__(self, program: Program, given: dict[str, object]) -> None:
        super().__init__(given)
        self._program = program

    def __missing__(self, key: str) -> str:
        return self._program.module(key)


@dataclass
class Program:
    """Writes one program; every choice comes from `rng`, so that a seed determines the text."""

    rng: random.Random
    body: list[str] = field(default_factory=list)
    definitions: list[str] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    tensors: set[str] = field(default_factory=set)
    _depth: int = 0
    _taken: set[str] = field(default_factory=set)
    _modules: dict[str, str] = field(default_factory=dict)
    _imports: list[str] = field(default_factory=list)

    def pick(self, *options: Option) -> Option:
        """Return one of the options."""
        return self.rng.choice(options)

    def chance(self, probability: float) -> bool:
        """Return true with this probability."""
        return self.rng.random() < probability

    def module(self, key: str) -> str:
        """Return what the program calls a module, importing it if this is the first use."""
        if key not in self._modules:
            choices = MODULES[key]
            statement, name, _ = self.rng.choices(choices, [weight for _, _, weight in choices])[0]
            if statement == "import torch" and key != "t":
                self._modules[key] = self.module("t") + name.removeprefix("torch")
                return self._modules[key]
            self._modules[key] = name
            if statement not in self._imports:
                self._imports.append(statement)
        return self._modules[key]

    def text(self, template: str, **names: object) -> str:
        """Fill a template: `{x}` by the names given, `{t}`, `{nn}`, `{F}`, ... by imported modules."""
        return template.format_map(_Names(self, names))

    def fresh(self, *suggestions: str) -> str:
        """Return a name nobody uses yet, one of the suggestions if possible."""
        free = [name for name in suggestions if name not in self._taken]
        if free:
            name = self.rng.choice(free)
        else:
            base, number = self.rng.choice(suggestions), 2
            while f"{base}{number}" in self._taken:
                number += 1
            name = f"{base}{number}"
        self._taken.add(name)
        return name

    def line(self, template: str, **names: object) -> None:
        """Write a statement, of one line or several, at the present depth."""
        for line in self.text(template, **names).split("\n"):
            self.body.append("    " * self._depth + line)

    def let(self, template: str, *suggestions: str, **names: object) -> str:
        """Write an assignment to a fresh name, and return the name."""
        name = self.fresh(*(suggestions or ("y", "out", "h", "z", "tmp", "val")))
        self.line(f"{name} = {template}", **names)
        return name

    def tensor(self, shape: tuple[int, ...], template: str, *suggestions: str, **names: object) -> Var:
        """Write an assignment to a fresh name that holds a tensor of this shape."""
        return self.known(self.let(template, *suggestions, **names), shape)

    def known(self, name: str, shape: tuple[int, ...]) -> Var:
        """Return the variable of a name that holds a tensor wherever the program uses it."""
        self.tensors.add(name)
        return Var(name, shape)

    @contextmanager
    def block(self, header: str, **names: object) -> Iterator[None]:
        """Write the lines of the `with` body indented below a header."""
        self.line(header, **names)
        before = len(self.body)
        self._depth += 1
        yield
        if len(self.body) == before:
            self.line("pass")
        self._depth -= 1

    @contextmanager
    def blocks(self, headers: tuple[str, ...]) -> Iterator[None]:
        """Write the lines of the `with` body below no header, or below several, one in the other."""
        if not headers:
            yield
            return
        with self.block(headers[0]), self.blocks(headers[1:]):
            yield

    def define(self, template: str, **names: object) -> None:
        """Write a function or class at the top of the program, before the statements."""
        text = textwrap.dedent(self.text(template, **names)).strip("\n")
        self.reserve(*re.findall(r"^(?:class|def) (\w+)", text, re.MULTILINE))
        self.definitions.append(text)

    def constant(self, value: str, *suggestions: str) -> str:
        """Return a value as it stands, or the name of a constant of the program that has it."""
        if self.chance(0.6):
            return value
        name = self.fresh(*suggestions)
        self.constants.append(f"{name} = {value}")
        return name

    def reserve(self, *names: str) -> None:
        """Keep names from being given out by `fresh`."""
        self._taken.update(names)

    @property
    def imports(self) -> list[str]:
        """The import statements in a usual order: standard library, third party."""
        return sorted(self._imports, key=lambda line: ("torch" in line or "numpy" in line, line))
