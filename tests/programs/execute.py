"""Execute programs and mutants, and judge whether torch agrees with what the corpus says of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .corpus import Mutant, Program

ROOT = Path(__file__).parents[2]
HARMLESS_WARNING = "Converting a tensor with requires_grad=True to a scalar"
"""Torch warns of `float(loss)` too, where nothing but a number was wanted."""


@dataclass(frozen=True)
class Verdict:
    """What executing one program or mutant showed; `fault` is None where torch agrees with the corpus."""

    name: str
    seconds: float
    fault: str | None


class Worker:
    """The process that has torch loaded."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, files: dict[str, str], entry: str, shows: list[str]) -> dict[str, Any]:
        """Execute one program; see `worker.py` for the reply."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"files": files, "entry": entry, "shows": shows}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the worker ended; see its error output")
        reply: dict[str, Any] = json.loads(line)
        return reply


@contextmanager
def worker() -> Iterator[Worker]:
    """A worker for the length of a block."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.programs.worker"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Worker(process)
        assert process.stdin is not None
        process.stdin.close()


def judge_original(worker: Worker, program: Program) -> Verdict:
    """A program as written runs through without a warning and shows none of its mutations' effects."""
    shows = [mutation.shows for mutation in program.mutations if mutation.shows is not None]
    reply = worker.run(program.files, program.entry, shows)
    if reply["outcome"] != "ran":
        fault: str | None = _say(reply)
    elif warnings := [text for text in reply["warnings"] if not text.startswith(HARMLESS_WARNING)]:
        fault = f"warns: {warnings[0]}"
    else:
        wrong = [f"{text!r} is {shown}" for text, shown in zip(shows, reply["shown"], strict=True) if shown]
        fault = "; ".join(wrong) or None
    return Verdict(program.name, reply["seconds"], fault)


def judge_mutant(worker: Worker, mutant: Mutant) -> Verdict:
    """A mutant raises what it says on a line where a linter may report, or shows its silent effect."""
    mutation = mutant.mutation
    shows = [mutation.shows] if mutation.shows is not None else []
    reply = worker.run(mutant.files, mutant.program.entry, shows)
    return Verdict(mutant.name, reply["seconds"], _fault(mutant, reply))


def _fault(mutant: Mutant, reply: dict[str, Any]) -> str | None:
    mutation = mutant.mutation
    if mutation.raises is None:
        if reply["outcome"] == "ran" and reply["shown"] == [True]:
            return None
        return f"does not show its effect: {reply['shown'][0] if reply['outcome'] == 'ran' else _say(reply)}"
    if reply["outcome"] != "raised" or not re.search(mutation.raises, reply["error"]):
        return f"does not raise {mutation.raises!r}: {_say(reply)}"
    if reply.get("file") == mutation.file and reply["line"] not in mutant.accepted:
        return f"torch raises at a line that is not accepted: {_say(reply)}"
    return None


def _say(reply: dict[str, Any]) -> str:
    place = f" at {reply['file']}:{reply['line']}" if "file" in reply else ""
    return f"{reply['outcome']}{place} {reply.get('error', '')}".strip()
