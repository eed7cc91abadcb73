"""The whole measurement: programs of many seeds, torch's outcomes, gradlint's judgements."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path

from .generate import generate
from .judge import judge
from .minimise import minimise
from .oracle import prepare_worker, run
from .report import Case, Score
from .several_files import in_a_package, in_two_files


def _workers(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=prepare_worker)


def case_of(seed: int) -> Case:
    """Write, run, and judge the program of a seed; two of ten have several files, where they have what can move."""
    program = generate(seed)
    divided = {0: in_two_files, 5: in_a_package}.get(seed % 10)
    if divided is not None:
        program = replace(program, source=divided(program.source))
    outcome = run(program.source)
    return Case(program, outcome, judge(program.source, outcome))


def measure(seeds: Sequence[int], jobs: int) -> Score:
    """Judge the programs of these seeds in worker processes."""
    with _workers(jobs) as workers:
        return Score(tuple(workers.map(case_of, seeds, chunksize=10)))


def _minimised(case: Case) -> tuple[str, Case]:
    source = minimise(case.program.source, case.outcome, case.judgement)
    outcome = run(source)
    return source, Case(case.program, outcome, judge(source, outcome))


def minimised(cases: Sequence[Case], jobs: int) -> list[tuple[str, Case]]:
    """Return each disagreement made small: the source, and the case as it is now."""
    with _workers(jobs) as workers:
        return list(workers.map(_minimised, cases))


def dump(score: Score, directory: Path) -> None:
    """Write every program, and one line of JSON for each with its outcome and judgement."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "outcomes.jsonl").open("w", encoding="utf-8") as lines:
        for case in score.cases:
            name = f"{case.program.seed:06d}.py"
            (directory / name).write_text(case.program.source, encoding="utf-8")
            row = {
                "file": name,
                "scenario": case.program.scenario,
                "about": case.program.about,
                **asdict(case.outcome),
                "verdict": case.judgement.verdict,
                "said": [asdict(said) for said in case.judgement.said],
                "crash": case.judgement.crash,
            }
            lines.write(json.dumps(row) + "\n")
