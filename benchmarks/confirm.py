"""How many small repros the sandbox executes in a second, after torch is loaded.

    python -m benchmarks.confirm

The repros are the short examples of the rules. Each is executed behind all walls of the system, one after
the other. The aim: at least 20 in a second.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from gradlint.confirm.run.sandbox import Sandbox
from gradlint.rules.registry import all_rules

AIM = 20.0
LONGEST = 20


def main() -> int:
    """Print the figures; 1 if the aim is missed."""
    scripts = [rule.bad for rule in all_rules() if rule.effect != "invalid" and rule.bad]
    scripts = [script for script in scripts if script.count("\n") <= LONGEST]
    begun = time.perf_counter()
    with Sandbox() as sandbox:
        sandbox.start()
        print(f"torch {sandbox.torch} is loaded after {time.perf_counter() - begun:.2f} s")
        print(f"walls: {', '.join(sandbox.walls)}")
        rate, ends = _measure(sandbox, scripts)
    print(f"{rate:.1f} repros in a second; aim: {AIM:.0f}")
    print(", ".join(f"{number} {end}" for end, number in ends.most_common()))
    return 0 if rate >= AIM else 1


def _measure(sandbox: Sandbox, scripts: list[str]) -> tuple[float, Counter[str]]:
    begun = time.perf_counter()
    ends: Counter[str] = Counter(sandbox.run(script).outcome for script in scripts)
    return ends.total() / (time.perf_counter() - begun), ends


if __name__ == "__main__":
    sys.exit(main())
