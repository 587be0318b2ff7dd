"""Every import is declared.

``python check_imports.py [CHECKOUT]`` compares sources with dependencies, without running them. A shared
environment hides a missing dependency: the import works because a sibling brought the package along.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from workspace import ROOT, Package, closure, distribution, read_packages

IMPORT_NAMES = {"chromadb": "chromadb", "llama_cpp": "llama-cpp-python", "yaml": "pyyaml"}
"""Top-level modules whose distribution has another name than ``-`` for ``_`` gives."""

ADAPTED = {"ovos-memory-plugin-local-rag": ("chromadb", "ovos_qdrant_embeddings", "qdrant_client")}
"""What an adapter imports only once the store plugin that brings it is loaded, because the settings name it."""


def undeclared(root: Path) -> list[str]:
    """Return one sentence per import that no dependency or extra of its package declares."""
    packages = read_packages(root)
    found = []
    for package in packages.values():
        declared = _declared(package, packages)
        for file in sorted(package.folder.glob("src/**/*.py")):
            for line, module in _imports(file):
                if module.partition(".")[0] in ADAPTED.get(package.name, ()):
                    continue
                needed = _distribution_of(module, package, packages)
                if needed and needed not in declared:
                    where = f"{file.relative_to(root)}:{line}"
                    found.append(f"{where}: imports {module}, but {package.name} does not depend on {needed}")
    return found


def _declared(package: Package, packages: dict[str, Package]) -> set[str]:
    """Return what a package may import: its own dependencies and extras, and what its siblings depend on.

    The latter because core's interface is made of OPM's classes and pydantic's models: its dependencies are
    part of what it promises.
    """
    own = [*package.dependencies, *(text for texts in package.extras.values() for text in texts)]
    siblings = closure(map(distribution, own), packages)
    return {
        distribution(text) for text in [*own, *(text for other in siblings for text in other.dependencies)]
    }


def _imports(file: Path) -> Iterator[tuple[int, str]]:
    """Yield line and module of every import that has to succeed."""
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    optional = {id(node) for attempt in ast.walk(tree) if _survives(attempt) for node in _tried(attempt)}
    for node in ast.walk(tree):
        if id(node) in optional:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"ovos_memory.{alias.name}" for alias in node.names]
            yield from ((node.lineno, n) for n in (names if node.module == "ovos_memory" else [node.module]))


def _survives(node: ast.AST) -> bool:
    """Whether a ``try`` goes on when a module is missing."""
    if not isinstance(node, ast.Try):
        return False
    caught = {name.id for handler in node.handlers if handler.type for name in _names(handler.type)}
    return bool(caught & {"ImportError", "ModuleNotFoundError", "Exception"})


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (name for name in ast.walk(node) if isinstance(name, ast.Name))


def _tried(node: ast.AST) -> Iterator[ast.AST]:
    return (inner for line in getattr(node, "body", []) for inner in ast.walk(line))


def _distribution_of(module: str, package: Package, packages: dict[str, Package]) -> str | None:
    """Return the distribution of a module; ``None`` of the standard library and the package itself."""
    top, _, rest = module.partition(".")
    if top in sys.stdlib_module_names:
        return None
    if top == "ovos_memory":
        leaf = rest.partition(".")[0]
        owner = next(
            (other.name for other in packages.values() if other.leaf == leaf), f"ovos-memory-… ({leaf})"
        )
        return None if owner == package.name else owner
    return distribution(IMPORT_NAMES.get(top, top))


if __name__ == "__main__":
    problems = undeclared(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
    print("\n".join(problems) or "imports: all declared")
    sys.exit(bool(problems))
