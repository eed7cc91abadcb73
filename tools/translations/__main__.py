"""Say which translations are older than their source: `python -m tools.translations [--accept]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gradlint.rules.registry import all_rules
from tools.translations import accept, stale


def main(arguments: Sequence[str]) -> int:
    """Print what is stale, or accept it; the exit status is 1 if anything is stale."""
    if list(arguments) == ["--accept"]:
        accept(all_rules())
        return 0
    complaints = stale(all_rules())
    for one in complaints:
        print(one)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
