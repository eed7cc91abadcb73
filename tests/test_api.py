"""The Python API, as its users call it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradlint
from gradlint.domain.finding import Position
from gradlint.settings.file import load
from tests.harness.markdown import blocks_of

ROOT = Path(gradlint.__file__).parents[1]

BROKEN = "import torch\ndef f(:\n"


def test_check_source() -> None:
    """Findings, with the name they were asked for under."""
    (finding,) = gradlint.check_source(BROKEN, "shown.py")
    assert (finding.code, finding.filename, finding.span.start) == ("GRD001", "shown.py", Position(2, 7))
    assert gradlint.check_source("import torch\n") == ()


def test_check_paths(tmp_path: Path) -> None:
    """An outcome with the findings and what else there is to know; paths may be strings or `Path`s."""
    (tmp_path / "a.py").write_text(BROKEN)
    outcome = gradlint.check_paths([tmp_path])
    assert [finding.code for finding in outcome.findings] == ["GRD001"]
    assert (len(outcome.files), outcome.crashes) == (1, ())


def test_one_path_is_no_list_of_paths() -> None:
    """A text is not read as a path for each of its letters."""
    for path in ("train.py", Path("train.py")):
        with pytest.raises(TypeError, match=r"must be a list of paths, such as \['train.py'\]"):
            gradlint.check_paths(path)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="must be a list of paths"):
            next(gradlint.recheck(path))  # type: ignore[arg-type]


def test_check_paths_by_a_configuration(tmp_path: Path) -> None:
    """One for all files, instead of the nearest for each."""
    (tmp_path / "a.py").write_text(BROKEN)
    config = gradlint.Config(root=tmp_path, exclude=("a.py",))
    assert gradlint.check_paths([str(tmp_path)], config).files == ()


def test_recheck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An outcome at first, and one for each change, of a file or of a configuration."""
    changes = [("a.py", BROKEN), ("b.py", BROKEN), ("gradlint.toml", 'ignore = ["GRD001"]\n')]

    def change(_: float) -> None:
        name, text = changes.pop(0)
        (tmp_path / name).write_text(text)

    monkeypatch.setattr("time.sleep", change)
    outcomes = gradlint.recheck([tmp_path])
    assert [len(next(outcomes).findings) for _ in range(4)] == [0, 1, 2, 0]


def test_names_stay_what_they_are() -> None:
    """A module that is imported for a name does not take its place."""
    first = [getattr(gradlint, name) for name in gradlint.__all__]
    assert [getattr(gradlint, name) for name in gradlint.__all__] == first


def test_there_is_nothing_else() -> None:
    """A name that does not exist fails as in any module."""
    with pytest.raises(AttributeError, match="module `gradlint` has no attribute `chekc`"):
        gradlint.chekc  # noqa: B018  (the access is what is tested)
    assert all(hasattr(gradlint, name) for name in gradlint.__all__)


def test_help_shows_what_there_is() -> None:
    """All names, with their documentation, in a fresh Python; `dir` lists them, too."""
    program = "import gradlint; print(sorted(set(gradlint.__all__) - set(dir(gradlint)))); help(gradlint)"
    shown = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PAGER": "cat", "MANPAGER": "cat"},
    ).stdout
    assert shown.startswith("[]\n")
    for name in ("class Config", "class Finding", "class Outcome", "check_paths(", "check_source(", "make_config("):
        assert name in shown, name
    assert "Check a text; the filename is for the findings" in shown


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"selct": ["GRD1"]}, "make_config: unknown key `selct`; did you mean `select`?"),
        ({"select": "GRD1"}, "make_config: `select` must be a list of strings"),
        ({"ignore": ("GRD1x",)}, "make_config: `ignore`: `GRD1x` is not the code, the prefix of a code, or "),
        ({"fix": 1}, "make_config: `fix` must be true or false"),
    ],
)
def test_a_configuration_is_checked_as_in_a_file(keys: dict[str, object], said: str) -> None:
    """With the same words."""
    with pytest.raises(gradlint.ConfigError) as error:
        gradlint.make_config(**keys)
    assert str(error.value).startswith(said)


def test_a_configuration_of_keys_is_that_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Underscores stand for hyphens, tuples and sets for lists."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gradlint.toml").write_text('extend-select = ["GRD8"]\nper-file-ignores = { "a.py" = ["GRD1"] }\n')
    made = gradlint.make_config(extend_select={"GRD8"}, per_file_ignores={"a.py": ("GRD1",)})
    assert made == load(tmp_path / "gradlint.toml")


def test_the_page_about_it_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All its programs in order, in one module."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = blocks_of(ROOT / "docs" / "python-api.md")
    for block in blocks:
        exec(compile(block.code, block.name, "exec"), names)
    assert len(blocks) == 5
