"""Asking gradlint: what it finds in a program, and what its interpreter reveals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from gradlint.check import check_source
from gradlint.detect import detectors
from gradlint.domain.event import Reveal
from gradlint.interpreter.interpret import interpret
from gradlint.settings.config import Config
from gradlint.settings.selection import Selection
from gradlint.source.parse import parse
from gradlint.source.place import Places
from gradlint.source.read import Unusable
from tests.harness.program import FILENAME, Fact


@dataclass
class Answer:
    """Gradlint's answers to the calls of `reveal` at one line, in order: texts, and the facts behind them."""

    texts: list[str] = field(default_factory=list)
    facts: list[Mapping[str, Fact]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The different texts: several paths, or turns of a loop, may come by."""
        return " | ".join(dict.fromkeys(self.texts))


@cache
def findings_of(code: str, also: str | None = None) -> tuple[tuple[int, str], ...]:
    """The line and code of each finding; `also` switches a rule on that is off by default."""
    config = Config(selections=(Selection(extend_select=(also,)),) if also else ())
    return tuple((found.span.start.row, found.code) for found in check_source(code, FILENAME, config))


@cache
def reveals_of(code: str) -> Mapping[int, Answer]:
    """What is revealed at each line that the interpreter reaches."""
    module = parse(code)
    if isinstance(module, Unusable):
        raise ValueError(f"line {module.position.row}: {module.message}")
    places = Places(module)
    answers: defaultdict[int, Answer] = defaultdict(Answer)
    for event in interpret(module, listeners=detectors).events:
        if isinstance(event, Reveal):
            answer = answers[places.span(event.node).start.row]
            answer.texts.append(event.text)
            answer.facts.append({name: _fact(value) for name, value in event.facts.items()})
    return dict(answers)


def _fact(value: object) -> Fact:
    """A fact in the terms of the concrete side: a size that is no number is not known."""
    if isinstance(value, tuple):
        # A symbol stands for any size, and the concrete side has none to compare it with.
        return tuple(size if isinstance(size, int) else None for size in value)
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"{value!r} is no fact")
