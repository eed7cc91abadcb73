"""What `gradlint run` costs: the same loops unwatched, watched, between samples, and under anomaly mode, in one run.

    OMP_NUM_THREADS=1 python -m benchmarks.run_overhead [--rounds N] [--only PART]

The ways alternate in rounds, and each round is timed by the processor's time, between two of the bare loop: the median
of these ratios counts. Between samples, as many iterations are timed as there are by default. Where the C library can,
it is told to give no memory back: else an iteration of the convolutional network, watched or not, takes 0 to 3,000 page
faults by how the heap happens to have grown, and its ratio is 1.0 to 1.4 by that alone.

Bars: watched, at most 3 times for many tiny operations and 1.3 times for a convolutional network; between samples at
most 1.02 times; memory after 1,000 iterations within 5 %.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median

import torch
from torch import nn

from gradlint.concrete.places import Places
from gradlint.concrete.schedule import EVERY, ITERATIONS, Schedule
from gradlint.concrete.watching import Watch

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""The parameters of `mallopt` of the GNU C library: above how many bytes memory is given back, or is mapped apart."""

Loop = Callable[[int], None]


def tiny() -> Loop:
    """Return a loop of thirteen tiny layers: nothing but the price of a call."""
    layers: list[nn.Module] = []
    for _ in range(6):
        layers += [nn.Linear(8, 8), nn.Tanh()]
    return _loop(nn.Sequential(*layers, nn.Linear(8, 3)), torch.randn(4, 8), torch.randint(0, 3, (4,)))


def convolutional() -> Loop:
    """Return a loop of a small residual-free network of CIFAR's size."""
    layers: list[nn.Module] = []
    for before, after in ((3, 32), (32, 64), (64, 64)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 10))
    return _loop(model, torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,)))


def _loop(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> Loop:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def run(times: int) -> None:
        for _ in range(times):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            torch.autograd.backward(loss)
            optimizer.step()

    return run


@contextlib.contextmanager
def watched(schedule: Schedule, *, checksums: bool = False) -> Iterator[Watch]:
    """Watch the block; this file stands for the user's."""
    watch = Watch(Places(), print, schedule, checksums=checksums)
    watch.begin()
    try:
        yield watch
    finally:
        watch.end()


class Between:
    """A loop of its own whose sample is over."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def __call__(self, times: int) -> float:
        """Return the seconds of iterations of which none is watched."""
        with watched(Schedule(iterations=1, every=None)):
            self._loop(2)
            return _seconds(self._loop, times)


def _seconds(loop: Loop, times: int) -> float:
    start = time.process_time()
    loop(times)
    return time.process_time() - start


def _under(loop: Loop, times: int, block: contextlib.AbstractContextManager[object]) -> float:
    with block:
        return _seconds(loop, times)


def ratios(loop: Loop, times: int, between: int, rounds: int) -> dict[str, float]:
    """Return how many times as long each way takes as the bare loop."""
    ways: dict[str, tuple[int, Callable[[int], float]]] = {
        "watched": (times, lambda times: _under(loop, times, watched(Schedule()))),
        "checksums": (times, lambda times: _under(loop, times, watched(Schedule(), checksums=True))),
        "between samples": (between, Between(loop)),
        "anomaly mode": (times, lambda times: _under(loop, times, torch.autograd.set_detect_anomaly(True))),
    }
    loop(max(3, times // 10))
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, (count, way) in ways.items():
            before, timed, after = _seconds(loop, count), way(count), _seconds(loop, count)
            found[name].append(2 * timed / (before + after))
    return {name: median(values) for name, values in found.items()}


_MEMORY = """
import resource, sys
from benchmarks.run_overhead import tiny, watched
from gradlint.concrete.schedule import Schedule
loop = tiny()
def run():
    loop(200)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    loop(1000)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
if sys.argv[1] == "watched":
    with watched(Schedule()):
        run()
else:
    run()
"""


def memory() -> tuple[float, float]:
    """Return how memory grows in 1,000 watched iterations, and the peak against that of an unwatched process."""
    peaks = {
        way: [int(one) for one in subprocess.check_output([sys.executable, "-c", _MEMORY, way]).split()]
        for way in ("bare", "watched")
    }
    before, after = peaks["watched"]
    return after / before, after / peaks["bare"][1]


BARS = {"tiny": {"watched": 3.0, "between samples": 1.02}, "conv": {"watched": 1.3, "between samples": 1.02}}


def main() -> int:
    """Print the ratios; 1 if one misses its bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="how often each way is timed")
    parser.add_argument("--only", choices=["tiny", "conv", "memory"], help="measure one part")
    options = parser.parse_args()
    torch.manual_seed(0)
    missed = 0
    with contextlib.suppress(OSError, AttributeError):
        for option, size in ((_TRIM_THRESHOLD, 2**30), (_MMAP_THRESHOLD, 2**25)):
            ctypes.CDLL(None).mallopt(option, size)
    for name, make, times, between in (
        ("tiny", tiny, 300, EVERY - ITERATIONS),
        ("conv", convolutional, ITERATIONS, 30),
    ):
        if options.only not in (None, name):
            continue
        for way, ratio in ratios(make(), times, between, options.rounds).items():
            bar = BARS[name].get(way)
            bad = bar is not None and ratio > bar
            missed += bad
            said = "" if bar is None else f" (bar: {bar:g}{', MISSED' if bad else ''})"
            print(f"{name:5} {way:16} {ratio:5.3f}{said}", flush=True)
    if options.only in (None, "memory"):
        growth, beside = memory()
        missed += growth > 1.05 or beside > 1.05
        print(f"memory: {growth:.3f} in 1,000 watched iterations, {beside:.3f} beside an unwatched process (bar: 1.05)")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
