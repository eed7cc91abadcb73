"""Texts into modules, or into one clear statement."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gradlint.domain.finding import Position
from gradlint.source.parse import bracket_depth, parse
from gradlint.source.read import INVALID_SYNTAX, Unusable


def test_a_module_gives_its_text_back() -> None:
    """Nothing is lost on the way into the tree."""
    text = "import torch\r\nx = [1,\t2]  # note\r\n"
    module = parse(text)
    assert isinstance(module, cst.Module)
    assert module.code == text


def test_nodes_are_those_of_the_classes_of_libcst() -> None:
    """They are made by functions of our own while the parser runs: with the defaults of what it leaves out."""
    for path in sorted(Path(cst.__file__).parent.rglob("*.py"))[::12]:
        text = path.read_text()
        module = parse(text)
        assert isinstance(module, cst.Module)
        assert module.deep_equals(cst.parse_module(text))
    assert all(isinstance(getattr(cst, name), type) for name in ("Name", "Module", "SimpleWhitespace"))


def test_blanks_that_are_alike_are_one_node() -> None:
    """Most nodes of a tree are blanks. Outside of a parse libcst's classes are as they were."""
    blank, line_end = cst.SimpleWhitespace, cst.Newline
    module = parse("x  = 1\ny  = 2\n")
    assert isinstance(module, cst.Module)
    targets, ends = [], []
    for line in module.body:
        assert isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], cst.Assign)
        targets.append(line.body[0].targets[0])
        ends.append(line.trailing_whitespace.newline)
    one, other = targets
    assert one is not other
    assert one.whitespace_before_equal is other.whitespace_before_equal
    assert one.whitespace_before_equal.value == "  "
    assert one.whitespace_after_equal is not one.whitespace_before_equal
    assert ends[0] is ends[1]
    assert (cst.SimpleWhitespace, cst.Newline) == (blank, line_end)
    assert isinstance(blank, type)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\0",
         Unusable(INVALID_SYNTAX, "the file contains a NUL byte, which Python refuses", Position(1, 6))),
        ("x = 1\ny = '\ud800'",
         Unusable(INVALID_SYNTAX, "the file contains half of a surrogate pair, which Python refuses",
                  Position(2, 6))),
        ("x =", Unusable(INVALID_SYNTAX, "invalid syntax", Position(1, 4))),
        (
            "x = (''" + " ''" * 5_000 + ")",
            Unusable(
                INVALID_SYNTAX,
                "Python accepts this file, but the parser of gradlint (libcst) does not: parser error: "
                "error at 1:15008",
                Position(1, 1),
            ),
        ),
    ],
)  # fmt: skip
def test_what_is_no_program(text: str, expected: Unusable) -> None:
    """Code, words, and place; libcst's own limits are not blamed on the user."""
    assert parse(text) == expected


@pytest.mark.parametrize(("text", "depth"), [("", 0), ("f(x)", 1), ("[{()}]", 3), ("()()", 1), (")(", 0)])
def test_bracket_depth(text: str, depth: int) -> None:
    """The deepest point."""
    assert bracket_depth(text) == depth


@given(st.text())
@example("x\u0897 = 1")  # A letter to libcst's tokenizer, and to no Python before 3.14.
def test_no_text_makes_it_raise(text: str) -> None:
    """Whatever it is given."""
    assert isinstance(parse(text), cst.Module | Unusable)


def test_a_string_of_brackets_is_not_nesting() -> None:
    """What looks deep is decided by Python."""
    assert isinstance(parse(f"x = '{'(' * 300}'\n"), cst.Module)


@pytest.mark.parametrize(
    ("begin", "end"), [("(", ")"), ("[", "]"), ("(", ",)"), ("A(b=", ")"), ("{1:", "}"), ("(", "|2)")]
)
def test_patterns_are_nested_only_so_deep(begin: str, end: str) -> None:
    """libcst takes up to four times as long for each bracket: 30 of them are refused, and 5 are read."""
    text = "match y:\n    case {}: pass\n"
    assert isinstance(parse(text.format(begin * 5 + "1" + end * 5)), cst.Module)
    refused = parse(text.format("\\\n " + begin * 30 + "1" + end * 30))
    assert isinstance(refused, Unusable)
    assert (refused.code, refused.message) == ("GRD002", "the patterns of a `case` are nested too deeply to be read")


@pytest.mark.parametrize(
    "text",
    [
        "match y:\n    case x if " + "(" * 40 + "1" + ")" * 40 + ": pass\n",
        "match y:\n    case '((((((((((((': pass\n",
        "match = 1\ncase = " + "[" * 40 + "]" * 40 + "\n",
        "match y:\n" + "    case A(b=C(1), d=[E(2), {3: f}]): pass\n" * 1_000,
    ],
)
def test_only_patterns_count(text: str) -> None:
    """Guards, strings, and variables called `case` cost no more than elsewhere; nor do many patterns."""
    assert isinstance(parse(text), cst.Module)
