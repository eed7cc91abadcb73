"""Write the generated pages: those of the rules, the commands, the settings and the announcements, and what is shown.

`python tools/make_docs.py` writes docs/rules/, docs/zh/rules/, docs/cli.md, docs/development/announcements.md,
gradlint/settings/schema.json, the marked parts of docs/configuration.md, and what commands print on the pages of
`SESSIONS`; with `--check` it changes nothing, and fails where something is stale, missing, or left over.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.judged import figures  # noqa: E402  (found only once the path is set)
from gradlint.confirm.check.evidence import evidence  # noqa: E402  (found only once the path is set)
from gradlint.detect import ALL  # noqa: E402
from gradlint.domain import announcement  # noqa: E402
from gradlint.report.rule_page import page, summary_of  # noqa: E402  (found only once the path is set)
from gradlint.rules.base import Rule  # noqa: E402
from gradlint.rules.registry import all_rules  # noqa: E402
from tools import transcripts, translations  # noqa: E402
from tools.command_docs import commands  # noqa: E402
from tools.settings_docs import cell, filled, schema  # noqa: E402

FOLDER = ROOT / "docs" / "rules"
ANNOUNCEMENTS = ROOT / "docs" / "development" / "announcements.md"
CONFIGURATION = ROOT / "docs" / "configuration.md"
COMMANDS = ROOT / "docs" / "cli.md"
SESSIONS = (ROOT / "docs" / "tutorial.md", ROOT / "docs" / "zh" / "tutorial.md")
SCHEMA = ROOT / "gradlint" / "settings" / "schema.json"
INDEX = "index.md"
CONFIRMATION = "confirmation.md"
EFFECTS = {
    "raises": "torch raises",
    "silent": "a gradient is wrong, missing, zero or NaN, and torch says nothing",
    "leak": "memory or time grows",
    "fragile": "it works today and hides mistakes",
    "legacy": "an old spelling",
    "invalid": "the file or the configuration cannot be used",
}


def pages(rules: Sequence[Rule]) -> dict[str, str]:
    """The text of each page by its file name."""
    own = {_filename(rule): _page(rule, rules) for rule in rules}
    return {INDEX: _index(rules), CONFIRMATION: _confirmation(rules), **own}


def stale(folder: Path, expected: dict[str, str]) -> list[str]:
    """What is wrong in a folder of pages: what is missing, what belongs to no rule, what differs."""
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return [
        *(f"{name} is missing" for name in sorted(expected.keys() - found.keys())),
        *(f"{name} belongs to no rule" for name in sorted(found.keys() - expected.keys())),
        *(f"{name} is stale" for name in sorted(found) if name in expected and found[name] != expected[name]),
    ]


def write(folder: Path, expected: dict[str, str]) -> None:
    """Make a folder hold exactly these pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.md"):
        if path.name not in expected:
            path.unlink()
    for name, text in expected.items():
        (folder / name).write_text(text, encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or check them; the result is the exit status."""
    if list(arguments) not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    expected = pages(all_rules())
    chinese = translations.pages(all_rules())
    if not arguments:
        write(FOLDER, expected)
        write(translations.FOLDER, chinese)
        for path, text in single().items():
            path.write_text(text, encoding="utf-8")
        return 0
    complaints = [f"docs/rules/{complaint}" for complaint in stale(FOLDER, expected)]
    complaints += [f"docs/zh/rules/{complaint}" for complaint in stale(translations.FOLDER, chinese)]
    for path, text in single().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            complaints.append(f"{path.relative_to(ROOT)} is stale")
    for complaint in complaints:
        print(f"{complaint}; run: python tools/make_docs.py")
    return 1 if complaints else 0


def single() -> dict[Path, str]:
    """The texts of the files that stand alone."""
    configuration = filled(CONFIGURATION.read_text(encoding="utf-8"))
    sessions = {path: transcripts.filled(path.read_text(encoding="utf-8")) for path in SESSIONS}
    generated = {ANNOUNCEMENTS: announcements(), COMMANDS: commands(), CONFIGURATION: configuration, SCHEMA: schema()}
    return {**generated, **sessions}


def announcements() -> str:
    """The page about the protocol between machines and detectors, from the docstrings of its types."""
    intro = inspect.cleandoc(announcement.__doc__ or "").partition("\n\n")[2]
    sections = "\n".join(_announcement(kind) for kind in announcement.KINDS)
    return f"# Announcements\n\n{intro}\n\nThe order is that of `gradlint/domain/announcement.py`.\n\n{sections}"


def _announcement(kind: type) -> str:
    """One type: what it says, its fields, and who hears it."""
    method = announcement.method_of(kind)
    heard = sorted(one.__name__ for one in ALL if hasattr(one, method))
    fields = "\n".join(f"- `{name}: {one}`" for name, one in kind.__annotations__.items())
    return (
        f"## {kind.__name__}\n\n{inspect.cleandoc(kind.__doc__ or '')}\n\n{fields}\n\nHeard by: {', '.join(heard)}.\n"
    )


def _page(rule: Rule, rules: Sequence[Rule]) -> str:
    """The page of a rule, what became of its findings in real code (`benchmarks/judged.tsv`), and how to go on."""
    text, seen = page(rule), figures().get(rule.code)
    if seen is not None:
        title, traits, rest = text.split("\n\n", 2)
        text = f"{title}\n\n{traits} Seen in real code: {seen}.\n\n{rest}"
    silencing = () if rule.effect == "invalid" else _silencing(rule)
    return "\n".join([text, *silencing, *_neighbours(rule, rules)])


def _silencing(rule: Rule) -> Iterator[str]:
    yield from ("## Silence or configure it", "")
    yield f"On a line: `# gradlint: ignore[{rule.code}]`, as in [suppressions](../suppressions.md). In a project:"
    yield from ("", "```toml", "[tool.gradlint]", f'ignore = ["{rule.name}"]')
    yield from (f'per-file-ignores = {{ "tests/*" = ["{rule.name}"] }}', "```", "")


def _neighbours(rule: Rule, rules: Sequence[Rule]) -> Iterator[str]:
    """The rules that the page names, and those next to it in its family."""
    by_code = {one.code: one for one in rules}
    codes = [one.code for one in rules if one.code[:4] == rule.code[:4]]
    place = codes.index(rule.code)
    near = [*codes[max(place - 1, 0) : place], *codes[place + 1 : place + 2]]
    named = [code for code in re.findall(r"GRD\d{3}", rule.__doc__ or "") if code in by_code and code != rule.code]
    yield from ("## Related rules", "")
    for code in dict.fromkeys([*named, *near]):
        yield f"- [{code} {by_code[code].name}]({_filename(by_code[code])}): {summary_of(by_code[code])}"
    yield ""


def _filename(rule: Rule) -> str:
    return f"{rule.code}-{rule.name}.md"


def _index(rules: Sequence[Rule]) -> str:
    rows = (f"| {' | '.join(_cells(rule))} |" for rule in rules)
    head = ["# Rules", "", "| code | name | fault | effect | severity | fix |", "|---|---|---|---|---|---|"]
    meanings = (f"- *{effect}*: {meaning}" for effect, meaning in EFFECTS.items())
    return "\n".join(
        [
            *head,
            *rows,
            "",
            "What an effect means:",
            "",
            *meanings,
            "",
            f"What confirms a finding by execution: [{CONFIRMATION}]({CONFIRMATION}).",
            "",
        ]
    )


def _confirmation(rules: Sequence[Rule]) -> str:
    head = ["# What confirms a finding", "", "With `--confirm`, by rule. Fixes and options: see the README.", ""]
    head += ["| code | name | effect | confirmed by |", "|---|---|---|---|"]
    rows = (f"| {' | '.join(_evidence_cells(rule))} |" for rule in rules)
    return "\n".join([*head, *rows, ""])


def _evidence_cells(rule: Rule) -> tuple[str, ...]:
    errors = () if rule.effect == "invalid" else rule.errors
    shown = cell(evidence(rule.name, rule.effect, errors))
    return f"[{rule.code}]({_filename(rule)})", f"`{rule.name}`", rule.effect, shown


def _cells(rule: Rule) -> tuple[str, ...]:
    link = f"[{rule.code}]({_filename(rule)})"
    return link, f"`{rule.name}`", summary_of(rule), rule.effect, rule.severity, rule.fix or ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
