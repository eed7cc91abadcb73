"""Execution of a program with holes: values are made up, tried, and corrected by what torch says of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gradlint.confirm.prepare.candidates import Hole, fill, holes_in
from gradlint.confirm.prepare.placeholder import Made, MadeText, choices, corrected
from gradlint.confirm.prepare.script import Line, Script
from gradlint.confirm.run.protocol import Ran
from gradlint.confirm.run.sandbox import Sandbox

Execute = Callable[[Script], Ran]

MOST_RUNS = 60
GUARDS = 5
"""Behind so many errors a program goes on."""

ENOUGH = 4
"""After so many runs that came by the place and showed nothing, no other values are made up."""
_VARIABLE = re.compile(r"^\s*(\w+) = made_up_(\d+)$")


class Tried(NamedTuple):
    """One run: the program with all holes filled, and what torch made of it."""

    script: Script
    ran: Ran
    values: tuple[Made, ...]


class Found(NamedTuple):
    """How a fault was shown: by which of the ways to its place, and with which made-up values."""

    way: int
    values: tuple[Made, ...]


def attempts(script: Script, holes: Sequence[Hole], execute: Execute, most: int = MOST_RUNS) -> Iterator[Tried]:
    """Runs of the program, each with other values, guided by the errors; whoever is content stops."""
    options = [_options(hole) for hole in holes]
    first = tuple(option[0] for option in options)
    waiting, seen, failures = [first], {first}, set[object]()
    furthest: tuple[int, ...] = ()
    for _ in range(most):
        if not waiting:
            return
        values = waiting.pop()
        whole = filled(script, values)
        ran = execute(whole)
        yield Tried(whole, ran, values)
        signature = (ran.outcome, ran.line, ran.message)
        if signature in failures and ran.outcome != "finished":
            continue
        failures.add(signature)
        if ran.outcome == "raised":
            # What fails before others do is not the way to go on.
            if ran.lines < furthest:
                continue
            furthest = ran.lines
        others = [other for other in _others(script, ran, values, options) if other not in seen]
        seen.update(others)
        waiting.extend(reversed(others))


class Inquiry:
    """What is asked of the runs of a program, and what they have come to so far.

    `shrink`: for how many seconds a proof may be cut down; 0 for one that is given as it was found.
    """

    def __init__(self, sandbox: Sandbox, end: float, shrink: float) -> None:
        self._sandbox = sandbox
        self._end = end
        self._shrink = shrink
        self._why = "no run came to the place"
        self.is_slow = False
        self.has_passed = False
        """Whether some run came by the place, and did not show the fault."""
        self.failed: int | None = None
        """The row of the outermost statement that failed, of the run that came furthest."""
        self.found: Found | None = None

    def _is_late(self) -> bool:
        return self._sandbox.clock() > self._end

    def _seconds(self) -> float:
        """Return what the next run may take."""
        return max(0.2, min(2.0, self._end - self._sandbox.clock()))

    def _note_failure(self, script: Script, ran: Ran) -> None:
        self.is_slow |= ran.outcome == "timeout"
        rows = (script.origin(number)[0] for number in ran.lines) if ran.outcome == "raised" else iter(())
        self.failed = max(self.failed or 0, next((row for row in rows if row > 0), 0)) or None


def passing(script: Script, ran: Ran) -> Script | None:
    """Return the program with the innermost statement on the way of an error in a `try`: it goes on after it."""
    return next((one for number in reversed(ran.lines) if (one := _guarded(script, number)) is not None), None)


def _guarded(script: Script, number: int) -> Script | None:
    line = script.lines[number - 1]
    if line.text.rstrip().endswith(":") or line.text.lstrip().startswith("@"):
        return None
    indent = line.text[: len(line.text) - len(line.text.lstrip())]
    block = (
        Line(f"{indent}try:"),
        Line(f"    {line.text}", line.rows),
        Line(f"{indent}except Exception:"),
        Line(f"{indent}    pass"),
    )
    return Script((*script.lines[: number - 1], *block, *script.lines[number:]))


def _options(hole: Hole) -> tuple[Made, ...]:
    return tuple(dict.fromkeys([*(MadeText(text) for text in hole.first), *choices(hole.kinds)]))


def filled(script: Script, values: Sequence[Made]) -> Script:
    """Return the program with its holes filled."""
    texts = [made.text for made in values]
    return Script(tuple(Line(fill(line.text, texts), line.rows) for line in script.lines))


def _others(
    script: Script, ran: Ran, values: tuple[Made, ...], options: Sequence[tuple[Made, ...]]
) -> Iterator[tuple[Made, ...]]:
    """Yield the values with one of them changed: those that took part in the error first."""
    involved = list(_involved(script, ran)) if ran.outcome == "raised" else list(range(len(values)))
    message = ran.message or ""
    for index in involved:
        for other in corrected(values[index], message):
            yield (*values[:index], other, *values[index + 1 :])
    for index in involved:
        for other in options[index]:
            if other != values[index]:
                yield (*values[:index], other, *values[index + 1 :])


def _involved(script: Script, ran: Ran) -> Iterator[int]:
    """Holes in the lines of the traceback, the innermost first, and in the variables that they name."""
    variables = {found[1]: int(found[2]) for line in script.lines if (found := _VARIABLE.match(line.text))}
    seen: set[int] = set()
    for number in reversed(ran.lines):
        text = script.lines[number - 1].text
        named = [variables[word] for word in re.findall(r"\w+", text) if word in variables]
        for index in (*holes_in(text), *named):
            if index not in seen:
                seen.add(index)
                yield index
    # Whatever else was made up: the error may show far behind its cause.
    for line in script.lines:
        for index in holes_in(line.text):
            if index not in seen:
                seen.add(index)
                yield index
