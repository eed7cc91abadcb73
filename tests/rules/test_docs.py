"""The pages of the rules are those that the rules' files give."""

from __future__ import annotations

from pathlib import Path

from gradlint.rules.registry import all_rules
from tools.make_docs import CONFIRMATION, FOLDER, INDEX, pages, stale, write


def test_the_pages_are_up_to_date() -> None:
    """`python tools/make_docs.py` writes them."""
    assert stale(FOLDER, pages(all_rules())) == []


def test_each_rule_has_a_page_and_a_line_in_the_index() -> None:
    """A page is found by code and by name."""
    made = pages(all_rules())
    assert made.keys() > {INDEX, CONFIRMATION}
    assert len(made) == len(all_rules()) + 2
    for rule in all_rules():
        assert f"# {rule.code} {rule.name}" in made[f"{rule.code}-{rule.name}.md"]
        assert f"({rule.code}-{rule.name}.md)" in made[INDEX]
        assert f"({rule.code}-{rule.name}.md)" in made[CONFIRMATION]


def test_every_way_to_be_stale_is_told(tmp_path: Path) -> None:
    """A page that differs, one that lacks, and one of a rule that is gone; writing cures all three."""
    expected = {"index.md": "index", "GRD101-leaf-inplace.md": "page"}
    (tmp_path / "index.md").write_text("old")
    (tmp_path / "GRD999-gone.md").write_text("left over")
    assert stale(tmp_path, expected) == [
        "GRD101-leaf-inplace.md is missing",
        "GRD999-gone.md belongs to no rule",
        "index.md is stale",
    ]
    write(tmp_path, expected)
    assert stale(tmp_path, expected) == []
