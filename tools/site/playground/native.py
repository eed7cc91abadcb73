"""The parser of libcst in Python, under the name of the one in Rust, which no package index has for the browser.

It knows Python up to 3.8, so neither `match` nor `except*`. What it parses, it parses as the other one does, as
`tests/docs_site/test_playground.py` compares.
"""

from __future__ import annotations

from typing import Any

from libcst import CSTNode
from libcst._parser.detect_config import detect_config
from libcst._parser.grammar import get_grammar
from libcst._parser.python_parser import PythonCSTParser
from libcst._parser.types.config import PartialParserConfig

VERSION = "3.8"


def parse_module(source: str, encoding: str | None = None) -> CSTNode:
    """Parse a file."""
    return _parse("file_input", source)


def parse_statement(source: str) -> CSTNode:
    """Parse a statement with the end of its line."""
    return _parse("stmt_input", source)


def parse_expression(source: str) -> CSTNode:
    """Parse an expression."""
    return _parse("expression_input", source)


def _parse(start: str, source: str) -> CSTNode:
    asked = PartialParserConfig(python_version=VERSION)
    ends_file = start != "expression_input"
    found = detect_config(source, partial=asked, detect_trailing_newline=ends_file, detect_default_newline=True)
    config: Any = found.config  # Its class is made in a way that mypy does not follow.
    grammar = get_grammar(config.version, config.future_imports)
    parser = PythonCSTParser(tokens=found.tokens, config=config, pgen_grammar=grammar, start_nonterminal=start)
    tree = parser.parse()
    assert isinstance(tree, CSTNode), "the grammar makes nodes of all three"
    return tree
