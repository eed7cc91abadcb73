"""Stories: programs people tell in forums, as text with alternatives, wrong and right in one.

`⟦a¦b¦c⟧` stands for one of its alternatives; `⟦✗a¦b✓c¦d⟧` for one of the first where the mistake is made,
and for one of the others where it is not. Above a line `---` stand definitions, below it statements. `{t}`,
`{nn}`, and so on are the modules.
"""

from __future__ import annotations

import re
from importlib.resources import files

from .program import Program
from .scenarios.registry import Scenario, fault, legal

CHOICE = re.compile(r"⟦([^⟦⟧]*)⟧")
HEADING = re.compile(r"^=== (\S+) (\S+)$", re.MULTILINE)


def expand(p: Program, text: str, *, wrong: bool) -> str:
    """Return the text with every alternative chosen, the innermost first."""
    while match := CHOICE.search(text):
        inner = match[1]
        if inner.startswith("✗"):
            bad, _, good = inner[1:].partition("✓")
            inner = bad if wrong else good
        text = text[: match.start()] + p.pick(*inner.split("¦")) + text[match.end() :]
    return text


def tell(p: Program, text: str, *, wrong: bool) -> None:
    """Write a story."""
    text = expand(p, text, wrong=wrong)
    definitions, separator, statements = text.rpartition("\n---\n")
    if separator:
        for definition in re.split(r"\n\n\n+", definitions.strip("\n")):
            p.define(definition)
    p.line(statements.strip("\n"))


def _scenario(name: str, text: str, *, wrong: bool) -> Scenario:
    def story(p: Program) -> None:
        tell(p, text, wrong=wrong)

    story.__name__ = f"story {name} {'wrong' if wrong else 'right'}"
    return story


def register(source: str) -> None:
    """Register the stories of a text: each below a heading `=== class name`; one without ✗ is only right."""
    parts = HEADING.split(source)[1:]
    for about, name, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        legal(about)(_scenario(name, text, wrong=False))
        if "✗" in text:
            fault(about)(_scenario(name, text, wrong=True))


def register_all() -> None:
    """Register the stories of every file of the directory `stories`."""
    directory = files(__package__ or __name__) / "stories"
    for path in sorted(directory.iterdir(), key=lambda path: path.name):
        if path.name.endswith(".txt"):
            register(path.read_text(encoding="utf-8"))
