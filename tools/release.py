"""What a release is held to: `python -m tools.release check`, and its bill of materials, `... sbom`."""

from __future__ import annotations

import argparse
import filecmp
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NAME = "torch-gradlint"
SAMPLE = "import torch\nw = torch.ones(3, requires_grad=True)\nw += 1\n"
FOUND = "a.py:3:1: GRD101"
_TOOLS = frozenset({"pip", "setuptools", "wheel"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="build twice, compare, install into a fresh environment, lint a sample")
    sbom = commands.add_parser("sbom", help="print a CycloneDX document of what is installed with gradlint")
    sbom.add_argument("--python", default=sys.executable, help="the interpreter of the environment")
    asked = parser.parse_args(arguments)
    if asked.command == "check":
        check()
    else:
        print(json.dumps(bill_of_materials(_inspected(asked.python), os.environ.get("SOURCE_DATE_EPOCH")), indent=2))
    return 0


def check() -> None:
    """Build, compare, install, lint; what is wrong ends it with a message."""
    with tempfile.TemporaryDirectory() as folder:
        first, second, fresh = (Path(folder, name) for name in ("first", "second", "fresh"))
        for target in (first, second):
            _run(sys.executable, "-m", "build", "--outdir", str(target), str(ROOT))
        files = sorted(path.name for path in first.iterdir())
        _, different, missing = filecmp.cmpfiles(first, second, files, shallow=False)
        if different or missing:
            raise SystemExit(f"two builds differ: {', '.join((*different, *missing))}")
        print(f"two builds are the same, byte by byte: {', '.join(files)}")
        if importlib.util.find_spec("twine") is not None:
            _run(sys.executable, "-m", "twine", "check", "--strict", *(str(first / name) for name in files))
        else:
            print("twine is not installed: metadata not checked")
        _lint_a_sample(next(first.glob("*.whl")), fresh)


def _lint_a_sample(wheel: Path, fresh: Path) -> None:
    """Install the wheel where there is no torch, and have it find something."""
    python = str(fresh / "bin" / "python")
    _run(sys.executable, "-m", "venv", str(fresh))
    _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    (fresh / "a.py").write_text(SAMPLE)
    done = subprocess.run(
        [str(fresh / "bin" / "gradlint"), "check", "a.py"], cwd=fresh, capture_output=True, text=True, check=False
    )
    if done.returncode != 1 or not done.stdout.startswith(FOUND):
        raise SystemExit(f"the installed wheel does not find {FOUND}: {done.stdout}{done.stderr}")
    installed = bill_of_materials(_inspected(python))["components"]
    print(
        "installed without torch, and it works, with", ", ".join(f"{one['name']} {one['version']}" for one in installed)
    )


def _run(*command: str) -> None:
    """Run a command; the time of the last commit stands for that of the build."""
    environment = {"SOURCE_DATE_EPOCH": _time_of_commit(), **os.environ}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}")


def _time_of_commit() -> str:
    """Return the seconds since 1970; a fixed time where there is no git."""
    if not (ROOT / ".git").exists():
        return "1577836800"
    return subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True).strip()


def _inspected(python: str) -> Mapping[str, Any]:
    """Return what pip knows of an environment."""
    found = subprocess.check_output(
        [python, "-m", "pip", "--disable-pip-version-check", "inspect", "--local"], text=True
    )
    return json.loads(found)  # type: ignore[no-any-return]


def bill_of_materials(inspected: Mapping[str, Any], seconds: str | None = None) -> dict[str, Any]:
    """Return a CycloneDX document: gradlint, and what it needs among that which is installed."""
    metadata = {_normal(one["metadata"]["name"]): one["metadata"] for one in inspected["installed"]}
    if NAME not in metadata:
        raise SystemExit(f"{NAME} is not installed in this environment")
    needed = _needed(metadata)
    parts = {name: _component(metadata[name]) for name in needed}
    root = parts.pop(NAME)
    timestamp = {} if seconds is None else {"timestamp": _shown(int(seconds))}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {**timestamp, "component": root},
        "components": [parts[name] for name in sorted(parts)],
        "dependencies": [
            {"ref": _component(metadata[name])["bom-ref"], "dependsOn": sorted(_purl(metadata[one]) for one in needs)}
            for name, needs in sorted(needed.items())
        ],
    }


def _shown(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _needed(metadata: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return gradlint and all that it leads to, each with what it requires itself."""
    found: dict[str, list[str]] = {}
    waiting = [NAME]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = [one for one in _required(metadata[name]) if one in metadata and one not in _TOOLS]
            waiting += found[name]
    return found


def _required(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of what is required without an extra."""
    for line in metadata.get("requires_dist", ()):
        requirement, _, marker = line.partition(";")
        if "extra" not in marker and (name := re.match(r"[\w.-]+", requirement)):
            yield _normal(name[0])


def _component(metadata: Mapping[str, Any]) -> dict[str, Any]:
    license = metadata.get("license_expression")
    return {
        "type": "library",
        "bom-ref": _purl(metadata),
        "name": metadata["name"],
        "version": metadata["version"],
        "purl": _purl(metadata),
        **({"licenses": [{"expression": license}]} if license else {}),
    }


def _purl(metadata: Mapping[str, Any]) -> str:
    return f"pkg:pypi/{_normal(metadata['name'])}@{metadata['version']}"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main())
