"""`gradlint graph FILE:LINE[:COL]` and `gradlint leaves FILE:LINE[:COL]`."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from gradlint.entrypoints.cli import main

PROGRAM = """\
import torch

x, t = torch.randn(4, 3), torch.randn(4, 2)
w1 = torch.randn(3, 5, requires_grad=True)
w2 = torch.randn(5, 2, requires_grad=True)
gate = torch.nn.Linear(3, 5)
opt = torch.optim.SGD([w1, w2], lr=0.1)
h = (x @ w1).exp()
h = h * gate(x).argmax(1, keepdim=True)
y = h @ w2
h[0] = 0
loss = ((y - t) ** 2).mean()
loss.backward()
names = "no tensor"
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program, as a file."""
    path = tmp_path / "a.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command prints that succeeds."""
    assert main([*arguments]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a command that has nothing to draw."""
    assert main([*arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_the_tree_says_what_was_saved_and_written(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Torch's names, the version that was saved, the write, the leaves, the cut."""
    out = shown(capsys, "graph", f"{program}:13")
    assert "PowBackward0" in out
    assert "saves h v0, now v1: written at line 11; w2 v0  -> backward raises" in out
    assert "--- cut: not differentiable ---  line 9" in out
    assert "gate.bias, gate.weight get none this way" in out
    assert out.count("gets a gradient") == 2


def test_a_column_picks_an_expression(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The inner product, and not what is assigned."""
    assert "ExpBackward0" not in shown(capsys, "graph", f"{program}:8:6")
    assert "ExpBackward0" in shown(capsys, "graph", f"{program}:8")


def test_a_comprehension_is_no_assignment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the row gives to a variable is drawn, and not the variable of the comprehension in it."""
    path = tmp_path / "b.py"
    source = "import torch\nz = torch.ones(3, requires_grad=True)\nloss = torch.stack([w.exp() for w in z]).mean()\n"
    path.write_text(source, encoding="utf-8")
    assert shown(capsys, "graph", f"{path}:3").startswith(f"loss at {path}:3")


def test_leaves_say_who_holds_them_and_what_cuts(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of each leaf the optimizers, and of those without a gradient the line."""
    out = shown(capsys, "leaves", f"{program}:12")
    (w1,) = (line for line in out.splitlines() if line.startswith("  w1 "))
    (gate,) = (line for line in out.splitlines() if line.startswith("  gate.weight "))
    assert w1.endswith("gets a gradient   held by opt (SGD)")
    assert "gets no gradient  held by no optimizer; cut: not differentiable" in gate
    assert gate.endswith("at line 9")


@pytest.mark.parametrize(("op", "is_zero"), [("w.round()", True), ("torch.sign(w)", True), ("w.abs()", False)])
def test_a_gradient_of_zeros(op: str, is_zero: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Torch gives it; by another way the leaf gets more than zeros."""
    torch = pytest.importorskip("torch")
    path = tmp_path / "b.py"
    for more, zero in (("", is_zero), (" + w", False)):
        source = f"import torch\nw = torch.full((2,), 0.7, requires_grad=True)\n({op} * 3{more}).sum().backward()\n"
        path.write_text(source, encoding="utf-8")
        assert ("gets a gradient of zeros" in shown(capsys, "leaves", f"{path}:3")) is zero
        names: dict[str, Any] = {"torch": torch}
        exec(source, names)
        assert bool(names["w"].grad.any()) is not zero


def test_json_has_nodes_links_and_leaves(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each link leads to a node; the first node is the root."""
    data = json.loads(shown(capsys, "graph", f"{program}:12", "--output-format", "json"))
    assert data["certain"] is True
    assert data["steps"][0]["names"] == ["MeanBackward0"]
    assert {link["target"] for link in data["links"]} == set(range(1, len(data["steps"])))
    leaves = json.loads(shown(capsys, "leaves", f"{program}:12", "--output-format", "json"))
    assert {one["label"]: one["gets"] for one in leaves["leaves"]} == {
        "w1": True,
        "w2": True,
        "gate.weight": False,
        "gate.bias": False,
    }


@pytest.mark.parametrize(("form", "link"), [("dot", "n0 -> n1"), ("mermaid", "n0 --> n1")])
def test_graph_languages(form: str, link: str, program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each node and link is there."""
    out = shown(capsys, "graph", f"{program}:12", "--output-format", form)
    assert link in out
    assert "MeanBackward0" in out


def test_pictures_are_well_formed(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SVG, and a page around it."""
    pytest.importorskip("grandalf")
    picture = ElementTree.fromstring(shown(capsys, "graph", f"{program}:13", "--output-format", "svg"))
    assert picture.tag.endswith("svg")
    assert "gets a gradient" in picture.attrib["aria-label"]
    assert "<svg" in shown(capsys, "graph", f"{program}:13", "--output-format", "html")


def test_boxes_do_not_overlap() -> None:
    """Whatever their widths."""
    pytest.importorskip("grandalf")
    from gradlint.report.drawing.layout import Size, laid_out

    sizes = [Size(80.0 + 60 * (at % 5), 40.0) for at in range(40)]
    links = [(at, below) for at in range(40) for below in (2 * at + 1, 2 * at + 2) if below < 40]
    centres = laid_out(sizes, links).centres
    boxes = [(x - size.width / 2, x + size.width / 2, y) for (x, y), size in zip(centres, sizes, strict=True)]
    assert not [
        (one, other) for one in boxes for other in boxes if one < other and one[2] == other[2] and one[1] > other[0]
    ]


def test_calls_are_folded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a function has recorded is one node."""
    path = tmp_path / "b.py"
    source = (
        "import torch\ndef f(x):\n    return x.exp().sin()\nw = torch.ones(2, requires_grad=True)\ny = f(w).sum()\n"
    )
    path.write_text(source, encoding="utf-8")
    assert "SinBackward0" in shown(capsys, "graph", f"{path}:5")
    out = shown(capsys, "graph", f"{path}:5", "--depth", "0")
    assert "SinBackward0" not in out
    assert "2 nodes" in out


def test_bad_input_is_one_line(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line without a tensor, no line, a notebook, a file that does not parse, a graph that is too large."""
    assert "no tensor is known there, only `names`" in refused(capsys, "graph", f"{program}:14")
    assert "which line?" in refused(capsys, "leaves", str(program))
    assert "has 14 lines, and no line 99" in refused(capsys, "graph", f"{program}:99")
    for name, text in (("n.ipynb", "{}"), ("broken.py", "def f(:\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert "works on Python files" in refused(capsys, "graph", f"{tmp_path / 'n.ipynb'}:1")
    assert "broken.py:1:" in refused(capsys, "graph", f"{tmp_path / 'broken.py'}:1")
    large = "import torch\nx = torch.ones(2, requires_grad=True)\n" + "x = x.exp()\n" * 10_000
    (tmp_path / "large.py").write_text(large, encoding="utf-8")
    assert "more than 5,000 nodes, too many to draw" in refused(capsys, "graph", f"{tmp_path / 'large.py'}:10002")


def test_what_is_not_known_is_no_certain_miss(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A loss from a library that is not read may lead to any parameter."""
    path = tmp_path / "c.py"
    source = "import torch\nimport lib\nw = torch.ones(2, requires_grad=True)\nopt = torch.optim.SGD([w])\n"
    path.write_text(f"{source}loss = lib.loss()\nloss.backward()\n", encoding="utf-8")
    assert "may get a gradient  held by opt (SGD); not known to be used" in shown(capsys, "leaves", f"{path}:6")
    assert main(["graph", f"{path}:6"]) == 0
    assert "? (input)" in capsys.readouterr().out


def test_confirm_compares_with_torch(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The drawing is printed, then what torch records; of other formats that goes to standard error."""
    text = shown(capsys, "graph", "--confirm", f"{program}:13")
    assert "same: torch records the same graph: 7 names of nodes, 7 lists of inputs, 2 times a leaf (torch " in text
    assert main(["graph", "--confirm", "--output-format", "json", f"{program}:13"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["steps"]
    assert "same: torch records the same graph" in printed.err


def test_confirm_says_what_it_cannot_compare(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line that only writes has no variable of its own; a column is no line."""
    assert main(["graph", "--confirm", f"{program}:11"]) == 1
    assert "unconfirmed: the line neither assigns" in capsys.readouterr().out
    assert "leave out the column" in refused(capsys, "graph", "--confirm", f"{program}:13:1")
