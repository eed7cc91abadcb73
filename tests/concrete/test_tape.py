"""`gradlint run --graph FILE:LINE`: the drawn tape is the one that torch has recorded."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from gradlint.concrete.schedule import Schedule
from gradlint.confirm.check.tape import compare
from gradlint.domain.drawing import Drawing, LeafFact, Step
from gradlint.report.drawing.tree import as_tree
from tests.concrete.running import watched
from tests.concrete.test_command import command
from tests.torch_agrees.graphs import tape_of

HEAD = "import torch\nfrom torch import nn\ntorch.manual_seed(0)\nx = torch.randn(4, 6)\n"
"""Four rows; the programs go on in the fifth."""

COLUMNS = pytest.mark.skipif(sys.version_info < (3, 11), reason="of an instruction this Python knows the row alone")
PROGRAMS = {
    "a perceptron": "model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 1))\nloss = model(x).mean()",
    "a loss of a library": """model = nn.Linear(6, 3)
loss = nn.functional.cross_entropy(model(x), torch.tensor([0, 1, 2, 0]))""",
    "attention": "model = nn.MultiheadAttention(6, 2)\nloss = model(x[None], x[None], x[None])[0].sum()",
    "a recurrent layer": "model = nn.LSTM(6, 3)\nloss = model(x[None])[0].sum()",
    "a loop": """w = torch.ones(6, requires_grad=True)
loss = w.sum()
for _ in range(3):
    loss = loss * (w * x).sum()""",
    "two uses of a value": "w = torch.ones(6, requires_grad=True)\nh = w.exp()\nloss = (h * h + h).sum()",
    "several results": "w = torch.ones(6, requires_grad=True)\na, b = w.split(3)\nloss = (a * b).sum()",
    "a write in place": "w = torch.ones(6, requires_grad=True)\nh = w.exp()\nh[0] = 1\nloss = h.sum()",
    "a comprehension": "w = torch.ones(3, requires_grad=True)\nloss = torch.stack([one.exp() for one in w]).mean()",
    "a custom function": """class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2
w = torch.ones(3, requires_grad=True)
loss = Twice.apply(w.exp()).sum()""",
    "a checkpoint": """from torch.utils.checkpoint import checkpoint
model = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5))
loss = checkpoint(model, x, use_reentrant=False).sum()""",
    "a module of the program": """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 1)
    def forward(self, x):
        return self.head(x)
loss = Net()(x)""",
    "a leaf": "loss = torch.ones(3, requires_grad=True)",
    "no graph": "loss = torch.ones(3, requires_grad=True).detach()",
}


def drawn(text: str, folder: Path, row: int) -> Drawing:
    """The drawing of a row of a program."""
    found = watched(text, folder, row=row)
    assert not found.complaints
    assert found.drawing is not None
    return found.drawing


def step_at(drawing: Drawing, name: str) -> Step:
    """The only node of a name."""
    (step,) = [one for one in drawing.steps if name in one.names]
    return step


def leaf_of(drawing: Drawing, label: str) -> LeafFact:
    """The only leaf that the program calls so."""
    (leaf,) = [one for one in drawing.leaves if one.label == label]
    return leaf


def walked(root: Any) -> tuple[int, int]:
    """How many nodes and edges torch has behind a node."""
    nodes, stack = {root}, [root]
    while stack:
        fresh = {one for one, _ in stack.pop().next_functions if one is not None} - nodes
        nodes |= fresh
        stack += fresh
    return len(nodes), sum(one is not None for node in nodes for one, _ in node.next_functions)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_drawing_is_the_tape_of_torch(name: str, tmp_path: Path) -> None:
    """Names, edges, saved tensors, leaves: nothing is uncertain, and nothing is left out."""
    text = HEAD + PROGRAMS[name] + "\nkept = loss.sum()\n"
    row = text[: text.rindex("loss =")].count("\n") + 1
    found = watched(text, tmp_path, row=row)
    loss = found.names["loss"]
    assert found.drawing is not None and isinstance(loss, torch.Tensor)
    assert found.drawing.title == "loss"
    tape = tape_of(row, "loss", loss)
    if name == "a loop":  # The first time that the line runs; the tensor is gone since.
        assert [one.names for one in found.drawing.steps].count(("SumBackward0",)) == 2
        return
    assert tape is not None
    score = compare(found.drawing, tape)
    assert not score.wrong and not score.open
    if loss.grad_fn is not None:
        operations = [one for one in found.drawing.steps if one.kind != "cut"]
        assert (len(operations), len(found.drawing.links)) == walked(loss.grad_fn)


TRAIN = """\
import torch

x, t = torch.randn(4, 3), torch.randn(4, 2)
w1 = torch.randn(3, 5, requires_grad=True)
w2 = torch.randn(5, 2, requires_grad=True)
gate = torch.nn.Linear(3, 5)
opt = torch.optim.SGD([w1, w2], lr=0.1)
for step in range(3):
    h = (x @ w1).exp()
    k = gate(x).argmax(1, keepdim=True)
    h = h * (k + 1)
    y = h @ w2
    if step == 1:
        h[0] = 0
    loss = ((y - t) ** 2).mean()
    loss.backward()
"""


def test_a_backward_that_raises_is_drawn(tmp_path: Path) -> None:
    """Not the first one, which is right: what was saved, at which version, and the write."""
    drawing = drawn(TRAIN, tmp_path, 16)
    assert drawing.title == "loss.backward()"
    (stale,) = [one for step in drawing.steps for one in step.saves if one.raises]
    assert (stale.name, stale.version, stale.now) == ("h", 0, 1)
    assert stale.written is not None and stale.written.row == 14
    assert "saves w2 v0; h v0, now v1: written at line 14  -> backward raises" in as_tree(drawing)


@COLUMNS
def test_what_is_right_is_drawn_as_it_is(tmp_path: Path) -> None:
    """The same program without the write: names, sizes, lines, leaves, optimizers, the cut."""
    drawing = drawn(TRAIN.replace("step == 1", "step == 9"), tmp_path, 16)
    assert not any(step.raises for step in drawing.steps)
    exp = step_at(drawing, "ExpBackward0")
    assert exp.label == "h" and exp.spot is not None and exp.spot.row == 9
    assert (exp.shape, exp.dtype) == ((4, 5), "float32")
    assert {one.label: one.gets for one in drawing.leaves} == {
        "w1": True,
        "w2": True,
        "gate.weight": False,
        "gate.bias": False,
    }
    assert leaf_of(drawing, "w1").optimizers == ("opt (SGD)",)
    (cut,) = [one for one in drawing.steps if one.kind == "cut"]
    assert cut.op == "nondiff" and cut.spot is not None and cut.spot.row == 10
    assert leaf_of(drawing, "gate.bias").cuts == (cut.number,)


def test_a_graph_that_was_freed(tmp_path: Path) -> None:
    """The backward that has freed it is named; what has saved nothing is not."""
    text = "import torch\nw = torch.ones(2, requires_grad=True)\nh = w.exp()\nh.sum().backward()\nh.sum().backward()\n"
    drawing = drawn(text, tmp_path, 5)
    freed = [one for one in drawing.steps if one.freed is not None]
    assert [one.names for one in freed] == [("ExpBackward0",)]
    assert freed[0].freed is not None and freed[0].freed.row == 4
    retained = drawn(text.replace("backward()\nh", "backward(retain_graph=True)\nh"), tmp_path, 5)
    assert not any(step.raises for step in retained.steps)


@pytest.mark.parametrize(
    ("factor", "gets", "zero"),
    [("w.round()", True, True), ("w.exp()", True, False), ("No.apply(w)", False, False), ("w.detach()", False, False)],
)
def test_a_leaf_gets_a_gradient_or_zeros_or_none(factor: str, gets: bool, zero: bool, tmp_path: Path) -> None:
    """What the backward has really given."""
    text = f"""\
import torch
class No(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        return None
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
({factor} * v).sum().backward()
"""
    drawing = drawn(text, tmp_path, 10)
    leaf = leaf_of(drawing, "w")
    assert (leaf.gets, leaf.zero) == (gets, zero)
    assert leaf_of(drawing, "v").gets and not leaf_of(drawing, "v").zero
    assert ("gets a gradient of zeros" in as_tree(drawing)) is zero


def test_what_other_calls_get(tmp_path: Path) -> None:
    """Of `inputs=`, and of `grad`, only what is asked for gets a gradient."""
    text = "import torch\nw, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)\n"
    for call in ("(w * v).sum().backward(inputs=[w])", "torch.autograd.grad((w * v).sum(), [w])"):
        drawing = drawn(text + call, tmp_path, 3)
        assert {one.label: one.gets for one in drawing.leaves} == {"w": True, "v": False}


@COLUMNS
def test_calls_are_noted_for_folding(tmp_path: Path) -> None:
    """The calls of the program, the outermost first."""
    text = HEAD + PROGRAMS["a module of the program"] + "\nloss.sum().backward()\n"
    drawing = drawn(text, tmp_path, 12)
    node = step_at(drawing, "AddmmBackward0")
    assert [one.code for one in node.home[-2:]] == ["Net()(x)", "self.head(x)"]


def test_nothing_is_kept_alive(tmp_path: Path) -> None:
    """Neither the tensor that was drawn, nor the one that was to be."""
    text = """\
import gc, weakref
import torch
def forward(w):
    return w.exp()
w = torch.ones(3, requires_grad=True)
h = forward(w)
gone = weakref.ref(h)
loss = h.sum()
node = weakref.ref(h)
del h, loss
gc.collect()
"""
    for row in (4, 6):
        found = watched(text, tmp_path, row=row)
        gone = found.names["gone"]
        assert found.drawing is not None and callable(gone) and gone() is None


def test_between_samples_a_line_is_not_seen(tmp_path: Path) -> None:
    """The first time that it is watched counts."""
    text = HEAD + "model = nn.Linear(6, 1)\nopt = torch.optim.SGD(model.parameters(), lr=0.1)\nfor step in range(6):\n"
    text += "    loss = model(x).mean()\n    loss.backward()\n    if step == 3:\n"
    text += "        h = model(x).exp()\n    opt.step()\n"
    assert watched(text, tmp_path, schedule=Schedule(1, 100), row=11).drawing is None
    assert watched(text, tmp_path, row=11).drawing is not None


def test_the_command_draws(tmp_path: Path) -> None:
    """As a tree after the findings, or into a file in the format of its name; the program's output stays its own."""
    (tmp_path / "a.py").write_text(TRAIN + "print('done')\n")
    ran = command(tmp_path, "-q", "--graph", "a.py:9", "a.py")
    assert "h at a.py:9\n" in ran.stderr and "ExpBackward0" in ran.stderr and ran.returncode == 1
    assert "loss.backward() at a.py:16\n" in command(tmp_path, "-q", "--graph", "a.py:16", "a.py").stderr
    ran = command(tmp_path, "-q", "--graph", "a.py:9", "--graph-file", "tape.json", "a.py")
    assert "ExpBackward0" not in ran.stderr
    assert json.loads((tmp_path / "tape.json").read_text())["title"] == "h"
    for name, said in (("t.svg", "<svg"), ("t.html", "<svg"), ("t.dot", "digraph"), ("t.mmd", "flowchart")):
        assert command(tmp_path, "-q", "--graph", "a.py:9", "--graph-file", name, "a.py").stdout == ""
        assert said in (tmp_path / name).read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--graph", "a.py:3", "a.py"), "a.py:3: torch was not called at this line"),
        (("--graph", "a.py:4", "a.py"), "a.py:4: no tensor of this line lives on after it"),
        (("--graph", "a.py:9", "a.py"), "a.py has 6 lines, and no line 9"),
        (("--graph", "a.py", "a.py"), "--graph a.py: name a line, as in a.py:12"),
        (("--graph", "a.py:2:1", "a.py"), "--graph a.py:2:1: name a line"),
        (("--graph", "b.py:2", "a.py"), "b.py: no such file or directory"),
        (("--graph", "n.ipynb:1", "a.py"), "works on Python files"),
        (("--graph", "a.py:2", "--graph-file", "t.png", "a.py"), "the name ends in none of .txt, .dot, .mmd, .svg"),
        (("--graph", "a.py:2", "--graph-file", "no/t.svg", "a.py"), "there is no directory no"),
        (("--graph", "a.py:6", "a.py"), "the graph of `h` has more than 5,000 nodes, too many to draw"),
        (("--graph", "a.py:2"), "name a script"),
        (("--graph-file", "t.svg", "a.py"), "need --graph"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """A line without a tensor, no line, no file, no format, a graph of 10,000 nodes, no script."""
    text = "import torch\nh = torch.ones(2, requires_grad=True)\nname = 'no tensor'\nh.exp()\n"
    (tmp_path / "a.py").write_text(f"{text}for _ in range(10_000): h = h.exp()\nh = h.sum()\n")
    (tmp_path / "n.ipynb").write_text("{}")
    ran = command(tmp_path, "-q", *arguments)
    lines = [one for one in ran.stderr.splitlines() if said in one]
    assert len(lines) == 1 and ran.returncode == 2
    assert "Traceback" not in ran.stderr
