"""Pages in Chinese: which English text each translates, and at which version.

A translation names the hash of its English source. Of a rule that is its documentation without the examples, which the
Chinese page takes from the rule itself; of a page its prose and its programs, without what commands print. A test fails
where a source has changed; `python -m tools.translations` says where, and with `--accept` writes the new hashes once
the translations have followed.
"""

# ruff: noqa: RUF001
# Chinese prose has full-width punctuation.

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gradlint.report.rule_page import page
from gradlint.rules.base import Rule

ROOT = Path(__file__).resolve().parents[2]
RULES = Path(__file__).with_name("rules.zh.md")
FOLDER = ROOT / "docs" / "zh" / "rules"
PAGES = {
    "README.zh-CN.md": "README.md",
    "docs/zh/index.md": "docs/index.md",
    "docs/zh/tutorial.md": "docs/tutorial.md",
}
"""Each translated page and its source."""

HEADINGS = ("PyTorch 的行为", "为什么要紧", "什么时候可能误报", "怎么改")
EFFECTS = {
    "raises": "PyTorch 会报错",
    "silent": "梯度错误、缺失、为零或 NaN，而 PyTorch 没有提示",
    "leak": "内存或时间不断增长",
    "fragile": "目前能运行，但掩盖了错误",
}
SEVERITIES = {"error": "错误", "warning": "警告", "info": "提示"}

_SECTION = re.compile(r"^# (?P<code>GRD\d{3}) (?P<hash>\S+)\n\n(?P<text>.*?)(?=\n+^# GRD|\Z)", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!-- translates (?P<source>\S+) at (?P<hash>\S+) -->")
_OUTPUT = re.compile(r"^```(console|sh)\n.*?^```$", re.MULTILINE | re.DOTALL)


class Translation(NamedTuple):
    """A rule in Chinese: the hash of what was translated, and its paragraphs."""

    code: str
    hash: str
    paragraphs: tuple[str, ...]


def translations() -> dict[str, Translation]:
    """Return the rules in Chinese by code."""
    found = _SECTION.finditer(RULES.read_text(encoding="utf-8"))
    sections = [Translation(one["code"], one["hash"], tuple(one["text"].strip().split("\n\n"))) for one in found]
    return {one.code: one for one in sections}


def pages(rules: Sequence[Rule]) -> dict[str, str]:
    """Return the Chinese pages of rules, and their index, by file name."""
    by_code = {rule.code: rule for rule in rules}
    translated = [(by_code[code], one) for code, one in sorted(translations().items()) if code in by_code]
    return {
        "index.md": _index(translated, len(rules)),
        **{filename(rule): _page(rule, one) for rule, one in translated},
    }


def filename(rule: Rule) -> str:
    """Return the name of the page of a rule, which is the same in both languages."""
    return f"{rule.code}-{rule.name}.md"


def stale(rules: Sequence[Rule]) -> list[str]:
    """Say which translations are older than their source."""
    by_code = {rule.code: rule for rule in rules}
    complaints = [
        f"tools/translations/rules.zh.md: {code}: the documentation of the rule has changed"
        for code, one in translations().items()
        if code not in by_code or one.hash != hash_of_rule(by_code[code])
    ]
    for name, source in PAGES.items():
        mark = _MARK.search((ROOT / name).read_text(encoding="utf-8"))
        if mark is None or (mark["source"], mark["hash"]) != (source, hash_of_page(ROOT / source)):
            complaints.append(f"{name}: {source} has changed")
    return complaints


def accept(rules: Sequence[Rule]) -> None:
    """Write the hashes of today's sources."""
    by_code = {rule.code: rule for rule in rules}
    text = RULES.read_text(encoding="utf-8")
    heads = re.sub(r"^# (GRD\d{3}) \S+$", lambda m: f"# {m[1]} {hash_of_rule(by_code[m[1]])}", text, flags=re.MULTILINE)
    RULES.write_text(heads, encoding="utf-8")
    for name, source in PAGES.items():
        mark = f"<!-- translates {source} at {hash_of_page(ROOT / source)} -->"
        path = ROOT / name
        path.write_text(_MARK.sub(mark, path.read_text(encoding="utf-8")), encoding="utf-8")


def hash_of_rule(rule: Rule) -> str:
    """Return the hash of a rule's documentation."""
    return _hash(inspect.cleandoc(rule.__doc__ or ""))


def hash_of_page(path: Path) -> str:
    """Return the hash of a page without what commands print."""
    return _hash(_OUTPUT.sub("", path.read_text(encoding="utf-8")))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _page(rule: Rule, translation: Translation) -> str:
    summary, *paragraphs = translation.paragraphs
    assert len(paragraphs) == len(HEADINGS), f"{rule.code} has a paragraph for each heading"
    english = f"../../rules/{filename(rule)}"
    lines = [
        f"# {rule.code} {rule.name}",
        "",
        f"<!-- translates {rule.code} at {translation.hash} -->",
        "",
        summary,
        "",
    ]
    lines += [f"后果：{EFFECTS[rule.effect]}。级别：{SEVERITIES[rule.severity]}。[英文版]({english})。", ""]
    for heading, paragraph in zip(HEADINGS, paragraphs, strict=True):
        lines += [f"## {heading}", "", paragraph, ""]
    lines += _examples(page(rule))
    lines += ["## 忽略这条规则", "", f"在这一行写 `# gradlint: ignore[{rule.code}]`。整个项目：", ""]
    lines += ["```toml", "[tool.gradlint]", f'ignore = ["{rule.name}"]', "```", ""]
    return "\n".join(lines)


def _examples(english: str) -> list[str]:
    titles = {"Reported": "会报告的写法", "Right": "正确的写法"}
    found = re.findall(r"^## (Reported|Right)\n\n(```python\n.*?^```)$", english, re.MULTILINE | re.DOTALL)
    return [line for title, code in found for line in (f"## {titles[title]}", "", code, "")]


def _index(translated: Sequence[tuple[Rule, Translation]], total: int) -> str:
    lines = ["# 常见规则", "", f"gradlint 共有 {total} 条规则，这里是最常见的 {len(translated)} 条。"]
    lines += ["全部规则见[英文版](../../rules/index.md)。", "", "| 代码 | 名称 | 问题 |", "|---|---|---|"]
    lines += [f"| [{r.code}]({filename(r)}) | `{r.name}` | {one.paragraphs[0]} |" for r, one in translated]
    return "\n".join([*lines, ""])
