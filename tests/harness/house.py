"""A package of plugins, installed by hand: its files, and the metadata that an installer would write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

NAME = "acme-gradlint"
VERSION = "1.2"


def install(folder: Path, files: Mapping[str, str], groups: Mapping[str, str], name: str = NAME) -> Path:
    """Write a distribution with these files into a folder; `groups` are its entry points, by their group."""
    for file, text in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    metadata = folder / f"{name.replace('-', '_')}-{VERSION}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSION}\n", encoding="utf-8")
    entries = "\n".join(f"[{group}]\nacme = {value}\n" for group, value in groups.items())
    (metadata / "entry_points.txt").write_text(entries, encoding="utf-8")
    return folder
