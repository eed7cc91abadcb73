"""Measure the facts table from torch: `python -m tools.measure_facts`.

Measuring takes minutes, fitting seconds: `--calls FILE` keeps what the calls showed, and fits it again next
time. With such a file, `--only NAME` measures one operation again, and its recipes.
"""

from __future__ import annotations

import json
import pickle
import time
from collections import Counter
from pathlib import Path

import click
import torch

from gradlint.facts import Table
from tools.facts import agree, units, words, workers
from tools.facts.probes import Record
from tools.facts.table import Assembly, assemble
from tools.facts.units import Measured

OUTPUT = Path(__file__).parent.parent / "gradlint" / "facts" / "torch.json"


@click.command()
@click.option("--only", multiple=True, help="Measure only this operation; may be repeated.")
@click.option("--jobs", default=1, show_default=True, help="How many processes measure side by side.")
@click.option(
    "--report",
    is_flag=True,
    help="Say how well the table fits the calls, and calls that it was not fitted on.",
)
@click.option(
    "--calls",
    type=click.Path(path_type=Path),
    help="Where the calls are kept; if the file exists only those given by --only are measured again.",
)
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, help="Where the table goes.")
def main(only: tuple[str, ...], jobs: int, report: bool, calls: Path | None, output: Path) -> None:
    """Measure torch and write the table."""
    torch.set_num_threads(1)
    started = time.monotonic()
    if only and output == OUTPUT and (calls is None or not calls.exists()):
        alone = "--only measures only a part of the table, and would write it without the rest"
        raise click.UsageError(f"{alone}: give --calls the file of a whole measurement, or write to another --output")
    kept: list[Measured] = pickle.loads(calls.read_bytes()) if calls is not None and calls.exists() else []
    measured = _measured(only, jobs, started) if only or not kept else []
    again = {unit.unit for unit in measured}
    measured = sorted([*measured, *(unit for unit in kept if unit.unit not in again)], key=lambda unit: unit.unit)
    if calls is not None:
        calls.write_bytes(pickle.dumps(measured))
    table = assemble(measured)
    output.write_text(rendered(table))
    if report:
        _report(measured, output)
    count = sum(len(records) for unit in measured for records in unit.records.values())
    took = time.monotonic() - started
    click.echo(f"{len(table.names)} names, {len(table.row_list)} rows, {count} calls, {took:.0f} s")


def _measured(only: tuple[str, ...], jobs: int, started: float) -> list[Measured]:
    known = units.all_units()
    missing = [name for name in only if name not in known and f"recipe {name}" not in known]
    if missing:
        raise click.UsageError(f"no sample and no recipe calls {', '.join(missing)}")
    chosen = {n: u for n, u in known.items() if not only or n.removeprefix("recipe ") in only or n in only}
    measured: list[Measured] = []
    for unit in workers.run_units(chosen, jobs):
        measured.append(unit)
        for note in dict.fromkeys(unit.notes):
            click.echo(note, err=True)
        if not len(measured) % 50:
            took = time.monotonic() - started
            click.echo(f"{len(measured)} of {len(chosen)} units, {took:.0f} s", err=True)
    return measured


def _report(measured: list[Measured], output: Path) -> None:
    records: dict[str, list[Record]] = {}
    for unit in measured:
        for name, found in unit.records.items():
            records.setdefault(name, []).extend(found)
    table = Table(json.loads(output.read_text()))
    rows = {name: entry.row for name in table if (entry := table.find(name)) is not None}
    click.echo("the calls that the table was fitted on")
    click.echo("\n".join(agree.lines(agree.tally(rows, records))))
    held_out = agree.held_out(records)
    click.echo("calls held out")
    click.echo("\n".join(agree.lines(sum(held_out.values(), Counter()))))
    click.echo("\n".join(agree.worst(held_out)))


def rendered(table: Assembly) -> str:
    """Return the table as JSON, a line per row and per name, so that a changed fact is one line of a diff."""

    def compact(value: object) -> str:
        return json.dumps(value, separators=(",", ":"), sort_keys=True)

    rows = ",\n".join(compact(row) for row in table.row_list)
    signatures = ",\n".join(compact(signature) for signature in table.signatures)
    names = ",\n".join(f"{compact(name)}:{compact(place)}" for name, place in sorted(table.names.items()))
    lists = f'"dtypes":{compact(words.dtypes())},"plain":{compact(words.plain_classes())}'
    header = f'"torch":{compact(torch.__version__)},"device":"cpu",{lists}'
    return f'{{{header},\n"rows":[\n{rows}\n],\n"sigs":[\n{signatures}\n],\n"names":{{\n{names}\n}}}}\n'


if __name__ == "__main__":
    main()
