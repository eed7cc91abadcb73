"""Programs made harmless, and made to end: what stays as it is, and what is made up."""

from __future__ import annotations

import ast

import pytest

from gradlint.check import check_source
from gradlint.confirm.prepare.candidates import Sketch
from gradlint.confirm.prepare.script import render
from gradlint.confirm.prepare.sketch import sketch
from gradlint.confirm.prove import Prover, limit_iterations
from gradlint.confirm.run.protocol import Ran
from gradlint.confirm.run.search import attempts, filled


def made(text: str) -> Sketch:
    return sketch(ast.parse(text))


def unknown(text: str) -> list[str]:
    """What is made up in a program."""
    return [hole.text for hole in made(text).holes]


def test_what_a_call_passes_is_told_by_its_place() -> None:
    """The generator is known, though the number beside it is not."""
    text = """\
import numpy as np
import settings

def draw(rng, n):
    return rng.randn(n) + rng.choice(n)

draw(np.random.RandomState(0), settings.n)
"""
    assert unknown(text) == ["settings.n"]


def test_what_a_function_makes_global_is_a_variable_of_the_module() -> None:
    """Wherever it is read."""
    text = "def make():\n    global total\n    total = 1\n\nmake()\nprint(total)\ndef show():\n    return total\n"
    assert unknown(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import sys\nprint('lost', file=sys.stderr)\n", "print('lost')"),
        (
            "class A:\n    def __init__(self, args):\n        self.args = args\n        print(self.args)\n",
            "print(self.args_)",
        ),
        (
            "import torch\nclass A(torch.nn.Module):\n    def f(self):\n        return self._modules.values()\n",
            "return dict(self.named_children()).values()",
        ),
    ],
)
def test_what_means_the_same_and_is_harmless_stands_in_its_place(text: str, expected: str) -> None:
    program = made(text)
    assert program.holes == []
    assert expected in render(program.body).text


def test_all_is_computed_on_the_cpu() -> None:
    """A program that would move its tensors is another one then, and refutes nothing."""
    text = "import torch\nx = torch.ones(3).cuda()\ny = x.to('cuda:0')\nz = y.type('torch.cuda.FloatTensor')\n"
    program = made(text)
    assert render(program.body).text.splitlines()[1:] == [
        "x = torch.ones(3)",
        "y = x.to('cpu')",
        "z = y.type('torch.FloatTensor')",
    ]
    assert program.dropped == 3


def test_a_network_that_is_wrapped_is_tried_without() -> None:
    """The wrapper cannot be run, the network can."""
    text = "import torch\nfrom far import Wrapper\nNet = torch.nn.Linear\nmodel = Wrapper(Net(3, 3))\nmodel.eval()\n"
    program = made(text)
    (hole,) = program.holes
    assert hole.first[0] == "Net(3, 3)"


def test_whatever_is_unknown_can_be_made_up() -> None:
    """A value of which only attributes are known, beside other uses, has a kind all the same."""
    text = "import far\nx = far.thing()\ny = x + 1\nx.step()\nx.strange.other\nx.unheard()\n"
    program = made(text)
    script = render(program.body)
    tried = next(attempts(script, program.holes, lambda filled: Ran("finished")))
    assert "made_up" not in filled(script, tried.values).text


def test_loops_that_train_get_fewer_iterations() -> None:
    """Also those around a call that trains; the others stay."""
    text = """\
import torch
w = torch.ones(3, requires_grad=True)

def train(data):
    for x in data:
        (w * x).sum().backward()

for epoch in range(1000):
    train(range(1000))
total = sum(number for number in range(10))
for number in range(10):
    total += number
"""
    fewer = limit_iterations(made(text))
    assert fewer is not None
    lines = [line.text.strip() for line in render(fewer.body).lines if "for " in line.text]
    assert lines == [
        "for x in islice(data, 4):",
        "for epoch in islice(range(1000), 4):",
        "total = sum((number for number in range(10)))",
        "for number in range(10):",
    ]
    assert limit_iterations(made("total = 0\nfor number in range(10):\n    total += number\n")) is None


def test_what_takes_too_long_is_shown_with_fewer_iterations(prover: Prover) -> None:
    """The loop would take a day."""
    text = """\
import torch
w = torch.ones(3, requires_grad=True)
for step in range(10**9):
    (w * step).sum().backward()
w += 1
"""
    (finding,) = (finding for finding in check_source(text) if finding.code == "GRD101")
    assert prover.confirm(finding, text).verdict == "confirmed"


def test_variables_of_the_program_are_not_those_of_a_measure(prover: Prover) -> None:
    """The program writes to all names under which a measure might keep something."""
    text = """\
import torch
w = torch.ones(3, requires_grad=True)
scale = torch.tensor((w * 2).sum().item())
loss = scale * w.detach().sum() + torch.ones(1, requires_grad=True).sum()
loss.backward()
losses, leaves, arrived, watched_by = [], [], [], []
"""
    (finding,) = (finding for finding in check_source(text) if finding.effect == "silent")
    verdict = prover.confirm(finding, text)
    assert verdict.verdict == "confirmed", verdict.reason
