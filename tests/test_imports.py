"""Imports point one way, between parts and between files, and static checking never imports torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import gradlint

PACKAGE = Path(gradlint.__file__).parent

# Each part, and the parts it may import beside itself; "core" is the small language and the way into it.
# Nobody imports an entry point.
MAY_IMPORT = {
    "core": set(),
    "domain": {"core"},
    "facts": {"domain"},
    "plugins": {"domain"},
    "source": {"core", "domain", "plugins", "settings"},
    "shapes": {"domain", "facts"},
    "interpreter": {"core", "domain", "facts", "plugins", "source", "shapes"},
    "detect": {"core", "domain", "facts", "interpreter", "plugins"},
    "rules": {"domain", "facts", "plugins"},
    "settings": {"domain", "facts", "rules", "source"},
    "examine": {
        *("core", "detect", "domain", "fixes", "interpreter", "judgement", "rules", "settled", "settings", "source"),
    },
    "fixes": {"core", "domain", "outcome", "source", "rules"},
    "outcome": {"domain"},
    "running": set(),
    "documents": {"domain", "outcome", "source"},
    "settled": {"domain", "rules", "source"},
    "judgement": {"domain", "fixes", "plugins", "rules", "source"},
    "report": {"settings", "domain", "rules", "source", "outcome", "explain", "fixes", ""},
    "checker": {
        *("documents", "domain", "examine", "facts", "fixes", "outcome", "plugins", "rules", "settings", "settled"),
        "source",
    },
    "pool": {"checker", "outcome", "plugins", "running"},
    "workers": {"checker", "outcome", "pool", "running"},
    "results": {"checker", "domain", "outcome", "plugins", "rules", "source"},
    "check": {"checker", "domain", "outcome", "results", "running", "settings", "settled", "source", "workers"},
    "scan": {"check", "checker", "domain", "outcome", "plugins", "pool", "settings", "source"},
    "observing": {"detect", "facts", "interpreter", "settings", "source"},
    "explain": {"check", "domain", "interpreter", "judgement", "observing", "running", "settings", "source"},
    "graph": {"domain", "interpreter", "observing", "running", "settings", "source"},
    "confirm": {"domain", "source", "interpreter", "facts"},
    "concrete": {
        "facts",
        *("check", "checker", "core", "detect", "domain", "judgement", "outcome", "report", "rules"),
        *("settings", "source"),
    },
    "server": {
        *("check", "checker", "domain", "explain", "facts", "fixes", "graph", "interpreter", "observing", "outcome"),
        *("plugins", "report", "rules", "running", "settings", "source", "version"),
    },
    "entrypoints": {
        "check",
        "checker",
        "pool",
        "results",
        "settings",
        "domain",
        "facts",
        "outcome",
        "plugins",
        "report",
        "rules",
        "fixes",
        "concrete",
        "confirm",
        "explain",
        "graph",
        "running",
        "scan",
        "server",
        "source",
        "",
    },
    "version": set(),
    "__main__": {"entrypoints"},
    "watching": {"check", "outcome", "settings", "source"},
    "": {"check", "concrete", "settings", "domain", "outcome", "plugins", "watching"},
}


WORKER = "gradlint.confirm.worker"
CONCRETE = "gradlint.concrete"

# What functions may import, and why.
HIDDEN = {
    # Where all results are kept from an earlier run, no program is looked at: 0.1 s instead of 0.5 s before the first.
    "gradlint.checker": {"gradlint.examine"},
    "gradlint.source.files": {"gradlint.source.lower"},
    "gradlint.entrypoints.check": {
        "gradlint.entrypoints.proving",  # Only --confirm needs the sandbox's 25 files.
        "gradlint.entrypoints.adopting",  # Only baselines and changed lines need it.
        "gradlint.entrypoints.taped",  # Only pages with pictures need what draws them.
    },
    "gradlint.entrypoints.run": {  # What imports torch waits until the program does, and the report for its end.
        *("gradlint.concrete.watching", "gradlint.entrypoints.run_report"),
    },
    "gradlint.concrete.watch": {  # The same, for a name of the public interface.
        *("gradlint.concrete.findings", "gradlint.concrete.places", "gradlint.concrete.schedule"),
        *(
            "gradlint.concrete.watching",
            "gradlint.report.concise",
            "gradlint.report.paint",
            "gradlint.settings.nearest",
        ),
    },
    "gradlint.concrete.losses": {"gradlint.detect.formula.losses"},  # Only the report asks what losses take.
    "gradlint.entrypoints.scan": {"gradlint.entrypoints.scanning"},  # It needs pyarrow, which is an extra.
    "gradlint.entrypoints.scanning": {"gradlint.scan.on_ray"},  # Only one engine needs Ray, which is another extra.
    "gradlint.entrypoints.server": {"gradlint.server.serve"},  # It needs pygls, which is an extra.
    "gradlint.entrypoints.flake8": {
        # flake8 imports the plugin in every run, also of projects without torch: 0.03 s instead of 1 s.
        *("gradlint.check", "gradlint.plugins.installed", "gradlint.report.concise"),
        "gradlint.settings.config",
    },
    "gradlint.entrypoints.suggestions": {"gradlint.source.discover"},  # Only a mistyped command needs it.
    "gradlint.source.documents.markdown": {"markdown_it"},  # Only Markdown needs its 60 files.
    "gradlint.report.drawing.layout": {  # Only pictures need one of them, which is an extra.
        *("graphviz", "grandalf.graphs", "grandalf.layouts"),
    },
    "gradlint.report.report": {"gradlint.report.fingerprint"},  # Only some formats need it.
    "gradlint.plugins.installed": {"importlib.metadata"},  # Only where a plugin is installed: it takes 0.05 s.
    "gradlint.confirm.worker.walls": {"resource"},  # Windows has no such module.
}


def part(module: str) -> str:
    """The part of the package that a module belongs to; the package itself is the empty one."""
    if module.startswith(("gradlint.source.core", "gradlint.source.lower")):
        return "core"
    return [*module.split("."), ""][1]


def imports(path: Path) -> list[str]:
    """The modules that a file imports, wherever in it."""
    return imports_in(ast.parse(path.read_text(encoding="utf-8")), path)


def imports_in(tree: ast.AST, path: Path) -> list[str]:
    """The modules that a part of a file imports."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports by a relative name"
            found += [_submodule(node.module or "", alias.name) for alias in node.names]
    return found


def hidden_imports(path: Path) -> set[str]:
    """The modules that the functions of a file import."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return {imported for function in functions for imported in imports_in(function, path)}


def _submodule(module: str, name: str) -> str:
    """What `from module import name` loads: a name of a package may be one of its modules."""
    home = PACKAGE.parent.joinpath(*module.split("."), name)
    is_module = module.split(".")[0] == "gradlint" and (home.is_dir() or home.with_suffix(".py").is_file())
    return f"{module}.{name}" if is_module else module


def modules() -> dict[str, Path]:
    """All modules of the package by their dotted names."""
    named = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def test_imports_point_one_way() -> None:
    """From entry points over the main path down to the domain, and never back."""
    wrong = [
        f"{module} imports {imported}"
        for module, path in modules().items()
        for imported in imports(path)
        if imported.split(".")[0] == "gradlint"
        and part(imported) != part(module)
        and part(imported) not in MAY_IMPORT[part(module)]
    ]
    assert wrong == []


def test_no_file_is_in_a_circle() -> None:
    """Counting imports in functions, and those for annotations alone."""
    files = modules()
    graph = {module: files.keys() & set(imports(path)) - {module} for module, path in files.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"these import one another: {', '.join(error.args[1])}") from None


def test_functions_import_nothing() -> None:
    """What they need stands at the top, where all can see it."""
    found = {module: hidden_imports(path) for module, path in modules().items()}
    assert {module: hidden for module, hidden in found.items() if hidden} == HIDDEN


def test_only_what_runs_programs_may_import_torch() -> None:
    """Nor numpy, in any file of the package: the worker is a process of its own, and the machine runs in the user's."""
    wrong = [
        f"{module} imports {imported}"
        for module, path in modules().items()
        for imported in imports(path)
        if imported.split(".")[0] in {"torch", "numpy"} and not module.startswith((WORKER, CONCRETE))
    ]
    assert wrong == []


def test_only_the_worker_imports_the_worker() -> None:
    """All others start it as a process."""
    wrong = [
        f"{module} imports {imported}"
        for module, path in modules().items()
        for imported in imports(path)
        if imported.startswith(WORKER) and not module.startswith(WORKER)
    ]
    assert wrong == []


def loaded_by(program: str) -> set[str]:
    """The modules that are loaded after a program ran in a fresh Python."""
    script = f"import sys\n{program}\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(result.stderr.split())


def test_checking_imports_no_torch() -> None:
    """Executed: a file about torch is checked by all rules."""
    program = "import gradlint; gradlint.check_source('import torch\\nx = torch.ones(2)\\n')"
    loaded = loaded_by(program)
    assert "gradlint.check" in loaded
    assert loaded.isdisjoint({"torch", "numpy"})


def test_preparing_to_confirm_imports_no_torch() -> None:
    """Executed: gate, sandbox, and verdict run in the process of the user."""
    program = (
        "import gradlint.confirm.gate.admit, gradlint.confirm.run.sandbox, gradlint.confirm.check.evidence;"
        "gradlint.confirm.gate.admit.admit('import torch\\nx = torch.ones(2)\\n')"
    )
    loaded = loaded_by(program)
    assert "gradlint.confirm.run.sandbox" in loaded
    assert loaded.isdisjoint({"torch", "numpy", WORKER})


def test_starting_up_is_light() -> None:
    """The command line loads click; neither the parser nor any rule, nor what reads configuration."""
    loaded = loaded_by("import gradlint.entrypoints.cli, gradlint.entrypoints.flake8")
    assert loaded.isdisjoint({"libcst", "tomllib", "gradlint.check", "gradlint.settings.config", "json"})


def test_results_that_are_kept_need_no_parser(tmp_path: Path) -> None:
    """A run that finds all results of an earlier one loads neither libcst nor what looks at programs."""
    file, cache = tmp_path / "a.py", tmp_path / "cache"
    file.write_text("import torch\n")
    arguments = ["check", "--isolated", "--quiet", f"--cache-dir={cache}", str(file)]
    program = f"from gradlint.entrypoints.cli import main; main({arguments!r})"
    heavy = {"libcst._nodes.base", "gradlint.interpreter.interpret", "gradlint.detect", "gradlint.judgement"}
    assert heavy <= loaded_by(program)
    assert heavy.isdisjoint(loaded_by(program))


def test_telling_the_version_is_light() -> None:
    """It reads the facts, and neither the parser nor any rule."""
    loaded = loaded_by("import gradlint.entrypoints.version; gradlint.entrypoints.version.version()")
    assert loaded.isdisjoint({"libcst", "gradlint.check", "gradlint.rules.registry"})


def test_a_format_costs_nothing_unless_it_is_asked_for() -> None:
    """What writes the others, and what that needs."""
    loaded = loaded_by(
        "from gradlint.report.formats import writer; import gradlint.entrypoints.check; writer('concise')"
    )
    formats = {module for module in loaded if module.startswith("gradlint.report.formats.")}
    assert formats == {"gradlint.report.formats.concise"}
    assert loaded.isdisjoint({"xml.etree.ElementTree", "gradlint.report.fingerprint"})
