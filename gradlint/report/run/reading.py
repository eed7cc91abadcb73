"""The summary of a run, read from its JSON."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from gradlint.domain.run import Rows, Run, Series
from gradlint.settings.config import ConfigError

KIND = "gradlint run"
VERSION = 1


def read(path: Path, option: str) -> Run:
    """Return a run from a file; raise `ConfigError` for what is none."""
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{option}: {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigError(f"{option}: {path} is no JSON") from error
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise ConfigError(f"{option}: {path} is no summary of a run, which `gradlint run --summary {path}` writes")
    if data.get("version") != VERSION:
        raise ConfigError(f"{option}: {path} is of another version of gradlint; run the program again")
    try:
        return _run(data)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise ConfigError(f"{option}: {path} is damaged: {type(error).__name__}: {error}") from error


def _run(data: dict[str, Any]) -> Run:
    given = {one.name: data[one.name] for one in fields(Run) if one.name in data}
    given["files"] = {name: _rows(one) for name, one in data["files"].items()}
    given["occurred"] = tuple((str(a), str(b), int(c), int(d)) for a, b, c, d in data["occurred"])
    given["sought"] = tuple(map(str, data["sought"]))
    given["tensors"] = tuple((int(at), int(count)) for at, count in data.get("tensors", ()))
    given["parameters"] = tuple(_series(one) for one in data["parameters"])
    given["points"], given["losses"] = tuple(data["points"]), _numbers(data["losses"])
    return Run(**given)


def _rows(data: dict[str, Any]) -> Rows:
    return Rows(str(data["digest"]), tuple(map(int, data["rows"])), tuple(map(int, data["raised"])))


def _series(data: dict[str, Any]) -> Series:
    lists = {name: _numbers(data[name]) for name in ("gradients", "updates", "zeros")}
    return Series(**{**data, **lists, "shape": tuple(data["shape"])})


def _numbers(values: list[Any]) -> tuple[float | None, ...]:
    return tuple(None if one is None else float(one) for one in values)
