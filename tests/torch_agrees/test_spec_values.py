"""Every value that a program of the specification, of the rules or of the notes binds lies inside gradlint's.

The pages reveal what they speak of. Here each assignment of each program is revealed, to catch what nobody
asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from gradlint.rules.registry import all_rules
from tests.harness.instrument import revealing
from tests.harness.judge import containment_complaints
from tests.harness.lint import reveals_of
from tests.harness.markdown import blocks_under
from tests.harness.program import Fact, Revealed
from tests.harness.torch_run import run_under_torch

TESTS = Path(__file__).resolve().parents[1]
TURNS = 2
PAGES = ("interpreter", "rules")
# Each of these must disagree, so that a gap that is closed is taken off the list.
_OF_A_LATER_ITEM = "the loop is run over the first two names, and a branch is for the last one"
KNOWN_GAPS = {
    "real_code.md: What a loop gathers from those that it was not run over": _OF_A_LATER_ITEM,
    "real_code.md: What a loop over many names assigns once": _OF_A_LATER_ITEM,
    "silences.md: Mixed precision on the CPU": "autocast changes the type of what a module gives",
    "gradient-wrong.md: Tangents": "gradcheck also calls forward with values that require no grad",
    "misspelt-name.md: Methods of what only behaves like a tensor": "__torch_function__ decides what torch.stack gives",
}


def _programs() -> dict[str, str]:
    """All programs by name: those of pages and headings, of fixtures, and of the rules' classes."""
    found: dict[str, str] = {}
    for block in (block for folder in PAGES for block in blocks_under(TESTS / folder)):
        if not block.is_known_gap:
            name = f"{block.page.name}: {block.headings[-1]}"
            found[name if name not in found else f"{name} ({block.line})"] = block.code
    for path in sorted((TESTS.parent / "fixtures" / "seeds").glob("*.py")):
        found[path.stem] = path.read_text(encoding="utf-8")
    for rule in all_rules():
        for number, example in enumerate(filter(None, (rule.bad, rule.good)), start=1):
            found[f"{rule.code} example {number}"] = example
    return {name: code for name, code in found.items() if _is_python(code)}


def _is_python(code: str) -> bool:
    """Whether Python reads the program; some show that it does not."""
    try:
        compile(code, "<program>", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


PROGRAMS = _programs()


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_value_lies_inside_what_gradlint_knows_of_it(name: str) -> None:
    """Torch's facts of each tensor are among those that gradlint allows at that line."""
    code = revealing(PROGRAMS[name])
    answers = reveals_of(code).items()
    abstract = {line: [_without_version(facts) for facts in answer.facts] for line, answer in answers}
    complaints = containment_complaints(abstract, _first_turns(run_under_torch(code).reveals))
    if name in KNOWN_GAPS:
        assert complaints
    else:
        assert complaints == []


def test_the_known_gaps_are_programs_of_ours() -> None:
    """A heading that is changed must not leave its gap behind."""
    assert set(PROGRAMS) >= KNOWN_GAPS.keys()


def _first_turns(reveals: Iterable[Revealed]) -> list[Revealed]:
    """The first visits of each line: a loop is interpreted for two turns, and a third may differ."""
    seen: Counter[int] = Counter()
    kept = []
    for each in reveals:
        seen[each.line] += 1
        if seen[each.line] <= TURNS:
            kept.append(each)
    return kept


def _without_version(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """An operation may have written to its own result; the pages pin the versions that matter."""
    return {name: fact for name, fact in facts.items() if name != "version"}
