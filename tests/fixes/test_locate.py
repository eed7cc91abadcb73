"""From a node and a text to an edit: it keeps meaning, rows, indentation, line ends, and comments."""

from __future__ import annotations

import ast

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradlint.domain.finding import Finding, Fix
from gradlint.fixes.edits import apply
from gradlint.fixes.locate import Locator
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Before, Below, Change, Edit, Reading, Remove, Repair, Statement, Wrap
from gradlint.source.place import Places


def fix_of(text: str, *changes: Edit, module: cst.Module) -> Fix | None:
    """The fix that some changes come to."""
    return Locator(module, Places(module), module.code).fix(Repair("mend", changes, imports=("torch",)))


def made(text: str, fix: Fix | None) -> str | None:
    """The text with the fix."""
    if fix is None:
        return None
    return apply(text, [Finding("GRD101", "a", "m", "error", "raises", "f", fix.edits[0].span, (1, 1), fix=fix)])[0]


def calls(module: cst.Module, name: str) -> list[cst.Call]:
    """The calls of a name, in order."""
    found: list[cst.Call] = []

    class Finder(cst.CSTVisitor):
        def visit_Call(self, node: cst.Call) -> None:
            if isinstance(node.func, cst.Name) and node.func.value == name:
                found.append(node)

    module.visit(Finder())
    return found


def unwrapped(text: str) -> str | None:
    """The text with the argument of `V` in place of its first call."""
    module = cst.parse_module(text)
    call = calls(module, "V")[0]
    return made(text, fix_of(text, Change(call, code(call.args[0].value)), module=module))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = V(a + b) * 2\n", "y = (a + b) * 2\n"),
        ("y = V(a * b) + 2\n", "y = a * b + 2\n"),
        ("y = -V(a + b)\n", "y = -(a + b)\n"),
        ("y = V(a + b)[0]\n", "y = (a + b)[0]\n"),
        ("y = V(a if c else b) * 2\n", "y = (a if c else b) * 2\n"),
        ("y = f(V(a if c else b), V(lambda: 1))\n", "y = f(a if c else b, V(lambda: 1))\n"),
        ("y = V(a +\n      b)\n", "y = (a +\n      b)\n"),
        ("y = (V(a\n   .b))\n", "y = (a\n   .b)\n"),
        ("y = [V(a\n   .b)]\n", "y = [a\n   .b]\n"),
        ("print(f'{V(a):.3f} {b}', f'{V(b)}')\n", "print(f'{a:.3f} {b}', f'{V(b)}')\n"),
        ("print(f'é {V(a + b) * 2}')\n", "print(f'é {(a + b) * 2}')\n"),
        ("y = [V(a) for a in b if V(a)]\n", "y = [a for a in b if V(a)]\n"),
        ("if (y := V(a + b)):\n    pass\n", "if (y := a + b):\n    pass\n"),
        ("y = ((V((a + b))))[0]\n", "y = (((a + b)))[0]\n"),
        ("def f():\n    y = V(a.g(\n        1,\n    ))\n", "def f():\n    y = a.g(\n        1,\n    )\n"),
        ("if c:\r\n\ty = V(a.g(\r\n\t\t1,\r\n\t))\r\n", "if c:\r\n\ty = a.g(\r\n\t\t1,\r\n\t)\r\n"),
        ("if c:\n    y = V('''a\n  b''')\n", "if c:\n    y = '''a\n  b'''\n"),
        ("y = await_(V(yield_))\n", "y = await_(yield_)\n"),
        ("a = V(a)\nb\n", "b\n"),
        ("a = V(a)  # why\n", "a = a  # why\n"),
        ("if c:\n    a = V(a)\n", "if c:\n    pass\n"),
        ("a = b = V(a)\n", "a = b = a\n"),
        ("a = 1; b = V(c)\n", "a = 1; b = c\n"),
        ("@f(V(a + b) * 2)\ndef g(x=V(a)): pass\n", "@f((a + b) * 2)\ndef g(x=V(a)): pass\n"),
    ],
)
def test_what_takes_the_place_of_a_call(before: str, after: str) -> None:
    """Brackets where they are needed and nowhere else; rows as they were."""
    assert unwrapped(before) == after


names = st.sampled_from(["a", "b", "c"])
expressions = st.recursive(
    names,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" + ", " * ", " ** ", " @ ", " < ", " and ", "\n  - "]), inner).map("".join),
        st.tuples(inner, inner, inner).map(lambda parts: "{} if {} else {}".format(*parts)),
        inner.map(lambda part: f"-{part}"),
        inner.map(lambda part: f"not {part}"),
        inner.map(lambda part: f"({part})"),
        inner.map(lambda part: f"f(\n  {part},\n)"),
        inner.map(lambda part: f"({part}).b[{part}]"),
        inner.map(lambda part: f"lambda: {part}"),
        inner.map(lambda part: f"V({part})"),
    ),
    max_leaves=6,
)
contexts = st.sampled_from(
    ["y = {}", "{}[0]", "{} * 2", "-{}", "f({}, *{})", "y = {}, 1", "return {}.b", "[{} for a in b]"]
)


@settings(deadline=None)
@given(contexts, expressions)
def test_the_new_program_means_what_was_asked_for(context: str, inner: str) -> None:
    """Python's tree of the mended text is the old tree with one call replaced by its argument."""
    text = f"def f():\n    if c:\n        {context.replace('{}', f'(V({inner}))')}\n"
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for brackets in (True, False):
        given_text = text if brackets else text.replace(f"(V({inner}))", f"V({inner})")
        mended = unwrapped(given_text)
        expected = _Unwrap().visit(ast.parse(given_text) if not brackets else tree)
        assert mended is not None
        assert ast.dump(ast.parse(mended)) == ast.dump(expected)


class _Unwrap(ast.NodeTransformer):
    """The first call of `V` in the text gives way to its argument."""

    done = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if not self.done and isinstance(node.func, ast.Name) and node.func.id == "V":
            self.done = True
            return node.args[0]
        return self.generic_visit(node)


def test_a_fix_that_takes_a_comment_away_is_unsafe() -> None:
    """Nobody would see it go."""
    for text, safe in (("y = V(\n    a  # the input\n)\n", False), ("y = V(a)  # the input\n", True)):
        module = cst.parse_module(text)
        call = calls(module, "V")[0]
        fix = fix_of(text, Change(call, "a"), module=module)
        assert fix is not None
        assert fix.safe is safe


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch\nV(\n    a,\n)\n", "import torch\nwith torch.no_grad():\n    V(\n        a,\n    )\n"),
        ("import torch\nV('''\na''')  # c\n", "import torch\nwith torch.no_grad():\n    V('''\na''')  # c\n"),
        (
            "import torch\nV(f'''\n{\na}''',\n1)\n",
            "import torch\nwith torch.no_grad():\n    V(f'''\n{\na}''',\n    1)\n",
        ),
        ("import torch\nx = \\\n  V(a)\n", "import torch\nwith torch.no_grad():\n    x = \\\n      V(a)\n"),
        ("import torch\nif V(a): pass\n", None),
        ("import torch\nif c: V(a)\n", None),
        ("import torch\nV(a); b\n", None),
        ("import torch\n@V(a)\ndef f(): pass\n", None),
    ],
)
def test_statements_below_a_header(before: str, after: str | None) -> None:
    """All rows move, but for those inside of a string; what shares its row stays."""
    module = cst.parse_module(before)
    fix = fix_of(before, Wrap(calls(module, "V")[0], "with torch.no_grad():"), module=module)
    assert made(before, fix) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = V(a)\ny = f(x)\nb\n", "with no_grad():\n    x = V(a)\n    y = f(x)\nb\n"),
        (
            "x = V(a)\nb\ny = f(x)\n\n# c\nfor _ in y:\n    g()\nb\n",
            "with no_grad():\n    x = V(a)\n    b\n    y = f(x)\n\n    # c\n    for _ in y:\n        g()\nb\n",
        ),
        (
            "if c:\n\tx = V(a)\n\tz['y'] = x\n\treturn z\n",
            "if c:\n\twith no_grad():\n\t\tx = V(a)\n\t\tz['y'] = x\n\t\treturn z\n",
        ),
        ("x = V(a)\nprint('''\n''', x)\n", "with no_grad():\n    x = V(a)\n    print('''\n''', x)\n"),
        ("x = V(a)\nf(x).backward()\n", None),
        ("x = V(a)\nfor y in b:\n    opt.step()\nf(x)\n", None),
        ("x = V(a)\ndef f():\n    return x\n", None),
        ("self.x = V(a)\nf(self.x)\n", None),
        ("return f(V(a))\n", None),
        ("x = V(a); y = f(x)\n", None),
    ],
)
def test_statements_below_a_header_with_those_that_need_them(before: str, after: str | None) -> None:
    """Down to the last that reads what is computed; nothing that trains, and nothing that others read later."""
    module = cst.parse_module(before)
    assert made(before, fix_of(before, Below(calls(module, "V")[0], "with no_grad():"), module=module)) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("V(x)\ny = f(x)\nz = g(y)\n", "with no_grad():\n    y = f(x)\n    z = g(y)\n"),
        ("V(x)\n\ny = f(x)\n", None),
        ("V(x)\nb\n", None),
    ],
)
def test_a_header_in_the_place_of_a_statement(before: str, after: str | None) -> None:
    """What is not needed goes, and those that need what it wrote to go below."""
    before, after = before.replace("V(x)", "x.flag = V()"), after
    module = cst.parse_module(before)
    call = calls(module, "V")[0]
    assert made(before, fix_of(before, Remove(call), Below(call, "with no_grad():"), module=module)) == after


def test_statements_that_follow_each_other_share_a_header() -> None:
    """Where nothing stands between them."""
    text = "import torch\nV(a)\nV(\n    b\n)\nV(c)\n\nV(d)\nif c:\n    V(e)\n    V(f)\n    g\n    V(h)\n"
    module = cst.parse_module(text)
    found = []
    for call in calls(module, "V"):
        fix = fix_of(text, Wrap(call, "with torch.no_grad():"), module=module)
        assert fix is not None
        found.append(Finding("GRD101", "a", "m", "error", "raises", "f", fix.edits[0].span, (1, 1), fix=fix))
    assert apply(text, found)[0] == (
        "import torch\n"
        "with torch.no_grad():\n    V(a)\n    V(\n        b\n    )\n    V(c)\n\n"
        "with torch.no_grad():\n    V(d)\n"
        "if c:\n    with torch.no_grad():\n        V(e)\n        V(f)\n    g\n    with torch.no_grad():\n        V(h)\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if c: V(a)\n", "if c: x = 1\n"),
        ("b; V(a)\n", "b; x = 1\n"),
        ("b = V(a)\n", None),
        ("if V(a): pass\n", None),
        ("f = lambda: V(a)\n", None),
    ],
)
def test_a_statement_in_the_place_of_an_expression(before: str, after: str | None) -> None:
    """Only where the expression is a statement."""
    module = cst.parse_module(before)
    assert made(before, fix_of(before, Statement(calls(module, "V")[0], "x = 1"), module=module)) == after


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        (Remove, "import torch\nif c:\n    pass\n"),
        (lambda node: Before(node, "b"), "import torch\nif c:\n    b\n    V(a)\n"),
    ],
)
def test_statements_that_go_and_come(edit: type[Remove], after: str) -> None:
    """In their block."""
    text = "import torch\nif c:\n    V(a)\n"
    module = cst.parse_module(text)
    assert made(text, fix_of(text, edit(calls(module, "V")[0]), module=module)) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("h = V(x, h)\n", "h = V(x, h.detach())\n"),
        ("out, h = V(x, h)\n", "out, h = V(x, h.detach())\n"),
        ("out, (h, c) = V(x, (h, c))\n", "out, (h, c) = V(x, (h.detach(), c.detach()))\n"),
        ("out, self.h = V(x.h, self.h, h=h)\n", "out, self.h = V(x.h, self.h.detach(), h=h)\n"),
        ("h, c = V(h + x), h\n", "h, c = V(h.detach() + x), h\n"),
        ("h = V(x)\n", None),
        ("h = 2 * V(h)\n", None),
        ("h += V(h)\n", None),
    ],
)
def test_what_an_assignment_reads_goes_through_a_method(before: str, after: str | None) -> None:
    """Only in the value that is reported, and only what the statement assigns."""
    module = cst.parse_module(before)
    assert made(before, fix_of(before, Reading(calls(module, "V")[0], "detach"), module=module)) == after
