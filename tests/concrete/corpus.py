"""Run the programs of `tests/programs` and their mutants under the concrete machine, each in a child of its own.

python -m tests.concrete.corpus                      originals: what is reported of programs that are right
python -m tests.concrete.corpus --mutants [--every N]    mutants: what is found on an accepted line, by effect
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import shutil
import sys
import tempfile
import types
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.func
import torch.nn.parallel
import torch.utils.checkpoint
import torch.utils.data

from gradlint.concrete.findings import judged
from gradlint.concrete.places import Places
from gradlint.concrete.watching import Watch
from gradlint.rules.registry import all_rules
from gradlint.settings.config import Config
from gradlint.settings.nearest import Configs
from tests.harness.forked import forked
from tests.programs.corpus import load, mutants

STANDINS = Path(__file__).parents[1] / "programs" / "standins"
TIME_LIMIT = 60


class Ran(NamedTuple):
    """The findings of a run, as (file, first row, last row, code, effect), its complaints, and what it raised."""

    findings: list[tuple[str, int, int, str, str]]
    complaints: list[str]
    error: str


def ran(files: dict[str, str], entry: str) -> Ran | None:
    """Run a program under the machine, in a child; None if it takes too long."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="watched-"))
    try:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        answer, _ = forked(lambda: _run(folder, entry), TIME_LIMIT)
        return Ran(*answer) if answer else None
    finally:
        shutil.rmtree(folder)


def _run(folder: str, entry: str) -> tuple[list[Any], list[str], str]:
    os.chdir(folder)
    file = os.path.join(folder, entry)
    sys.path[:0] = [os.path.dirname(file), folder, str(STANDINS)]
    sys.argv = [file]
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    complaints: list[str] = []
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=file)
    sys.modules["__main__"] = main
    watch = Watch(Places(), complaints.append)
    error: BaseException | None = None
    watch.begin()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            exec(compile(Path(file).read_text(encoding="utf-8"), file, "exec"), main.__dict__)
    except SystemExit:
        pass
    except BaseException as raised:
        error = raised
    watch.end(error)
    found = judged(watch.seen, Configs(Config()), error).outcome.findings
    rows = [
        (os.path.relpath(one.filename, folder), one.span.start.row, one.span.end.row, one.code, one.effect)
        for one in found
    ]
    return rows, complaints, "" if error is None else f"{type(error).__name__}: {error}"[:200]


def main() -> None:
    """Print each false alarm, or each mutant that was missed, and the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    torch.set_num_threads(1)
    all_rules()
    programs = [one for one in load() if not options.names or one.name in options.names]
    counts: Counter[str] = Counter()
    if options.mutants:
        for mutant in mutants(programs)[options.start :: options.every]:
            result = ran(mutant.files, mutant.program.entry)
            hits = result and [
                one
                for one in result.findings
                if one[0] == mutant.mutation.file and any(one[1] <= row <= one[2] for row in mutant.accepted)
            ]
            counts[mutant.mutation.effect] += 1
            counts[f"{mutant.mutation.effect} found"] += bool(hits)
            if not hits:
                said = "too long" if result is None else f"{[one[1:4] for one in result.findings]} {result.error[:80]}"
                doubt = " (doubt)" if mutant.mutation.doubt else ""
                print(f"{mutant.name} [{mutant.mutation.defect}, {mutant.mutation.effect}{doubt}] {said}", flush=True)
    else:
        for program in programs[options.start :: options.every]:
            result = ran(program.files, program.entry)
            counts["programs"] += 1
            if result is None or result.findings or result.complaints or result.error:
                counts["said"] += 1
                print(program.name, result, flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
