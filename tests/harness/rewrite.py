"""Write what the interpreter reveals today into the specification pages; the difference is for review.

    python -m tests.harness.rewrite [PAGE ...]

Without arguments all pages of `tests/interpreter` and `tests/rules` are rewritten. Findings are not touched:
what is to be found is a decision, what is revealed is a snapshot.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.harness.lint import reveals_of
from tests.harness.markdown import blocks_of
from tests.harness.marks import reveal_lines

TESTS = Path(__file__).resolve().parents[1]
_REVEALED = re.compile(r"\s*# revealed:.*$")


def main(arguments: list[str]) -> int:
    """Rewrite pages and tell which changed."""
    for page in map(Path, arguments) if arguments else _all_pages():
        before = page.read_text(encoding="utf-8")
        after = rewritten(page)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"rewritten: {page}")
    return 0


def _all_pages() -> list[Path]:
    return [page for folder in ("interpreter", "rules") for page in sorted((TESTS / folder).rglob("*.md"))]


def rewritten(page: Path) -> str:
    """The text of a page with the reveals of today."""
    rows = page.read_text(encoding="utf-8").splitlines()
    for block in blocks_of(page):
        texts = {line: answer.text for line, answer in reveals_of(block.code).items()}
        for line in reveal_lines(block.code):
            index = block.line + line - 2
            rows[index] = _with_text(rows[index], line, texts)
    return "\n".join(rows) + "\n"


def _with_text(row: str, line: int, texts: Mapping[int, str]) -> str:
    """One line with its text; a line that is never reached carries none."""
    bare = _REVEALED.sub("", row)
    return f"{bare}  # revealed: {texts[line]}" if line in texts else bare


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
