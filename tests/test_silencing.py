"""What comments silence; what is said of those that silence nothing or are wrong, and what the fix leaves of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradlint.check import check_source
from gradlint.checker import Checker
from gradlint.domain.finding import Finding, Position, Span
from gradlint.rules.registry import all_rules
from gradlint.settings.config import Config
from gradlint.settings.selection import Selection
from gradlint.settings.silenced import Suppressions
from gradlint.source.suppressions import comments

HEAD = "import torch\n\nw = torch.ones(2, requires_grad=True)\n"


def codes(text: str, config: Config | None = None) -> list[tuple[int, str]]:
    """Row and code of each finding."""
    return [(found.span.start.row, found.code) for found in check_source(text, config=config)]


def mended(text: str) -> str:
    """The text after all fixes."""
    checked = Checker(wanted=lambda finding, config, now: True).check_content(text, "a.py", Config())
    return text if checked.mended is None else checked.mended.after


def finding(code: str, first: int = 1, last: int | None = None) -> Finding:
    """A finding in a statement of these rows."""
    span = Span(Position(first, 1), Position(last or first, 2))
    return Finding(code, "name", "message", "error", "raises", "a.py", span, (first, last or first))


def suppressions(text: str) -> Suppressions:
    """The comments of a text, for all rules."""
    return Suppressions.of(comments(text), all_rules())


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
        ("w.sum()  # gradlint: noqa: leaf-inplace", "w.sum()"),
        ("w.sum()  # gradlint: ignore", "w.sum()"),
        ("w.sum()  # gradlint: ignore[GRD101, GRD102]  # why", "w.sum()  # why"),
        ("w.add_(1)  # gradlint: ignore[GRD101, leaf-view-inplace]", "w.add_(1)  # gradlint: ignore[GRD101]"),
        ("w.sum()  # gradlint: ignore[GRD]", "w.sum()"),
        ("# gradlint: file-ignore[GRD101]", ""),
        ("# gradlint: disable-next-line[GRD101]\nw.sum()", "\nw.sum()"),
        ("# gradlint: disable\nw.sum()\n# gradlint: enable", "\nw.sum()\n"),
        ("# gradlint: disable[GRD101]\nw.sum()", "\nw.sum()"),
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
        "w.add_(1)  # gradlint: noqa: GRD101",
        "w.add_(1)  # gradlint: noqa",
        "w.add_(1)  # gradlint: ignore[leaf-inplace]",
        "w.add_(1)  # gradlint: disable",
        "w.add_(\n    1,\n)  # gradlint: ignore[GRD101]",
        "# gradlint: file-ignore\nw.sum()",
        "# gradlint: disable-next-line[GRD101]\nw.add_(\n    1,\n)",
        "if True:\n    # gradlint: disable[GRD1]\n    pass\nw.add_(1)\n# gradlint: enable[GRD101]",
    ],
)
def test_what_silences_something_is_right(line: str) -> None:
    """So is what belongs to other tools, and what is no comment."""
    assert codes(HEAD + line + "\n") == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("w.add_(1)  # gradlint: ignore[GRD101", [(4, "GRD101"), (4, "GRD005")]),
        ("w.add_(1)  # gradlint: ingore[GRD101]", [(4, "GRD101"), (4, "GRD005")]),
        ("w.add_(1)  # gradlint: noqa: it is meant", [(4, "GRD101"), (4, "GRD005")]),
        ("w.add_(1)  # gradlint: ignore[GRD101, GRD999]", [(4, "GRD005")]),
        ("w.add_(1)  # gradlint: ignore[E501]", [(4, "GRD101"), (4, "GRD005")]),
        ("# gradlint: enable[GRD101]\nw.add_(1)", [(4, "GRD005"), (5, "GRD101")]),
        ("# gradlint: ignore[GRD101]\nw.add_(1)", [(4, "GRD003"), (5, "GRD101")]),
        ("# gradlint: disable[GRD102]\nw.add_(1)  # gradlint: ignore[GRD101]\n# gradlint: enable", [(4, "GRD003")]),
        ("# gradlint: disable\n# gradlint: enable\nw.add_(1)", [(4, "GRD003"), (6, "GRD101")]),
    ],
)
def test_a_wrong_comment_is_told_and_silences_nothing(line: str, found: list[tuple[int, str]]) -> None:
    """What is right in its list counts all the same."""
    assert codes(HEAD + line + "\n") == found


def test_a_remark_about_a_comment_is_silenced_by_its_own_code() -> None:
    """Or for the whole file; a comment without codes does not vouch for itself."""
    assert codes(HEAD + "w.sum()  # gradlint: ignore[GRD101, GRD003]\n") == []
    assert codes(HEAD + "# gradlint: noqa\nw.sum()  # gradlint: ingore[GRD101]\n") == []


def test_a_code_that_is_not_selected_is_not_judged() -> None:
    """A run with few rules does not know what the others would find."""
    config = Config(selections=(Selection(select=("GRD003", "GRD102")),))
    assert codes(HEAD + "w.sum()  # noqa: GRD101\n", config) == []
    assert codes(HEAD + "w.sum()  # gradlint: ignore\n", config) == []
    assert codes(HEAD + "w.sum()  # noqa: GRD102\n", config) == [(4, "GRD003")]


def test_it_is_a_rule_like_others() -> None:
    """It can be left out, and is silent where comments are ignored; no `select` switches it on unasked."""
    text = HEAD + "w.sum()  # noqa: GRD101\n"
    assert codes(text, Config(selections=(Selection(ignore=("GRD003",)),))) == []
    assert codes(text, Config(selections=(Selection(select=("GRD101",)),))) == []
    assert codes(text, Config(ignore_noqa=True)) == []


known = st.sampled_from(["G", "GRD", "grd1", "GRD101", "GRD102", "GRD2", "GRD204"])
separators = st.sampled_from([",", ", ", " ", ",,", " , "])


@given(st.lists(known, min_size=1), separators, st.sampled_from(["GRD101", "GRD204", "GRD601"]))
def test_a_comment_silences_exactly_its_prefixes(listed: list[str], separator: str, code: str) -> None:
    """Whatever separates them; and nothing else, in both spellings."""
    expected = any(code.startswith(prefix.upper()) for prefix in listed)
    assert suppressions(f"x  # gradlint: ignore[{separator.join(listed)}]").cover(finding(code)) == expected
    digits = [prefix for prefix in listed if prefix[-1].isdigit()]
    if digits:
        expected = any(code.startswith(prefix.upper()) for prefix in digits)
        assert suppressions(f"x  # noqa: {separator.join(digits)}").cover(finding(code)) == expected


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 5))
def test_a_comment_counts_in_the_rows_of_the_statement(row: int, first: int, length: int) -> None:
    """In all of them, and in no other."""
    text = "\n" * (row - 1) + "x  # noqa"
    last = first + length
    assert suppressions(text).cover(finding("GRD101", first, last)) == (first <= row <= last)


def test_the_last_comment_before_a_finding_decides_in_blocks() -> None:
    """Thousands of them take no more than linear time: each code of a rule is looked up once."""
    rows = ["# gradlint: disable[GRD1]", "# gradlint: enable[GRD101]", "x", "# gradlint: disable", "x"] * 3_000
    read = suppressions("\n".join(rows))
    covered = [read.cover(finding(code, row)) for row in range(3, 15_000, 5) for code in ("GRD101", "GRD102")]
    assert covered == [False, True] * 3_000
    assert [read.cover(finding("GRD601", row)) for row in range(5, 15_001, 5)] == [True] * 3_000
    assert read.never_opened == []
