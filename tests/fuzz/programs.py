"""Sources of programs: a grammar full of torch, Python's own grammar, and changed files of this repository."""

from __future__ import annotations

import io
import keyword
import random
import re
import tokenize
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).parents[2]
BEGINNING = "import copy\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\n"


def _words(text: str) -> list[str]:
    return text.split()


_ATOMS = _words(
    """
    x y s l d m f i torch nn F self cls None True False ... 0 1 -1 3 2.5 1j "a" b"a" "%s" () [] {} [[]] (1,)
    torch.float torch.int64 nn.Module nn.Linear(3,3) nn.ReLU() torch.ones(3) torch.ones(3,requires_grad=True)
    torch.zeros(()) nn.Parameter(torch.ones(3)) nn.Sequential(nn.Linear(3,3),nn.ReLU()) x.grad x.data m.weight
    l[0] d["a"] range(3) torch.optim.SGD(m.parameters(),lr=0.1) torch.no_grad() lambda:x lambda*a,**k:a
    (yield) iter(l) 10**30 float("nan") torch.autograd.Function torch.func.grad torch.vmap super() type(x)
    object() copy.deepcopy(m) x.shape len(l)
    """
)
_CALLED = _words(
    """
    torch.add torch.mul torch.cat torch.stack torch.where torch.einsum torch.tensor torch.ones torch.matmul
    sum len list tuple dict zip map iter next enumerate sorted isinstance getattr setattr hasattr print int
    float str range reversed nn.Linear nn.Sequential nn.ModuleList nn.ModuleDict nn.LSTM nn.Conv2d nn.Dropout
    nn.MSELoss() F.relu F.dropout F.softmax F.cross_entropy F.mse_loss torch.autograd.grad torch.func.vmap
    torch.func.jvp torch.utils.checkpoint.checkpoint f m x torch.optim.Adam torch.optim.LBFGS x.backward x.sum
    x.view x.detach x.requires_grad_ x.add_ x.mul_ x.clone x.numpy x.item x.expand x.repeat x.split x.unbind
    x.register_hook x.to x.max x.backward m.train m.eval m.parameters m.zero_grad m.register_buffer
    m.load_state_dict m.apply m.half l.append l.extend l.pop d.update d.get d.items opt.step opt.zero_grad
    copy.deepcopy functools.partial super().__init__ torch.Size slice type property staticmethod vars
    """
)
_TARGETS = _words(
    """
    x y s l d m f i self.x m.weight l[0] d[x] x.grad x.data x[0] x[:1] x,y (x,*l) x.requires_grad
    """
)
_OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"]
_COMPARISONS = ["==", "!=", "<", ">=", "is", "is not", "in", "not in"]
_KEYWORDS = _words(
    """
    dim requires_grad dtype out lr momentun retain_graph create_graph inputs a self size keepdim input
    """
)
_ATTRIBUTES = _words("T grad data shape weight training state x _x is_leaf __class__ device mT real")
_FUNCTIONS = _words("f forward backward __init__ g training_step __call__ __enter__ setup_context")


class Grammar:
    """Makes one program: mostly calls of torch on what fits seldom."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def program(self) -> str:
        """Return a program of a few statements, which need not be Python's."""
        statements = [
            _accepted(self._rng, lambda: "\n".join(self._statement(0))) for _ in range(self._rng.randint(1, 8))
        ]
        return BEGINNING + "\n".join(statements) + "\n"

    def expression(self, depth: int = 0) -> str:
        """Return an expression; the deeper it stands, the shorter it is."""
        rng = self._rng
        if depth > 3 or rng.random() < 0.35:
            return rng.choice(_ATOMS)
        return rng.choice(self._FORMS)(self, depth + 1)

    def _call(self, depth: int) -> str:
        rng = self._rng
        func = rng.choice(_CALLED) if rng.random() < 0.85 else f"({self.expression(depth)})"
        return f"{func}({', '.join(self._argument(depth) for _ in range(rng.randint(0, 3)))})"

    def _argument(self, depth: int) -> str:
        value, chance = self.expression(depth), self._rng.random()
        if chance < 0.2:
            return f"{self._rng.choice(_KEYWORDS)}={value}"
        return f"{'*' * (1 + (chance < 0.27))}{value}" if chance < 0.33 else value

    def _binary(self, depth: int) -> str:
        return f"({self.expression(depth)} {self._rng.choice(_OPERATORS)} {self.expression(depth)})"

    def _comparison(self, depth: int) -> str:
        return f"({self.expression(depth)} {self._rng.choice(_COMPARISONS)} {self.expression(depth)})"

    def _subscript(self, depth: int) -> str:
        index = self._rng.choice([self.expression(depth), ":", "::2", "..., 0", "*l", f"{self.expression(depth)}:"])
        return f"({self.expression(depth)})[{index}]"

    def _attribute(self, depth: int) -> str:
        name = self._rng.choice(_ATTRIBUTES)
        return f"({self.expression(depth)}).{name}"

    def _display(self, depth: int) -> str:
        items = [("*" if self._rng.random() < 0.15 else "") + self.expression(depth) for _ in range(3)]
        left, right = self._rng.choice([("[", "]"), ("(", ")"), ("{", "}")])
        return f"{left}{', '.join(items)},{right}"

    def _mapping(self, depth: int) -> str:
        return f"{{{self.expression(depth)}: {self.expression(depth)}, **{self.expression(depth)}}}"

    def _comprehension(self, depth: int) -> str:
        left, right = self._rng.choice([("[", "]"), ("(", ")"), ("{", "}")])
        test = f" if {self.expression(depth)}" if self._rng.random() < 0.5 else ""
        return (
            f"{left}{self.expression(depth)} for {self._rng.choice(_TARGETS)} in {self.expression(depth)}{test}{right}"
        )

    def _choice(self, depth: int) -> str:
        return f"({self.expression(depth)} if {self.expression(depth)} else {self.expression(depth)})"

    def _named(self, depth: int) -> str:
        return f"({self._rng.choice('xylm')} := {self.expression(depth)})"

    def _text(self, depth: int) -> str:
        return (
            f"f'{{{self.expression(4)}!r:>{{i}}}}'"
            if self._rng.random() < 0.5
            else f"'%s {{}}'.format({self.expression(4)})"
        )

    _FORMS: tuple[Callable[[Grammar, int], str], ...] = (
        *(_call,) * 8,
        *(_binary, _comparison, _subscript, _attribute, _display, _mapping, _comprehension, _choice, _named, _text),
    )

    def _block(self, depth: int, length: int) -> list[str]:
        lines = [line for _ in range(length) for line in self._statement(depth)]
        return [f"{' ' if depth else ''}{line}" for line in lines]

    def _statement(self, depth: int) -> list[str]:
        rng = self._rng
        if depth < 3 and rng.random() < 0.3:
            body = self._block(depth + 1, rng.randint(1, 3))
            header, after = rng.choice(self._HEADERS)(self)
            return [header, *body, *after]
        target, value = rng.choice(_TARGETS), self.expression()
        simple = [f"{target} = {value}"] * 4 + [value] * 3 + [f"{target} {rng.choice(_OPERATORS)}= {value}"] * 2
        simple += [f"return {value}", f"del {target}", f"assert {value}", "global x", "pass", "break", f"raise {value}"]
        simple += [f"{target}: {value} = {value}", f"import {rng.choice(['torch', 'copy', 'x.y', 'functools'])} as x"]
        return [rng.choice(simple)]

    def _parameters(self) -> str:
        return self._rng.choice(["x", "self, x", "ctx, x", "x, *l, y=1", "x=nn, **d", "", "self", "x, /, y, *, s=l"])

    def _function(self) -> tuple[str, list[str]]:
        decorator = self._rng.choice(
            ["", "@staticmethod\n", "@torch.no_grad()\n", "@property\n", f"@{self._call(3)}\n"]
        )
        name = self._rng.choice(_FUNCTIONS)
        return f"{decorator}def {name}({self._parameters()}):", []

    def _class(self) -> tuple[str, list[str]]:
        bases = [
            "nn.Module",
            "torch.autograd.Function",
            "",
            "m",
            "x, nn.Module",
            "torch.Tensor",
            self.expression(2),
            "*l",
        ]
        return f"class {self._rng.choice('mfA')}({self._rng.choice(bases)}):", []

    def _match(self) -> tuple[str, list[str]]:
        pattern = self._rng.choice(["[x, *_]", "{1: x, **d}", "nn.Linear(x=1)", "1 | 2", "(x) as y", "-1", "'a'", "_"])
        return (
            f"match {self.expression(2)}:\n case {pattern}: pass\n case _: {self.expression(2)}\nif x:",
            [],
        )

    _HEADERS: tuple[Callable[[Grammar], tuple[str, list[str]]], ...] = (
        _function,
        _function,
        _class,
        _match,
        lambda self: (f"for {self._rng.choice(_TARGETS)} in {self.expression(1)}:", []),
        lambda self: (f"while {self.expression(1)}:", ["else:", f" {self.expression(2)}"]),
        lambda self: (f"if {self.expression(1)}:", ["else:", f" {self.expression(2)}"]),
        lambda self: (f"with {self.expression(1)} as {self._rng.choice('xylm')}:", []),
        lambda self: ("try:", [f"except {self.expression(2)}:", f" {self.expression(2)}", "finally:", " x"]),
    )


@cache
def files() -> tuple[str, ...]:
    """Return the texts of this repository's programs that are about torch: fixtures, and blocks of pages."""
    paths = sorted((ROOT / "fixtures").rglob("*.py"))
    pages = sorted((ROOT / "tests").rglob("*.md"))
    blocks = (block for page in pages for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    return tuple(text for text in (*texts, *blocks) if "torch" in text and len(text) < 10_000)


def swapped(rng: random.Random) -> str:
    """Return a program of ours, a few tokens of which are others, or stand elsewhere."""
    text, other = rng.choice(files()), rng.choice(files())
    return _accepted(rng, lambda: _changed(rng, _tokens(text), _tokens(other)))


def _changed(rng: random.Random, tokens: list[str], others: list[str]) -> str:
    for _ in range(rng.randint(1, 3)):
        words = [number for number, token in enumerate(tokens) if token.strip()]
        if not words:
            break
        at, elsewhere = rng.choice(words), rng.choice(words)
        same = [token for token in others if _kind(token) == _kind(tokens[at])]
        change = rng.randrange(6)
        if change == 0:
            tokens[at] = ""
        elif change == 1:
            tokens[at], tokens[elsewhere] = tokens[elsewhere], tokens[at]
        elif change == 2 and _kind(tokens[at]) == "word":
            tokens[at] = f"({Grammar(rng).expression(2)})"
        else:
            tokens[at] = rng.choice(same or others or tokens)
    return "".join(tokens)


def _kind(token: str) -> str:
    """Return what a token may be exchanged for: keywords and marks stand for themselves, all but some marks."""
    if keyword.iskeyword(token):
        return "keyword"
    return "word" if token[:1].isidentifier() else "number" if token[:1].isdigit() else "mark"


def _accepted(rng: random.Random, make: Callable[[], str]) -> str:
    """Return a text that Python compiles, if one comes up soon; now and then, one that it may refuse."""
    text = make()
    for _ in range(0 if rng.random() < 0.05 else 30):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(text, "fuzzed.py", "exec")
            break
        except (SyntaxError, ValueError):
            text = make()
    return text


def _tokens(text: str) -> list[str]:
    """Return the tokens of a program, and what stands between them, so that joined they are the text again."""
    rows = [0]
    for line in text.splitlines(keepends=True):
        rows.append(rows[-1] + len(line))
    parts: list[str] = []
    end = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            start, stop = (rows[row - 1] + column for row, column in (token.start, token.end) if row <= len(rows))
            parts += [text[end:start], text[start:stop]]
            end = max(end, stop)
    except (tokenize.TokenError, IndentationError, ValueError):
        return re.findall(r"\w+|\s+|.", text)
    return [part for part in (*parts, text[end:]) if part]


def of_python(seed: int, count: int) -> Iterator[str]:
    """Yield programs of Python's own grammar, some of whose names are calls of torch; none without hypothesmith."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesmith import from_grammar

    made: list[str] = []

    @seeded(seed)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(from_grammar())
    def collect(text: str) -> None:
        made.append(text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collect()
    rng = random.Random(seed)
    for text in islice(made, count):
        yield BEGINNING + re.sub(r"\b[A-Za-z_]\w*\b", lambda name: _torch_for(name[0], rng), text)


def _torch_for(name: str, rng: random.Random) -> str:
    """Return a name of the grammar's, which are letters at random, or something of torch in its place."""
    if name in _PYTHON or rng.random() < 0.3:
        return name
    return rng.choice("xysldmf") if rng.random() < 0.7 else rng.choice(_ATOMS)


_PYTHON = frozenset([*keyword.kwlist, *keyword.softkwlist])
