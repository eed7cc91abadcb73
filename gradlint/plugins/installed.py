"""Which plugins are installed, and what they hold.

A plugin is an entry point of an installed distribution: in the group `gradlint.rules` a module with rules and
detectors, in `gradlint.models` a mapping that says what the names of a library behave like. What is checked must not
run: neither the current directory nor anything below it is searched, except the folders in which Python itself keeps
what is installed, such as those of an environment in `.venv`.
"""

from __future__ import annotations

import importlib.util
import os
import re
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gradlint.domain.frozen import Frozen

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

RULES, MODELS = "gradlint.rules", "gradlint.models"
WITHOUT = "; `--no-plugins` goes without"

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\.\*)?")


class PluginError(Exception):
    """A mistake in a plugin, in one line for the user; nothing is checked, for silence must not look like praise."""


class Plugin(Frozen):
    """What one entry point gives: of the group `gradlint.rules` a module, of `gradlint.models` a mapping."""

    package: str
    """The distribution, with its version."""
    group: str
    name: str
    value: object

    def refuse(self, why: str) -> PluginError:
        """Return the error that says what is wrong with it."""
        return PluginError(f"plugin `{self.name}` of {self.package}: {why}{WITHOUT}")


_switched_off = 0


@contextmanager
def switched_off() -> Iterator[None]:
    """Go without plugins: none is looked for, none is loaded."""
    global _switched_off
    _switched_off += 1
    try:
        yield
    finally:
        _switched_off -= 1


def is_switched_off() -> bool:
    """Return whether plugins are gone without."""
    return _switched_off > 0


def plugins(group: str) -> tuple[Plugin, ...]:
    """Return the plugins of one group, ordered by package and name; all are loaded at once.

    Raises:
        PluginError: one cannot be loaded, or is of the wrong kind.
    """
    return () if _switched_off else tuple(plugin for plugin in _installed() if plugin.group == group)


def models() -> Mapping[str, str]:
    """Return what the names of libraries behave like: `mylib.Linear` like `torch.nn.Linear`, `mylib.nn.*` likewise."""
    return {} if _switched_off else _models()


def likened(path: str) -> str | None:
    """Return the path of that which a name of a library behaves like; None if no plugin speaks of it."""
    known = models()
    if not known:
        return None
    if path in known:
        return known[path]
    folders = (path[:end] for end in range(len(path) - 1, 0, -1) if path[end] == ".")
    below = next((folder for folder in folders if f"{folder}.*" in known), None)
    return None if below is None else known[f"{below}.*"].removesuffix("*") + path[len(below) + 1 :]


def libraries() -> frozenset[str]:
    """Return the libraries of which models speak: a file that names one is about torch."""
    return frozenset(path.partition(".")[0] for path in models())


@cache
def _installed() -> tuple[Plugin, ...]:
    places = folders()
    if not any(map(_has_entry_points, places)):
        return ()
    found = sorted(_entry_points(places), key=lambda one: (one[0], one[1].group, one[1].name))
    with _searching(places):
        return tuple(_loaded(package, entry) for package, entry in found)


@cache
def _models() -> dict[str, str]:
    """All models. A name that two plugins speak of, each in its own way, is refused."""
    known: dict[str, str] = {}
    for plugin in plugins(MODELS):
        assert isinstance(plugin.value, Mapping), "it was refused when it was loaded"
        for path, target in plugin.value.items():
            if known.setdefault(path, target) != target:
                raise plugin.refuse(f"`{path}` behaves like `{target}`, and another plugin says `{known[path]}`")
    return known


def folders() -> list[str]:
    """Return where installed packages are searched: what Python searches, without what is checked."""
    own = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()}
    own |= {site.getusersitepackages()} if site.ENABLE_USER_SITE else set()
    kept = {os.path.realpath(path) for path in own}
    return [path for path in sys.path if os.path.realpath(path) in kept or not _is_checked(path)]


def _is_checked(path: str) -> bool:
    """Return whether a path is the current directory, or below it; an empty one is."""
    return _is_below(path or os.curdir, [os.path.realpath(os.curdir)])


def _has_entry_points(place: str) -> bool:
    """Return whether some metadata in a folder name one of our groups; `importlib.metadata` takes 0.05 s to tell."""
    try:
        names = os.listdir(place)
    except OSError:
        return False  # `sys.path` may name what is not there, or an archive.
    files = (Path(place, name, "entry_points.txt") for name in names if name.endswith((".dist-info", ".egg-info")))
    return any(_names_our_groups(file) for file in files)


def _names_our_groups(file: Path) -> bool:
    try:
        content = file.read_bytes()
    except OSError:
        return False  # Most packages have no entry points.
    return f"[{RULES}]".encode() in content or f"[{MODELS}]".encode() in content


def _entry_points(places: list[str]) -> Iterator[tuple[str, EntryPoint]]:
    """Yield our entry points with their packages; of two versions of one package, the first that is found counts."""
    from importlib.metadata import distributions

    seen: set[str] = set()
    for distribution in distributions(path=places):
        ours = [entry for entry in distribution.entry_points if entry.group in (RULES, MODELS)]
        if ours and distribution.metadata["Name"] not in seen:
            seen.add(distribution.metadata["Name"])
            yield from ((_shown(distribution), entry) for entry in ours)


def _shown(distribution: Distribution) -> str:
    return f"{distribution.metadata['Name']} {distribution.version}"


@contextmanager
def _searching(places: list[str]) -> Iterator[None]:
    """Import from these folders only."""
    former, sys.path[:] = sys.path[:], places
    try:
        yield
    finally:
        sys.path[:] = former


def _loaded(package: str, entry: EntryPoint) -> Plugin:
    plugin = Plugin(package, entry.group, entry.name, None)
    try:
        _require_outside(plugin, entry.module)
        value = entry.load()
    except PluginError:
        raise
    except Exception as error:
        words = " ".join(str(error).split())
        raise plugin.refuse(f"it cannot be loaded: {type(error).__name__}: {words}") from error
    if entry.group == RULES and entry.attr:
        raise plugin.refuse(f"`{entry.value}` must name a module, without `:{entry.attr}`")
    if entry.group == MODELS:
        _require_models(plugin, entry, value)
    return Plugin(package, entry.group, entry.name, value)


def _require_outside(plugin: Plugin, module: str) -> None:
    """Refuse a module that Python would take from the current directory, by whatever way: an editable install."""
    spec = importlib.util.find_spec(module.partition(".")[0])
    if spec is None:
        raise plugin.refuse(f"there is no module `{module}`")
    places = [*(spec.submodule_search_locations or ()), *([spec.origin] if spec.has_location and spec.origin else ())]
    kept = {os.path.realpath(path) for path in folders()}
    inside = [one for one in places if _is_checked(one) and not _is_below(one, kept)]
    if inside:
        raise plugin.refuse(f"`{inside[0]}` is in the current directory, from which nothing is loaded")


def _is_below(path: str, kept: Iterable[str]) -> bool:
    inside = os.path.join(os.path.realpath(path), "")
    return any(inside.startswith(os.path.join(folder, "")) for folder in kept)


def _require_models(plugin: Plugin, entry: EntryPoint, value: object) -> None:
    """Refuse what is no mapping from dotted names to dotted names, with a star at the end of both or of neither."""
    if not isinstance(value, Mapping):
        raise plugin.refuse(f"`{entry.value}` must be a mapping from names to names, as in `package.module:MODELS`")
    for path, target in value.items():
        if not (isinstance(path, str) and isinstance(target, str) and _DOTTED.fullmatch(path)):
            raise plugin.refuse(f"{path!r} is no dotted name, such as `mylib.layers.Linear` or `mylib.layers.*`")
        if not _DOTTED.fullmatch(target) or path.endswith("*") != target.endswith("*"):
            raise plugin.refuse(f"`{path}` cannot behave like {target!r}: it must be a name of the same form")
        if path.startswith("torch."):
            raise plugin.refuse(f"`{path}`: torch itself is known")
