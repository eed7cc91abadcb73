"""Where the statements of a program live: at the top, in main, in functions, closures, methods.

Statements are cut in two or three parts. What one part binds and a later one reads is passed on: by arguments
and results, by globals, in an object, or as attributes of self. What is executed stays the same.
"""

from __future__ import annotations

from .parts import Part, cut, replaced
from .program import Program

STAGES = (
    ("setup", "build", "prepare", "make_inputs", "init_state", "create"),
    ("forward", "compute", "run_step", "apply_model", "evaluate_once", "work"),
    ("finish", "optimize", "report", "train_step", "backward_pass", "wrap_up"),
)
INDENT = "    "


def dress(p: Program) -> list[str]:
    """Return the lines of the program's definitions and statements in the form chosen for them."""
    forms = (_script, _main, _functions, _class, _globals, _closure, _carrier)
    form = p.rng.choices(forms, (42, 13, 18, 14, 4, 4, 5))[0]
    return form(p)


def _definitions(p: Program) -> list[str]:
    lines: list[str] = []
    for definition in p.definitions:
        lines += ["", "", *definition.split("\n")]
    return lines


def _indented(lines: list[str], depth: int = 1) -> list[str]:
    return [INDENT * depth + line if line else line for line in lines]


def _function(p: Program, header: str, lines: list[str]) -> list[str]:
    about = p.pick("Run this part.", "One step of the experiment.", "Prepare what is needed.", "Do the work.")
    documentation = [f'{INDENT}"""{about}"""'] if p.chance(0.15) else []
    return ["", "", header, *documentation, *_indented(lines)]


def _stages(p: Program, parts: list[Part]) -> list[str]:
    stages = STAGES if len(parts) == 3 else (STAGES[0], STAGES[p.pick(1, 2)])
    return [p.fresh(*stage) for stage in stages]


def _script(p: Program) -> list[str]:
    gap = ["", ""] if p.definitions else [""]
    if p.chance(0.1):
        return [*_definitions(p), "", "", 'if __name__ == "__main__":', *_indented(p.body)]
    return [*_definitions(p), *gap, *p.body]


def _main(p: Program) -> list[str]:
    name = p.fresh("main", "run", "train", "experiment", "test")
    call = [f"{name}()"] if p.chance(0.4) else ['if __name__ == "__main__":', f"{INDENT}{name}()"]
    return [*_definitions(p), *_function(p, f"def {name}():", p.body), "", "", *call]


def _functions(p: Program) -> list[str]:
    """Functions that take arguments and return results."""
    parts = cut(p)
    if not parts:
        return _main(p)
    lines, calls = _definitions(p), []
    annotated = p.chance(0.2)
    for part, name in zip(parts, _stages(p, parts), strict=True):
        results = ", ".join(part.gives)
        end = [f"return {results}"] if results else []
        needs = [_annotated(p, need) if annotated else need for need in part.needs]
        lines += _function(p, f"def {name}({', '.join(needs)}):", [*part.lines, *end])
        call = f"{name}({_arguments(p, part.needs)})"
        calls.append(f"{results} = {call}" if results else call)
    if p.chance(0.4):
        return [*lines, "", "", "def main():", *_indented(calls), "", "", "main()"]
    return [*lines, "", "", *calls]


def _annotated(p: Program, name: str) -> str:
    return f"{name}: {p.module('t')}.Tensor" if name in p.tensors else name


def _arguments(p: Program, names: list[str]) -> str:
    by_name = p.chance(0.15)
    return ", ".join(f"{name}={name}" if by_name and name == names[-1] else name for name in names)


def _class(p: Program) -> list[str]:
    """A class whose methods share attributes."""
    parts = cut(p)
    carried = {name for part in parts for name in part.gives}
    bodies = [replaced(part, carried, "self.{}") for part in parts]
    if not parts or None in bodies:
        return _main(p)
    cls = p.fresh("Experiment", "Trainer", "Agent", "Runner", "Learner", "Demo")
    variable = p.fresh("exp", "trainer", "runner", "demo")
    lines, calls = ["", "", f"class {cls}:"], [f"{variable} = {cls}()"]
    for number, (body, name) in enumerate(zip(bodies, _stages(p, parts), strict=True)):
        if number:
            lines.append("")
            calls.append(f"{variable}.{name}()")
        lines += [f"{INDENT}def {name if number else '__init__'}(self):", *_indented(body or [], 2)]
    return [*_definitions(p), *lines, "", "", *calls]


def _globals(p: Program) -> list[str]:
    """Functions that share global names."""
    parts = cut(p)
    if not parts:
        return _main(p)
    lines, calls = _definitions(p), []
    for part, name in zip(parts, _stages(p, parts), strict=True):
        shared = [bound for bound in part.binds if bound in part.gives or bound in part.needs]
        start = [f"global {', '.join(shared)}"] if shared else []
        lines += _function(p, f"def {name}():", [*start, *part.lines])
        calls.append(f"{name}()")
    return [*lines, "", "", *calls]


def _closure(p: Program) -> list[str]:
    """A function with the last part in a function of its own, which reads the names around it."""
    parts = cut(p)
    if not parts or set(parts[-1].binds) & set(parts[-1].needs):
        return _main(p)
    inner, outer = p.fresh("closure", "step", "inner", "body"), p.fresh("main", "run", "train")
    early = [line for part in parts[:-1] for line in part.lines]
    lines = [*early, "", f"def {inner}():", *_indented(parts[-1].lines), "", f"{inner}()"]
    return [*_definitions(p), *_function(p, f"def {outer}():", lines), "", "", f"{outer}()"]


def _carrier(p: Program) -> list[str]:
    """Functions that pass one object or dictionary around."""
    parts = cut(p)
    carried = {name for part in parts for name in part.gives}
    box = p.fresh("state", "ctx", "store", "bag")
    make, template = p.pick(("dict()", f'{box}["{{}}"]'), ("{}", f"{box}['{{}}']"), ("Box()", f"{box}.{{}}"))
    bodies = [replaced(part, carried, template) for part in parts]
    if not parts or None in bodies:
        return _main(p)
    lines = _definitions(p)
    if make == "Box()":
        lines += ["", "", "class Box:", f"{INDENT}pass"]
    calls = [f"{box} = {make}"]
    for body, name in zip(bodies, _stages(p, parts), strict=True):
        lines += _function(p, f"def {name}({box}):", body or [])
        calls.append(f"{name}({box})")
    return [*lines, "", "", *calls]
