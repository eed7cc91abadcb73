"""Check documents against the schemas of formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import validators
from referencing import Registry

import gradlint.report

PUBLISHED = Path(__file__).parents[1] / "report" / "schemas"
OURS = Path(gradlint.report.__file__).parent / "schemas" / "findings-1.json"


def read(path: Path) -> dict[str, Any]:
    """The schema in a file."""
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema


def mistakes(document: object, schema: dict[str, Any]) -> list[str]:
    """What is wrong with a document; nothing is fetched."""
    kind = validators.validator_for(schema)
    kind.check_schema(schema)
    validator = kind(schema, registry=Registry(), format_checker=kind.FORMAT_CHECKER)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]
