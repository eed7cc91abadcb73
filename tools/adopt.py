"""Let packages adopt gradlint, and print what happens as Markdown: `python -m tools.adopt gpytorch==1.15.2 ...`.

Each wheel is unpacked into a git repository of its own. What follows is what docs/adopting.md advises: a first run, a
baseline, a run that passes, and a mistake that is reported.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BASELINE = "gradlint-baseline.json"
MISTAKE = """

if __name__ == "__main__":
    import torch

    weight = torch.nn.Parameter(torch.ones(2))
    weight += 0.1
"""
SHOWN = 3
"""How many lines of findings are printed."""


def adopt(folder: Path, seeded: Path) -> Iterator[str]:
    """Go through all steps in a folder of sources, which becomes a repository; yield the transcript.

    The mistake is written to the end of `seeded`, relative to the folder.
    """
    _git(folder, "init", "--quiet", "--initial-branch", "main")
    yield from _step(folder, "The first run.", "check")
    yield from _step(folder, "Write the baseline.", "check", "--write-baseline", BASELINE)
    (folder / "gradlint.toml").write_text(f'baseline = "{BASELINE}"\n', encoding="utf-8")
    _git(folder, "add", ".")
    _git(folder, "commit", "--quiet", "--message", "Adopt gradlint")
    yield from _step(folder, f'With `baseline = "{BASELINE}"` in gradlint.toml, the run passes.', "check")
    with (folder / seeded).open("a", encoding="utf-8") as source:
        source.write(MISTAKE)
    yield from _step(folder, f"Add a mistake to `{seeded}`.", "check")
    say = "Without a baseline, report changed lines only."
    yield from _step(folder, say, "check", "--isolated", "--diff-base", "main")


def _step(folder: Path, what: str, *arguments: str) -> Iterator[str]:
    ran = subprocess.run(
        [sys.executable, "-m", "gradlint", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**_environment(), "PYTHONPATH": str(ROOT)},
    )
    found = ran.stdout.splitlines()
    more = [f"... {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    yield from (what, "", "```console", f"$ gradlint {shlex.join(arguments)}")
    yield from (*found[:SHOWN], *more, *ran.stderr.splitlines(), f"exit code {ran.returncode}", "```", "")


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, env=_environment())


def _environment() -> dict[str, str]:
    """Return the environment without what a user has told git."""
    names = {f"GIT_{who}_{what}": "adopt" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def _unpacked(package: str, folder: Path) -> Path:
    """Download a wheel, unpack its sources, and return one of them that is about torch."""
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*pip, "--dest", str(wheels), package], check=True)
    (wheel,) = wheels.glob("*.whl")
    sources = folder / "sources"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(sources, [name for name in archive.namelist() if name.endswith(".py")])
    modules = sorted(sources.rglob("*.py"))
    return next(path for path in modules if "import torch" in path.read_text(encoding="utf-8", errors="replace"))


def main(packages: Sequence[str]) -> int:
    """Print the transcript of each package."""
    if not packages:
        print(__doc__, file=sys.stderr)
        return 2
    for package in packages:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            seeded = _unpacked(package, folder)
            print(f"### {package}\n")
            for line in adopt(folder / "sources", seeded.relative_to(folder / "sources")):
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
