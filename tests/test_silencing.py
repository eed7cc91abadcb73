"""Comments that silence nothing: when they are told, and what the fix leaves of them."""

from __future__ import annotations

import pytest

from gradlint.check import Checker, check_source
from gradlint.settings.config import Config
from gradlint.settings.selection import Selection

HEAD = "import torch\n\nw = torch.ones(2, requires_grad=True)\n"


def codes(text: str, config: Config | None = None) -> list[tuple[int, str]]:
    """Row and code of each finding."""
    return [(found.span.start.row, found.code) for found in check_source(text, config=config)]


def mended(text: str) -> str:
    """The text after all fixes."""
    checked = Checker(wanted=lambda finding, config, now: True).check_content(text, "a.py", Config())
    return text if checked.mended is None else checked.mended.after


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("w.sum()  # noqa: GRD101", "w.sum()"),
        ("w.sum()  # noqa: GRD101,GRD102", "w.sum()"),
        ("w.sum()  # noqa: GRD101, E501", "w.sum()  # noqa: E501"),
        ("w.sum()  # noqa: E501 GRD1 T201", "w.sum()  # noqa: E501, T201"),
        ("w.sum()  # noqa: GRD101 as it is data", "w.sum()  # as it is data"),
        ("w.sum()  # a sum  # noqa: GRD101", "w.sum()  # a sum"),
        ("w.sum()  # noqa: GRD999", "w.sum()"),
        ("# gradlint: noqa: GRD101", ""),
    ],
)
def test_a_needless_code_is_told_and_removed(line: str, after: str) -> None:
    """Of the comment as much stays as says something else; a second run changes nothing."""
    assert codes(HEAD + line + "\n") == [(4, "GRD003")]
    assert mended(HEAD + line + "\n") == HEAD + after + "\n"
    assert mended(HEAD + after + "\n") == HEAD + after + "\n"


@pytest.mark.parametrize(
    "line",
    [
        "w.add_(1)  # noqa: GRD101",
        "w.add_(1)  # noqa: GRD1, E501",
        "w.sum()  # noqa",
        "w.sum()  # noqa: E501",
        "print('# noqa: GRD101')",
        "w.add_(\n    1,  # noqa: GRD101\n)",
        "# gradlint: noqa: GRD101\nw.add_(1)",
    ],
)
def test_what_silences_something_is_right(line: str) -> None:
    """So is what belongs to other tools, and what is no comment."""
    assert codes(HEAD + line + "\n") == []


def test_a_code_that_is_not_selected_is_not_judged() -> None:
    """A run with few rules does not know what the others would find."""
    config = Config(selections=(Selection(select=("GRD003", "GRD102")),))
    assert codes(HEAD + "w.sum()  # noqa: GRD101\n", config) == []
    assert codes(HEAD + "w.sum()  # noqa: GRD102\n", config) == [(4, "GRD003")]


def test_it_is_a_rule_like_others() -> None:
    """It can be left out, and is silent where comments are ignored; no `select` switches it on unasked."""
    text = HEAD + "w.sum()  # noqa: GRD101\n"
    assert codes(text, Config(selections=(Selection(ignore=("GRD003",)),))) == []
    assert codes(text, Config(selections=(Selection(select=("GRD101",)),))) == []
    assert codes(text, Config(ignore_noqa=True)) == []
