"""What is generated from the keys of the configuration and from the options: parts of a page, and the JSON schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import click

from gradlint.entrypoints.check import check
from gradlint.settings.keys import KEYS, Key, Kind
from gradlint.settings.layers import PRESETS
from gradlint.settings.template import shown_value
from gradlint.settings.toml import as_toml

_VALUES = {
    "flag": "`true` or `false`",
    "text": "a string",
    "release": "a string such as `2.4`",
    "codes": "a list of codes, prefixes of codes, names of rules, or `ALL`",
    "patterns": "a list of patterns as in `.gitignore`",
    "table of codes": "a table from patterns to lists as those of `select`",
    "table of severities": "a table from codes, prefixes or names to severities",
}
_WORD = {"type": "string", "pattern": "^(ALL|GRD[0-9]{0,3}|[a-z][a-z0-9-]*)$"}
_CODES: dict[str, object] = {"type": "array", "items": _WORD}


def filled(page: str) -> str:
    """Return a page with what is generated between its markers, `<!-- begin NAME -->` and `<!-- end NAME -->`."""
    for name, lines in {"keys": _keys(), "presets": _presets(), "options": _options()}.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, found, rest = page.partition(begin)
        _, ended, after = rest.partition(end)
        assert found and ended, f"the page must have the markers of `{name}`"
        page = before + "\n".join((begin, "", *lines, "", end)) + after
    return page


def schema() -> str:
    """Return the JSON schema of a `gradlint.toml` and of `[tool.gradlint]`, in the form of SchemaStore."""
    document = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://json.schemastore.org/gradlint.json",
        "title": "gradlint",
        "description": "Configuration of gradlint, a linter of autograd in PyTorch programs.",
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: _property(key) for key in KEYS},
    }
    return json.dumps(document, indent=2) + "\n"


def _property(key: Key) -> dict[str, object]:
    default = {} if key.default is None else {"default": key.default}
    example = {} if key.example is None else {"examples": [key.example]}
    return {"description": key.meaning, **_type(key), **default, **example}


def _type(key: Key) -> dict[str, object]:
    choice: dict[str, object] = {"type": "string", "enum": list(key.choices)}
    types: dict[Kind, dict[str, object]] = {
        "flag": {"type": "boolean"},
        "text": {"type": "string"},
        "release": {"type": "string", "pattern": "^[0-9]+[.][0-9]+"},
        "choice": choice,
        "codes": _CODES,
        "patterns": {"type": "array", "items": {"type": "string"}},
        "table of codes": {"type": "object", "additionalProperties": _CODES},
        "table of severities": {"type": "object", "propertyNames": _WORD, "additionalProperties": choice},
    }
    return types[key.kind]


def _keys() -> Iterator[str]:
    for key in KEYS:
        default = "none" if key.default is None else f"`{as_toml(key.default)}`"
        value = f"one of {', '.join(f'`{one}`' for one in key.choices)}" if key.kind == "choice" else _VALUES[key.kind]
        yield from (f"### `{key.name}`", "", key.meaning, "", f"- Value: {value}", f"- Default: {default}")
        yield from [f"- Option: `{key.option}`"] * (key.option is not None)
        yield from [f"- In several layers: {'all count' if key.adds else 'the last one counts'}", ""]
        yield from ("```toml", f"{key.name} = {as_toml(key.example or shown_value(key))}", "```", "")


def _presets() -> Iterator[str]:
    names = [key.name for key in KEYS if any(key.name in preset for preset in PRESETS.values())]
    yield f"| preset | rules | {' | '.join(f'`{name}`' for name in names)} |"
    yield f"|---|---|{'---|' * len(names)}"
    for name, values in PRESETS.items():
        rules = "all but those of the preview" if name == "strict" else "those that are on by default"
        yield f"| `{name}` | {rules} | {' | '.join(f'`{values[key]}`' for key in names)} |"


def _options() -> Iterator[str]:
    return option_table(check, click.Context(check, help_option_names=["-h", "--help"]))


def option_table(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the rows of a table of a command's options."""
    yield "| option | meaning | default |"
    yield "|---|---|---|"
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option) and not parameter.hidden:
            yield f"| {_spelling(parameter, context)} | {_meaning(parameter)} | {_default(parameter, command)} |"


def _spelling(option: click.Option, context: click.Context) -> str:
    names = "`, `".join((*option.opts, *option.secondary_opts))
    is_number = isinstance(option.type, click.types.FloatParamType)
    value = "" if option.is_flag else " N" if is_number else f" {option.make_metavar(context)}"
    return cell(f"`{names}{value}`")


def _meaning(option: click.Option) -> str:
    return cell(re.sub(r" \[default: .*\]", "", option.help or ""))


def cell(text: str) -> str:
    """Return a text as it is written in a cell of a table."""
    return text.replace("|", "\\|")


def _default(option: click.Option, command: click.Command) -> str:
    """Return the default as the option has it, or as the key of the same name; keys are those of `gradlint check`."""
    stated = re.search(r"\[default: (.*)\]", option.help or "")
    keys = KEYS if command is check else ()
    of_key = next((key for key in keys if key.option in option.opts and key.default not in (None, (), {})), None)
    if stated is not None:
        return f"`{stated[1]}`"
    if of_key is not None:
        return f"as the key `{of_key.name}`"
    return f"`{option.default}`" if option.show_default else ""
