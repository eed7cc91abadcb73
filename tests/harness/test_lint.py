"""Gradlint is asked through its public path, and its reveals are gathered by line."""

from __future__ import annotations

import pytest

from tests.harness.lint import findings_of, reveals_of


def test_findings_have_the_line_where_they_start() -> None:
    """What is compared with the marks."""
    code = "import torch\nw = torch.ones(2, requires_grad=True)\nw += 1\n"
    assert findings_of(code) == ((3, "GRD101"),)


def test_the_texts_of_one_line_are_joined_without_repetition() -> None:
    """Two turns of a loop that see the same value give one text, two that differ give two."""
    code = "import torch\nx = torch.ones(2)\nfor _ in range(2):\n    reveal(x)\n    x = x.unsqueeze(0)\n"
    (same,) = reveals_of(code.replace("    x = x.unsqueeze(0)\n", "")).values()
    assert "|" not in same.text
    answer = reveals_of(code)[4]
    assert answer.text.startswith("Tensor[2] ")
    assert " | " in answer.text


def test_facts_come_in_the_terms_of_the_concrete_side() -> None:
    """A size that is not known is None, and a value that is no tensor has no facts."""
    code = "import torch\nimport sys\nreveal(torch.ones(2, len(sys.argv)))\nreveal('text')\n"
    answers = reveals_of(code)
    assert answers[3].facts[0]["shape"] == (2, None)
    assert answers[4].facts[0] == {}


def test_a_program_that_cannot_be_parsed_is_told() -> None:
    """A slip in a page must not look like a line that is never reached."""
    with pytest.raises(ValueError, match="line 1"):
        reveals_of("reveal(\n")
