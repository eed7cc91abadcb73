"""`python -m tests.fuzz --seconds 60`: check generated programs for so long; those that crash are made small.

With `--count 2000` so many programs are checked, the same for the same seed. What crashes is printed, and written only
where `--keep` says.

A batch runs in a process of its own, under limits: what hangs or takes too much memory is found there, too.
"""

from __future__ import annotations

import hashlib
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click

from tests.fuzz.crash import crash_of, smallest
from tests.fuzz.notebooks import crash_in_notebook, odd_notebook
from tests.fuzz.programs import Grammar, of_python, swapped
from tests.fuzz.settings import check_configuration, configuration

BATCH = 2_000
_MEMORY = 2 << 30
_CPU = 300


@click.command()
@click.option("--seconds", default=60.0, help="How long to go on.")
@click.option("--seed", default=0, help="The seed of the first batch; the others follow.")
@click.option("--count", type=int, help="Check so many programs, however long that takes.")
@click.option("--keep", type=click.Path(path_type=Path), help="Where to write programs that crash.")
@click.option("--batch", type=int, hidden=True, help="Check one batch, in this process.")
@click.option("--current", type=click.Path(path_type=Path), hidden=True, help="Where to write what is being checked.")
def main(
    seconds: float, seed: int, count: int | None, keep: Path | None, batch: int | None, current: Path | None
) -> None:
    """Look for programs that gradlint crashes on. Exit code 1: some were found."""
    if batch is not None and current is not None:
        sys.exit(_check(batch, BATCH if count is None else count, keep, current))
    until, programs, crashed = time.monotonic() + seconds, 0, False
    while time.monotonic() < until if count is None else programs < count:
        size = BATCH if count is None else min(BATCH, count - programs)
        crashed |= _in_process(seed, size, keep)
        programs, seed = programs + size, seed + 1
    click.echo(f"{programs} programs checked, up to seed {seed - 1}: {'crashes, see above' if crashed else 'no crash'}")
    sys.exit(crashed)


def _in_process(seed: int, size: int, keep: Path | None) -> bool:
    """Run one batch; return whether there was a crash."""
    with tempfile.TemporaryDirectory() as folder:
        current = Path(folder) / "current.py"
        command = [
            sys.executable,
            "-m",
            "tests.fuzz",
            "--batch",
            str(seed),
            "--count",
            str(size),
            "--current",
            str(current),
            *(() if keep is None else ("--keep", str(keep))),
        ]
        # The order of sets must not decide what is found.
        code = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "0"}).returncode
        if code not in (0, 1):
            click.echo(f"seed {seed}: the process ended with {code}")
            _keep(current.read_text(errors="surrogatepass"), keep, f"the process ended with {code}")
        return code != 0


def _check(seed: int, size: int, keep: Path | None, current: Path) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU, _CPU))
    found: set[str] = set()
    for program in islice(_programs(seed), size):
        current.write_text(program, errors="surrogatepass")
        crash = crash_of(program)
        if crash is not None and crash not in found:
            found.add(crash)
            click.echo(f"seed {seed}: {crash}")
            _keep(smallest(program, crash), keep, crash)
    rng = random.Random(seed)
    for _ in range(BATCH // 50):
        book = odd_notebook(rng)
        current.write_text(book, errors="surrogatepass")
        if (crash := crash_in_notebook(book)) is not None and crash not in found:
            found.add(crash)
            click.echo(f"seed {seed}: {crash}")
            _keep(book, keep, crash, ".ipynb")
        check_configuration(configuration(rng), current.parent)
    return int(bool(found))


def _programs(seed: int) -> Iterator[str]:
    rng = random.Random(seed)
    yield from of_python(seed, BATCH // 50)
    for number in range(BATCH - BATCH // 50):
        yield Grammar(rng).program() if number % 2 else swapped(rng)


def _keep(program: str, folder: Path | None, crash: str, suffix: str = ".py") -> None:
    if folder is None:
        click.echo(program)
        return
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(program.encode(errors="surrogatepass")).hexdigest()[:12]
    (folder / f"{name}{suffix}").write_text(program, errors="surrogatepass")
    click.echo(f"  kept as {folder / name}{suffix} ({crash})")


if __name__ == "__main__":
    main()
