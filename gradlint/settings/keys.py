"""The keys of the configuration, defined once: for the reader, the documentation, the schema, and `init`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from gradlint.domain.finding import SEVERITIES, Severity
from gradlint.domain.frozen import Frozen

Kind: TypeAlias = Literal[
    "flag", "choice", "text", "release", "codes", "patterns", "table of codes", "table of severities"
]
"""What a value must be: true or false; one of some words; a string; a release of torch; a list of strings that name
rules, or that are patterns; a table from patterns to lists that name rules, or from names of rules to severities."""

FORMATS = (
    *("concise", "full", "grouped", "json", "json-lines", "github", "sarif", "gitlab", "junit", "rdjson"),
    *("azure", "pylint", "markdown", "html"),
)
"""The formats, each written by the module of its name in `gradlint.report.formats`."""
NEVER = "never"
PRESET_NAMES = ("default", "strict", "education")
DEFAULT_EXCLUDE = (
    *(".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pytype"),
    *(".pytest_cache", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__"),
    *("_build", "buck-out", "dist", "node_modules", "site-packages", "venv"),
)


DEFAULT_FORMAT = "concise"
DEFAULT_MIN_SEVERITY: Severity = "info"
DEFAULT_FAIL_ON: Severity = "warning"


class Key(Frozen):
    """A key: what its value must be, the value that holds without it, what it means, and the option that says the same.

    `default` is None where nothing holds without the key. `adds`: where several layers have the key, all count, and
    otherwise the last one. `example` is a value to show.
    """

    name: str
    kind: Kind
    meaning: str
    default: object = None
    option: str | None = None
    choices: tuple[str, ...] = ()
    adds: bool = False
    example: object = None

    @property
    def field(self) -> str:
        """Return the name of the field of `Config` that holds the value."""
        return self.name.replace("-", "_")


KEYS = (
    Key(
        "extend",
        "text",
        "Read another configuration file first, named relative to this one; the keys of this one override its keys.",
        example="../gradlint.toml",
    ),
    Key(
        "preset",
        "choice",
        "Start from the values of a preset; the other keys override them.",
        default="default",
        option="--preset",
        choices=PRESET_NAMES,
    ),
    Key(
        "select",
        "codes",
        "Use only these rules: codes, prefixes of codes, names, or `ALL`. The longer prefix wins over `ignore`. "
        "Files that cannot be read (GRD001, GRD002) are reported all the same.",
        option="--select",
        example=["GRD1", "GRD301"],
    ),
    Key("extend-select", "codes", "Use these rules as well.", (), "--extend-select", adds=True, example=["GRD627"]),
    Key("ignore", "codes", "Do not use these rules.", (), "--ignore", adds=True, example=["leaf-inplace"]),
    Key("preview", "flag", "Also use the preview rules, which may still change.", default=False, option="--preview"),
    Key(
        "per-file-ignores",
        "table of codes",
        "Ignore rules in the files that a pattern, as in `.gitignore`, matches.",
        {},
        "--per-file-ignores",
        adds=True,
        example={"tests/*": ["GRD3"]},
    ),
    Key(
        "severity",
        "table of severities",
        "Give the findings of some rules another severity: `error`, `warning` or `info`. The longest prefix wins.",
        {},
        adds=True,
        choices=SEVERITIES,
        example={"GRD301": "warning"},
    ),
    Key(
        "min-severity",
        "choice",
        "Report only findings of this severity or a higher one.",
        DEFAULT_MIN_SEVERITY,
        "--min-severity",
        SEVERITIES,
    ),
    Key(
        "fail-on",
        "choice",
        "Exit with 1 only if there is a finding of this severity or a higher one.",
        DEFAULT_FAIL_ON,
        "--fail-on",
        (*SEVERITIES, NEVER),
    ),
    Key(
        "exclude",
        "patterns",
        "Exclude files and directories: by name, wherever they are, or by a pattern with a slash, from the root.",
        DEFAULT_EXCLUDE,
        "--exclude",
        example=["vendored", "docs/*"],
    ),
    Key(
        "extend-exclude",
        "patterns",
        "Exclude these as well.",
        (),
        "--extend-exclude",
        adds=True,
        example=["scratch"],
    ),
    Key(
        "extend-include",
        "patterns",
        "Also check files in directories that match patterns as in `.gitignore`: `*.md` for Python in Markdown.",
        (),
        "--extend-include",
        adds=True,
        example=["*.md"],
    ),
    Key("respect-gitignore", "flag", "Exclude what git ignores.", True),
    Key("output-format", "choice", "The format of the findings.", DEFAULT_FORMAT, "--output-format", FORMATS),
    Key(
        "fix",
        "flag",
        "Apply fixes. Without `--fix` this counts only in a file that is named with `--config`.",
        False,
        "--fix",
    ),
    Key("unsafe-fixes", "flag", "Also offer and apply fixes that may change values.", False, "--unsafe-fixes"),
    Key("fixable", "codes", "Fix only the findings of these rules.", ("ALL",), "--fixable", example=["GRD3"]),
    Key(
        "unfixable",
        "codes",
        "Do not fix the findings of these rules; the longer prefix wins.",
        (),
        "--unfixable",
        adds=True,
        example=["GRD103"],
    ),
    Key(
        "torch",
        "release",
        "The release of torch that the project uses: names and arguments that it lacks are reported, and none that "
        "it has. Without it that of the Python environment, if gradlint knows it.",
        option="--torch",
        example="2.4",
    ),
    Key(
        "python",
        "text",
        "The Python environment whose packages are read: its directory or its interpreter. Without it `.venv` or "
        "`venv` in the root, or the active one.",
        option="--python",
        example="../env",
    ),
    Key(
        "baseline",
        "text",
        "Do not report the findings listed in this file, which `--write-baseline` writes.",
        option="--baseline",
        example="gradlint-baseline.json",
    ),
)

KEY_OF = {key.name: key for key in KEYS}


class Layer(Frozen):
    """Checked values by key; `origin` says where they come from, and `folder` is where paths in them begin."""

    origin: str
    folder: Path
    values: Mapping[str, Any] = field(default_factory=dict)
