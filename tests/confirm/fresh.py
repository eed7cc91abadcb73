"""`python -m tests.confirm.fresh [CODE ...]`: the repro of each bad example, in a file, run by plain Python."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from gradlint.domain.confirmation import Confirmation
from gradlint.entrypoints.proving import prover
from tests.confirm.examples import BAD, found_in

_PASSING = re.compile(r"0x[0-9a-f]+")


def main(codes: list[str]) -> int:
    """Print the repros that do not show the same error in a process of their own; 1 if there are any."""
    done, bad = 0, 0
    with prover(shrink=True) as torch:
        for claim in (claim for name in BAD for claim in found_in(name) if not codes or claim.rule.code in codes):
            verdict = torch.confirm(claim.finding, claim.code)
            if verdict.verdict == "confirmed":
                done += 1
                if (fault := fault_of(verdict)) is not None:
                    bad += 1
                    print(f"{claim.place}: {fault}\n{verdict.repro}")
    print(f"{done} repros ran by themselves, {bad} did not show the error")
    return 1 if bad or not done else 0


def fault_of(verdict: Confirmation) -> str | None:
    """What is wrong with a repro: None if Python ends with what torch is said to have raised, or with its last line."""
    assert verdict.repro is not None, "what is confirmed has a repro"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "repro.py")
        file.write_text(verdict.repro, encoding="utf-8")
        ended = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    if ended.returncode != 1:
        return f"it ends with {ended.returncode}"
    if verdict.error is not None:
        return None if _gist(verdict.error) in _gist(ended.stderr) else ended.stderr[-300:]
    last = verdict.repro.splitlines()[-1]
    shown = "AssertionError" in ended.stderr if last.startswith("assert ") else "Error: " in ended.stderr
    return None if shown else ended.stderr[-300:]


def _gist(text: str) -> str:
    return " ".join(_PASSING.sub("", text).split())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
