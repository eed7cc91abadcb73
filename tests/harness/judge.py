"""Where marks, gradlint and torch disagree. Each function returns complaints; none means agreement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from gradlint.domain.dtype import covers
from tests.harness.marks import Marks
from tests.harness.program import Fact, Outcome, Raised, Revealed


def finding_complaints(marks: Marks, found: Iterable[tuple[int, str]]) -> list[str]:
    """Each finding has its mark and each mark its finding, counted."""
    got = Counter(found)
    return [
        *(f"line {line}: {code} is marked and not found" for line, code in _sorted(marks.findings - got)),
        *(f"line {line}: {code} is found and not marked" for line, code in _sorted(got - marks.findings)),
    ]


def raise_complaints(expected: tuple[int, str | None] | None, outcome: Outcome) -> list[str]:
    """Torch raises at the marked line with the marked text, or nowhere if nothing is marked."""
    if outcome.broken:
        return [outcome.broken]
    if expected is None:
        return [f"torch raises, and no mark says so: {_short(r)}" for r in [outcome.raised] if r]
    line, pattern = expected
    if outcome.raised is None:
        return [f"line {line}: the mark says that torch raises, and the program runs through"]
    if outcome.raised.line != line:
        return [f"line {line} is marked, and torch raises elsewhere: {_short(outcome.raised)}"]
    if pattern is not None and not re.search(pattern, outcome.raised.text):
        return [f"line {line}: the text does not match {pattern!r}: {_short(outcome.raised)}"]
    return []


def reveal_complaints(marks: Marks, asking: Iterable[int], revealed: Mapping[int, str]) -> list[str]:
    """Each line that asks is marked with the answer; `revealed` holds gradlint's text by line."""
    complaints = []
    for line in sorted({*asking, *marks.revealed, *revealed}):
        marked, got = marks.revealed.get(line), revealed.get(line)
        if marked != got:
            complaints.append(f"line {line}: marked {marked!r}, revealed {got!r}")
    return complaints


def containment_complaints(
    abstract: Mapping[int, Sequence[Mapping[str, Fact]]], concrete: Iterable[Revealed]
) -> list[str]:
    """Each tensor that torch shows at a line is one of those that gradlint allows there.

    A line that gradlint never reached allows nothing: what torch runs, gradlint must not take for dead.
    """
    complaints = []
    for seen in concrete:
        allowed = [dict(facts) for facts in abstract.get(seen.line, ())]
        if not any(_lies_inside(seen.facts, facts) for facts in allowed):
            complaints.append(f"line {seen.line}: torch shows {dict(seen.facts)}, gradlint allows {allowed}")
    return complaints


def _lies_inside(concrete: Mapping[str, Fact], abstract: Mapping[str, Fact]) -> bool:
    """Whether gradlint's facts hold; torch may have no answer to one, as for an inference tensor."""
    known = {name: value for name, value in abstract.items() if value is not None}
    if not concrete:
        return not known
    return all(_fact_lies_inside(concrete[name], value) for name, value in known.items() if name in concrete)


def _fact_lies_inside(concrete: Fact, abstract: Fact) -> bool:
    """Whether a known fact holds: a type may be a kind such as "float", a shape may have unknown sizes."""
    if isinstance(abstract, str) and isinstance(concrete, str):
        return covers(abstract, concrete)
    if isinstance(abstract, tuple) and isinstance(concrete, tuple):
        same_rank = len(abstract) == len(concrete)
        return same_rank and all(a is None or a == c for a, c in zip(abstract, concrete, strict=True))
    return abstract == concrete


def _sorted(counted: Counter[tuple[int, str]]) -> list[tuple[int, str]]:
    return sorted(counted.elements())


def _short(raised: Raised) -> str:
    return f"line {raised.line}: {raised.type}: {raised.text[:300]}"
