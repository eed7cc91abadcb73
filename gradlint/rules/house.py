"""The rules of plugins: found in their modules, and held to a prefix of their own."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence

from gradlint.domain.finding import SEVERITY_OF
from gradlint.plugins.installed import Plugin
from gradlint.rules.base import Rule

_CODE = re.compile(r"([A-Z]{2,5})\d{1,4}")
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
OURS = "GRD"
"""The letters at the beginning of the codes of gradlint's own rules."""
_EFFECTS = tuple(effect for effect in SEVERITY_OF if effect != "invalid")


def house_rules(plugins: Sequence[Plugin], own: Iterable[Rule]) -> list[Rule]:
    """Return one instance of each rule of the plugins.

    Raises:
        PluginError: one cannot stand beside the others.
    """
    words = {word: rule for rule in own for word in (rule.code, rule.name)}
    owners = {OURS: "gradlint"}
    found = []
    for plugin in plugins:
        for rule in _rules_in(plugin):
            _require_prefix(plugin, rule, owners)
            for word in (rule.code, rule.name):
                if word in words:
                    raise plugin.refuse(f"`{word}` is taken: {words[word].code} `{words[word].name}` is another rule")
                words[word] = rule
            found.append(rule)
    return found


def prefix_of(code: str) -> str:
    """Return the letters at the beginning of a code, which say whose it is."""
    return code.rstrip("0123456789")


def _rules_in(plugin: Plugin) -> Iterator[Rule]:
    """Yield the rules that the plugin's module defines: its classes that have a code."""
    for member in vars(plugin.value).values():
        is_rule = isinstance(member, type) and issubclass(member, Rule) and hasattr(member, "code")
        if is_rule and member.__module__ == getattr(plugin.value, "__name__", None):
            yield _made(plugin, member)


def _made(plugin: Plugin, kind: type[Rule]) -> Rule:
    lacking = [name for name in ("name", "effect") if not hasattr(kind, name)]
    lacking += sorted(getattr(kind, "__abstractmethods__", ()))
    if lacking or inspect.isabstract(kind):
        raise plugin.refuse(f"{kind.__name__} lacks `{'`, `'.join(lacking)}`")
    if kind.effect not in _EFFECTS:
        raise plugin.refuse(f"{kind.__name__}: the effect `{kind.effect}` is none of {', '.join(_EFFECTS)}")
    if not _NAME.fullmatch(kind.name):
        raise plugin.refuse(f"{kind.__name__}: the name `{kind.name}` is not of the form `lower-case-words`")
    rule = kind()
    rule.plugin = plugin.package
    return rule


def _require_prefix(plugin: Plugin, rule: Rule, owners: dict[str, str]) -> None:
    """Refuse a code whose letters are not the plugin's own: no other's letters may begin them, or begin with them."""
    found = _CODE.fullmatch(rule.code)
    if found is None:
        raise plugin.refuse(f"the code `{rule.code}` is not of the form ABC101: two to five letters, and digits")
    for prefix, owner in owners.items():
        if owner != plugin.package and (prefix.startswith(found[1]) or found[1].startswith(prefix)):
            raise plugin.refuse(f"the code `{rule.code}` is too like those of {owner}, which begin with `{prefix}`")
    owners[found[1]] = plugin.package
