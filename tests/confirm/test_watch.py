"""The gate at run time, by values: what the text of a program cannot tell of the names that it uses itself."""

from __future__ import annotations

import pytest

from gradlint.confirm.run.sandbox import Sandbox

SCHEDULER = """\
import numpy
import torch
optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
"""

DENIED = {
    "a private name of a form of typing": (
        "from typing import Union\n"
        "class Deed:\n    def _evaluate(self):\n        return self._evaluate({}, {}, frozenset())\n"
        "Deed._evaluate(Union[int, None])\n",
        "`_evaluate` is read of a _UnionGenericAlias",
    ),
    "a name that a decorator took over from a class of torch": (
        "import functools\nimport torch\nclass Deed:\n    _typed_storage = None\n    def found(self):\n"
        "        return self._typed_storage\nDeed.found(functools.cache(torch.Tensor))\n",
        "`_typed_storage` is read of a _lru_cache_wrapper",
    ),
    "a name of a network that is its own in another class": (
        "from torch import nn\n"
        "class Deed:\n    def _call_impl(self):\n        return 1\n    def all(self):\n        return self._call_impl\n"
        "Deed.all(nn.Linear(2, 2))\n",
        "`_call_impl` is read of a Linear",
    ),
    "an attribute of a class of torch": (
        "import torch\nclass Deed:\n    def patch(self):\n        self.rsample = 1\n"
        "Deed.patch(torch.distributions.Normal)\n",
        "`rsample` is set on a type",
    ),
    "an attribute of a class of torch by a text": (
        "import torch\nclass Deed:\n    def patch(self):\n        setattr(self, 'mine', 1)\nDeed.patch(torch.Tensor)\n",
        "`mine` is set on a _TensorMeta",
    ),
    "a method of a layer of torch": (
        "from torch import nn\nclass Deed:\n    def patch(self):\n        self.forward = print\n"
        "Deed.patch(nn.Linear(2, 2))\n",
        "`forward` is set on a Linear",
    ),
    "the class of a class": (
        "class Deed:\n    def made(self):\n        return type(self)('A', (), {})\nDeed.made(int)\n",
        "`__class__` is read of a type",
    ),
    "a loader with workers, however it got them": (
        "from torch.utils.data import DataLoader\nfor batch in DataLoader([1, 2], 1, False, None, None, 1 + 1):\n"
        "    print(batch)\n",
        "a loader that starts processes",
    ),
    "an array of addresses": (
        "import numpy\nnumpy.ndarray((1,), dtype=object, buffer=numpy.array([1]))\n",
        "a type is called that is not known: <class 'numpy.ndarray'>",
    ),
    "a class of constants by a call": (
        "import enum\nenum.Enum('E', {'A': 1})\n",
        "a EnumType is called that is not known: <enum 'Enum'>",
    ),
    "an attribute of a class of torch by a method of torch": (
        "import torch\nnormal = torch.distributions.Normal(torch.zeros(1), torch.ones(1))\n"
        "try:\n    normal.expand((2,), torch.distributions.Beta)\nexcept TypeError:\n    pass\n",
        "torch.distributions.Beta was replaced",
    ),
    "a module that an error kept": (
        "import torch\nclass Deed:\n    obj = None\n    def kept(self):\n        return self.obj\n"
        "try:\n    torch.nn.functional.softmaxx\nexcept AttributeError as error:\n    Deed.kept(error)\n",
        "`obj` is read of a AttributeError",
    ),
    "any names by the state of a scheduler": (
        SCHEDULER + "scheduler.load_state_dict({'__array_' + 'interface__': {}})\n",
        "`load_state_dict` is read of a StepLR",
    ),
    "all names of a class by the state of a scheduler": (
        SCHEDULER + "torch.optim.lr_scheduler.LambdaLR(optimizer, torch.Tensor).state_dict()\n",
        "`state_dict` is read of a LambdaLR",
    ),
    "the state of a scheduler by its subclass": (
        SCHEDULER + "class Mine(torch.optim.lr_scheduler.StepLR):\n    def state(self):\n"
        "        return super().state_dict()\nMine(optimizer, 1).state()\n",
        "`state_dict` is read of a super",
    ),
}

FINISHED = {
    "own names that others have": (
        "class Deed:\n    def _evaluate(self):\n        return 1\n    mro = 1\n    def f(self):\n"
        "        return self._evaluate()\nprint(Deed().f())\n"
        "from collections import namedtuple\nprint(namedtuple('P', 'loss input')(1, 2).input)\n"
    ),
    "parts of a network": (
        "from collections import OrderedDict\nfrom torch import nn\n"
        "net = nn.Sequential(OrderedDict(encode=nn.Linear(2, 2)))\n"
        "net.encode.weight.grad = None\nnet.extra = 3\nprint(net.extra)\n"
    ),
    "what a function keeps for its backward": (
        "import torch\nclass F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, input):\n"
        "        ctx.input = ctx._mine = input\n        return input * 2\n    @staticmethod\n"
        "    def backward(ctx, g):\n"
        "        return g * ctx.input + ctx._mine\nF.apply(torch.ones(2, requires_grad=True)).sum().backward()\n"
    ),
    "bases that are called by name, and methods of its own": (
        "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        nn.Module.__init__(self)\n"
        "        self.forward = self.pass_\n    def pass_(self, x):\n        return x\nprint(Net()(1))\nNet.made = 1\n"
    ),
    "the states of a network and of an optimizer": (
        SCHEDULER + "optimizer.load_state_dict(optimizer.state_dict())\nscheduler.step()\n"
        "torch.nn.Linear(2, 2).load_state_dict(torch.nn.Linear(2, 2).state_dict())\n"
    ),
    "a text with fields": "print('{:.3f} {}'.format(1.0, 2))\n",
    "decorators": (
        "import contextlib, functools, torch\ndef twice(f):\n    @functools.wraps(f)\n    def both(*given):\n"
        "        return f(*given), f(*given)\n    return both\n@twice\ndef one():\n    return 1\nprint(one())\n"
        "@torch.no_grad()\ndef two():\n    return 2\nprint(two())\n@contextlib.contextmanager\ndef quiet():\n"
        "    yield 1\n"
        "with quiet() as it:\n    print(it)\n"
    ),
    "functions of torch's transforms": (
        "import torch\nfrom torch.func import grad, vmap\nprint(vmap(grad(lambda x: (x**2).sum()))(torch.ones(2, 2)))\n"
        "from torch.optim.optimizer import register_optimizer_step_post_hook as register\n"
        "register(lambda *given: None)\n"
    ),
}


@pytest.mark.parametrize(("script", "said"), DENIED.values(), ids=DENIED.keys())
def test_of_foreign_values_only_what_is_allowed_is_read(sandboxed: Sandbox, script: str, said: str) -> None:
    """Whatever names the program has itself; the gate need not have seen it."""
    ran = sandboxed.run_past_the_gate(script, (), 5.0, watched=True)
    assert (ran.outcome, ran.message) == ("denied", said)


@pytest.mark.parametrize("script", FINISHED.values(), ids=FINISHED.keys())
def test_own_values_are_the_programs_own(sandboxed: Sandbox, script: str) -> None:
    """And what torch gives is called."""
    ran = sandboxed.run(script, (), 5.0)
    assert (ran.outcome, ran.message) == ("finished", None)


def test_an_unknown_function_is_not_called(sandboxed: Sandbox) -> None:
    """Wherever it was: it is asked what it is when it is called."""
    script = "found = print.__self__.__dict__\nfound['eval']('1')\n"
    ran = sandboxed.run_past_the_gate(script, (), 5.0, watched=True)
    assert ran.outcome == "denied"


def test_the_questions_have_no_names(sandboxed: Sandbox) -> None:
    """They are in the namespace under texts that are no identifiers."""
    ran = sandboxed.run("x = 1\n", ("x + 1", "[1].__len__()"), 5.0)
    assert [probed.value for probed in ran.values] == [2, 1]
