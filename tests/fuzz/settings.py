"""Changed configuration files, which are read or refused in one line."""

from __future__ import annotations

import random
from pathlib import Path

from gradlint.report.printable import printable
from gradlint.settings.config import ConfigError
from gradlint.settings.file import load
from gradlint.settings.keys import KEY_OF
from gradlint.source.discover import excludes

_VALUES = [
    "true",
    "1",
    '"GRD1"',
    '["GRD101"]',
    '["a*", "[", "!b", ""]',
    "[[]]",
    "{a = []}",
    '{"a*" = ["GRD1"]}',
    "'",
    "1e999",
]
_VALUES += ['["\\u0000"]', '"full"', '["ALL"]', "{}", "[1]", "1979-05-27", '"\\u202e"', '["[[:alpha:]"]', "nan"]


def configuration(rng: random.Random) -> str:
    """Return the text of a `gradlint.toml`, which need not be TOML."""
    keys = [rng.choice([*KEY_OF, "tool", "selekt", '"a b"', ""]) for _ in range(rng.randint(0, 4))]
    return "".join(f"{key} = {rng.choice(_VALUES)}{rng.choice(['', ' ', chr(0), ' #'])}\n" for key in keys)


def check_configuration(text: str, folder: Path) -> None:
    """Read a configuration and use its patterns; a mistake in it is no crash."""
    path = folder / "gradlint.toml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        config = load(path)
    except ConfigError as error:
        assert printable(str(error)).isprintable(), "an error must be one line that a terminal can show"
        return
    excludes(config, folder / "a" / "b.py", is_directory=False)
    for ignore in config.per_file_ignores:
        assert ignore.codes is not None
