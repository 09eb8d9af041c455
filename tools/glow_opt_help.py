"""The text of `glow-opt --help`: passes with what they do, and their options."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Mapping

from xdsl.passes import ModulePass, get_pass_option_infos

PREFIX = "glow-"
USEFUL = {
    "canonicalize": "Fold constants and apply the simplifications that operations define.",
    "cse": "Compute equal pure expressions once.",
    "dce": "Remove pure operations whose results are not used.",
}
"""xDSL passes that work on our dialects, and so are described as well."""


def describe_options(
    parser: argparse.ArgumentParser,
    passes: Mapping[str, Callable[[], type[ModulePass]]],
    targets: Mapping[str, object],
) -> None:
    """Add the description of passes and targets to `parser`; imports the passes of this package."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = 'glow-opt [--PASS[="option=value ..."]]... [options] [input.mlir|model.onnx]'
    for action in parser._actions:
        if action.dest == "passes":
            action.help = "comma-separated passes, with options: a,b{option=value option=1,2}"
        elif action.dest == "target":
            action.metavar = "TARGET"
            action.help = "what to print (default: mlir), see below"
    own = [name for name in passes if name.startswith(PREFIX)]
    described = [*own, *(n for n in USEFUL if n in passes)]
    others = [n for n in passes if n not in described]
    parser.epilog = "\n".join(
        [
            "passes, each a flag, run in the order of the command line:",
            *(_describe(name, passes[name]) for name in described),
            "",
            "further passes of xDSL:",
            _wrap(", ".join(sorted(others))),
            "",
            "targets:",
            _wrap(", ".join(name.removeprefix(PREFIX) for name in targets)),
            "",
            "Passes and targets whose name begins with glow- are also accepted with this prefix.",
        ]
    )


def _wrap(text: str) -> str:
    return textwrap.fill(
        text, 98, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )


def _describe(name: str, load: Callable[[], type[ModulePass]]) -> str:
    try:
        pass_class = load()
    except ImportError as e:
        # a pass may need a package that is not installed; the others can still be described
        return f"  --{name.removeprefix(PREFIX)}\n      (not available: {e})"
    options = ", ".join(
        f"{o.name.replace('_', '-')}: {o.expected_type.strip(chr(39))}"
        + (f" = {o.default_value}" if o.default_value is not None else "")
        for o in get_pass_option_infos(pass_class)
    )
    lines = [f"  --{name.removeprefix(PREFIX)}"]
    lines.append(textwrap.indent(USEFUL.get(name) or summary(pass_class), "      "))
    if options:
        lines.append(f"      options: {options}")
    return "\n".join(lines)


def summary(pass_class: type[ModulePass]) -> str:
    """The first paragraph of the documentation of the pass, or else of its module."""
    text = pass_class.__doc__ or ""
    if text.startswith(f"{pass_class.__name__}("):
        # what the dataclass decorator writes where there is no documentation
        text = sys.modules[pass_class.__module__].__doc__ or ""
    text = text.strip().split("\n\n")[0]
    return textwrap.fill(" ".join(text.split()), 92) or "(no description)"
