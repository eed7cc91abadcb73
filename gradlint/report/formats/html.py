"""The `html` format: one page that needs nothing beside it, with filters, source, pictures of tapes and repros.

It opens from the disk, prints as a whole, and can be read without its script.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources

from gradlint import __version__
from gradlint.domain.finding import SEVERITIES, Finding
from gradlint.report.printable import printable
from gradlint.report.report import Report
from gradlint.report.webpage.article import articles


def write(report: Report) -> Iterator[str]:
    """Yield the page."""
    findings = report.standing
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>gradlint: {_number(len(findings), 'finding')}</title>"
    yield f"<style>\n{_read('report.css')}</style></head><body>"
    yield f"<header><h1>gradlint</h1><p>{_summary(findings)}</p></header>"
    if findings:
        yield from _filters(findings)
    yield '<main id="findings">'
    if not findings:
        yield "<p>Nothing is found.</p>"
    yield from articles(report)
    yield "</main>"
    yield f"<footer>gradlint {escape(__version__)}</footer>"
    yield f"<script>\n{_read('report.js')}</script>"
    yield "</body></html>"


def _summary(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.severity for finding in findings)
    files = len({finding.filename for finding in findings})
    parts = [f'<span class="severity {one}">{_number(counts[one], one)}</span>' for one in SEVERITIES if counts[one]]
    return f"{' '.join(parts)} in {_number(files, 'file')}" if parts else "no findings"


def _number(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 or what == 'info' else 's'}"


def _filters(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the controls, which show only where the script runs."""
    rules = Counter((finding.code, finding.name) for finding in findings)
    files = Counter(printable(finding.filename) for finding in findings)
    verdicts = Counter(finding.confirmation.verdict for finding in findings if finding.confirmation)
    yield '<form id="filters" role="search" aria-label="Filter the findings" hidden>'
    yield '<label>Text <input type="search" name="text" placeholder="message, code, file"></label>'
    yield from _select("severity", "Severity", [(one, one) for one in SEVERITIES])
    yield from _select("code", "Rule", [(code, f"{code} {name} ({rules[code, name]})") for code, name in sorted(rules)])
    yield from _select("file", "File", [(one, f"{one} ({number})") for one, number in sorted(files.items())])
    if verdicts:
        yield from _select("verdict", "Execution", [(one, one) for one in sorted({*verdicts, "not run"})])
    yield '<label>Group by <select name="group"><option>file</option><option>rule</option></select></label>'
    yield '<button type="button" name="expand">Open all</button>'
    yield '<output id="shown" aria-live="polite"></output>'
    yield "<p>Keys: <kbd>j</kbd> <kbd>k</kbd> next and previous, <kbd>o</kbd> open, <kbd>/</kbd> search, "
    yield "<kbd>Esc</kbd> clear.</p></form>"


def _select(name: str, label: str, options: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield f'<label>{label} <select name="{name}"><option value="">all</option>'
    yield from (f'<option value="{escape(value)}">{escape(text)}</option>' for value, text in options)
    yield "</select></label>"


def _read(name: str) -> str:
    return resources.files("gradlint.report.webpage").joinpath(name).read_text(encoding="utf-8")
