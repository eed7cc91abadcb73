"""The gate in small: what it lets through, and what it says of the rest."""

from __future__ import annotations

import pytest

from gradlint.confirm.gate.admit import admit

ADMITTED = [
    "import torch as t\nx = t.ones(2)\n",
    "import torch.nn.functional\ny = torch.nn.functional.relu(torch.ones(2))\n",
    "from torch import nn\nlayer = nn.Linear(2, 2)\nnn.init.zeros_(layer.weight)\n",
    "def step(input, id=3):\n    return input + id\n",
    "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.norm = 3\n",
    "class Base:\n    def __init__(self):\n        self._x = 1\nclass Net(Base):\n    def __init__(self):\n"
    "        Base.__init__(self)\n        print(self._x)\n",
    "import torch\ntorch.backends.cudnn.benchmark = True\n",
    "import torch\n@torch.no_grad()\ndef step(x):\n    return getattr(x, 'grad')\n",
    "import torch\nx = torch.ones(2)\nx.grad = None\nx.data = x\ndel x\n",
    "print('{} {0:.3f} {name!r:>5}'.format(1, name=2))\n",
    "import numpy as np\nx = np.ones(2)\nprint(isinstance(x, np.ndarray), isinstance(x, (list, np.ndarray)))\n",
    "import copy, functools\ny = copy.deepcopy([1])\nadd = functools.partial(max, 1)\n"
    "print(type(y).__name__, type(y) is list)\n",
    "import functools\ndef timed(f):\n    @functools.wraps(f)\n    def inner(*given):\n        return f(*given)\n"
    "    return inner\n",
    "from enum import Enum, auto\nclass Phase(Enum):\n    TRAIN = 'train'\n    TEST = auto()\n"
    "print(Phase('train'), Phase.TEST)\n",
    "from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass Point:\n    x: int = 0\n"
    "    y: list = field(default_factory=list)\nprint(Point(1).x)\n",
    "from typing import Dict, Generic, NamedTuple, TypeVar\nT = TypeVar('T')\nNames = Dict[str, int]\n"
    "class Box(Generic[T]):\n"
    "    pass\nclass Pair(NamedTuple):\n    loss: int\nprint(Pair(1).loss)\n",
    "from torch.utils.data import DataLoader\nfor batch in DataLoader([1, 2], batch_size=1, num_workers=0):\n"
    "    print(batch)\n",
    "import torch\ntorch.set_default_tensor_type(torch.DoubleTensor)\n"
    "torch.set_default_tensor_type('torch.FloatTensor')\n",
    "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.register_buffer('mask', nn.Parameter().detach())\n        self.add_module('body', nn.Linear(1, 1))\n"
    "net = Net()\nprint(net.mask, net.body)\n",
    "class A:\n    def _evaluate(self):\n        return 1\n    def all(self):\n        return self._evaluate()\n",
    "print((1).__class__.__name__, [1].__len__())\n",
    "print(f'{1 + 1:>{3}}')\n",
]

REFUSED = [
    ("import os\n", "line 1: `import os` is not allowed"),
    ("from torch.hub import load\n", "line 1: `from torch.hub import load` is not allowed"),
    ("import torch\nx = torch.load\n", "line 2: `torch.load` is not allowed"),
    ("import torch\nx = [torch]\n", "line 2: the module `torch` is used as a value"),
    ("import torch\nx = torch.nn\n", "line 2: the module `torch.nn` is used as a value"),
    ("import torch\ntorch = 1\n", "`torch` names what is imported and something else"),
    ("x = open\nopen = 1\n", "`open` is a builtin that is not allowed"),
    ("class A:\n    open = open\n", "`open` is a builtin that is not allowed"),
    ("def f():\n    def g():\n        return eval\n    return g\n", "`eval` is a builtin that is not allowed"),
    ("x = '{0.real}'.format(1)\n", "line 1: the attribute `format` is not allowed"),
    ("x = '{0[0]}'.format([1])\n", "line 1: the attribute `format` is not allowed"),
    ("x = '{:{}}'.format(1, 2)\n", "line 1: the attribute `format` is not allowed"),
    ("x = 'a'\ny = x.format(1)\n", "line 2: the attribute `format` is not allowed"),
    ("x = 1\nx.__init__()\n", "line 2: the attribute `__init__` is not allowed"),
    ("x = ().__class__\n", "line 1: the attribute `__class__` is not allowed"),
    ("x = 1\nx.unheard_of\n", "line 2: the attribute `unheard_of` is not known"),
    ("x = getattr(1, 'a' + 'b')\n", "line 1: `getattr` with a computed name"),
    ("x = getattr(1, '__class__')\n", "line 1: the attribute `__class__` is not allowed"),
    ("x = type('A', (), {})\n", "line 1: `type` is used in a form that is not allowed"),
    ("import torch\ntorch.Tensor.add = 1\n", "line 2: `torch.Tensor.add` would be replaced"),
    ("import torch\nprint('weird')\nx = torch.ones(1).weird\n", "line 3: the attribute `weird` is not known"),
    (
        "class A:\n    def _evaluate(self):\n        pass\nA()._evaluate()\n",
        "line 4: the attribute `_evaluate` is not allowed",
    ),
    ("import torch\ndef f(self):\n    self.add = 1\n", "line 3: `add` would replace something of torch's own"),
    ("import numpy\nx = numpy.ndarray\n", "line 2: `numpy.ndarray` is used in a form that is not allowed"),
    ("from functools import wraps as w\nx = w\n", "line 2: `w` is used in a form that is not allowed"),
    ("import torch\nx = torch.nn.modules.linear.F\n", "line 2: `torch.nn.modules.linear.F` is not allowed"),
    ("import typing\nx = typing.List['x']\n", "line 2: `typing.List` is used in a form that is not allowed"),
    ("x = '__reduce_ex__'\n", "line 1: the text `__reduce_ex__` is the name of something special"),
    ("import torch\nC = torch.Tensor\nC.add = 1\n", "line 3: `add` would replace something of torch's own"),
    ("class A(metaclass=int):\n    pass\n", "line 1: the keyword `metaclass` of a class is not allowed"),
    ("class A:\n    def __del__(self):\n        pass\n", "line 2: a definition of `__del__` is not allowed"),
    ("class A:\n    __slots__ = ()\n", "line 2: the name `__slots__` is not allowed"),
    ("async def f():\n    pass\n", "line 1: `AsyncFunctionDef` is not allowed"),
    ("import torch\ntorch.utils.data.DataLoader([], num_workers=2)\n", "line 2: `num_workers` starts processes"),
    ("x = (\n", "it is no program: '(' was never closed (<unknown>, line 1)"),
    ("x = 1\n" * 20_000, "it is longer than 100000 characters"),
    ("x = " + "-" * 90_000 + "1\n", "it is nested too deeply"),
    ("x = " + "(" * 5_000 + ")" * 5_000, "it is no program: too many nested parentheses"),
]


@pytest.mark.parametrize("script", ADMITTED)
def test_programs_that_compute_are_admitted(script: str) -> None:
    """Modules by any name, classes, decorators, and locals that have the names of builtins."""
    assert admit(script) == []


@pytest.mark.parametrize(("script", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_the_reason_is_said(script: str, reason: str) -> None:
    """With the line, where there is one."""
    assert any(said.startswith(reason) for said in admit(script))


def test_probes_pass_the_same_gate() -> None:
    """On the names of the program."""
    script = "import torch\nw = torch.ones(2)\n"
    assert admit(script, ["w.grad is None", "len([w]) > 0"]) == []
    assert admit(script, ["open('x')"]) == ["`open` is a builtin that is not allowed"]
    assert admit(script, ["torch.load"]) == ["line 1: `torch.load` is not allowed"]
