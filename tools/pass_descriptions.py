"""
Descriptions of passes, from the documentation of their classes and options.

Those of this package are in `pass_descriptions.json`, so that `glow-opt --help` loads no pass.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
from collections.abc import Callable, Iterator

from xdsl.passes import ModulePass, PassOptionInfo, get_pass_option_infos

from ..universe import PASSES, UNIVERSE
from .opt_arguments import PREFIX

_WIDTH = 98


def table() -> str:
    """Returns the text of `pass_descriptions.json`."""
    texts = {name: described(name, UNIVERSE.all_passes[name]) for name in PASSES}
    return json.dumps(texts, indent=1) + "\n"


def _wrap(text: str, indent: str, first: str | None = None) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def described(name: str, load: Callable[[], type[ModulePass]]) -> str:
    """Returns the flag of a pass, with its effect and its options."""
    flag = f"  --{name.removeprefix(PREFIX)}"
    try:
        pass_class = load()
    except ImportError as e:
        # a pass may need a package that is not installed; the others can still be described
        return f"{flag}\n      (not available: {e})"
    text = summary(pass_class)
    options = (f"{_option(*option)}" for option in documented_options(pass_class))
    return "\n".join([flag, _wrap(text, " " * 6), *options])


def _option(info: PassOptionInfo, documentation: str) -> str:
    # as it is written on the command line: lists without brackets
    kind = info.expected_type.strip("'").removesuffix(" | None").replace("...", "")
    value = info.default_value if info.default_value not in (None, "none", "()") else ""
    value = value.strip("()").replace("'", "").rstrip(",")
    shown = value or f"<{kind.removeprefix('tuple[').removesuffix(', ]')}>"
    text = f"{info.name.replace('_', '-')}={shown}  {documentation}".rstrip()
    return _wrap(text, " " * 12, first=" " * 8)


def summary(pass_class: type[ModulePass]) -> str:
    """Returns the first paragraph of the documentation of the pass, or else of its module."""
    text = pass_class.__doc__ or ""
    if text.startswith(f"{pass_class.__name__}("):
        # the text that the dataclass decorator writes if there is no documentation
        text = sys.modules[pass_class.__module__].__doc__ or ""
    return " ".join(text.strip().split("\n\n")[0].split()) or "(no description)"


def documented_options(pass_class: type[ModulePass]) -> Iterator[tuple[PassOptionInfo, str]]:
    """
    Yields the options of a pass, and the string below each one's attribute in the source, or "".
    """
    ours = [c for c in pass_class.__mro__ if c.__module__.startswith("glow.")]
    documentation = {n: text for c in reversed(ours) for n, text in _attribute_strings(c).items()}
    for info in get_pass_option_infos(pass_class):
        yield info, documentation.get(info.name, "")


def _attribute_strings(described: type) -> dict[str, str]:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(described))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for statement, after in zip(tree.body, tree.body[1:], strict=False):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            found[statement.target.id] = " ".join(after.value.value.split())
    return found
