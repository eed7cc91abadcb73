"""What is generated from the keys: a new configuration, the page, the schema."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gradlint.settings.config import Config
from gradlint.settings.file import load
from gradlint.settings.keys import KEYS
from gradlint.settings.layers import layer
from tests.entrypoints.conftest import Run
from tests.settings.conftest import Tree
from tools.make_docs import single
from tools.settings_docs import schema


def uncommented(text: str) -> str:
    """A template with its keys in force."""
    return re.sub(rf"^# (?=(?:{'|'.join(key.name for key in KEYS)}) = )", "", text, flags=re.MULTILINE)


def test_a_new_file(run: Run, tree: Tree) -> None:
    """It changes nothing as it is written, and holds every key."""
    root = tree({"base.toml": ""})
    assert run("init").err == ["gradlint: wrote gradlint.toml"]
    written = (root / "gradlint.toml").read_text()
    assert run("init", "--stdout").out == written.splitlines()
    assert load(root / "gradlint.toml").layers[0].values == {}
    again = run("init")
    assert (again.code, (root / "gradlint.toml").read_text()) == (2, written)


@pytest.mark.parametrize(
    "before", ["", '[project]\nname = "a"\n', '[project]\r\nname = "a"\r\n', "# \N{LATIN SMALL LETTER E WITH ACUTE}"]
)
def test_a_table_in_a_project(run: Run, tree: Tree, before: str) -> None:
    """It is added at the end, with the line ends of the file; a second time it is refused."""
    root = tree({"pyproject.toml": before.encode()})
    assert run("init").err == ["gradlint: wrote [tool.gradlint] in pyproject.toml"]
    written = (root / "pyproject.toml").read_bytes().decode()
    assert written.startswith(before) and "[tool.gradlint]" in written.splitlines()
    assert (written.count("\r\n") == written.count("\n")) == ("\r\n" in before)
    assert load(root / "pyproject.toml").layers[0].values == {}
    assert (run("init").code, (root / "pyproject.toml").read_bytes().decode()) == (2, written)
    assert not (root / "gradlint.toml").exists()


@pytest.mark.parametrize("text", ["[tool\n", "tool = {x = {}}\n"])
def test_a_project_that_takes_no_table_is_not_written(run: Run, tree: Tree, text: str) -> None:
    """One line, as for any command that reads it."""
    root = tree({"pyproject.toml": text})
    ran = run("init")
    assert (ran.code, len(ran.err), (root / "pyproject.toml").read_text()) == (2, 1, text)


def test_what_new_files_show_can_be_read() -> None:
    """Each default, and each example; the defaults are those of `Config`."""
    for key in KEYS:
        config = Config()
        if key.default is not None:
            (value,) = layer("a default", Path(), {key.name: key.default}).values.values()
            if hasattr(config, key.field) and not isinstance(value, dict):
                assert getattr(config, key.field) == value
        if key.name != "per-file-ignores" and key.example is not None and key.kind in ("text", "patterns"):
            assert layer("an example", Path(), {key.name: key.example}).values


def test_generated_files_are_up_to_date() -> None:
    """`python tools/make_docs.py` writes them."""
    assert [path.name for path, text in single().items() if path.read_text(encoding="utf-8") != text] == []


def test_the_schema_knows_every_key_and_no_other() -> None:
    """With its words, where there are few."""
    found = json.loads(schema())
    assert (list(found["properties"]), found["additionalProperties"]) == ([key.name for key in KEYS], False)
    assert {name: one["enum"] for name, one in found["properties"].items() if "enum" in one} == {
        key.name: list(key.choices) for key in KEYS if key.kind == "choice"
    }
