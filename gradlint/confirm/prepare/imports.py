"""The imports of a program that a repro may have."""

from __future__ import annotations

import ast

from gradlint.confirm.gate import allowlist as allowed

_SHORTER = {
    "torch.optim.optimizer": "torch.optim",
    "torch.nn.modules": "torch.nn",
    "torch.nn.modules.module": "torch.nn",
    "torch.nn.modules.loss": "torch.nn",
    "torch.autograd.variable": "torch.autograd",
    "torch.utils.data.dataset": "torch.utils.data",
    "torch.utils.data.dataloader": "torch.utils.data",
}
"""Modules whose names stand in another one as well."""


class ImportKeeper(ast.NodeTransformer):
    """Takes imports out of the tree and keeps the harmless ones."""

    def __init__(self, tree: ast.Module) -> None:
        self.kept: list[ast.stmt] = []
        self._used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}

    def visit_Import(self, node: ast.Import) -> None:
        """`import a.b` binds `a`; a module that is allowed only in part is not."""
        good = [alias for alias in node.names if alias.name in allowed.MODULES]
        if good:
            self.kept.append(ast.copy_location(ast.Import(good), node))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """A star stands for the names that the program uses."""
        if node.level or node.module is None or node.module == "__future__":
            return
        aliases = [self._star(node.module)] if node.names[0].name == "*" else [node.names]
        module = _SHORTER.get(node.module, node.module)
        good = [alias for alias in aliases[0] if _may_import(f"{module}.{alias.name}")]
        if good:
            self.kept.append(ast.copy_location(ast.ImportFrom(module, good, 0), node))

    def _star(self, module: str) -> list[ast.alias]:
        return [ast.alias(name) for name in sorted(self._used) if _may_import(f"{module}.{name}")]


def _may_import(path: str) -> bool:
    return path in allowed.MODULES or allowed.is_allowed(path)
