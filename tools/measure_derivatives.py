"""Measure what autograd records of each operation: `python -m tools.measure_derivatives`.

The nodes of each name are those that its calls leave behind. The derivative of a node is the formula of torch's own
`derivatives.yaml`, as Python, or one written by hand (`tools/derivatives/by_hand.py`); either is shipped only if it
gives what autograd gives.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import click
import torch

from gradlint.facts import load
from tools.derivatives import composites, formulas, graphs
from tools.facts import samples
from tools.facts.call import Call
from tools.measure_aliases import all_calls

OUTPUT = Path(__file__).parent.parent / "gradlint" / "facts" / "derivatives.json"

ALL = 1_000_000
"""More than there are calls of any name."""

MANY = 24
"""How many calls of a name formulas are executed on."""


@click.command()
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, help="Where the derivatives go.")
def main(output: Path) -> None:
    """Measure torch and write the derivatives."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Torch's own samples use what torch itself has deprecated.
        output.write_text(rendered(measured()))


def measured() -> dict[str, object]:
    """Return everything that the file holds."""
    calls, _ = all_calls(ALL)
    by_name = graphs.calls_by_name(calls)
    operations = {name: of_name(name, found) for name, found in sorted(by_name.items())}
    nodes = formulas.nodes(call for name in sorted(calls) for call in samples.diverse(calls[name], MANY))
    used = {node for found in operations.values() for node in f"{found.get('e', '')} {found.get('i', '')}".split()}
    return {
        "torch": torch.__version__.partition("+")[0],
        "nodes": {node: texts for node, texts in nodes.items() if node in used},
        "operations": {name: found for name, found in operations.items() if found},
        "composites": composites.executed(by_name),
    }


def rendered(found: dict[str, object]) -> str:
    """Return JSON with a line per name, so that a changed fact is one line of a diff."""
    parts = []
    for key, value in found.items():
        lines = value.items() if isinstance(value, dict) else ()
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in lines)
        parts.append(f"{json.dumps(key)}: " + (f"{{\n{rows}\n}}" if rows else json.dumps(value)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def of_name(name: str, calls: list[Call]) -> dict[str, object]:
    """Return what is shipped of one name."""
    entry = load().find(name)
    if entry is None:
        return {}
    found: dict[str, object] = {**graphs.recorded(calls)}
    few = samples.diverse(calls, graphs.FEW)
    own = graphs.own_values(few, entry.row)
    if own:
        found["own"] = own
    if graphs.flowing(few, entry.row, numbers=torch.complex64):
        found["complex"] = True
    flows = graphs.flowing(few, entry.row)
    if flows:
        found["flows"] = " ".join(flows)
    return found


if __name__ == "__main__":
    main()
