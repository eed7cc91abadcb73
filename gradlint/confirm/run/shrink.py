"""Cutting a program down to what shows the fault, by execution."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from gradlint.confirm.prepare.script import Line, Script

_MOST_RUNS = 120


def shrunk(
    script: Script, still: Callable[[Script], bool], pinned: Collection[int], is_late: Callable[[], bool]
) -> Script:
    """Return the smallest program found in time that still shows it; lines that come from a row of `pinned` stay."""
    return _Shrinker(still, pinned, is_late).run(script)


class _Shrinker:
    def __init__(self, still: Callable[[Script], bool], pinned: Collection[int], is_late: Callable[[], bool]) -> None:
        self._still = still
        self._pinned = pinned
        self._is_late = is_late
        self._runs = 0

    def run(self, script: Script) -> Script:
        """Large pieces first; again as long as something goes."""
        size = 0
        while size != len(script.lines) and not self._is_spent():
            size = len(script.lines)
            script = self._pass(script)
        return script

    def _pass(self, script: Script) -> Script:
        chunk = max(1, len(script.lines) // 2)
        while True:
            start = len(script.lines)
            while start > 0 and not self._is_spent():
                start = max(0, start - chunk)
                script = self._try_all(script, _without(script, start, start + chunk))
            if chunk == 1 or self._is_spent():
                break
            chunk = max(1, chunk // 2)
        for number in range(len(script.lines) - 1, -1, -1):
            if number < len(script.lines) and not self._is_spent():
                script = self._try_all(script, _unwrapped(script, number))
        return script

    def _try_all(self, script: Script, candidates: Iterator[Script]) -> Script:
        for smaller in candidates:
            if self._keeps_pinned(script, smaller) and _is_program(smaller):
                self._runs += 1
                if self._still(smaller):
                    return smaller
        return script

    def _keeps_pinned(self, script: Script, smaller: Script) -> bool:
        return len(smaller.numbers_of(self._pinned)) == len(script.numbers_of(self._pinned))

    def _is_spent(self) -> bool:
        return self._runs > _MOST_RUNS or self._is_late()


def _is_program(script: Script) -> bool:
    try:
        compile(script.text, "<repro>", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


_ARMS = ("else:", "except:", "except ", "finally:")


def _depth(line: Line) -> int:
    return len(line.text) - len(line.text.lstrip())


def _block_end(lines: tuple[Line, ...], start: int) -> int:
    """Return the index behind a statement: its body and its further arms belong to it."""
    depth = _depth(lines[start])
    end = start + 1
    while end < len(lines):
        deeper = _depth(lines[end]) > depth
        arm = _depth(lines[end]) == depth and lines[end].text.lstrip().startswith(_ARMS)
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
    depth = _depth(lines[start])
    last = start
    while last < min(end, len(lines)) and _depth(lines[last]) >= depth:
        last = _block_end(lines, last)
    yield Script((*lines[:start], *lines[last:]))


def _unwrapped(script: Script, number: int) -> Iterator[Script]:
    """Yield the program with the body of a statement in the place of the statement."""
    lines = script.lines
    head = lines[number].text.lstrip()
    if not head.startswith(("if ", "for ", "while ", "with ", "try:", "else:", "finally:")):
        return
    end = number + 1
    while end < len(lines) and _depth(lines[end]) > _depth(lines[number]):
        end += 1
    width = _depth(lines[number + 1]) - _depth(lines[number]) if end > number + 1 else 0
    body = tuple(Line(line.text[width:], line.rows) for line in lines[number + 1 : end])
    yield Script((*lines[:number], *body, *lines[_block_end(lines, number) :]))
    yield Script((*lines[:number], *body, *lines[end:]))
