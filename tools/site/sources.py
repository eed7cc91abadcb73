"""The sources of the site: the pages of `docs/` and those that are generated here, and the configuration."""

from __future__ import annotations

import json
import posixpath
import shutil
from pathlib import Path

from gradlint.rules.registry import all_rules
from tools.site import navigation, operations, pages, pictures, playground
from tools.site.links import outward

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CONFIGURATION = Path(__file__).with_name("mkdocs.yml")
REPOSITORY = "https://github.com/gradlint/gradlint/blob/main/"
RULES = {rule.code: rule for rule in all_rules()}
ALONE = ("index.md", "tutorial.md", "playground.md", "zh/index.md")
"""Pages that have no others beside them in the navigation, or lead to all."""


def write(folder: Path) -> None:
    """Make a folder hold `mkdocs.yml`, and the pages in `docs`."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in texts(drawn=True).items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copytree(DOCS / "assets", folder / "docs" / "assets")
    (folder / "docs" / "assets" / "playground").mkdir()
    for name in playground.SHIPPED:
        shutil.copyfile(playground.HERE / name, folder / "docs" / "assets" / "playground" / name)
    (folder / "docs" / "assets" / "graph.css").write_text(pictures.STYLESHEET, encoding="utf-8")
    nav = json.dumps(navigation.of(DOCS), ensure_ascii=False, indent=2)
    (folder / "mkdocs.yml").write_text(f"{CONFIGURATION.read_text(encoding='utf-8')}\nnav: {nav}\n", encoding="utf-8")


def texts(drawn: bool = False) -> dict[str, str]:
    """Return all pages by their place; those of `docs/` as the site shows them, `drawn` with their pictures."""
    own = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
    made = {**own, **operations.pages(), "changelog.md": pages.changelog(ROOT)}
    return {name: _shown(name, text, drawn) for name, text in sorted(made.items())}


def _shown(name: str, text: str, drawn: bool) -> str:
    code = pages.code_of(name)
    if code is not None:
        text = pages.rule(text, pictures.below_examples(RULES[code], pages.language(name)) if drawn else None)
    elif drawn:
        text = pictures.of_page(text)
    front = "---\nhide: [navigation]\n---\n\n" if name in ALONE else ""
    return front + outward(text, posixpath.dirname(name), ROOT, REPOSITORY)
