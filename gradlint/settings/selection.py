"""Which rules judge: `select`, `ignore`, and `extend-select`, by code or prefix, as in ruff.

What is asked for comes in layers, first the configuration file and then the command line. A layer with
`select` begins anew; the others change what the layers before them chose. Within a layer the longer prefix
wins, so that `--select GRD101 --ignore GRD1` leaves GRD101 on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from gradlint.domain.finding import Finding
from gradlint.domain.frozen import Frozen
from gradlint.rules.base import Rule

Named: TypeAlias = Rule | Finding

ALL = "ALL"
READING = "invalid"
"""The effect of the rules about files that cannot be read. They stay on under any `select`, for silence must not
look like praise; only `ignore` switches them off."""


class Selection(Frozen):
    """One layer of what is asked for; `select` is None where nothing was said."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def matches(word: str, rule: Named) -> bool:
    """Return whether a code, a prefix of one, a rule's name, or `ALL` speaks of the rule, or of a finding of it."""
    return word == ALL or rule.code.startswith(word) or rule.name == word


def unknown_word(words: Iterable[str], rules: Sequence[Rule]) -> str | None:
    """Return the first word that speaks of no rule at all."""
    return next((word for word in words if not any(matches(word, rule) for rule in rules)), None)


def select(
    rules: Sequence[Rule], layers: Iterable[Selection], *, stable: bool = False, preview: bool = False
) -> tuple[Rule, ...]:
    """Return the rules that the layers leave on.

    They begin from the rules that are on by default; with `stable` also from those that are not, and with `preview`
    from those that are still being tried out.
    """
    chosen = {rule.code for rule in rules if rule.default or (preview if rule.preview else stable)}
    for layer in layers:
        if layer.select is not None:
            chosen = {rule.code for rule in rules if rule.effect == READING}
        chosen = {rule.code for rule in rules if _is_chosen(rule, layer, rule.code in chosen)}
    return tuple(rule for rule in rules if rule.code in chosen)


def _is_chosen(rule: Rule, layer: Selection, before: bool) -> bool:
    chosen, ignored = longest(rule, (*(layer.select or ()), *layer.extend_select)), longest(rule, layer.ignore)
    return before if chosen == ignored == 0 else chosen > ignored


def longest(rule: Named, words: Iterable[str]) -> int:
    """Return how exactly the words name the rule: 0 for not at all, `ALL` least, then by length of the prefix."""
    return max((_exactness(word, rule) for word in words if matches(word, rule)), default=0)


def _exactness(word: str, rule: Named) -> int:
    if word == ALL:
        return 1
    return len(rule.code) if word == rule.name else len(word)
