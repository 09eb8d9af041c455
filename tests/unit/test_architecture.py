"""The structure of the package: who may import whom, and how long files may get."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING = {
    *("glow_dialects", "interface", "semantics", "frontend", "passes", "lowering", "runtime"),
    *("quantization", "tuning", "tools", "nn", "training"),
}

ALLOWED = {
    "glow_dialects": set(),
    "interface": {"glow_dialects", "perfetto"},
    "semantics": {"glow_dialects"},
    "frontend": {"glow_dialects", "semantics"},
    "passes": {"glow_dialects", "interface", "semantics"},
    "lowering": {"glow_dialects", "passes", "semantics", "context"},
    "runtime": {
        *("glow_dialects", "interface", "passes", "semantics", "lowering", "context", "universe"),
        "perfetto",
    },
    "quantization": {
        *("glow_dialects", "interface", "semantics", "passes", "runtime", "context"),
        *("compiler", "loading", "model_forms", "models"),
    },
    "tuning": {
        *("glow_dialects", "semantics", "passes", "lowering", "runtime", "context"),
    },
    "nn": {"glow_dialects", "passes", "semantics"},
    "training": {
        *("frontend", "glow_dialects", "interface", "nn", "passes", "quantization", "runtime"),
        *("compiler", "loading", "model_forms", "models", "progress_bar", "semantics"),
    },
    "tools": EVERYTHING
    | {"", "checks", "compiler", "context", "diagnostics", "loading", "model_forms", "models"}
    | {"parsing", "progress_bar", "universe"},
    "errors": set(),
    "lazy": set(),
    "fork_safe_lock": set(),
    "perfetto": set(),
    "progress_bar": set(),
    "table": set(),
    "byte_sizes": set(),
    "whole_file": set(),
    "wording": set(),
    "svg": set(),
    "universe": set(),
    "context": {"universe", "glow_dialects"},
    "checks": {"passes"},
    "diagnostics": set(),
    "parsing": {"checks", "context", "diagnostics"},
    "loading": {
        *("frontend", "glow_dialects", "interface", "model_forms", "passes", "parsing", "runtime"),
    },
    "graph_with_symbols": {"frontend", "glow_dialects", "loading", "passes", "runtime"},
    "model_forms": set(),
    "models": {"interface", "passes", "runtime"},
    "generation": {"models"},
    "definitions": {"glow_dialects", "frontend", "semantics"},
    "differentiation": {"context", "loading", "model_forms", "passes"},
    "compilation_request": {"interface", "model_forms", "runtime"},
    "compilation": {
        *("cold_compilation", "compilation_request", "interface", "model_forms", "models"),
        *("passes", "runtime"),
    },
    "cold_compilation": {
        *("compilation_request", "frontend", "graph_with_symbols", "interface", "loading"),
        *("model_forms", "models", "passes", "runtime"),
    },
    "compiler": {
        *("compilation", "compilation_request", "interface", "model_forms", "models", "runtime"),
    },
    "onnx_backend": {
        "loading",
        "",
        "compiler",
        "glow_dialects",
        "frontend",
        "interface",
        "runtime",
        "semantics",
    },
    "host": {"interface", "loading", "model_forms", "passes", "runtime"},
    "": {
        *("compiler", "definitions", "differentiation", "generation", "host", "models", "nn"),
        *("onnx_backend", "quantization", "training"),
    },
}
"""The modules that each folder and each module of the root may import; "" is the package itself."""

DIALECTS = {
    "glow": set(),
    "glow_cpu": {"glow"},
    "glow_inst": {"glow", "glow_cpu"},
    "glow_vec": set(),
    "llvm_extended": {"glow_vec"},
    "vta": {"glow"},
}
"""The other dialects that each dialect may know, also through shared modules."""

FOR_ALL = {
    *("byte_sizes", "errors", "fork_safe_lock", "lazy", "svg", "table", "whole_file", "wording"),
}
DIALECT_DEPENDENCIES = {"xdsl", "typing_extensions"}
LONGEST_FILE = {True: 400, False: 450}
"""Lines of a file in the package, and of one outside."""
LONGEST_FUNCTION = 60
"""Lines of a function in the package, its documentation included."""
PLACES = re.compile(r"(?<![\w.])/(work|root|home|tmp/w)/\w")
"""Paths of one particular machine."""
FRAGMENT = re.compile(
    r"(Of|By|That|Those|As|Behind|Into|Beside|Between|From|Only|Not|With|So|If|"
    r"How|What|When|Where|Why)\b"
)
"""The first word of a docstring without a subject, such as "Of a tile."."""


@dataclass(frozen=True)
class Import:
    file: Path
    line: int
    module: str
    """The module within the package, dotted, without `glow.`; "" for the package itself."""
    lazy: bool
    """Whether it is inside a function."""
    typing: bool
    """Whether it is only for type checkers."""

    @property
    def part(self) -> str:
        return self.module.split(".")[0]

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports glow.{self.module}"


def sources() -> list[Path]:
    """Returns the Python files of the package."""
    folders = [p for p in sorted(EVERYTHING) if (ROOT / p).is_dir()]
    return [*ROOT.glob("*.py"), *(f for d in folders for f in (ROOT / d).rglob("*.py"))]


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def part_of(file: Path) -> str:
    first = file.relative_to(ROOT).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


def module_of(file: Path) -> str:
    parts = list(file.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def nodes(
    tree: ast.AST, lazy: bool = False, typing: bool = False
) -> Iterator[tuple[ast.AST, bool, bool]]:
    """Imports statements, and whether they are in a function or only for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            continue  # an expression imports nothing
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, lazy, typing
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from nodes(node, lazy, True)
        else:
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from nodes(node, lazy or inside, typing)


@cache
def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def modules_of(node: ast.AST, file: Path) -> Iterator[str]:
    """Yields the modules of the package that a statement names."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.split(".")[0] == "glow":
                yield alias.name.removeprefix("glow").removeprefix(".")
        return
    assert isinstance(node, ast.ImportFrom)
    if node.level:
        package = file.relative_to(ROOT).parent.parts
        base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
    elif (node.module or "").split(".")[0] == "glow":
        base = (node.module or "").split(".")[1:]
    else:
        return
    name = ".".join(filter(None, base))
    for alias in node.names:
        inner = f"{name}.{alias.name}".removeprefix(".")
        yield inner if is_module(inner) else name


@cache
def imports() -> list[Import]:
    found = []
    for file in sources():
        for node, lazy, typing in nodes(tree_of(file)):
            for module in modules_of(node, file):
                found.append(Import(file, node.lineno, module, lazy, typing))  # pyright: ignore
    return found


def allowed(i: Import) -> bool:
    own = part_of(i.file)
    return i.part == own or i.part in FOR_ALL or i.part in ALLOWED[own]


def test_sources_are_found() -> None:
    assert len(sources()) > 20
    assert len(imports()) > 50


def test_every_module_of_the_root_has_a_place() -> None:
    assert {part_of(f) for f in sources()} <= set(ALLOWED)


def test_imports_point_downwards() -> None:
    assert not [str(i) for i in imports() if not allowed(i)]


def test_dialects_need_only_xdsl() -> None:
    found = set()
    for file in (ROOT / "glow_dialects").rglob("*.py"):
        for node, _, _ in nodes(tree_of(file)):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add((node.module or "").split(".")[0])
    assert found - set(sys.stdlib_module_names) <= DIALECT_DEPENDENCIES


def has_reason(lines: Sequence[str], number: int) -> bool:
    """Returns whether an import, or the first of those that follow one another, has a comment."""
    while number > 1:
        above = lines[number - 2].strip()
        if "#" in lines[number - 1] or above.startswith("#"):
            return True
        if above and not above.startswith(("import ", "from ")):
            return False
        number -= 1
    return False


def test_imports_inside_functions_have_a_reason() -> None:
    """They make a reader look for what a module needs, so a comment says what they are good for."""
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}"  # pyright: ignore
        for file in sources()
        for lines in [file.read_text(encoding="utf-8").splitlines()]
        for node, lazy, _ in nodes(tree_of(file))
        if lazy and not has_reason(lines, node.lineno)  # pyright: ignore
    ]
    assert not found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n    import a", False),
        ("# why\ndef f():\n    import a", False),
        ("def f():\n    # why\n    import a", True),
        ("def f():\n    import a  # why", True),
        ("def f():\n    # why\n    import a\n\n    from b import c", True),
        ("def f():\n    # why\n    g()\n    import a", False),
    ],
)
def test_reasons_of_imports(text: str, expected: bool) -> None:
    lines = text.splitlines()
    assert has_reason(lines, len(lines)) == expected


@cache
def import_graph() -> dict[str, set[str]]:
    """Returns the modules that each module imports when it is loaded."""
    graph: dict[str, set[str]] = {module_of(f): set() for f in sources()}
    for i in imports():
        if i.module != module_of(i.file):
            graph[module_of(i.file)].add(i.module)
    return graph


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects_know_only_those_that_they_build_on(dialect: str) -> None:
    graph, prefix = import_graph(), "glow_dialects."
    pending = [m for m in graph if f"{m}.".startswith(f"{prefix}{dialect}.")]
    assert pending
    reached: set[str] = set()
    while pending:
        if (module := pending.pop()) not in reached:
            reached.add(module)
            pending += graph.get(module, ())
    known = {m.removeprefix(prefix).split(".")[0] for m in reached if m.startswith(prefix)}
    assert (known & set(DIALECTS)) - {dialect} <= DIALECTS[dialect]


def test_no_import_cycles() -> None:
    graph = import_graph()
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module in done:
            return
        for other in sorted(graph.get(module, ())):
            visit(other, (*path, module))
        done.add(module)

    for module in graph:
        visit(module, ())


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "-z"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("not a git repository")
    return [p for name in listed.stdout.split("\0") if name and (p := ROOT / name).is_file()]


def test_files_are_short() -> None:
    long = {}
    package = set(sources())
    for path in tracked_files():
        if path.suffix == ".py":
            lines = path.read_text(encoding="utf-8").count("\n")
            name = str(path.relative_to(ROOT))
            if lines > LONGEST_FILE[path in package]:
                long[name] = lines
    assert not long


def test_functions_are_short() -> None:
    long = {}
    for path in sources():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    long[f"{path.relative_to(ROOT)}: {node.name}"] = lines
    assert not long


def test_no_paths_of_one_machine() -> None:
    found = []
    for path in tracked_files():
        if path.suffix in (".onnx", ".png", ".npz", ".safetensors"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if PLACES.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found


ALGORITHMS = "lowering/kernels/algorithms"
OF_SCHEDULES = re.compile(
    r"(?i)\bcache|prefetch|\bl[123]_|\bweight\b|\bsoon\b|\bstreams\b|\bahead\b"
)


def test_properties_have_no_locks() -> None:
    """Locks of `functools.cached_property` may be taken for ever in a forked child (`lazy.py`)."""
    others = (file for file in sources() if file.name != "lazy.py")
    found = [f.relative_to(ROOT) for f in others if "cached_property" in f.read_text("utf-8")]
    assert not found


def test_algorithms_say_what_is_computed_not_how() -> None:
    """They ask schedules how much to do at a time, and never emit code."""
    emitting = [
        str(i)
        for i in imports()
        if ALGORITHMS in i.file.as_posix()
        and i.module.startswith("lowering.kernels.codegen")
        and not i.module.startswith("lowering.kernels.codegen.types")
    ]
    assert not emitting
    lines = [
        f"{path.name}:{number}: {line.strip()}"
        for path in sorted((ROOT / ALGORITHMS).glob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if OF_SCHEDULES.search(line)
    ]
    assert not lines


def test_tests_share_helpers_by_modules_of_their_own() -> None:
    """Nothing is imported out of a test, so that each can be read and changed alone."""
    found = [
        f"{path.relative_to(ROOT)}: {node.module}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom)
        and (node.level or (node.module or "").startswith("glow."))
        and (node.module or "").rpartition(".")[2].startswith("test_")
    ]
    assert not found


def test_docstrings_have_a_subject() -> None:
    """Docstrings of modules, classes and functions begin with what they describe."""
    found = [
        f"{file.relative_to(ROOT)}: {getattr(node, 'name', 'the module')}: {doc.splitlines()[0]}"
        for file in sources()
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and FRAGMENT.match(doc := ast.get_docstring(node) or "")
    ]
    assert found == []
