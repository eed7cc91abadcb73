"""The navigation of the site; much of it follows from the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tools.site import operations

FAMILIES = {
    "0": "Files and comments",
    "1": "In-place writes",
    "2": "Backward and its calls",
    "3": "Lost graphs",
    "4": "Lost or broken gradients",
    "5": "Training loops",
    "6": "Modules, optimizers, functions",
    "7": "Losses, shapes, types",
    "8": "Names and old spellings",
}
GUIDE = [
    {"Adopt it in a project": "adopting.md"},
    "configuration.md",
    "cli.md",
    "suppressions.md",
    "confirming.md",
    "graph.md",
    "run.md",
    "formats.md",
    {"Installed packages": "environment.md"},
    "speed.md",
    "security.md",
    "what-teams-need.md",
    "limits.md",
    "faq.md",
]
INTEGRATIONS = [
    {"Continuous integration": "ci.md"},
    "language-server.md",
    {"Editors without the server": "editors.md"},
    "notebooks.md",
    "plugins.md",
    "python-api.md",
    "scan.md",
]
ABOUT = ["how-it-works.md", "comparison.md", "seeds.md", "changelog.md", "releasing.md"]
ZH_FAMILIES = {
    "1": "原地操作",
    "2": "backward 与梯度",
    "3": "计算图中断",
    "4": "梯度丢失或异常",
    "5": "训练循环",
    "6": "模块与优化器",
    "7": "损失、形状与类型",
    "8": "名称与旧写法",
}


def of(docs: Path) -> list[Any]:
    """Return the navigation."""
    return [
        {"Start": "index.md"},
        {"Tutorial": "tutorial.md"},
        {"Playground": "playground.md"},
        {"Guide": GUIDE},
        {"Integrations": INTEGRATIONS},
        {"Rules": ["rules/index.md", *_families(docs, "rules", FAMILIES), "rules/confirmation.md"]},
        {"Operations": ["operations.md", *operations.navigation()]},
        {"About": [*ABOUT, {"Development": _development(docs)}]},
        {
            "中文": [
                "zh/index.md",
                "zh/tutorial.md",
                {"规则": ["zh/rules/index.md", *_families(docs, "zh/rules", ZH_FAMILIES)]},
            ]
        },
    ]


def _development(docs: Path) -> list[Any]:
    first = ["development/architecture.md"]
    rest = sorted(path.relative_to(docs).as_posix() for path in (docs / "development").glob("*.md"))
    decisions = sorted(path.relative_to(docs).as_posix() for path in (docs / "development" / "decisions").glob("*.md"))
    return [*first, *(one for one in rest if one not in first), {"Decisions": decisions}]


def _families(docs: Path, folder: str, titles: dict[str, str]) -> list[Any]:
    files = sorted(path.name for path in (docs / folder).glob("GRD*.md"))
    return [
        {title: [f"{folder}/{name}" for name in files if name[3] == digit]}
        for digit, title in titles.items()
        if any(name[3] == digit for name in files)
    ]
