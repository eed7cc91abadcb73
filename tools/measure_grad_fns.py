"""Measure which nodes of torch's tape an operation leaves behind: `python -m tools.measure_grad_fns`.

The calls are those of torch's own tests and the recipes of the facts table, with all inputs requiring grad, and with
each of them alone. What differs between them is fitted to the arguments, the ranks, and which inputs require grad, as
the facts table is.
"""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import torch

from gradlint.facts import load
from gradlint.facts.aliases import canonical, is_module
from tools.derivatives import graphs
from tools.facts import samples
from tools.facts.call import Call, Run, differentiable_labels, run
from tools.facts.fit import Json, Seen, fit
from tools.facts.names import attribute
from tools.facts.probe import REFUSALS, flags_of
from tools.facts.signature import overloads_of
from tools.facts.units import defaults_of
from tools.measure_aliases import all_calls

OUTPUT = Path(__file__).parent.parent / "gradlint" / "facts" / "grad_fns.json"

MOST = 60
"""How many calls of a name are measured."""


class Nodes(NamedTuple):
    """The nodes of the results of a call, and those between them and the inputs."""

    ends: frozenset[str]
    inner: frozenset[str]


@click.command()
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, help="Where the names go.")
def main(output: Path) -> None:
    """Measure torch and write the names."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Torch's own samples use what torch itself has deprecated.
        output.write_text(rendered(measured()))


def measured() -> dict[str, Json]:
    """Return the fitted names by operation; one that leaves no node behind has none."""
    seen = (
        (name, [one for call in calls for one in nodes_of(name, call)])
        for name, calls in sorted(calls_by_name().items())
    )
    return {name: fitted(found) for name, found in seen if found}


def fitted(seen: Sequence[tuple[Mapping[str, str], Nodes]]) -> Json:
    """Return what the calls of one operation support: `e` for the nodes of results, `i` for those between."""
    ends = by_rank([Seen(flags, nodes.ends) for flags, nodes in seen])
    inner = by_rank([Seen(flags, nodes.inner) for flags, nodes in seen])
    return {"e": ends, "i": inner} if inner else {"e": ends}


def by_rank(seen: Sequence[Seen]) -> Json:
    """Fit all calls together, or, where that leaves something open, those of the same ranks by themselves."""
    whole = fit(seen)
    groups: dict[str, list[Seen]] = defaultdict(list)
    for one in seen:
        groups[one.flags.get("@ranks", "")].append(one)
    often = {ranks: group for ranks, group in groups.items() if ranks and len(group) > 1}
    if is_settled(whole) or len(often) < 2:
        return whole
    parts = {ranks: fit(group) for ranks, group in sorted(often.items())}
    return {"?": "@ranks", **parts, "*": whole}


def is_settled(value: Json) -> bool:
    """Say whether each case that was measured is certain."""
    if isinstance(value, list):
        return all(map(is_settled, value))
    if isinstance(value, dict):
        return value["?"] != "" and all(is_settled(case) for key, case in value.items() if key not in ("?", "*"))
    return True


def rendered(found: Mapping[str, Json]) -> str:
    """Return JSON with a line per row and per name, so that a changed fact is one line of a diff; rows are shared."""
    rows = {json.dumps(row): None for row in found.values()}
    numbers = {row: at for at, row in enumerate(rows)}
    names = (f"{json.dumps(name)}: {numbers[json.dumps(row)]}" for name, row in found.items())
    version = json.dumps(torch.__version__.partition("+")[0])
    parts = f'"rows": [\n{_joined(rows)}\n]', f'"operations": {{\n{_joined(names)}\n}}'
    return f'{{\n"torch": {version},\n{_joined(parts)}\n}}\n'


def _joined(lines: Iterable[str]) -> str:
    return ",\n".join(lines)


def calls_by_name() -> dict[str, list[Call]]:
    """Return for each name of the table its calls, and those of other names of the same operation."""
    calls, _ = all_calls(MOST)
    by_operation: dict[str, list[Call]] = defaultdict(list)
    for name in sorted(calls):
        by_operation[canonical(name)] += calls[name]
    found = graphs.of_modules(MOST) | graphs.of_attributes()
    for name in load():
        if is_module(name) or attribute(name) is None or name in found:
            continue
        own = calls.get(name, [])
        others = [one for one in by_operation.get(canonical(name), []) if one.name != name]
        again = [*own, *(samples.named_call(name, one.args, one.kwargs) for one in others)]
        usable = [one for one in again if one is not None]
        usable += samples.varied(usable, overloads_of(name, attribute(name)))
        found[name] = samples.diverse(usable, MOST)
    return found


def nodes_of(name: str, call: Call) -> Iterator[tuple[dict[str, str], Nodes]]:
    """Yield what a call leaves behind, with all inputs requiring grad and with each alone; and its flags."""
    able = differentiable_labels(call)
    plain = flags_of(call, defaults_of(name))
    for labels in dict.fromkeys((frozenset(able), *(frozenset({one}) for one in able))):
        try:
            state = run(call, labels)
        except REFUSALS:
            continue
        found = _nodes(state)
        if found is not None:
            yield {**plain, **{f"@grad.{one}": "yes" if one in labels else "no" for one in able}}, found


def _nodes(state: Run) -> Nodes | None:
    leaves = {id(leaf) for found in state.leaves.values() for leaf in found}
    starts = [one.grad_fn for one in state.outputs.values() if one.grad_fn is not None]
    ends = [one for one in starts if not graphs.is_input(one, leaves)]
    if not ends:
        return None
    top = {id(one) for one in ends}
    inner = (one for one in graphs.below(ends, leaves) if id(one) not in top)
    return Nodes(frozenset(map(graphs.name_of, ends)), frozenset(map(graphs.name_of, inner)))


if __name__ == "__main__":
    main()
