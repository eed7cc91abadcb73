"""The documentation of a rule, as Markdown for pages and terminals, and as data for programs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from gradlint.report.address import page_address
from gradlint.rules.base import Rule

HEADINGS = ("What torch does", "Why it matters", "When it may be wrong", "Instead", "References")
_HEADING = re.compile(rf"^({'|'.join(HEADINGS)})\s*:?\s*(.*)$")
_LINK = re.compile(r"https?://[^\s<>)\"'`]+")


def url_of(rule: Rule) -> str | None:
    """Return the page about the rule; of a plugin's rule, the one that it names."""
    return rule.url if rule.plugin else page_address(rule.code, rule.name)


def references(rule: Rule) -> list[str]:
    """Return the pages that the rule's documentation refers to."""
    return list(dict.fromkeys(found.rstrip(".,;") for found in _LINK.findall(rule.__doc__ or "")))


def page(rule: Rule) -> str:
    """Return the whole page in Markdown."""
    return "\n".join(_page(rule)).rstrip() + "\n"


def as_data(rule: Rule) -> dict[str, object]:
    """Return the same for programs."""
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": summary_of(rule),
        "explanation": _explanation(rule),
        "effect": rule.effect,
        "severity": rule.severity,
        "fixable": rule.fix is not None,
        "fix": rule.fix,
        "default": rule.default,
        "preview": rule.preview,
        "bad": [rule.bad] if rule.bad else [],
        "good": [rule.good] if rule.good else [],
        "url": url_of(rule),
        "references": references(rule),
        **({"plugin": rule.plugin} if rule.plugin else {}),
    }


def summary_of(rule: Rule) -> str:
    """Return the first line of the documentation."""
    return _documentation(rule).partition("\n")[0]


def _page(rule: Rule) -> Iterator[str]:
    yield f"# {rule.code} {rule.name}"
    yield ""
    traits = [f"Effect: {rule.effect}", f"severity: {rule.severity}"]
    traits += [f"fix: {rule.fix}"] * (rule.fix is not None) + ["in preview"] * rule.preview
    traits += ["reported by `gradlint run` alone"] * rule.run_only
    traits += ["off unless selected"] * (not rule.default) + [f"from {rule.plugin}"] * bool(rule.plugin)
    yield "; ".join(traits) + "."
    yield ""
    yield summary_of(rule)
    yield _explanation(rule)
    for title, example in (("Reported", rule.bad), ("Right", rule.good)):
        if example is not None:
            yield f"\n## {title}\n\n```python\n{inspect.cleandoc(example).rstrip()}\n```"


def _explanation(rule: Rule) -> str:
    """Return the documentation behind its first line, its paragraphs under Markdown headings."""
    written: list[str] = []
    for line in _documentation(rule).splitlines()[1:]:
        heading = _HEADING.match(line)
        if heading is None:
            # The paragraph below a heading may be indented; code in it, indented further, stays code.
            written.append(line.removeprefix("    "))
        else:
            written += [f"## {heading[1]}", "", *filter(None, [heading[2]])]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(written))


def _documentation(rule: Rule) -> str:
    return inspect.cleandoc(rule.__doc__ or "")
