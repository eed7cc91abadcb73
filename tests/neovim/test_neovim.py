"""Neovim itself, by the configuration of its section in the page on the language server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "language-server.md").read_text(encoding="utf-8")
PROGRAM = """\
import torch

w = torch.ones(3, requires_grad=True)
y = w.exp()
w += 1
loss = y.sum()
loss.backward()
"""


def test_what_neovim_shows(tmp_path: Path) -> None:
    """Diagnostics, shapes, hover, a lens, and a repair, after which there is nothing to say."""
    (configuration,) = re.findall(r"^## Neovim$.*?^```lua$(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    script = Path(__file__).with_name("neovim.lua").read_text(encoding="utf-8")
    command = tmp_path / "bin" / "gradlint"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m gradlint "$@"\n')
    command.chmod(0o755)
    for name, text in (("train.py", PROGRAM), ("gradlint.toml", ""), ("run.lua", configuration + script)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    homes = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    environment = {**os.environ, **homes, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}
    told = ["nvim", "--headless", "-u", "NONE", "-l", "run.lua"]
    ran = subprocess.run(told, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300)
    said = (ran.stdout + ran.stderr).splitlines()
    assert [one for one in said if one.startswith("diagnostic")] == ["diagnostic 5 GRD101"]
    assert "hint 6 []" in "\n".join(said) and "lens 7 graph" in said
    assert "hover y: Tensor[3] float32 grad v0" in said
    assert "repaired     w += 1 0" in said
