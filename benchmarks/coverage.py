"""How many of the torch calls that real code makes gradlint knows, and which it does not.

    python -m benchmarks.coverage FOLDER...

Call sites are counted over the Python files below the folders. A call is known if the facts table has a row for
it, or the interpreter a function of its own; calls that are no operation on tensors (devices, files, processes)
are listed apart and stand in neither figure. The aim: 97 of 100 call sites. The names missing most often are
printed with their counts.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.torch_known import canonical, family, how_known
from benchmarks.torch_uses import uses_in

AIM = 97.0
SHOWN = 40


def main(arguments: list[str] | None = None) -> int:
    """Print the figures; 1 if the aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--shown", type=int, default=SHOWN, metavar="N", help="how many missing names to print")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    for folder in options.folders:
        found, refused = count(sorted(folder.rglob("*.py")))
        print(f"{folder.name:<24}{_figures(found)}{f', {refused} files are no Python 3' if refused else ''}")
        counts += found
    print(report(counts, options.shown))
    return 0 if share(counts) >= AIM else 1


def count(files: Iterable[Path]) -> tuple[Counter[str], int]:
    """How often each torch call occurs in files, and how many files could not be parsed."""
    counts: Counter[str] = Counter()
    refused = 0
    for file in files:
        try:
            counts.update(names_in(file.read_text(encoding="utf-8", errors="replace"), module_of(file)))
        except (SyntaxError, ValueError):
            refused += 1
    return counts, refused


def names_in(text: str, module: str = "") -> Iterator[str]:
    """The torch calls of a text, by the names that gradlint gives them."""
    if "torch" not in text:
        return
    with warnings.catch_warnings():
        # What the compiler thinks of escapes in strings is not the point here.
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        found = uses_in(text, module)
    yield from (canonical(use.name) for use in found)


def module_of(file: Path) -> str:
    """The dotted name of a file's module: as far up as folders are packages."""
    parts = [] if file.stem == "__init__" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    # The package itself stands one step below its own name, as its modules do.
    return ".".join([*parts, "__init__"] if file.stem == "__init__" else parts)


def share(counts: Counter[str]) -> float:
    """How many of 100 calls of operations are known."""
    operations, known = _sums(counts)
    return 100 * known / operations if operations else 100.0


def report(counts: Counter[str], shown: int = SHOWN) -> str:
    """The figures by family, the sum, and what is missing."""
    families = sorted({family(name) for name in counts})
    parts = {label: Counter({n: c for n, c in counts.items() if family(n) == label}) for label in families}
    lines = ["", *(f"{label:<32}{_figures(part)}" for label, part in parts.items())]
    lines += ["", f"{'all':<32}{_figures(counts)}; aim: {AIM:.0f} %"]
    how = Counter(how_known(name) for name in counts.elements())
    lines.append(", ".join(f"{number} {kind}" for kind, number in how.most_common()))
    missing = Counter({name: number for name, number in counts.items() if how_known(name) == "missing"})
    lines += ["", f"missing: {missing.total()} call sites of {len(missing)} names"]
    return "\n".join([*lines, *(f"{number:6} {name}" for name, number in missing.most_common(shown))])


def _figures(counts: Counter[str]) -> str:
    operations, known = _sums(counts)
    return f"{known:6} of {operations:6} calls known, {share(counts):6.2f} %"


def _sums(counts: Counter[str]) -> tuple[int, int]:
    """How many calls are of operations, and how many of those are known."""
    judged = [(how_known(name), number) for name, number in counts.items()]
    operations = sum(number for how, number in judged if how != "no operation")
    return operations, operations - sum(number for how, number in judged if how == "missing")


if __name__ == "__main__":
    sys.exit(main())
