"""What the site makes of single pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_PAIR = re.compile(
    r"^## (?P<bad>Reported|会报告的写法)\n\n(?P<first>```python\n.*?^```)\n\n"
    r"## (?P<good>Right|正确的写法)\n\n(?P<second>```python\n.*?^```)$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"\]\((?!https?:|#)(?P<docs>docs/)?")
_ADDRESS = re.compile(r"^https://\S+$", re.MULTILINE)
_RULE = re.compile(r"(zh/)?rules/(?P<code>GRD\d{3})-[a-z0-9-]+\.md")


class Below(NamedTuple):
    """What stands below the examples of a rule: a picture each, and what their frames mean."""

    bad: str
    good: str
    legend: str


def code_of(place: str) -> str | None:
    """Return the code of the rule that a page is about; None for other pages."""
    found = _RULE.fullmatch(place)
    return found and found["code"]


def language(place: str) -> str:
    """Return the language of a page."""
    return "zh" if place.startswith("zh/") else "en"


def rule(text: str, below: Below | None = None) -> str:
    """Return the page of a rule with its examples first, side by side where there is room, and addresses as links."""
    text = _ADDRESS.sub(r"- <\g<0>>", text)
    found = _PAIR.search(text)
    if found is None:
        return text
    under = below or Below("", "", "")
    halves = (("bad", found["bad"], found["first"], under.bad), ("good", found["good"], found["second"], under.good))
    blocks = (
        f'<div class="{kind}" markdown>\n\n## {title}\n\n{code}\n\n{picture}\n\n</div>\n\n'
        for kind, title, code, picture in halves
    )
    pair = f'<div class="pair" markdown>\n\n{"".join(blocks)}</div>\n\n{under.legend}\n\n'
    rest = text[: found.start()] + text[found.end() :].lstrip("\n")
    before, heading, after = rest.partition("\n## ")
    return f"{before}\n{pair}{heading.lstrip()}{after}"


def changelog(root: Path) -> str:
    """Return the changelog, with what is not released yet first."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    text = text.replace(
        "What is not released yet is in [changelog.d](changelog.d), one file a change.",
        "What is not released yet comes first.",
    )
    before, mark, released = text.partition("<!-- releases -->")
    assert mark, "the changelog has the mark of towncrier"
    fragments = [path.read_text(encoding="utf-8").strip() for path in sorted((root / "changelog.d").glob("*.md"))]
    items = "\n".join(one if one.startswith("- ") else f"- {_indented(one)}" for one in fragments)
    whole = f"{before}\n## Not released yet\n\n{items}\n{released}".replace("](../", "](")
    # Links of the changelog begin at the root of the repository, those of pages in docs/.
    return _LINK.sub(lambda found: "](" if found["docs"] else "](../", whole)


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
