"""Notebooks as Jupyter writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence


def notebook(*cells: str | tuple[str, str], executed: Sequence[int | None] = (), language: str = "python") -> str:
    """Return a notebook; a cell that is no text alone is its type and its text."""
    return json.dumps(
        {
            "cells": [_cell(cell, number, executed) for number, cell in enumerate(cells)],
            "metadata": {"kernelspec": {"language": language, "name": "a kernel"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        },
        indent=1,
    )


def _cell(cell: str | tuple[str, str], number: int, executed: Sequence[int | None]) -> dict[str, object]:
    kind, text = cell if isinstance(cell, tuple) else ("code", cell)
    count = executed[number] if number < len(executed) else None
    return {"cell_type": kind, "execution_count": count, "metadata": {}, "source": text.splitlines(keepends=True)}
