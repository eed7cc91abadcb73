"""Pages that show a session: their programs are written and repaired, and their commands of gradlint run, in order.

A page's blocks are a script: `python title="NAME"` writes a file, `diff` changes the last one, and `console` shows
commands and what they print. What a command of gradlint prints is put there by the tool; what others print stays, and a
test runs it.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from gradlint.entrypoints.cli import main

_BLOCK = re.compile(r'^```(?P<kind>python title="(?P<file>[^"]+)"|diff|console)\n(?P<text>.*?)^```$', re.M | re.S)
_COMMAND = re.compile(r"^\$ (?P<line>gradlint .*)\n(?:(?!\$ ).*\n)*", re.M)


def filled(page: str) -> str:
    """Return the page with what the commands of gradlint print now."""
    return "".join(part for part, _ in played(page))


def played(page: str) -> Iterator[tuple[str, str]]:
    """Yield the page in parts, each with the program as it then is; the folder of the session is the current one."""
    done, name = 0, None
    with _folder():
        for block in _BLOCK.finditer(page):
            text = block["text"]
            if block["file"] is not None:
                name = block["file"]
                Path(name).write_text(text, encoding="utf-8")
            elif block["kind"] == "diff":
                assert name is not None, "a change needs a program before it"
                Path(name).write_text(changed(Path(name).read_text(encoding="utf-8"), text), encoding="utf-8")
            else:
                text = _COMMAND.sub(lambda found: f"$ {found['line']}\n{_printed(found['line'])}", text)
            start, end = block.span("text")
            program = "" if name is None else Path(name).read_text(encoding="utf-8")
            yield page[done:start] + text, program
            done = end
    yield page[done:], ""


def changed(program: str, diff: str) -> str:
    """Return a program with a change; its lines must occur once."""
    lines = diff.splitlines(keepends=True)
    before, after = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
    assert program.count(before) == 1, f"the lines of the change occur {program.count(before)} times:\n{before}"
    return program.replace(before, after)


def _printed(command: str) -> str:
    with redirect_stdout(StringIO()) as printed, redirect_stderr(printed):
        main(shlex.split(command)[1:])
    text = printed.getvalue().rstrip("\n")
    return f"{text}\n" if text else ""


@contextmanager
def _folder() -> Iterator[None]:
    """Go into a folder of its own, without a cache from before."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
