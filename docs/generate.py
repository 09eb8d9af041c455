"""
Writes the generated parts of the documentation, or checks that they are current.

    python docs/generate.py [--check]

Comments in a Markdown file name the generated parts, and everything up to the next `<!-- end -->`
is replaced:

- `<!-- run: glow-opt FILE FLAGS -->`: what the command prints, run in `docs/`
- `<!-- assembly: CPU glow-opt FILE FLAGS -->`: the machine code of the first function, for a CPU
  with the instruction set x86-64
- `<!-- file: FILE -->`: a file
- `<!-- code: FILE NAME ... -->`: definitions of a Python file, such as `load` or `Machine.run`
- `<!-- interface: FILE CLASS -->`: the public methods of a class, with their documentation
- `<!-- options: PASS -->`: the options of a pass
- `<!-- operators -->`: the ONNX operators that can be imported

The figures of `figures/` are written to `images/`, and the descriptions of passes that `glow-opt
--help` prints to `tools/`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import llvmlite.binding as llvm
from figures import FIGURES
from glow.lowering.target import initialize
from glow.tools.glow_opt import main as glow_opt
from glow.tools.glow_opt_help import TEXTS
from glow.tools.pass_descriptions import documented_options, table
from glow.universe import UNIVERSE

DOCS = Path(__file__).resolve().parent
PART = re.compile(
    r"(?P<head><!-- (?P<kind>\w+)(?:: (?P<rest>.*?))? -->\n)(?P<body>.*?)(?P<end><!-- end -->)",
    re.DOTALL,
)


def run(command: str) -> str:
    """Returns the output of a command as a code block."""
    language = "llvm" if "-t llvm-ir" in command else "mlir"
    return f"```{language}\n{_printed(command)}\n```\n"


def _printed(command: str) -> str:
    tool, *arguments = shlex.split(command)
    if tool != "glow-opt":
        raise ValueError(f"{command}: only glow-opt can be run here")
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        code = glow_opt(arguments)
    if code:
        raise ValueError(f"{command}: {errors.getvalue()}")
    return printed.getvalue().strip()


def assembly(rest: str) -> str:
    """Returns the instructions and labels of the first function that a command makes."""
    cpu, command = rest.split(" ", 1)
    initialize()
    module = llvm.parse_assembly(_printed(f"{command} -t llvm-ir"))
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    text = target.create_target_machine(cpu=cpu, opt=3).emit_assembly(module)
    body = text.partition("@function\n")[2].partition(".Lfunc_end")[0].splitlines()
    lines = [line.expandtabs(4) for line in body if not line.startswith("\t.")]
    return "```asm\n" + "\n".join(lines) + "\n```\n"


def file(name: str) -> str:
    language = Path(name).suffix.removeprefix(".")
    return f"```{language}\n{(DOCS / name).read_text(encoding='utf-8').strip()}\n```\n"


def definition(tree: ast.Module | ast.ClassDef, name: str) -> ast.stmt:
    """Returns a class, a function or an assignment within a module or class. Raises ValueError."""
    outer, _, rest = name.partition(".")
    for node in tree.body:
        named = getattr(node, "name", None) or getattr(getattr(node, "target", None), "id", None)
        targets = [getattr(t, "id", None) for t in getattr(node, "targets", ())]
        if outer in (named, *targets):
            return definition(node, rest) if rest and isinstance(node, ast.ClassDef) else node
    raise ValueError(f"there is no {name}")


def code(rest: str) -> str:
    """Returns definitions of a Python file, with their decorators, as a code block."""
    name, *names = shlex.split(rest)
    text = (DOCS / name).read_text(encoding="utf-8")
    lines, tree, parts = text.splitlines(), ast.parse(text), []
    for wanted in names:
        node = definition(tree, wanted)
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        parts.append(textwrap.dedent("\n".join(lines[first - 1 : node.end_lineno])))
    return "```python\n" + "\n\n".join(parts) + "\n```\n"


def interface(rest: str) -> str:
    """
    Returns a list of the public methods of a class, abstract ones first, with their docstrings.
    """
    name, class_name = shlex.split(rest)
    tree = definition(ast.parse((DOCS / name).read_text(encoding="utf-8")), class_name)
    assert isinstance(tree, ast.ClassDef)
    methods = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]
    lines = []
    for node in sorted(methods, key=lambda n: "abstractmethod" not in ast.dump(n)):
        arguments = ", ".join(f"{a.arg}: {_plain(a.annotation)}" for a in node.args.args[1:])
        required = " (required)" if "abstractmethod" in ast.dump(node) else ""
        doc = " ".join((ast.get_docstring(node) or "").split())
        lines.append(f"- `{node.name}({arguments}) -> {_plain(node.returns)}`{required}: {doc}")
    return "\n".join(lines) + "\n"


def _plain(annotation: ast.expr | None) -> str:
    return "" if annotation is None else ast.unparse(annotation)


def options(name: str) -> str:
    """Returns a list of a pass's options, or that it has none."""
    lines = []
    for info, documentation in documented_options(UNIVERSE.all_passes[name]()):
        kind = info.expected_type.strip("'")
        default = f", default `{info.default_value}`" if info.default_value is not None else ""
        text = f": {documentation}" if documentation else ""
        lines.append(f"- `{info.name.replace('_', '-')}` ({kind}{default}){text}")
    return "\n".join(lines) + "\n" if lines else "No options.\n"


def operators(domain: str) -> str:
    """Returns the ONNX operators of a domain, by default ONNX's own, that have a converter."""
    from glow.frontend.onnx.adopted import ADOPTED
    from glow.frontend.onnx.node import CONTRIB, supported_operators

    adopted = ADOPTED if domain.strip() == CONTRIB else ()
    names = ", ".join(sorted([*supported_operators(domain.strip()), *adopted]))
    return textwrap.fill(names, 100, break_long_words=False) + "\n"


KINDS: dict[str, Callable[[str], str]] = {
    "run": run,
    "assembly": assembly,
    "file": file,
    "code": code,
    "interface": interface,
    "options": options,
    "operators": operators,
}


def generated(text: str) -> str:
    """Returns the text with all its parts generated again."""

    def replace(match: re.Match[str]) -> str:
        if match["kind"] not in KINDS:
            raise ValueError(f"unknown part: {match['head'].strip()}")
        return match["head"] + KINDS[match["kind"]](match["rest"] or "") + match["end"]

    return PART.sub(replace, text)


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the generated parts of the documentation.")
    parser.add_argument("--check", action="store_true", help="only say what is out of date")
    parsed = parser.parse_args(args)
    os.chdir(DOCS)
    wanted = {Path("images", f"{name}.svg"): draw() for name, draw in FIGURES.items()}
    wanted[Path(os.path.relpath(TEXTS))] = table()
    for path in sorted(Path().glob("*.md")):
        wanted[path] = generated(path.read_text(encoding="utf-8"))
    stale = [
        path
        for path, text in wanted.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale if not parsed.check else ():
        path.write_text(wanted[path], encoding="utf-8")
    for name in stale:
        print(f"docs/{name}: {'out of date, run docs/generate.py' if parsed.check else 'written'}")
    return 1 if stale and parsed.check else 0


if __name__ == "__main__":
    sys.exit(main())
