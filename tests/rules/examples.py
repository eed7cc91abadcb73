"""The examples of each rule: those of its class, and those below the heading "More examples" of its page.

A block of a page is a bad example if a finding is marked in it, and a good one otherwise. What `raises`, `bad_shows`
and `good_shows` state in the class, the lines `# error: PATTERN` and `# shows: EXPRESSION` state on the page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gradlint.rules.base import Rule
from tests.harness.markdown import Block, blocks_of

PAGES = Path(__file__).parent


class Bad(NamedTuple):
    """A program with the fault of the error that it raises, and an expression that shows a silent effect."""

    code: str
    error: str | None = None
    shows: str | None = None


class Good(NamedTuple):
    """A correct program close to the fault; `shows` is an expression that is true after the run."""

    code: str
    shows: str | None = None


@cache
def bad_of(rule: Rule) -> dict[str, Bad]:
    """The bad examples of a rule by name: `GRD101-bad-1` of the class, `GRD101-bad-a-mask-as-index` of the page."""
    given = {f"{rule.code}-bad-1": Bad(rule.bad, rule.raises, rule.bad_shows)} if rule.bad else {}
    blocks = [block for block in _blocks(rule) if block.marks.findings]
    return given | {name: Bad(block.program, _error(block), block.shows) for name, block in _named(rule, "bad", blocks)}


@cache
def good_of(rule: Rule) -> dict[str, Good]:
    """The good examples of a rule by name."""
    given = {f"{rule.code}-good-1": Good(rule.good, rule.good_shows)} if rule.good else {}
    blocks = [block for block in _blocks(rule) if not block.marks.findings]
    return given | {name: Good(block.program, block.shows) for name, block in _named(rule, "good", blocks)}


def _blocks(rule: Rule) -> list[Block]:
    pages = PAGES.glob(f"*/{rule.name}.md")
    return [block for page in pages for block in blocks_of(page) if block.is_example]


def _error(block: Block) -> str | None:
    """The pattern of the text that torch raises; None where the program runs through."""
    return block.raises and (block.raises[1] or "")


def _named(rule: Rule, kind: str, blocks: list[Block]) -> Iterator[tuple[str, Block]]:
    """Each block with a name made of its innermost heading, and of a number from the second below it on."""
    seen: Counter[str] = Counter()
    for block in blocks:
        words = re.sub(r"[^a-z0-9]+", "-", block.headings[-1].lower()).strip("-")
        seen[words] += 1
        yield f"{rule.code}-{kind}-{words}" + (f"-{seen[words]}" if seen[words] > 1 else ""), block
