"""Published packages, at pinned versions: `python -m tests.golden.packages` downloads those that are missing."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PINNED = HERE / "packages.txt"
FOLDER = HERE.parents[1] / ".golden" / "packages"


class NotDownloadedError(Exception):
    """A pinned package has no folder yet."""


@dataclass(frozen=True)
class Package:
    """A wheel's content in a folder; the key is `name==version`."""

    key: str

    @property
    def folder(self) -> Path:
        """Where the wheel's files are."""
        return FOLDER / self.key

    @property
    def place(self) -> str:
        """What to call it in a report."""
        return self.key


def pinned() -> list[Package]:
    """The packages of the list."""
    lines = PINNED.read_text(encoding="utf-8").splitlines()
    return [Package(line) for line in lines if line and not line.startswith("#")]


def extracted() -> list[Package]:
    """The packages, all of which must be there."""
    missing = [package.key for package in pinned() if not package.folder.is_dir()]
    if missing:
        raise NotDownloadedError(f"not downloaded: {', '.join(missing)}; `make golden-packages` does")
    return pinned()


def download(package: Package) -> None:
    """Fetch the wheel and extract it; the folder appears when it is complete."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        wheels, content = Path(name, "wheels"), Path(name, "content")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*pip, "--dest", str(wheels), package.key], check=True)
        (wheel,) = wheels.glob("*.whl")
        subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(content)], check=True)
        content.rename(package.folder)


if __name__ == "__main__":
    for package in pinned():
        if not package.folder.is_dir():
            print(f"downloading {package.key}", flush=True)
            download(package)
