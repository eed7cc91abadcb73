"""The transcript of docs/adopting.md, on a small package: from the first run to a mistake that is caught."""

from __future__ import annotations

from pathlib import Path

from tools.adopt import adopt

SOURCE = """\
import torch

w = torch.ones(2, requires_grad=True)
w.data.add_(1)
"""


def test_a_package_becomes_green_and_stays_watched(tmp_path: Path) -> None:
    """Findings, a baseline, none; then the mistake, by the baseline alone and by changed lines alone."""
    (tmp_path / "small.py").write_text(SOURCE)
    lines = list(adopt(tmp_path, Path("small.py")))
    assert [line for line in lines if line.startswith("exit code")] == [f"exit code {code}" for code in (0, 0, 0, 1, 1)]
    found = [line.split(":")[1:5] for line in lines if line.startswith("small.py:")]
    assert [(row, rest.split()[0]) for row, _, _, rest in found] == [
        ("4", "GRD301"),
        ("11", "GRD101"),
        ("11", "GRD101"),
    ]
    assert "Wrote 1 finding to gradlint-baseline.json." in lines
    assert "1 finding known from gradlint-baseline.json." in lines
    assert "1 finding on lines unchanged since main." in lines
