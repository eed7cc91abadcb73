"""The release of torch that a project uses: where it is found, and what is reported of names that it lacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gradlint import check_source, make_config
from gradlint.domain.release import Release
from gradlint.entrypoints.cli import cli
from gradlint.facts import names, versions
from gradlint.facts.names import names_of
from gradlint.facts.versions import absence, releases, stating
from gradlint.source.environment import distribution

Run = Callable[..., Result]
NORM = "import torch\n\nx = torch.nn.functional.rms_norm(torch.randn(3, 3), (3,))\n"


def found(text: str, torch: str | None = "2.2", codes: Sequence[str] = ("GRD8",)) -> list[tuple[int, str]]:
    """The rows and messages of the findings."""
    config = make_config(select=codes) if torch is None else make_config(select=codes, torch=torch)
    return [(one.span.start.row, one.message) for one in check_source(text, config=config)]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `gradlint check ARGUMENTS` in a project of one file that uses a name of torch 2.4."""
    monkeypatch.chdir(tmp_path)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "a.py").write_text(NORM)
    return lambda *arguments: CliRunner().invoke(cli, ["check", "-q", *arguments])


def installed(root: Path, version: str) -> None:
    """Make an environment with a torch of which there are only the metadata."""
    site = root / ".venv" / "lib" / "python3.11" / "site-packages"
    (site / f"torch-{version}.dist-info").mkdir(parents=True)
    (site / "torch").mkdir()
    (root / ".venv" / "pyvenv.cfg").write_text("version = 3.11.1\n")


@pytest.mark.parametrize(
    ("version", "arguments", "code"),
    [
        ("2.2.2+cu121", [], 1),
        ("2.4.1", [], 0),
        ("2.2.2", ["--torch", "2.4"], 0),
        ("2.4.1", ["--torch", "2.2"], 1),
        ("2.4.1", ["--config", "torch = '2.2.1'"], 1),
        ("2.2.0a0+git1", [], 0),
        ("1.8.0", [], 0),
        ("9.0.0", [], 0),
        ("2.2.2", ["--no-environment"], 0),
    ],
)
def test_the_configuration_or_the_environment_says_which(
    run: Run, tmp_path: Path, version: str, arguments: list[str], code: int
) -> None:
    """What was not measured, or never released, says nothing."""
    installed(tmp_path, version)
    assert run(*arguments).exit_code == code


def test_it_is_shown(run: Run, tmp_path: Path) -> None:
    """With what says so."""
    installed(tmp_path, "2.2.2")
    assert 'torch = "2.2"  # installed\n' in run("--show-settings").stdout
    assert 'torch = "2.4"  # command line\n' in run("--show-settings", "--torch", "2.4.1").stdout
    assert "# torch is not set\n" in run("--show-settings", "--no-environment").stdout


def test_results_are_kept_for_a_release(run: Run, tmp_path: Path) -> None:
    """Those for another one are not used, nor those for a torch that was replaced."""
    installed(tmp_path, "2.2.2")
    assert [run(*arguments).exit_code for arguments in ([], ["--torch", "2.4"], [])] == [1, 0, 1]
    site = tmp_path / ".venv" / "lib" / "python3.11" / "site-packages"
    (site / "torch-2.2.2.dist-info").rename(site / "torch-2.4.1.dist-info")
    distribution._infos.cache_clear()
    assert run().exit_code == 0


def test_a_number_is_no_release(run: Run, tmp_path: Path) -> None:
    """TOML reads 2.10 as 2.1."""
    (tmp_path / "gradlint.toml").write_text("torch = 2.10")
    assert run().stderr == (
        f"gradlint: error: {tmp_path}/gradlint.toml: `torch` must be a release of torch from 2.0 to 2.14, "
        'written as a string such as "2.4"\n'
    )


MISSING = """\
import torch
from torch import nn
from torch.nn.attention import sdpa_kernel

norm = nn.RMSNorm(3)
x = torch.randn(3, 3)
nn.Linear(3, 3).set_submodule("a", norm)
optimizer = torch.optim.SGD([x.requires_grad_()], lr=0.1, fused=True)
torch.stack([x]).hash_tensor()
"""


def test_what_a_release_lacks() -> None:
    """Of namespaces, of tensors, of modules, and of arguments; where the release is not stated, nothing."""
    messages = [message for _, message in found(MISSING, "2.0")]
    assert [message.partition(":")[0] for message in messages] == [
        "torch 2.0 has no `torch.nn.attention.sdpa_kernel`",
        "torch 2.0 has no `torch.nn.RMSNorm`",
        "torch 2.0 has no `torch.nn.Module.set_submodule`",
        "`torch.optim.SGD` of torch 2.0 takes no `fused`",
        "torch 2.0 has no `torch.Tensor.hash_tensor`",
    ]
    assert found(MISSING, None) == found(MISSING, "2.13") == []


REMOVED = """\
import torch

x = torch.eye(3)
q, r = torch.qr(x)
optimizer = torch.optim.SGD([x.requires_grad_()], lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, verbose=True)
y = torch.ones(3).align_to("a")
"""


def test_what_a_release_has_removed() -> None:
    """What it still takes is not reported; what to write instead is said where it is known."""
    assert [row for row, _ in found(REMOVED, None)] == [4, 6]
    assert [row for row, _ in found(REMOVED, "2.4")] == [4]
    assert found(REMOVED, "2.14") == [
        (4, "torch has removed `torch.qr`: it raises here"),
        (6, "torch has removed the argument `verbose`: it raises here"),
        (7, found(REMOVED, "2.14")[2][1]),
    ]
    assert "the last with it" in found(REMOVED, "2.14")[2][1]


@pytest.mark.parametrize(
    "guarded",
    [
        "if hasattr(F, 'rms_norm'):\n    F.rms_norm(x, (3,))",
        "if torch.__version__ >= '2.4':\n    F.rms_norm(x, (3,))",
        "if is_torch_greater_or_equal('2.4'):\n    F.rms_norm(x, (3,))",
        "if _TORCH_2_4:\n    F.rms_norm(x, (3,))",
        "if TYPE_CHECKING:\n    from torch.nn import RMSNorm",
        "try:\n    F.rms_norm(x, (3,))\nexcept AttributeError:\n    pass",
        "try:\n    from torch.nn import RMSNorm\nexcept ImportError:\n    RMSNorm = None",
        "with contextlib.suppress(ImportError):\n    from torch.nn import RMSNorm",
        "norm = F.rms_norm if has_rms_norm else None",
        "norm = has_rms_norm and F.rms_norm",
        "norm = getattr(F, 'rms_norm', None)",
        "@pytest.mark.skipif(not NEW, reason='old')\ndef test():\n    F.rms_norm(x, (3,))",
        "def test():\n    if not supports_rms():\n        return\n    F.rms_norm(x, (3,))",
        "def test():\n    require_version('2.4')\n    F.rms_norm(x, (3,))",
        "class Old:\n    @requires_torch('2.4')\n    def test(self):\n        F.rms_norm(x, (3,))",
        "y: torch.uint16",
    ],
)
def test_code_for_other_releases(guarded: str) -> None:
    """A program that sees to other releases is right, in whatever words it does."""
    start = "from __future__ import annotations\n" if guarded.startswith("y:") else ""
    text = f"{start}import contextlib\nimport torch\nimport torch.nn.functional as F\n\nx = torch.randn(3)\n{guarded}\n"
    assert found(text) == []
    assert found(f"{text}F.rms_norm(x, (3,))\n") or "return" in guarded or "require" in guarded


def test_a_name_of_another_release_is_no_slip() -> None:
    """And a slip is none of a name that the release lacks."""
    assert [message for _, message in found("import torch\n\ntorch.rms_norn\n", "2.2", ["GRD801"])] == []
    assert found("import torch\n\ntorch.rms_norn\n", "2.4", ["GRD801"]) != []
    assert names.meant("torch", "rms_norm") is None


def test_the_measured_file() -> None:
    """Its spans are of measured releases, in order, and no name is in all or in none of them."""
    data = json.loads(Path(versions.__file__).with_name("versions.json").read_text(encoding="utf-8"))
    assert list(releases()) == sorted({Release(*map(int, text.split("."))) for text in data["releases"]})
    for kind in ("names", "arguments"):
        for owner, text in data[kind].items():
            for word in text.split():
                spans = word.partition(":")[2].split(",")
                ends = [end for span in spans for end in span.split("-") if end]
                assert spans and set(ends) <= set(data["releases"]) and spans != ["-"], (owner, word)


def test_names_follow_the_stated_release() -> None:
    """In the block, and in it alone."""
    with stating(Release(2, 2)):
        assert "RMSNorm" not in (names_of("torch.nn") or ())
        assert absence("torch.nn", "RMSNorm") == (Release(2, 2), absence_since("torch.nn", "RMSNorm"), None)
        assert names.newer("torch.cuda.amp.autocast") is None
    assert "RMSNorm" in (names_of("torch.nn") or ())
    assert absence("torch.nn", "RMSNorm") is None
    assert names.newer("torch.cuda.amp.autocast") is not None


def absence_since(owner: str, name: str) -> Release | None:
    """The first release after 2.2 that has a name."""
    for release in releases():
        with stating(release):
            if release > (2, 2) and absence(owner, name) is None:
                return release
    return None


def test_a_run_with_another_torch_shows_nothing(run: Run) -> None:
    """The torch beside gradlint is not that of the project."""
    pytest.importorskip("torch")
    assert "(unconfirmed" in run("--torch", "2.2", "--confirm").stdout
