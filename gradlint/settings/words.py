"""Words of the user that name nothing, and what may have been meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gradlint.domain.near_words import did_you_mean, near_words
from gradlint.rules.house import OURS
from gradlint.rules.registry import all_rules
from gradlint.settings.config import ConfigError
from gradlint.settings.selection import unknown_word

_CODE = re.compile(r"([A-Za-z]+)\d\w*")
NO_RULE = "is not the code, the prefix of a code, or the name of a rule"
_MOST = 3
"""So many codes may be offered; more would be a guess."""


def check_words(words: Iterable[str], where: str) -> None:
    """Refuse a word that names no rule, and offer the closest one that does."""
    rules = all_rules()
    word = unknown_word(words, rules)
    if word is None:
        return
    code = _CODE.fullmatch(word)
    if code is not None and not any(rule.code.startswith(code[1].upper()) for rule in rules):
        raise ConfigError(f"{where}: `{word}` is not a code of gradlint: these begin with {OURS}")
    near = _near_codes(word, [rule.code for rule in rules]) if code else near_words(word, (rule.name for rule in rules))
    raise ConfigError(f"{where}: `{word}` {NO_RULE}{did_you_mean(near)}")


def _near_codes(word: str, known: Sequence[str]) -> list[str]:
    """Return the code that a slip of one letter may have turned into the word, of the same hundred; not a guess."""
    upper = word.upper()
    near = [code for code in known if code[:4] == upper[:4] and _is_one_edit(upper, code)]
    return [upper] if upper in known else near if len(near) <= _MOST else []


def _is_one_edit(word: str, code: str) -> bool:
    """Return whether one letter less, more, or other than in the word gives the code."""
    if len(word) == len(code):
        return sum(a != b for a, b in zip(word, code, strict=True)) == 1
    longer, shorter = (word, code) if len(word) > len(code) else (code, word)
    return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))
