"""Execution of a program with holes: values are made up, tried, and corrected by what torch says of them.

What shows the fault is cut down, by execution as well."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from gradlint.confirm.prepare.candidates import Hole, fill, holes_in
from gradlint.confirm.prepare.ends import AT_ONCE
from gradlint.confirm.prepare.placeholder import Made, MadeText, choices, corrected
from gradlint.confirm.prepare.script import Line, Script, indent_of, unused_name
from gradlint.confirm.run.protocol import Ran
from gradlint.confirm.run.sandbox import Sandbox

Execute = Callable[[Script], Ran]

MOST_RUNS = 60
RUN_SECONDS = 2.0
"""The processor time of one run, however little is left of the time for all of them."""

GUARDS = 5
"""After so many errors a program goes on."""

WALKS = re.compile(r"\.backward\(|\bgrad\(|\.apply\(")
"""Where the engine of autograd runs, or what has been recorded by a function of the program's own."""

ENOUGH = 4
"""After so many runs that came by the place and showed nothing, no other values are made up."""
_NO_MEMORY = re.compile(r"can't allocate memory|bad_alloc")
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
    """Yield runs of the program, each with other values, guided by the errors, as long as the caller asks for more."""
    given = ([*map(MadeText, hole.first), *([] if hole.known else choices(hole.kinds))] for hole in holes)
    options = [tuple(dict.fromkeys(one)) for one in given]
    texts = (script.text, *(text for hole in holes for text in hole.first))
    named = {number for text in texts for number in holes_in(text)}
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
        others = [other for other in _others(script, ran, values, options, named) if other not in seen]
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
        self.is_whole_script = False
        """Whether the program itself is run, as its user would run it, and nothing of it is made up or left out."""
        self.has_ended = False
        """Whether some run ended itself before the place."""
        self.failed: int | None = None
        """The row of the outermost statement that failed, of the run that came furthest."""
        self.found: Found | None = None

    def _is_late(self) -> bool:
        return self._sandbox.clock() > self._end

    @property
    def is_cut_off(self) -> bool:
        """Whether the program ends before it comes to the place, whatever its values are."""
        return self.has_ended and not self.has_passed and self.failed is None

    def _note_failure(self, script: Script, ran: Ran) -> None:
        self.is_slow |= ran.outcome == "timeout"
        rows = (script.origin(number)[0] for number in ran.lines) if ran.outcome == "raised" else iter(())
        self.failed = max(self.failed or 0, next((row for row in rows if row > 0), 0)) or None


def up_to_end(ran: Ran) -> Ran:
    """Return the run as far as it is that of the program, which may catch what it would not outside.

    What stands for the end of the process can be caught, and that can not; and outside there is more memory. What was
    noted by then is not known.
    """
    for number, one in enumerate(ran.swallowed):
        before = ran.swallowed[:number]
        if one.message == AT_ONCE:
            return Ran("finished", "SystemExit", seconds=ran.seconds, swallowed=before)
        if one.error_type == "MemoryError" or _NO_MEMORY.search(one.message):
            return Ran("memory", one.error_type, one.message, seconds=ran.seconds, swallowed=before)
    return ran


def passing(script: Script, ran: Ran) -> Script | None:
    """Return the program with the innermost statement on the way of an error in a `try`: it goes on after it."""
    return next((one for number in reversed(ran.lines) if (one := _guarded(script, number)) is not None), None)


def _guarded(script: Script, number: int) -> Script | None:
    line = script.lines[number - 1]
    if line.text.rstrip().endswith(":") or line.text.lstrip().startswith("@"):
        return None
    indent = " " * indent_of(line.text)
    head, tail = Line(f"{indent}try:"), (Line(f"{indent}except Exception:"), Line(f"{indent}    pass"))
    block = head, Line(f"    {line.text}", line.rows), *tail
    return Script((*script.lines[: number - 1], *block, *script.lines[number:]))


def surfacing(script: Script, still: Callable[[Script], bool]) -> Iterator[Script]:
    """Yield the program with more and more of what may swallow an error taken out, as long as it still comes up."""
    for number in range(len(script.lines) - 1, -1, -1):
        if number < len(script.lines) and script.lines[number].text.lstrip().startswith(("with ", "try:")):
            smaller = next(filter(still, filter(_is_program, _unwrapped(script, number))), None)
            if smaller is not None:
                script = smaller
                yield script


def rethrown(script: Script, number: int) -> Script | None:
    """Return the program with the error of one line kept, and raised once more at the end."""
    kept, error = (unused_name(name, script.text) for name in ("caught", "error"))
    line = script.lines[number - 1]
    if line.text.rstrip().endswith(":") or line.text.lstrip().startswith("@"):
        return None
    indent = " " * indent_of(line.text)
    handler = (f"except Exception as {error}:", f"    {kept}.append({error})", "    raise")
    block = Line(f"{indent}try:"), Line(f"    {line.text}", line.rows), *(Line(indent + text) for text in handler)
    rest = (*script.lines[: number - 1], *block, *script.lines[number:])
    return Script((Line(f"{kept} = []"), *rest, Line(f"raise {kept}[0]")))


def filled(script: Script, values: Sequence[Made]) -> Script:
    """Return the program with its holes filled."""
    texts = [made.text for made in values]
    return Script(tuple(Line(fill(line.text, texts), line.rows) for line in script.lines))


def _others(
    script: Script, ran: Ran, values: tuple[Made, ...], options: Sequence[tuple[Made, ...]], named: Collection[int]
) -> Iterator[tuple[Made, ...]]:
    """Yield the values with one of them changed that the program names: those that took part in the error first."""
    involved = _involved(script, ran) if ran.outcome == "raised" else range(len(values))
    involved = [index for index in involved if index in named]
    better = [(index, other) for index in involved for other in corrected(values[index], ran.message or "")]
    rest = ((index, other) for index in involved for other in options[index] if other != values[index])
    for index, other in (*better, *rest):
        yield (*values[:index], other, *values[index + 1 :])


def _involved(script: Script, ran: Ran) -> list[int]:
    """Return the holes in the lines of the traceback and the variables that they name, the innermost first, then all.

    The error may show far after its cause.
    """
    variables = {one[1]: int(one[2]) for line in script.lines if (one := _VARIABLE.match(line.text))}
    found: list[int] = []
    for text in (script.lines[number - 1].text for number in reversed(ran.lines)):
        found += [*holes_in(text), *(variables[word] for word in re.findall(r"\w+", text) if word in variables)]
    found += [index for line in script.lines for index in holes_in(line.text)]
    return list(dict.fromkeys(found))


_MOST_CUTS = 120


def shrunk(
    script: Script, still: Callable[[Script], bool], pinned: Collection[int], is_late: Callable[[], bool]
) -> Script:
    """Return the smallest program found in time that still shows it; lines that come from a row of `pinned` stay."""
    shrinker, size = _Shrinker(still, pinned, is_late), 0
    while size != len(script.lines) and not shrinker.is_spent():
        size = len(script.lines)
        script = shrinker.once(script)
    return script


class _Shrinker:
    def __init__(self, still: Callable[[Script], bool], pinned: Collection[int], is_late: Callable[[], bool]) -> None:
        self._still = still
        self._pinned = pinned
        self._is_late = is_late
        self._runs = 0

    def once(self, script: Script) -> Script:
        """Take out pieces, large ones first, then the headers of blocks."""
        chunk = len(script.lines)
        while chunk > 1 and not self.is_spent():
            chunk //= 2
            start = len(script.lines)
            while start > 0 and not self.is_spent():
                start = max(0, start - chunk)
                script = self._try_all(script, _without(script, start, start + chunk))
        for number in range(len(script.lines) - 1, -1, -1):
            if number < len(script.lines) and not self.is_spent():
                script = self._try_all(script, _unwrapped(script, number))
        return script

    def _try_all(self, script: Script, candidates: Iterator[Script]) -> Script:
        for smaller in candidates:
            pinned = [len(one.numbers_of(self._pinned)) for one in (script, smaller)]
            if pinned[0] == pinned[1] and _is_program(smaller):
                self._runs += 1
                if self._still(smaller):
                    return smaller
        return script

    def is_spent(self) -> bool:
        """Return whether there are enough runs, or no time is left."""
        return self._runs > _MOST_CUTS or self._is_late()


def _is_program(script: Script) -> bool:
    try:
        compile(script.text, "<repro>", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


_ARMS = ("else:", "except:", "except ", "finally:")


def _block_end(lines: tuple[Line, ...], start: int) -> int:
    """Return the index after a statement: its body and its further arms belong to it."""
    depth = indent_of(lines[start].text)
    end = start + 1
    while end < len(lines):
        deeper = indent_of(lines[end].text) > depth
        arm = indent_of(lines[end].text) == depth and lines[end].text.lstrip().startswith(_ARMS)
        decorated = end == start + 1 and lines[start].text.lstrip().startswith("@")
        if not (deeper or arm or decorated):
            break
        end += 1
    return end


def _without(script: Script, start: int, end: int) -> Iterator[Script]:
    """Yield the program without the statements that begin in a range of lines."""
    lines = script.lines
    if start >= len(lines):
        return
    depth = indent_of(lines[start].text)
    last = start
    while last < min(end, len(lines)) and indent_of(lines[last].text) >= depth:
        last = _block_end(lines, last)
    yield Script((*lines[:start], *lines[last:]))


def _unwrapped(script: Script, number: int) -> Iterator[Script]:
    """Yield the program with the body of a statement in the place of the statement."""
    lines = script.lines
    head = lines[number].text.lstrip()
    if not head.startswith(("if ", "for ", "while ", "with ", "try:", "else:", "finally:")):
        return
    end = number + 1
    while end < len(lines) and indent_of(lines[end].text) > indent_of(lines[number].text):
        end += 1
    width = indent_of(lines[number + 1].text) - indent_of(lines[number].text) if end > number + 1 else 0
    body = tuple(Line(line.text[width:], line.rows) for line in lines[number + 1 : end])
    yield Script((*lines[:number], *body, *lines[_block_end(lines, number) :]))
    yield Script((*lines[:number], *body, *lines[end:]))
