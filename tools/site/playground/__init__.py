"""What the page that runs gradlint in the browser loads: Pyodide, and the packages in one archive.

Pyodide comes from npm, and the one compiled package, msgspec, from PyPI (`make playground` gets both). libcst has no
wheel for Pyodide there. Its sources still hold the parser in Python that came before the one in Rust: by `native.py` it
stands in for it. Everything else is Python, and taken from the environment that builds the site.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import gradlint

HERE = Path(__file__).parent
SHIPPED = ("page.js", "worker.js")
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip")
PACKAGES = ("libcst", "click", "markdown_it", "mdurl", "grandalf", "pyparsing")
ARCHIVE = "packages.zip"
_LEFT_OUT = {"__pycache__", "tests", "codemod"}


def assemble(downloads: Path, folder: Path) -> None:
    """Fill a folder of the site from what was downloaded: `node_modules/pyodide`, and wheels."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PYODIDE:
        shutil.copyfile(downloads / "node_modules" / "pyodide" / name, folder / name)
    with zipfile.ZipFile(folder / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, path in sorted(_files()):
            archive.write(path, place)
        archive.write(HERE / "native.py", "libcst/native.py")
        for wheel in sorted(downloads.glob("*.whl")):
            _unpack(wheel, archive)


def _files() -> Iterator[tuple[str, Path]]:
    """Yield where a file of a package goes, and where it is; none that is compiled for this machine."""
    yield from _package(Path(gradlint.__file__).parent)
    for name in PACKAGES:
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None, f"{name} is not installed"
        origin = Path(spec.origin)
        yield from _package(origin.parent) if origin.name == "__init__.py" else [(origin.name, origin)]


def _package(root: Path) -> Iterator[tuple[str, Path]]:
    for path in root.rglob("*"):
        place = path.relative_to(root.parent)
        if path.is_file() and path.suffix != ".so" and _LEFT_OUT.isdisjoint(place.parts):
            yield place.as_posix(), path


def _unpack(wheel: Path, archive: zipfile.ZipFile) -> None:
    with zipfile.ZipFile(wheel) as found:
        for name in found.namelist():
            archive.writestr(name, found.read(name))
