"""Plugins as a house writes and installs them: the package of docs/plugins.md, and what goes wrong with others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradlint
from tests.harness.house import install
from tests.harness.markdown import blocks_of

ROOT = Path(gradlint.__file__).parents[1]
RULES, MODELS = (block.code for block in blocks_of(ROOT / "docs" / "plugins.md"))
GROUPS = {"gradlint.rules": "acme_gradlint.rules", "gradlint.models": "acme_gradlint.models:MODELS"}
FILES = {"acme_gradlint/__init__.py": "", "acme_gradlint/rules.py": RULES, "acme_gradlint/models.py": MODELS}

SUMMED = "import torch\nw = torch.ones(3, requires_grad=True)\n(w * w).sum().backward(){}\n"
DENSE = "import acme.layers\nlayer = acme.layers.Dense(3, 1)\nlayer.weight += 1\n"
FOUND = "train.py:3:1: warning: ACM101 mean-not-sum: this loss is a sum over the batch"


class House:
    """A project to check, and a folder in which packages are installed."""

    def __init__(self, folder: Path) -> None:
        self.installed, self.project = folder / "installed", folder / "project"
        self.project.mkdir()
        install(self.installed, FILES, GROUPS)

    def write(self, text: str, name: str = "train.py") -> None:
        """Write a file of the project."""
        (self.project / name).write_text(text, encoding="utf-8")

    def change(self, old: str, new: str) -> None:
        """Change the module of rules."""
        file = self.installed / "acme_gradlint" / "rules.py"
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")

    def run(self, *arguments: str, path: Path | None = None) -> tuple[int, str, str]:
        """Run gradlint in the project: the exit code, standard output, standard error."""
        search = os.pathsep.join(map(str, (ROOT, path or self.installed)))
        done = subprocess.run(
            [sys.executable, "-m", "gradlint", *arguments],
            cwd=self.project,
            env={**os.environ, "PYTHONPATH": search},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def house(tmp_path: Path) -> House:
    """The package of the documentation, installed."""
    return House(tmp_path)


def test_the_rule_is_one_of_the_rules(house: House) -> None:
    """It finds, is selected and ignored, explained, silenced by a comment, which is needless without a finding."""
    house.write(SUMMED.format(""))
    code, out, err = house.run("check")
    assert (code, out.strip(), err.count("1 warning")) == (1, FOUND, 1)
    assert house.run("check", "--ignore", "ACM")[:2] == (0, "")
    assert house.run("check", "--select", "mean-not-sum")[1].strip() == FOUND
    (finding,) = json.loads(house.run("check", "--output-format", "json")[1])
    assert (finding["url"], finding["severity"]) == ("https://wiki.acme.example/ACM101", "warning")
    assert "from acme-gradlint 1.2." in house.run("rule", "ACM101")[1]
    house.write(SUMMED.format("  # noqa: ACM101"))
    assert house.run("check")[:2] == (0, "")
    house.write("import torch\nw = 1  # noqa: ACM101, B006\n")
    assert house.run("check")[1].startswith(
        "train.py:2:8: warning: GRD003 unused-suppression [*]: this comment silences `ACM101`"
    )


def test_models_make_names_of_a_library_known(house: House) -> None:
    """Though the file does not mention torch; without the plugins it says nothing."""
    house.write(DENSE)
    assert house.run("check", ".")[1].startswith("train.py:3:1: error: GRD101")
    assert house.run("check", "--no-plugins", ".")[:2] == (0, "")
    house.write("from acme.optim import SGD\nfrom acme.layers import Dense\nSGD(Dense(3, 1).weight, 0.1)\n")
    assert house.run("check", ".")[1].startswith("train.py:3:1: error: GRD603")


def test_without_plugins_their_codes_are_unknown(house: House) -> None:
    """On the command line; in a comment they are left alone."""
    house.write(SUMMED.format("  # noqa: ACM101"))
    assert house.run("check", "--no-plugins")[:2] == (0, "")
    code, _, err = house.run("check", "--no-plugins", "--select", "ACM101")
    assert (code, "`ACM101` is not a code of gradlint" in err) == (2, True)
    assert house.run("rule", "--no-plugins", "ACM101")[0] == 2


@pytest.mark.parametrize(
    ("old", "new", "who"),
    [
        ("return Report(event", "1 / 0\n        return Report(event", "rule ACM101"),
        ("return Report(event.node, ", "return Report(None, ", "rule ACM101"),
        ("return Report(event.node", "return str(event.node", "rule ACM101"),
        ("        if canonical", "        1 / 0\n        if canonical", "detector SummedLossDetector"),
    ],
)
def test_a_crash_is_the_plugins(house: House, old: str, new: str, who: str) -> None:
    """It is reported once a file, and hides nothing of what others find there."""
    house.change(old, new)
    house.write(SUMMED.format("\n(w * w).sum().backward()\nw += 1"))
    house.write(SUMMED.format("\nw += 1"), "b.py")
    code, out, err = house.run("check")
    assert code == 2
    assert [line.split()[2] for line in out.splitlines()] == ["GRD101", "GRD101"]
    crashes = [line for line in err.splitlines() if "internal error" in line]
    assert [line.partition(": ")[2].partition(".py: ")[0] for line in crashes] == [
        f"internal error in {who} of acme-gradlint 1.2, in {name}" for name in ("b", "train")
    ]
    assert "please report" not in err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("ACM101", "GRD901", "the code `GRD901` is too like those of gradlint, which begin with `GRD`"),
        ("ACM101", "GR101", "the code `GR101` is too like those of gradlint"),
        ("ACM101", "acm1", "the code `acm1` is not of the form ABC101"),
        ("mean-not-sum", "leaf-inplace", "`leaf-inplace` is taken: GRD101 `leaf-inplace` is another rule"),
        ("mean-not-sum", "Mean", "MeanNotSum: the name `Mean` is not of the form `lower-case-words`"),
        ('"fragile"', '"invalid"', "MeanNotSum: the effect `invalid` is none of raises, silent, leak, fragile, legacy"),
        ("def check", "def chekc", "MeanNotSum lacks `check`"),
        ("import BackwardCalled", "import BackwardsCalled", "it cannot be loaded: ImportError: "),
    ],
)
def test_a_plugin_that_cannot_be_used_ends_the_run(house: House, old: str, new: str, said: str) -> None:
    """In one line, which says whose it is; `--no-plugins` goes on without it."""
    house.change(old, new)
    house.write(SUMMED.format(""))
    code, out, err = house.run("check")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith(f"gradlint: error: plugin `acme` of acme-gradlint 1.2: {said}")
    assert house.run("check", "--no-plugins")[0] == 0


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ("MODELS = ['acme.Dense']\n", "`acme_gradlint.models:MODELS` must be a mapping from names to names"),
        ("MODELS = {'acme.nn.*': 'torch.nn'}\n", "`acme.nn.*` cannot behave like 'torch.nn'"),
        ("MODELS = {'Dense': 'torch.nn.Linear'}\n", "'Dense' is no dotted name"),
        ("MODELS = {'torch.relu': 'torch.sigmoid'}\n", "`torch.relu`: torch itself is known"),
    ],
)
def test_models_are_checked(house: House, models: str, said: str) -> None:
    """As one line, too."""
    (house.installed / "acme_gradlint" / "models.py").write_text(models, encoding="utf-8")
    house.write(SUMMED.format(""))
    code, _, err = house.run("check")
    assert (code, said in err, len(err.splitlines())) == (2, True, 1)


def test_two_packages_do_not_share_a_prefix(house: House) -> None:
    """Not even where one begins the other: a prefix must select the rules of one."""
    other = RULES.replace("ACM101", "ACMX1").replace("mean-not-sum", "another")
    files = {"other_gradlint/__init__.py": "", "other_gradlint/rules.py": other}
    install(house.installed, files, {"gradlint.rules": "other_gradlint.rules"}, "other-gradlint")
    code, _, err = house.run("check")
    assert code == 2
    assert "the code `ACMX1` is too like those of acme-gradlint 1.2, which begin with `ACM`" in err


@pytest.mark.parametrize("below", ["", "lib"])
def test_nothing_is_loaded_from_what_is_checked(house: House, below: str) -> None:
    """Not from the current directory, nor from below it, though Python would search it."""
    folder = house.project / below
    install(folder, {**FILES, "acme_gradlint/__init__.py": "raise SystemExit('loaded')\n"}, GROUPS)
    house.write(SUMMED.format(""))
    code, out, err = house.run("check", "train.py", path=folder)
    assert (code, out) == (0, "")
    assert "loaded" not in err


def test_an_editable_install_of_what_is_checked_is_refused(house: House) -> None:
    """The metadata are installed, the modules stand in the current directory: an import hook leads there."""
    module = house.project / "acme_gradlint"
    (house.installed / "acme_gradlint").rename(module)
    (module / "__init__.py").write_text("raise SystemExit('loaded')\n", encoding="utf-8")
    hook = f"import sys; sys.path.append({str(house.project)!r}); import importlib.util, importlib.machinery\n" + (
        "class Finder:\n    @staticmethod\n    def find_spec(name, path=None, target=None):\n"
        "        if name == 'acme_gradlint':\n"
        f"            return importlib.util.spec_from_file_location(name, {str(module / '__init__.py')!r},"
        f" submodule_search_locations=[{str(module)!r}])\n"
        "sys.meta_path.append(Finder)\n"
    )
    (house.installed / "sitecustomize.py").write_text(hook, encoding="utf-8")
    code, _, err = house.run("check")
    assert code == 2
    assert "is in the current directory, from which nothing is loaded" in err
    assert "loaded\n" not in err.replace("nothing is loaded", "")


def test_confirming_leaves_a_finding_of_a_plugin_open(house: House) -> None:
    """With the reason."""
    house.write(SUMMED.format(""))
    _, out, _ = house.run("check", "--confirm", "--output-format", "json", "--trust")
    (finding,) = json.loads(out)
    assert finding["confirmation"]["verdict"] == "unconfirmed"
    assert finding["confirmation"]["reason"].startswith("this is a rule of acme-gradlint 1.2:")


def test_comments_for_a_plugin_that_failed_are_left_alone(house: House) -> None:
    """What it would have found there is not known; codes of others are judged."""
    text = SUMMED.format("  # gradlint: ignore[ACM101, GRD101]") + "x = 1  # gradlint: ignore\n"
    house.write(text)
    house.change("return Report(event", "1 / 0\n        return Report(event")
    code, _, _ = house.run("check", "--fix")
    assert code == 2
    assert (house.project / "train.py").read_text() == text.replace(", GRD101", "")
