"""The layers of the package: imports point one way, function-level imports included."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "guestlist"
PAPERS = Path(__file__).parents[1] / "papers"
# A package imports only from packages before it.
LAYERS = (
    "errors",
    "frameworks",
    "_kernels",
    "metrics",
    "_util",
    "_views",
    "data",
    "knn",
    "privacy",
    "attacks",
    "games",
    "_store",
    "_baseline",
    "datasets",
    "defences",
    "models",
    "_collect",
    "_case",
    "evidence",
    "risks",
    "_findings",
    "selfcheck",
    "_diagnostics",
    "_audit",
    "_report",
    "testing",
    "cli",
)
# The table of frameworks imports nothing of guestlist, so that every package may read it.
FRAMEWORKS = "models/frameworks.py"
# Results import their renderers when a method is called, so that reading results loads no report.
RENDERED = ("_findings", "_audit")
# Packages that every package may import.
PUBLIC = ("attacks", "datasets", "defences", "evidence", "games", "knn", "metrics", "models", "privacy", "risks")


def imported(path: Path) -> set[tuple[str, str]]:
    """(module, name) of everything that a file imports, wherever in the file it does."""
    imports = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            imports |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative imports hide where a name comes from"
            imports |= {(node.module, alias.name) for alias in node.names}
    return imports


def layer(path: Path) -> str:
    if path.relative_to(SOURCE).as_posix() == FRAMEWORKS:
        return "frameworks"
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def packages_imported(path: Path) -> set[str]:
    """Return the packages that a file imports from."""
    packages = set()
    for module, name in imported(path):
        if module == "guestlist":
            packages |= {name} - {"__version__"}
        elif module == "guestlist.models.frameworks":
            packages.add("frameworks")
        elif module.startswith("guestlist."):
            packages.add(module.split(".")[1])
    return packages


def test_every_package_has_a_layer():
    there = {layer(path) for path in SOURCE.rglob("*.py")} - {"__init__"}
    assert there == set(LAYERS)


def test_imports_point_one_way():
    violations = [line for path in sorted(SOURCE.rglob("*.py")) for line in imports_from_above(path)]
    assert not violations, "\n".join(violations)


def imports_from_above(path: Path) -> list[str]:
    """Return a line if a file imports from packages that come after its own."""
    package = layer(path)
    if package == "__init__":  # the names of the package: they come from everywhere, when first used
        return []
    above = sorted(packages_imported(path) - set(LAYERS[: LAYERS.index(package) + 1]))
    if package in RENDERED and not any(name.startswith("guestlist._report") for name in _imported_at_top(path)):
        above = [name for name in above if name != "_report"]
    return [f"{path.relative_to(SOURCE)} imports {', '.join(above)}, which is above {package}"] if above else []


def _imported_at_top(path: Path) -> set[str]:
    return {node.module or "" for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ImportFrom)}


@pytest.mark.slow
def test_modules_import_each_other_without_a_cycle():
    """Modules, not only packages: the imports at the top of a file must not wait for the file itself."""
    modules = {_module(path): path for path in SOURCE.rglob("*.py")}
    at_import = {name: _top_level(path, set(modules)) & set(modules) for name, path in modules.items()}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path[path.index(name) :], name))
        if name not in done:
            for other in sorted(at_import[name]):
                visit(other, (*path, name))
            done.add(name)

    for name in modules:
        visit(name, ())


def _module(path: Path) -> str:
    parts = ("guestlist", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _top_level(path: Path, modules: set[str]) -> set[str]:
    """Return the modules imported when a file is read; those under TYPE_CHECKING or in functions are not."""
    needed = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            stub = _stub(node.module)
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                needed.add(name if name in modules else stub.get(alias.name, node.module))
    return needed - {_module(path)}


def _stub(package: str) -> dict[str, str]:
    """Return the modules in which a package looks up its names when they are first used."""
    path = SOURCE.joinpath(*package.split(".")[1:], "__init__.pyi")
    if not path.exists():
        return {}
    nodes = [
        node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ImportFrom) and node.module
    ]
    return {alias.name: f"{package}.{node.module}" for node in nodes for alias in node.names}


def test_papers_use_public_names_only():
    violations = [line for path in sorted(PAPERS.rglob("*.py")) for line in private_names(path)]
    assert not violations, "\n".join(violations)


def private_names(path: Path) -> list[str]:
    """Return a line for every name of guestlist that a file uses although it is not public."""
    import guestlist as gl

    public = set(gl.__all__)
    private = []
    for module, name in imported(path):
        if module == "guestlist" and name and name not in public:
            private.append(f"guestlist.{name}")
        elif module.startswith("guestlist."):
            in_public_package = module.removeprefix("guestlist.") in PUBLIC
            if not in_public_package or name not in __import__(module, fromlist=["__all__"]).__all__:
                private.append(f"{module}.{name}")
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "gl":
            private += [] if node.attr in public else [f"gl.{node.attr}"]
    return [f"{path.relative_to(PAPERS)}: {name} is not public" for name in sorted(private)]
