"""What is released, and its bill of materials."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import gradlint
from tools.release import bill_of_materials

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(gradlint.__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def installed(name: str, *required: str, **more: str) -> dict[str, object]:
    """A package, as `pip inspect` describes it."""
    return {"metadata": {"name": name, "version": "1.0", "requires_dist": list(required), **more}}


def test_a_bill_of_materials_lists_what_gradlint_needs() -> None:
    """All that it leads to, without extras and without what is there by chance."""
    inspected = {
        "installed": [
            installed(
                "torch-gradlint", "libcst>=1.5", "torch>=2.2; extra == 'confirm'", license_expression="Apache-2.0"
            ),
            installed("libcst", "PyYAML-FT; python_version >= '3.13'", "pyyaml; python_version < '3.13'"),
            installed("PyYAML"),
            installed("torch"),
            installed("pip"),
        ]
    }
    made = bill_of_materials(inspected, "0")
    assert made["metadata"]["timestamp"] == "1970-01-01T00:00:00Z"
    assert made["metadata"]["component"]["licenses"] == [{"expression": "Apache-2.0"}]
    assert [one["purl"] for one in made["components"]] == ["pkg:pypi/libcst@1.0", "pkg:pypi/pyyaml@1.0"]
    assert made["dependencies"][0] == {"ref": "pkg:pypi/libcst@1.0", "dependsOn": ["pkg:pypi/pyyaml@1.0"]}
    with pytest.raises(SystemExit, match="torch-gradlint is not installed"):
        bill_of_materials({"installed": []})


def test_the_source_distribution_is_complete() -> None:
    """What it lists is there, and holds all folders that tests and guides speak of."""
    listed = [name.removeprefix("/") for name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]]
    assert [name for name in listed if not (ROOT / name).exists()] == []
    assert {"gradlint", "tests", "fixtures", "docs", "tools", "benchmarks", "changelog.d", "Makefile"} <= set(listed)


def test_every_fragment_has_a_name_that_the_changelog_takes() -> None:
    """NUMBER-NAME.md; towncrier refuses to guess what others are."""
    folder = ROOT / PROJECT["tool"]["towncrier"]["directory"]
    files = [file.name for file in folder.iterdir()]
    wrong = [name for name in files if not re.fullmatch(r"\d{3,}-[\w-]+\.md|template\.jinja", name)]
    assert wrong == []
