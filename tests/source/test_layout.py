"""Where an import leads within a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlint.source.layout import Layout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project with a package, one inside it without `__init__.py`, scripts, `src`, and neighbours outside."""
    for name in (
        *("project/pyproject.toml", "project/pack/__init__.py", "project/pack/one.py", "project/pack/deep/__init__.py"),
        *(
            "project/pack/deep/two.py",
            "project/pack/bare/three.py",
            "project/pack/logging.py",
            "project/pack/one/x.txt",
        ),
        *(
            "project/scripts/run.py",
            "project/scripts/beside.py",
            "project/scripts/random.py",
            "project/scripts/torch.py",
        ),
        *("project/src/inner/__init__.py", "project/data/table.csv", "outside.py", "loose/__init__.py", "loose/a.py"),
        *("script.py", "sub/helper.py"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


@pytest.mark.parametrize(
    ("importer", "dotted", "level", "found"),
    [
        ("project/pack/one.py", "deep.two", 1, "project/pack/deep/two.py"),
        ("project/pack/deep/two.py", "one", 2, "project/pack/one.py"),
        ("project/pack/deep/two.py", "", 1, "project/pack/deep/__init__.py"),
        ("project/pack/deep/__init__.py", "two", 1, "project/pack/deep/two.py"),
        ("project/pack/one.py", "bare", 1, "project/pack/bare"),
        ("project/pack/one.py", "bare.three", 1, "project/pack/bare/three.py"),
        ("project/pack/one.py", "missing", 1, None),
        ("project/pack/deep/two.py", "pack.one", 0, "project/pack/one.py"),
        ("project/pack/deep/two.py", "pack", 0, "project/pack/__init__.py"),
        ("project/scripts/run.py", "pack.deep", 0, "project/pack/deep/__init__.py"),
        ("project/scripts/run.py", "beside", 0, "project/scripts/beside.py"),
        ("project/scripts/run.py", "inner", 0, "project/src/inner/__init__.py"),
        ("project/scripts/run.py", "pack.one.deeper", 0, None),
    ],
)
def test_names_lead_to_files(tree: Path, importer: str, dotted: str, level: int, found: str | None) -> None:
    expected = None if found is None else str(tree / found)
    assert Layout().find(str(tree / importer), dotted, level) == expected


def test_nothing_beyond_the_root(tree: Path) -> None:
    layout = Layout()
    assert layout.find(str(tree / "project/scripts/run.py"), "outside", 0) is None
    assert layout.find(str(tree / "project/scripts/run.py"), "outside", 3) is None
    # Without a mark, dots do not lead beyond the outermost package.
    assert layout.find(str(tree / "loose/a.py"), "loose", 0) == str(tree / "loose/__init__.py")
    assert layout.find(str(tree / "loose/a.py"), "script", 2) is None


def test_packages_that_are_installed_beside_each_other_are_no_project(tree: Path) -> None:
    assert Layout().find(str(tree / "loose/a.py"), "script", 0) == str(tree / "script.py")
    (tree / "loose-1.0.dist-info").mkdir()
    assert Layout().find(str(tree / "loose/a.py"), "script", 0) is None
    assert Layout().find(str(tree / "loose/a.py"), "loose", 0) == str(tree / "loose/__init__.py")


def test_a_script_sees_what_stands_beside_it(tree: Path) -> None:
    layout = Layout()
    assert layout.find(str(tree / "script.py"), "sub.helper", 0) == str(tree / "sub/helper.py")
    assert layout.find(str(tree / "project/scripts/run.py"), "random", 0) == str(tree / "project/scripts/random.py")


def test_names_of_libraries_are_not_files_of_the_project(tree: Path) -> None:
    layout = Layout()
    assert layout.find(str(tree / "project/pack/one.py"), "logging", 0) is None
    assert layout.find(str(tree / "project/scripts/run.py"), "torch", 0) is None
    assert layout.find(str(tree / "project/scripts/run.py"), "data", 0) is None


def test_a_module_below_a_package(tree: Path) -> None:
    layout = Layout()
    assert layout.below(str(tree / "project/pack/__init__.py"), "one") == str(tree / "project/pack/one.py")
    assert layout.below(str(tree / "project/pack/bare"), "three") == str(tree / "project/pack/bare/three.py")
    assert layout.below(str(tree / "project/pack/one.py"), "three") is None


def test_an_unpacked_archive_is_a_project_without_marks(tmp_path: Path) -> None:
    """A file in a folder that is no package finds what stands beside the script that imports it."""
    for name in ("train.py", "models/base.py", "models/gat.py", "far/a/b/c/d/e.py", "nets/__init__.py", "nets/net.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    layout = Layout()
    assert layout.find(str(tmp_path / "models/gat.py"), "models.base", 0) == str(tmp_path / "models/base.py")
    assert layout.find(str(tmp_path / "models/gat.py"), "base", 0) == str(tmp_path / "models/base.py")
    assert layout.find(str(tmp_path / "nets/net.py"), "models.base", 0) == str(tmp_path / "models/base.py")
    assert layout.find(str(tmp_path / "far/a/b/c/d/e.py"), "models.base", 0) is None


def test_the_folder_of_scripts_may_be_a_package(tmp_path: Path) -> None:
    """`python main.py` finds what stands beside it, though somebody has put an `__init__.py` there."""
    for name in ("__init__.py", "main.py", "models.py", "routines/__init__.py", "routines/base.py", "routines/mlc.py"):
        (tmp_path / "code" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "code" / name).write_text("")
    routine, layout = str(tmp_path / "code/routines/mlc.py"), Layout()
    assert layout.find(routine, "routines.base", 0) == str(tmp_path / "code/routines/base.py")
    assert layout.find(routine, "models", 0) == str(tmp_path / "code/models.py")


@pytest.mark.parametrize(
    "line",
    [
        'sys.path.append("../lib")',
        'sys.path.append("./lib")',
        'sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))',
        'sys.path.append(str(Path(__file__).resolve().parent.parent / "lib"))',
        'sys.path.insert(1, str(Path(__file__).parents[1].joinpath("lib")))',
        'HERE = os.path.dirname(__file__)\nsys.path += [os.path.join(HERE, os.pardir, "lib")]',
        'if True:\n    sys.path.extend([os.getcwd(), os.path.dirname(__file__) + "/../lib"])',
    ],
)
def test_a_script_adds_to_the_path(tmp_path: Path, line: str) -> None:
    for name in ("pyproject.toml", "lib/net.py", "scripts/other.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    script = tmp_path / "scripts" / "train.py"
    script.write_text(f"import os, sys\nfrom pathlib import Path\n\n{line}\nimport net\n")
    layout = Layout()
    assert layout.find(str(script), "net", 0) == str(tmp_path / "lib" / "net.py")
    assert layout.find(str(script.with_name("other.py")), "net", 0) is None


@pytest.mark.parametrize("line", ['sys.path.append("../../elsewhere")', "sys.path.append(ask())", "sys.path.append("])
def test_what_a_script_adds_lies_within_the_project(tmp_path: Path, line: str) -> None:
    for name in ("project/pyproject.toml", "elsewhere/net.py", "project/scripts/train.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"import sys\n{line}\n" if name.endswith("train.py") else "")
    assert Layout().find(str(tmp_path / "project/scripts/train.py"), "net", 0) is None
