"""What a fingerprint survives, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlint.domain.finding import Finding, Position, Span
from gradlint.report.fingerprint import LENGTH, fingerprints

TEXT = "import torch\nw += 1\nw -= (\n    2\n)\nw += 1\n"


def at(
    first: int, last: int | None = None, *, code: str = "GRD101", filename: str = "a.py", column: int = 1
) -> Finding:
    """A finding about the statement in these rows."""
    span = Span(Position(first, column), Position(first, column + 6))
    return Finding(code, "leaf-inplace", "torch raises", "error", "raises", filename, span, (first, last or first))


def of(text: str, *findings: Finding, root: str | None = None) -> list[str]:
    """The fingerprints of findings in a file of this text."""
    return fingerprints(findings, {finding.filename: text for finding in findings}, root)


def test_moved_and_laid_out_anew_it_stays() -> None:
    """Rows above, spaces, line ends, and the order in which findings come."""
    before = of(TEXT, at(2), at(3, 5), at(6))
    moved = "# a comment\n\n" + TEXT.replace("w -= (\n    2\n)", "w  -=  (\n  2\n)")
    assert of(moved, at(4), at(5, 7), at(8)) == before
    assert of(moved.replace("\n", "\r\n"), at(8), at(5, 7), at(4)) == before[::-1]
    assert len({*before}) == 3
    assert {len(one) for one in before} == {LENGTH}


def test_it_changes_with_the_statement_the_code_and_the_file() -> None:
    """Any row of the statement counts."""
    changed = [
        *of(TEXT, at(3, 5)),
        *of(TEXT.replace("2", "3"), at(3, 5)),
        *of(TEXT, at(3, 5, code="GRD102")),
        *of(TEXT, at(3, 5, filename="b.py")),
    ]
    assert len({*changed}) == 4


def test_equal_statements_are_told_apart_by_their_rank() -> None:
    """One that goes leaves the others as they were, but for the last; so do two in a row of text."""
    three = "w += 1\nw += 1\nw += 1\n"
    assert of(three, at(1), at(2)) == of(three, at(1), at(2), at(3))[:2]
    assert len({*of("w += 1; w += 1\n", at(1), at(1, column=9))}) == 2


def test_a_path_is_told_from_the_root_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it was named on the command line, and from whatever directory."""
    (tmp_path / "pkg").mkdir()
    monkeypatch.chdir(tmp_path)
    names = "a.py", "./pkg/a.py", f"{tmp_path}/pkg/a.py", "pkg/../pkg/a.py"
    other, *same = (of(TEXT, at(2, filename=name)) for name in names)
    monkeypatch.chdir(tmp_path / "pkg")
    same += [of(TEXT, at(2), root=str(tmp_path)), of(TEXT, at(2), root="..")]
    assert same == [same[0]] * 5
    assert other not in same
    assert of(TEXT, at(2)) == other
    assert of(TEXT, at(2), root=f"{tmp_path}/elsewhere") not in [*same, other]


def test_files_without_text_and_odd_names_have_one() -> None:
    """A directory that cannot be read; a name that is not UTF-8; none is needed for nothing."""
    assert fingerprints([], {}) == []
    assert len({*fingerprints([at(1), at(1, filename="b\udcff.py"), at(1, filename="a\n.py")], {})}) == 3
