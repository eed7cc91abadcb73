"""Write what an older release of torch does otherwise: `python -m tools.measure_older TABLE`, under that release.

TABLE is what `python -m tools.measure_facts --only UNIT ... --output TABLE` measured under it. Which units to measure
again is seen by comparing torchgen's `derivatives.yaml` of the two releases. Rows that differ from those of the default
release go to `older.json`, and with them the operations whose derivative has none there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import torch
from torch import Tensor

from gradlint.domain.release import Release

FACTS = Path(__file__).parent.parent / "gradlint" / "facts"
OUTPUT = FACTS / "older.json"

TWICE: dict[str, Callable[[Tensor], Tensor]] = {
    "grid_sample": lambda x: torch.nn.functional.grid_sample(x, torch.zeros(1, 2, 2, 2), align_corners=False),
}
"""Operations that the default release differentiates twice, of an image of one channel."""


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
def main(table: Path) -> None:
    """Write the rows of the TABLE that differ from those of the default release."""
    release = str(Release.of(torch.__version__))
    kept = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    once = " ".join(name for name, run in TWICE.items() if _is_once_only(run))
    kept[release] = {"rows": differing(json.loads(table.read_text())), "once_only": once}
    OUTPUT.write_text(rendered(kept))


def differing(older: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of an older table that differ in more than how many calls they were fitted on."""
    newer = json.loads((FACTS / "torch.json").read_text())
    found = {name: (older["rows"][place[0]], newer["rows"][newer["names"][name][0]])
             for name, place in older["names"].items() if name in newer["names"]}  # fmt: skip
    return {name: old for name, (old, new) in sorted(found.items()) if {**old, "n": 0} != {**new, "n": 0}}


def rendered(kept: dict[str, Any]) -> str:
    """Return the file, a line per row."""

    def compact(value: object) -> str:
        return json.dumps(value, separators=(",", ":"), sort_keys=True)

    parts = []
    for release, found in sorted(kept.items()):
        rows = ",\n".join(f"{compact(name)}:{compact(row)}" for name, row in found["rows"].items())
        parts.append(f'{compact(release)}:{{"once_only":{compact(found["once_only"])},"rows":{{\n{rows}\n}}}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _is_once_only(run: Callable[[Tensor], Tensor]) -> bool:
    x = torch.rand(1, 1, 4, 4, requires_grad=True)
    (first,) = torch.autograd.grad(run(x).pow(2).sum(), x, create_graph=True)
    try:
        torch.autograd.backward(first.sum())
    except RuntimeError:
        return True
    return False


if __name__ == "__main__":
    main()
