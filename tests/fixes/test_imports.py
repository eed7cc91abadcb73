"""Names in new text are written as the module calls them, or imported."""

from __future__ import annotations

import pytest

from gradlint.check import check_source
from gradlint.fixes.edits import apply


def mended(head: str, make: str) -> str:
    """A `.data` update below some imports, written under no_grad."""
    text = f"{head}\nw = {make}(3, requires_grad=True)\nw.data -= 0.1\n"
    found = [finding for finding in check_source(text) if finding.code == "GRD301" and finding.fix]
    return apply(text, found)[0]


@pytest.mark.parametrize(
    ("head", "make", "expected"),
    [
        ("import torch", "torch.ones", "with torch.no_grad():\n    w -= 0.1\n"),
        ("import torch as t", "t.ones", "with t.no_grad():\n    w -= 0.1\n"),
        ("import torch.nn.functional as F, torch", "torch.ones", "with torch.no_grad():\n    w -= 0.1\n"),
    ],
)
def test_an_import_that_is_there_is_used(head: str, make: str, expected: str) -> None:
    """Under its own name."""
    assert mended(head, make).endswith(expected)


def test_a_missing_import_is_added() -> None:
    """Behind the docstring and what comes from the future."""
    before = '"""Doc."""\nfrom __future__ import annotations\n# torch\n'
    assert mended(f"{before}from torch import ones", "ones").startswith(f"{before}import torch\nfrom torch")


def test_a_name_that_means_something_else_keeps_the_fix_away() -> None:
    """No fix is better than a wrong one."""
    head = "from torch import ones\ndef f(torch): return torch"
    assert "no_grad" not in mended(head, "ones")


def test_a_statement_that_shares_its_row_is_left_alone() -> None:
    """`a; w.data -= 1` cannot be wrapped."""
    text = "import torch\nw = torch.ones(3, requires_grad=True); w.data -= 1\n"
    assert [finding.fix for finding in check_source(text) if finding.code == "GRD301"] == [None]


def test_blocks_keep_their_indentation() -> None:
    """The unit of the file, and tabs."""
    text = "import torch\nw = torch.ones(3, requires_grad=True)\nfor i in range(3):\n\tw.data.add_(\n\t\t1)  # why\n"
    found = [finding for finding in check_source(text) if finding.code == "GRD301"]
    assert apply(text, found)[0].endswith("\twith torch.no_grad():\n\t\tw.add_(\n\t\t\t1)  # why\n")
