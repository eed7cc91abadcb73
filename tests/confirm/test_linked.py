"""Programs of several files: what is imported from the project runs with what imports it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gradlint.check import check_paths
from gradlint.confirm.prepare.link import linked
from gradlint.confirm.prove import Prover
from gradlint.domain.confirmation import Confirmation
from gradlint.settings.config import Config
from tests.harness.torch_run import run_under_torch

NET = """\
import torch
from torch import nn

WIDTH = 3


def scaled(x):
    y = x.exp()
    y += 1
    return y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, WIDTH)

    def forward(self, x):
        return scaled(self.fc(x))


if __name__ == "__main__":
    raise SystemExit("this file is not what is run")
"""
TRAIN = """
WIDTH = 5


def unused():
    return WIDTH


if __name__ == "__main__":
    NET(torch.ones(2, 4)).sum().backward()
"""
IMPORTS = {
    "name": "import torch\nfrom net import Net\n" + TRAIN.replace("NET", "Net()"),
    "other-name": "import torch\nfrom net import Net as Model, scaled\n" + TRAIN.replace("NET", "Model()"),
    "module": "import torch\nimport net\n" + TRAIN.replace("NET", "net.Net()"),
    "module-under-another-name": "import torch\nimport net as models\n" + TRAIN.replace("NET", "models.Net()"),
    "star": "import torch\nfrom net import *\n" + TRAIN.replace("NET", "Net()"),
    "in-a-function": "import torch\n\n\ndef made():\n    from net import Net\n\n    return Net()\n\n"
    + TRAIN.replace("NET", "made()"),
}


def project(folder: Path, **texts: str) -> list[Path]:
    """The files of a project, below a folder that is its root."""
    (folder / "pyproject.toml").write_text("", encoding="utf-8")
    paths = []
    for name, text in texts.items():
        path = folder / (name.replace("__", "/", 1) + ".py" if not name.startswith("__") else f"{name}.py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def verdict_on(prover: Prover, paths: list[Path], code: str) -> Confirmation:
    """What torch says of the one finding of a rule in these files."""
    outcome = check_paths(paths, Config())
    (finding,) = (one for one in outcome.findings if one.code == code)
    return prover.confirm(finding, outcome.texts[finding.filename], [str(path) for path in paths])


@pytest.mark.parametrize("text", IMPORTS.values(), ids=IMPORTS.keys())
def test_a_fault_in_an_imported_file_is_shown_by_the_one_that_runs(prover: Prover, tmp_path: Path, text: str) -> None:
    """Whatever way it is imported; the repro is one file and fails alone."""
    verdict = verdict_on(prover, project(tmp_path, net=NET, train=text), "GRD103")
    assert (verdict.verdict, "modified by an inplace operation" in (verdict.error or "")) == ("confirmed", True)
    assert verdict.repro is not None
    raised = run_under_torch(verdict.repro).raised
    assert raised is not None and "modified by an inplace operation" in raised.text


def test_what_passes_a_name_on_is_followed(prover: Prover, tmp_path: Path) -> None:
    """A package that offers what stands in one of its modules, imported with dots."""
    paths = project(
        tmp_path,
        models__net=NET,
        models____init__="from .net import Net\n",
        train="import torch\nfrom models import Net\n" + TRAIN.replace("NET", "Net()"),
    )
    assert verdict_on(prover, paths, "GRD103").verdict == "confirmed"


def test_only_what_is_used_is_part_of_the_program(tmp_path: Path) -> None:
    """Names that mean something else in the file that imports get the file's name before them."""
    _, train = project(tmp_path, net=NET, train=IMPORTS["name"])
    program = linked(str(train))
    assert program is not None
    text = ast.unparse(program.tree)
    assert "net_WIDTH = 3" in text and "nn.Linear(4, net_WIDTH)" in text
    assert "WIDTH = 5" in text
    assert "SystemExit" not in text
    assert program.rows == {str(tmp_path / "net.py"): 0, str(train): NET.count("\n") + 2}


def test_a_file_that_imports_nothing_of_its_project_is_no_program_of_several(tmp_path: Path) -> None:
    """Neither is one that cannot be parsed."""
    net, broken = project(tmp_path, net=NET, broken="def\n")
    assert linked(str(net)) is None
    assert linked(str(broken)) is None
