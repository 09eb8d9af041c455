"""The passes of a `glow-opt` command line, and those that must run before one of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import fields

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, get_pass_option_infos
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from ..diagnostics import ToolError
from ..errors import GlowError
from ..passes.levels import Level, level_of, levels_of, path
from ..wording import did_you_mean
from .opt_arguments import PREFIX, hint

Passes = Mapping[str, Callable[[], type[ModulePass]]]
"""Names of passes, and what loads their classes."""


def pass_names(passes: Passes) -> list[str]:
    """Returns all names that a pass may be given."""
    return [*passes, *(n.removeprefix(PREFIX) for n in passes if n.startswith(PREFIX))]


def make_passes(text: str, passes: Passes) -> list[ModulePass]:
    """Returns the passes that `text` names, in the syntax of `-p`. Raises ToolError."""
    try:
        specs = list(parse_pipeline(text))
    except ArgSpecParseError as e:
        detail = [line.strip() for line in str(e).splitlines() if line.strip()]
        message = f"error: cannot read pass options: {detail[-1]} in {detail[2]!r}"
        raise ToolError(message + _advice(detail[-1])) from None
    return [_make(spec, passes) for spec in specs]


def _advice(problem: str) -> str:
    if not problem.startswith("Unknown token"):
        return ""
    return """; a value with a dot or a slash needs quotes: 'profile="profile.json"'"""


def _make(spec: ArgSpec, passes: Passes) -> ModulePass:
    name = spec.name if spec.name in passes else PREFIX + spec.name
    if name not in passes:
        raise ToolError(f"error: unknown pass {spec.name!r}{hint(spec.name, pass_names(passes))}")
    pass_class = passes[name]()
    known = [f.name.replace("_", "-") for f in fields(pass_class)]
    for option in spec.parameters:
        if option.replace("_", "-") not in known:
            takes = f"; it takes {', '.join(known) or 'none'}"
            raise ToolError(
                f"error: {name} has no option {option!r}{did_you_mean(option, known) or takes}"
            )
    try:
        return pass_class.from_spec(ArgSpec(name, spec.parameters))
    except (ValueError, GlowError) as e:
        problem = _wrong_value(pass_class, spec) or e
        raise ToolError(f"error: {name}: {problem}") from None


_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "tuple[int, ...]": "whole numbers with commas between them",
}
"""Descriptions of the types of options."""


def _wrong_value(pass_class: type[ModulePass], spec: ArgSpec) -> str | None:
    """Returns the option whose value has the wrong type, if that is the error."""
    types = {
        o.name: o.expected_type.strip("'").removesuffix(" | None")
        for o in get_pass_option_infos(pass_class)
    }
    for option, values in spec.parameters.items():
        try:
            pass_class.from_spec(ArgSpec(pass_class.name, {option: values}))
        except ValueError as e:
            if str(e).startswith(("Incompatible types", "Argument must")):
                found = ",".join(str(v) for v in values) or "nothing"
                kind = types[option.replace("-", "_")]
                return f"expected {option} to be {_KINDS.get(kind, kind)}, found {found}"
    return None


class Preparation:
    """
    Finds the passes that lead to the level that a pass works on (see `passes.levels`). Reports on
    standard error, once, which passes run, or that the pass finds nothing.

    With `strict`, a pass that finds nothing is an error instead.
    """

    def __init__(self, passes: Passes, strict: bool):
        self._passes = passes
        self._strict = strict
        self._said: set[str] = set()

    def passes_before(
        self, module_pass: ModulePass, module: ModuleOp, file: str
    ) -> list[ModulePass]:
        """
        Returns the passes to run on the module, which is that of a file, before `module_pass`.
        """
        level = level_of(type(module_pass))
        if level is None:
            return []
        found = path(levels_of(module), level)
        if found == ():
            return []
        self._tell(module_pass, level, found, file)
        return [self._passes[name]()() for name in found or ()]

    def _tell(
        self, module_pass: ModulePass, level: Level, found: tuple[str, ...] | None, file: str
    ) -> None:
        wants = f"{_flag(module_pass.name)} works on {level.name}"
        flags = " ".join(_flag(name) for name in found or ())
        if self._strict:
            advice = f": add {flags} before it" if flags else ""
            raise ToolError(f"{file}: error: {wants} and finds none{advice}")
        note = f"{wants}: {flags} run before it" if flags else f"{wants} and finds none"
        if note not in self._said:
            self._said.add(note)
            print(f"{file}: note: {note}", file=sys.stderr)


def _flag(name: str) -> str:
    return f"--{name.removeprefix(PREFIX)}"
