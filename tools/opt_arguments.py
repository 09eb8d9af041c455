"""The command line of `glow-opt`: its options, passes as flags, and hints for users of mlir-opt."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from ..diagnostics import ToolError
from ..wording import did_you_mean
from .arguments import DEBUG_FLAG

PREFIX = "glow-"
"""Passes and targets of this package can be written with and without it."""

ELSEWHERE = {
    "emit": "-t says what to print: mlir, llvm-ir, onnx, vta-asm or vta-binary",
    "mlir-disable-threading": "passes run one after another in any case",
    "mlir-elide-elementsattrs-if-larger": "--weights-out writes constants to a file instead",
    "loop-invariant-code-motion": "it is called --licm",
    "one-shot-bufferize": "--irgen makes instructions on buffers of a graph",
    **dict.fromkeys(
        [f"mlir-print-ir-{when}" for when in ("before-all", "before", "after", "after-change")],
        "--mlir-print-ir-after-all prints the module after each pass",
    ),
    **dict.fromkeys(
        [
            *(f"convert-{name}-to-llvm" for name in ("arith", "cf", "func", "math", "vector")),
            "finalize-memref-to-llvm",
        ],
        "--convert-to-llvm converts all dialects of kernels at once",
    ),
}
"""Names of mlir-opt for features that have other names here."""


class OptParser(argparse.ArgumentParser):
    """The parser of the command line. Wrong arguments raise ToolError."""

    def __init__(self, passes: Sequence[str], usage: str | None = None, epilog: str | None = None):
        """`passes` are the names of known passes, for hints about unknown options."""
        super().__init__(
            prog="glow-opt",
            description="Run passes over MLIR text or ONNX models.",
            usage=usage,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self._passes = passes

    def error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            flag = unknown.split()[0].split("=")[0]
            if not flag.startswith("-"):
                raise ToolError(f"error: expected one input file, found {flag} as well")
            known = [f"--{name}" for name in self._passes]
            message = f"unknown option {flag}{hint(flag, known)}"
        raise ToolError(f"error: {message}")


class _Print(argparse.Action):
    """Prints a text, and does nothing else."""

    def __init__(self, *args: Any, text: Callable[[], str], **kwargs: Any):
        super().__init__(*args, nargs=0, **kwargs)
        self.text = text

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(self.text())
        parser.exit()


def normalized(args: Iterable[str], passes: Iterable[str]) -> list[str]:
    """
    Returns the arguments with each flag of a pass as `--passes=NAME{OPTIONS}`, and options with one
    dash, which mlir-opt accepts, with two.
    """
    names = {n.removeprefix(PREFIX) for n in passes}.union(passes)
    parser = argparse.ArgumentParser(add_help=False)
    added = add_options(parser, [], str, {"version": str, "dialects": str, "passes": str})
    options = {string for action in added for string in action.option_strings}
    made = []
    for arg in args:
        name, equals, value = arg.lstrip("-").partition("=")
        if arg.startswith("-") and name in names:
            made.append(f"--passes={name}{{{value}}}" if value else f"--passes={name}")
        elif name == "verify-each" and arg.startswith("-"):
            made += [] if value in ("", "true", "1") else ["--disable-verify"]
        elif arg.startswith("-") and len(name) > 1 and f"--{name}" in options:
            made.append(f"--{name}{equals}{value}")
        else:
            made.append(arg)
    return made


def hint(name: str, known: Iterable[str]) -> str:
    """Returns the advice for the name of an option or a pass that does not exist."""
    bare = name.lstrip("-")
    return f"; {ELSEWHERE[bare]}" if bare in ELSEWHERE else did_you_mean(name, known)


def pipeline(text: str) -> str:
    """
    Parses passes in the syntax of `-p`, or of mlir-opt: `builtin.module(a,func.func(b{c=1}))`. The
    nesting is left out, because each pass finds the operations that it works on.
    """
    kept, nested, depth = "", 0, 0
    for c in text:
        depth += (c == "{") - (c == "}")
        if depth == 0 and c == "(":
            kept = kept[: kept.rfind(",") + 1]
            nested += 1
        elif depth == 0 and c == ")":
            nested -= 1
        else:
            kept += c
    if nested:
        raise ToolError(f"error: parentheses of the pipeline {text!r} do not match")
    return kept


def _symbol(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not name or not value.isdecimal():
        raise ToolError(f"error: --define-symbol takes name=size, found {text!r}")
    return name, int(value)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ToolError(f"error: expected a number of at least 1, found {text!r}")
    return int(text)


def add_options(
    parser: argparse.ArgumentParser,
    frontends: Sequence[str],
    target: Callable[[str], str],
    texts: Mapping[str, Callable[[], str]],
) -> list[argparse.Action]:
    """
    Returns all options but the flags of passes, which `normalized` has turned into `--passes`.
    `target` completes the name of a target. `texts` make the output of `--version`,
    `--show-dialects` and `--list-passes`.
    """
    return [
        *_input(parser, frontends),
        *_output(parser, target),
        *_running(parser),
        *_about(parser, texts),
    ]


def _switch(group: Any, *names: str, help: str) -> argparse.Action:
    return group.add_argument(*names, action="store_true", help=help)


def _input(parser: argparse.ArgumentParser, frontends: Sequence[str]) -> list[argparse.Action]:
    parser.add_argument(
        "input_file",
        nargs="?",
        metavar="FILE",
        help="MLIR text (.mlir), an ONNX model or a program for VTA (.vta); "
        "default: text from standard input",
    )
    group = parser.add_argument_group("input")
    return [
        group.add_argument(
            "-f",
            "--frontend",
            choices=list(frontends),
            help="the kind of input, if the ending of the file's name does not say it",
        ),
        group.add_argument(
            "--define-symbol",
            dest="symbols",
            metavar="NAME=SIZE",
            action="append",
            type=_symbol,
            default=[],
            help="size of a symbolic dimension of an ONNX model; may repeat",
        ),
        group.add_argument(
            "--max-elements",
            metavar="N",
            type=_count,
            help="refuse an ONNX model with larger tensors; default: 2**31",
        ),
        _switch(
            group, "--split-input-file", help="treat the parts between lines `// -----` one by one"
        ),
        _switch(
            group, "--allow-unregistered-dialect", help="accept operations of unknown dialects"
        ),
        _switch(
            group, "--no-implicit-module", help="expect a builtin.module around all operations"
        ),
    ]


def _output(parser: argparse.ArgumentParser, target: Callable[[str], str]) -> list[argparse.Action]:
    group = parser.add_argument_group("output")
    return [
        group.add_argument(
            "-o", "--output-file", metavar="FILE", help="default, and -: standard output"
        ),
        group.add_argument(
            "-t",
            "--target",
            type=target,
            default="mlir",
            metavar="TARGET",
            help="what to print (default: mlir), see below",
        ),
        group.add_argument(
            "--weights-out",
            metavar="FILE.safetensors",
            help="write the bytes of all constants to a file and refer to them there",
        ),
        group.add_argument(
            "--dump-dag",
            metavar="FILE.svg",
            help="draw a network that --partition has split over devices",
        ),
        _switch(
            group,
            "--print-op-generic",
            "--mlir-print-op-generic",
            help="print operations in generic form, which other tools of MLIR read",
        ),
        _switch(group, "--print-no-properties", help="print properties among the attributes"),
        _switch(
            group, "--print-debuginfo", "--mlir-print-debuginfo", help="print locations as well"
        ),
        _switch(group, "--syntax-highlight", help="print in colors"),
    ]


def _running(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    group = parser.add_argument_group("running passes")
    return [
        group.add_argument(
            "-p",
            "--passes",
            "--pass-pipeline",
            action="append",
            type=pipeline,
            default=[],
            metavar="PASSES",
            help="passes with commas between them: a,b{option=value option=1,2}, or as for "
            "mlir-opt: builtin.module(a,b); may repeat, and mixes with flags of passes",
        ),
        _switch(
            group,
            "--strict",
            help="stop if a pass finds nothing that it works on; by default, the passes that lead "
            "there run before it, and a note on standard error names them",
        ),
        _switch(
            group,
            "--print-ir-after-all",
            "--mlir-print-ir-after-all",
            help="print the module after each pass, on standard error",
        ),
        _switch(
            group, "--print-between-passes", help="the same on standard output, but for the last"
        ),
        _switch(
            group,
            "--time-passes",
            "--mlir-timing",
            help="print on standard error how long each pass took",
        ),
        _switch(
            group,
            "--disable-verify",
            help="do not check the module after each pass; the same as --verify-each=false",
        ),
        _switch(
            group,
            "--verify-diagnostics",
            help="print the error of a check or a pass on standard output, and exit with code 0",
        ),
        _switch(group, "--parsing-diagnostics", help="the same for errors of the text"),
        _switch(group, DEBUG_FLAG, help="show the Python traceback of an error"),
        _switch(group, "--shrink", help="exit with code 0 if a pass raises ShrinkException"),
    ]


def _about(
    parser: argparse.ArgumentParser, texts: Mapping[str, Callable[[], str]]
) -> list[argparse.Action]:
    group = parser.add_argument_group("about")
    return [
        group.add_argument(
            "--list-passes",
            action=_Print,
            text=texts["passes"],
            help="print the names of all passes, those of xDSL as well",
        ),
        group.add_argument(
            "--show-dialects",
            action=_Print,
            text=texts["dialects"],
            help="print the names of all dialects",
        ),
        group.add_argument(
            "-v", "--version", action=_Print, text=texts["version"], help="print the versions"
        ),
    ]
