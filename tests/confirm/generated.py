"""Programs that nobody would write, made from a seed: attacks in disguise, and walks over everything allowed.

    python -m tests.confirm.generated 20000 --seed 1 --run 200

An attack takes something harmful, makes its names the program's own, and passes it on under an alias: the gate refuses
each. A walk composes what the allowlist allows, in any order: what the gate lets through is not doubted by the second
reading, and when it runs it calls nothing unknown and meets no wall.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import click

from gradlint.confirm.gate import allowlist
from gradlint.confirm.gate.admit import admit
from gradlint.confirm.run.sandbox import Sandbox

CANARY = "/tmp/gradlint-canary"


class Harm(NamedTuple):
    """What an attack wants: an expression, the names in it that the program would have to call its own, and the use."""

    value: str
    names: tuple[str, ...] = ()
    use: str = "{}"


HARMS = (
    *(
        Harm(f"{module}.F", ("importlib", "import_module"), "{}.importlib.import_module('os')")
        for module in ("torch.nn.modules.linear", "torch.nn.modules.loss", "torch.distributions.transforms")
    ),
    *(
        Harm(f"torch.{name}", ("mkdir", "modules", "path"), "{}.mkdir('" + CANARY + "')")
        for name in ("os", "sys", "hub")
    ),
    Harm("torch.nn", ("functional", "os"), "{}.functional.torch.os"),
    *(Harm(name, (), "{}('1')") for name in ("eval", "exec", "open", "__import__", "compile", "vars", "input")),
    *(Harm(f"torch.{name}", (), "{}(1, '" + CANARY + "')") for name in ("save", "load", "compile", "jit.script")),
    Harm("numpy.save", (), "{}('" + CANARY + "', 1)"),
    Harm("torch.utils.data.DataLoader", (), "{}([1], 1, False, None, None, 2)"),
    Harm("functools.wraps", (), "{}(torch.nn.Linear, (), ('__glob' + 'als__',))(Own)"),
    Harm("functools.partial", (), "{}(*[print])()"),
    Harm("enum.Enum", (), "{}('E', {{'__reduce_' + 'ex__': print, 'A': 1}})"),
    Harm("dataclasses.dataclass", (), "{}(Own)"),
    Harm("copy.copy", (), "{}(*[Own])"),
    Harm("typing.Union", ("_evaluate",), "{}['print(1)']._evaluate({{}}, {{}}, frozenset())"),
    Harm("typing.TypeVar", (), "{}('T', bound='print(1)')"),
    Harm("type(int)", (), "{}('A', (), {{}})"),
    Harm("type", (), "{}('A', (), {{}})"),
    Harm("getattr", (), "{}(print, '__se' + 'lf__')"),
    Harm("(one for one in [1])", ("gi_frame", "f_globals"), "{}.gi_frame.f_globals"),
    Harm("(lambda: 1)", ("func_globals",), "{}.__globals__"),
    Harm("torch.ones(1)", ("_typed_storage", "_new_shared"), "{}._typed_storage()._untyped_storage._new_shared(8)"),
    Harm("torch.nn.Linear(1, 1)", ("_call_impl",), "{}._call_impl"),
    Harm("torch.nn.Linear", ("forward",), "setattr({}, 'forward', print)"),
    Harm("print", (), "{}.__self__"),
    Harm("().__class__", ("mro",), "{}.mro()"),
)

DISGUISES = (
    "",
    "print('{names}')",
    "class Names:\n    {equal} = None",
    "class Names:\n    def __init__(self):\n        self.{first} = 1",
    "import collections\nNames = collections.namedtuple('Names', '{public}')",
    "made = dict({keywords})",
    "class Names:\n    pass\nNames.{first} = 1\nsetattr(Names, '{first}', 1)",
    "class Names:\n    def {first}(self):\n        return self.{first}",
)

ALIASES = (
    "use({value})",
    "alias = {value}\nuse(alias)",
    "kept = [{value}]\nuse(kept[0])",
    "kept = {{'key': {value}}}\nuse(kept['key'])",
    "def passed(given={value}):\n    use(given)\npassed()",
    "use((lambda given: given)({value}))",
    "for alias in ({value},):\n    use(alias)",
    "first, *rest = {value}, 1\nuse(first)",
    "use((alias := {value}))",
    "class Holder:\n    held = {value}\nuse(Holder.held)",
    "class Holder:\n    def __init__(self):\n        self.held = {value}\nuse(Holder().held)",
    "class Holder:\n    def __call__(self, *given):\n        return {value}\nuse(Holder()())",
    "class Holder:\n    @property\n    def held(self):\n        return {value}\nuse(Holder().held)",
    "class Holder:\n    def __getitem__(self, index):\n        return {value}\nuse(Holder()[0])",
    "class Holder:\n    def __enter__(self):\n        return {value}\n    def __exit__(self, *given):\n        pass\n"
    "with Holder() as alias:\n    use(alias)",
    "def outer():\n    alias = {value}\n    def inner():\n        return alias\n    return inner\nuse(outer()())",
    "def made():\n    yield {value}\nuse(next(made()))",
    "use([given for given in [{value}]][0])",
    "use(max([{value}], key=id))",
    "def decorator(given):\n    return {value}\n@decorator\ndef alias():\n    pass\nuse(alias)",
    "try:\n    raise ValueError\nexcept ValueError:\n    alias = {value}\nuse(alias)",
    "import functools\nuse(functools.reduce(lambda one, other: other, [1, {value}]))",
)
"""Ways of a value to where it is used; `use` stands for that."""

_DIRECT = 0.3
IMPORTS = "import torch\nimport numpy\nimport functools\nimport enum\nimport dataclasses\nimport copy\nimport typing\n"


def attack(chance: random.Random) -> str:
    """Return a program that is to be refused."""
    harm, alias, disguise = chance.choice(HARMS), chance.choice(ALIASES), chance.choice(DISGUISES)
    names = harm.names or ("mkdir",)
    public = [name for name in names if not name.startswith("_")] or ["mkdir"]
    said = disguise.format(
        names=" ".join(names),
        equal=" = ".join(names),
        first=names[0],
        public=" ".join(public),
        keywords=", ".join(f"{name}=1" for name in names),
    )
    return f"{said}\n{harm_in(harm, None if chance.random() < _DIRECT else alias)}"


def harm_in(harm: Harm, alias: str | None) -> str:
    """Return a program in which something harmful comes to where it is used by an alias, or is used where it is."""
    used = f"class Own:\n    pass\ndef use(given):\n    return {harm.use.format('given')}\n"
    text = f"found = {harm.use.format(harm.value)}" if alias is None else alias.format(value=harm.value)
    return f"{IMPORTS}{used}{text}\n"


_LITERALS = ("0", "1", "2.5", "None", "'a'", repr(CANARY), "(2, 3)", "True", "[1, 2]", "lambda *given: 1")
_WRAPPED = ("[{0}]", "(lambda *given: {0})", "[one for one in [{0}]][0]", "{{'a': {0}}}['a']")
_USED = ("f'{{{0}}}'", "sorted([{0}], key={0})", "max({0}, default=1)", "({0} if {0} else 1)")
_OWN = ("held", "made", "_kept", "os", "update_")


class Walk:
    """A random program over everything that is allowed; it goes on after each error."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._paths = sorted(allowlist.paths())
        self._attributes = sorted(allowlist.attributes())
        self._special = sorted(allowlist.DEFINABLE - {"__init__"})
        self._own = chance.sample([*_OWN, *sorted(allowlist.FOREIGN)], 4)
        self._names = ["first"]
        self._modules: set[str] = set()

    def text(self, statements: int = 12) -> str:
        """Return the program."""
        body = "".join(
            f"try:\n{_indented(self._statement())}except Exception as error:\n    last = error\n"
            for _ in range(statements)
        )
        imports = "".join(f"import {name}\n" for name in sorted(self._modules))
        return f"{imports}first = last = 1\n{body}"

    def _statement(self) -> str:
        kind = self._chance.randrange(10)
        name = f"v{len(self._names)}"
        if kind < 5:
            text = f"{name} = {self._expression(3)}\n"
        elif kind == 5:
            text = f"{self._chance.choice(self._names)}.{self._chance.choice(self._own)} = {self._expression(2)}\n"
            name = self._names[0]
        elif kind == 6:
            text = f"@{self._path()}\ndef {name}(self, *given):\n    return {self._expression(2)}\n"
        elif kind == 7:
            text = f"with {self._expression(2)} as {name}:\n    print({name})\n"
        elif kind == 8:
            text = f"for {name} in {self._expression(2)}:\n    break\n"
        else:
            text = self._class(name)
        self._names.append(name)
        return text

    def _class(self, name: str) -> str:
        base = self._path() if self._chance.random() < 0.6 else "object"
        methods = [self._chance.choice(["__init__", *self._special]), self._chance.choice(self._own)]
        body = "".join(
            f"    def {one}(self, *given):\n        return {self._expression(2, 'self')}\n" for one in methods
        )
        return f"class {name}({base}):\n    {self._chance.choice(self._own)} = {self._expression(1)}\n{body}"

    def _expression(self, depth: int, *more: str) -> str:
        if depth == 0 or self._chance.random() < 0.2:
            return self._chance.choice([self._chance.choice([*self._names, *more]), self._literal(), self._path()])
        inner = self._expression(depth - 1, *more)
        kind = self._chance.randrange(10)
        if kind < 3:
            others = ", ".join(self._expression(0, *more) for _ in range(self._chance.randrange(3)))
            return f"{inner}({others})"
        if kind < 6:
            return f"({inner}).{self._attribute()}"
        if kind == 6:
            return f"({inner})[{self._literal()}]"
        if kind == 7:
            return self._chance.choice(_WRAPPED).format(inner)
        if kind == 8:
            return f"getattr({inner}, {self._attribute()!r})"
        return self._chance.choice(_USED).format(inner)

    def _attribute(self) -> str:
        return self._chance.choice([self._chance.choice(self._attributes)] * 4 + self._special[:1] + self._own)

    def _path(self) -> str:
        path = self._chance.choice(self._paths)
        module = next(m for m in _prefixes(path) if m in allowlist.MODULES)
        self._modules.add(module)
        return path

    def _literal(self) -> str:
        return self._chance.choice(_LITERALS)


def _prefixes(path: str) -> Iterator[str]:
    while "." in path:
        path = path.rpartition(".")[0]
        yield path


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def walk(chance: random.Random) -> str:
    """Return a program over everything that is allowed."""
    return Walk(chance).text(chance.randrange(4, 14))


def slipped(number: int, seed: int) -> list[str]:
    """Return the attacks that the gate lets through, of so many."""
    chance = random.Random(seed)
    return [text for text in (attack(chance) for _ in range(number)) if not admit(text)]


def admitted(number: int, seed: int) -> list[str]:
    """Return the walks that the gate lets through, of so many."""
    chance = random.Random(seed)
    return [text for text in (walk(chance) for _ in range(number)) if not admit(text)]


_OF_ATTRIBUTES = (" is read of ", " is set on ")


def is_reached(message: str | None) -> bool:
    """Return whether a run was denied by a wall, or for what it called: the gate should have seen that."""
    of_attributes = message is not None and message.startswith("`") and any(one in message for one in _OF_ATTRIBUTES)
    return not of_attributes


def reaching(sandbox: Sandbox, programs: list[str]) -> tuple[list[str], Counter[str]]:
    """Return what programs reach that the gate let through, and how they end."""
    ends: Counter[str] = Counter()
    found = []
    for text in programs:
        ran = sandbox.run_past_the_gate(text, (), 2.0, watched=True)
        ends[ran.outcome] += 1
        if ran.outcome == "denied" and is_reached(ran.message):
            found.append(f"{ran.message}\n{text}")
    return found, ends


@click.command()
@click.argument("number", type=int)
@click.option("--seed", type=int, default=0)
@click.option("--run", "runs", type=int, default=0, help="So many of the walks that are admitted are executed.")
def main(number: int, seed: int, runs: int) -> None:
    """Print what gets through."""
    from gradlint.confirm.worker.reread import Reader

    attacks, walks = slipped(number, seed), admitted(number, seed)
    print(f"{number} attacks, {len(attacks)} let through; {number} walks, {len(walks)} let through")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = Reader()
        doubted = [f"{said}\n{text}" for text in walks if (said := reader.doubt(text)) is not None]
    print(f"{len(doubted)} of the latter are doubted")
    found, ends = reaching(Sandbox(), walks[:runs]) if runs else ([], Counter[str]())
    print(f"{len(found)} of {min(runs, len(walks))} reach what they should not; {dict(ends)}")
    for text in (*attacks[:5], *doubted[:5], *found[:5]):
        print("-" * 40, text, sep="\n")
    sys.exit(bool(attacks or doubted or found))


if __name__ == "__main__":
    main()
