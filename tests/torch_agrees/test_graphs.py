"""The tapes that gradlint draws are those that torch records, over programs that nobody wrote with gradlint in mind."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlint.confirm.check.tape import Score
from gradlint.domain.drawing import Drawing
from gradlint.graph import graph

from .generate import generate
from .graphs import compare, tapes_of

SEEDS = range(60_000, 60_500)
STRIDE = 10
"""One seed of so many is executed by default: all of them take minutes."""

LEAST = 0.98
"""The least share of certain facts (names of nodes, edges, saved tensors, leaves) that must be right."""

FIXTURES = tuple(sorted((Path(__file__).parents[2] / "fixtures" / "seeds").glob("*.py")))


def score_of(sources: list[str]) -> Score:
    """Hold every tape of the programs against what is drawn."""
    total = Score()
    for source in sources:
        for tape in tapes_of(source):
            total.add(compare(source, tape))
    return total


def judge(total: Score) -> None:
    """Print the share, and demand it."""
    said = (
        f"{total.tapes} tapes, {total.whole} compared to their leaves, {total.share():.2%} of {dict(total.right)} right"
    )
    print(said)
    assert total.share() >= LEAST, "\n".join([said, *total.wrong])


def test_generated_programs() -> None:
    """Of a sample; `python -m tests.torch_agrees.all_graphs` takes all of `SEEDS`."""
    judge(score_of([generate(seed).source for seed in SEEDS[::STRIDE]]))


def test_programs_of_the_study_notes() -> None:
    """Those that Python can run: some are written in its second version."""
    sources = [path.read_text(encoding="utf-8") for path in FIXTURES]
    judge(score_of([source for source in sources if _compiles(source)]))


def _compiles(source: str) -> bool:
    try:
        compile(source, "program.py", "exec")
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("y = x[0, 1:3]", ("SliceBackward0",)),
        ("y = x.clone()\ny[0] = 1.0", ("CopySlices",)),
        ("y = x.clone()\ny[x > 0] = 1.0", ("IndexPutBackward0",)),
        ("y = x.clone()\ny += x", ("AddBackward0",)),
        ("y = torch.nn.Linear(4, 2)(x)", ("AddmmBackward0",)),
        ("y = torch.nn.Linear(4, 2, bias=False)(x)", ("MmBackward0",)),
        ("y = x ** 2", ("PowBackward0",)),
        ("y = x.sum(0)", ("SumBackward1",)),
        ("y = torch.einsum('i,j->ij', x[0], x[1])", ("MulBackward0",)),
        ("y = torch.einsum('ij,kj->ik', x, torch.randn(2, 4))", ("ViewBackward0",)),
    ],
)
def test_names_of_nodes(code: str, names: tuple[str, ...]) -> None:
    """The drawn root is certain, has torch's name, and torch agrees."""
    source = f"import torch\nx = torch.randn(3, 4, requires_grad=True)\n{code}\nz = y\n"
    (tape,) = [one for one in tapes_of(source) if one.name == "z"]
    assert tape.root is not None
    assert (tape.root.name,) == names
    total = compare(source, tape)
    assert not total.wrong
    assert total.right["node"] >= 1


@pytest.mark.parametrize(
    "code",
    [
        "y, _ = torch.nn.MultiheadAttention(4, 2, batch_first=True)(x[None], x[None], x[None], need_weights=False)",
        "y, _ = torch.nn.MultiheadAttention(4, 2)(x[None], x[None], x[None])",
        "y, _ = torch.nn.LSTM(4, 2, batch_first=True)(x[None])",
        "y, _ = torch.nn.LSTM(4, 2)(x)",
        "y = torch.einsum('ij,jk->ik', x, torch.randn(4, 2))",
    ],
)
def test_torch_has_one_of_the_names(code: str) -> None:
    """Which one may hang on what was not measured, but it is among those that are drawn."""
    source = f"import torch\nx = torch.randn(3, 4, requires_grad=True)\n{code}\nz = y\n"
    (tape,) = [one for one in tapes_of(source) if one.name == "z"]
    drawing = graph(source, "program.py", tape.row)
    assert isinstance(drawing, Drawing)
    assert tape.root is not None
    assert tape.root.name in drawing.steps[0].names
