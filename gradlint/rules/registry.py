"""The rules, discovered in the files of the families, and those of plugins; one that fails to load stops the run."""

from __future__ import annotations

import importlib
import pkgutil
import re
from abc import ABCMeta
from functools import cache
from types import ModuleType

from gradlint.plugins.installed import RULES, Plugin, plugins
from gradlint.rules.base import Rule
from gradlint.rules.house import house_rules

_FAMILIES = "files", "inplace", "backward", "lost_gradient", "numerics", "training_loop", "modules", "losses", "legacy"
_CODE = re.compile(r"GRD[0-8]\d\d")


def all_rules() -> tuple[Rule, ...]:
    """Return one instance of each rule, ordered by code: gradlint's own, and those of installed plugins.

    Raises:
        PluginError: a plugin is unusable.
    """
    return _with(plugins(RULES))


@cache
def _with(found: tuple[Plugin, ...]) -> tuple[Rule, ...]:
    own = own_rules()
    return ordered([*own, *house_rules(found, own)]) if found else own


@cache
def own_rules() -> tuple[Rule, ...]:
    """Return one instance of each rule of gradlint's own, ordered by code."""
    families = (importlib.import_module(f"gradlint.rules.{family}") for family in _FAMILIES)
    names = (
        f"{family.__name__}.{found.name}" for family in families for found in pkgutil.iter_modules(family.__path__)
    )
    return ordered([_rule_of(importlib.import_module(name)) for name in names])


def ordered(rules: list[Rule]) -> tuple[Rule, ...]:
    """Return the rules ordered by code, after checking that codes and names are unique."""
    seen: dict[str, str] = {}
    for rule in rules:
        for word in (rule.code, rule.name):
            if word in seen:
                raise RuntimeError(f"`{word}` is used by two rules: {seen[word]} and {type(rule).__name__}")
            seen[word] = type(rule).__name__
    return tuple(sorted(rules, key=lambda rule: rule.code))


def rules_about(word: str) -> tuple[Rule, ...]:
    """Return the rules that a code, a prefix of a code, or a name refers to."""
    return tuple(rule for rule in all_rules() if rule.name == word or rule.code.startswith(word))


def _rule_of(module: ModuleType) -> Rule:
    """Return the one rule of a file; file, class, and name must match, and the code must be well formed."""
    classes = [
        member
        for member in vars(module).values()
        if isinstance(member, ABCMeta) and member.__module__ == module.__name__ and issubclass(member, Rule)
    ]
    file = module.__name__.rpartition(".")[2]
    place = f"{module.__name__.replace('.', '/')}.py"
    if len(classes) != 1:
        raise RuntimeError(f"{place} must define exactly one rule, but defines {len(classes)}")
    rule = classes[0]()
    if (rule.name, type(rule).__name__.lower()) != (file.replace("_", "-"), file.replace("_", "")):
        raise RuntimeError(
            f"{place} defines {type(rule).__name__}, named `{rule.name}`: file, class and name must match"
        )
    if not _CODE.fullmatch(rule.code):
        raise RuntimeError(f"{place} has the code `{rule.code}`, which is not of the form GRD123")
    return rule
