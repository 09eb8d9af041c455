"""
FileCheck tests in this process, which spares the start of Python for each of their commands.

lit's own parser reads the commands. A test that needs more of lit than is here ends in
`NeedsLitError`, so that the caller can give it to lit.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from unittest import mock

import filecheck.main
from glow.tools import glow_opt
from lit.ShCommands import Command, Pipeline
from lit.ShUtil import ShParser

KEYWORDS = re.compile(r"\b((ALLOW_RETRIES|DEFINE|REDEFINE|REQUIRES|UNSUPPORTED|XFAIL):|END\.)")
RUN = re.compile(r"RUN:(.*)")
REDIRECTIONS = ((">&", 2), (">", 2), (">",), ("<",))


class NeedsLitError(Exception):
    """The test uses what only lit itself has."""


@dataclass(frozen=True)
class Failure:
    """A command line that failed, the exit codes of its commands, and what they wrote on stderr."""

    line: str
    codes: tuple[int, ...]
    errors: str

    def __str__(self) -> str:
        return f"{self.line}\nexit codes: {self.codes}\n{self.errors}"


def _cat(names: Sequence[str]) -> int:
    for name in names:
        sys.stdout.write(Path(name).read_text(encoding="utf-8"))
    return 0


def _cmp(names: Sequence[str]) -> int:
    first, second = (sys.stdin.buffer.read() if n == "-" else Path(n).read_bytes() for n in names)
    return int(first != second)


def _sed(arguments: Sequence[str]) -> int:
    command = ["sed", *arguments]
    return subprocess.run(
        command, stdin=sys.stdin, stdout=sys.stdout, stderr=sys.stderr, timeout=600
    ).returncode


def _filecheck(arguments: Sequence[str]) -> int:
    filecheck.main.main(["filecheck", *arguments])
    return 0


TOOLS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "cat": _cat,
    "cmp": _cmp,
    "filecheck": _filecheck,
    "glow-opt": glow_opt.main,
    "sed": _sed,
}


def command_lines(test: Path, temporary: Path) -> list[str]:
    """Returns the command lines of a test, with `%s` and `%t` replaced. Raises NeedsLitError."""
    text = test.read_text(encoding="utf-8")
    if keyword := KEYWORDS.search(text):
        raise NeedsLitError(keyword[0])
    lines = RUN.findall(text.replace("\\\n", "\\"))
    # a line that goes on has its comment marker and RUN: again
    joined = [re.sub(r"\\.*?RUN:", "", line).strip() for line in lines]
    named = {"%s": str(test), "%t": str(temporary / test.name)}

    def name(found: re.Match[str]) -> str:
        if found[0] not in named:
            raise NeedsLitError(found[0])
        return named[found[0]]

    return [re.sub(r"%.", name, line) for line in joined]


def parsed(line: str) -> list[Command]:
    """Returns the commands of a pipe. Raises NeedsLitError unless all is known."""
    pipeline = ShParser(line, pipefail=True).parse()
    if not isinstance(pipeline, Pipeline) or pipeline.negate:
        raise NeedsLitError(line)
    for command in pipeline.commands:
        tool = command.args[1] if command.args[0] == "not" else command.args[0]
        plain = all(isinstance(a, str) for a in command.args)
        known = all(op in REDIRECTIONS and isinstance(to, str) for op, to in command.redirects)
        if tool not in TOOLS or not plain or not known:
            raise NeedsLitError(line)
    return pipeline.commands


def _text(path: Path, mode: str) -> IO[str]:
    return open(path, mode, encoding="utf-8", errors="surrogateescape")


def _run(command: Command, source: Path, output: Path, errors: Path) -> int:
    """Runs a command that reads `source` and writes `output` and `errors`; its exit code."""
    output.touch()  # the next command reads it, even if nothing is written there
    for operator, target in command.redirects:
        # in their order: `2>&1 >file` writes errors to where output went before
        match operator:
            case ("<",):
                source = Path(target)
            case (">",):
                output = Path(target)
            case (">", 2):
                errors = Path(target)
            case (">&", 2):
                errors = output
    negated = command.args[0] == "not"
    name, *arguments = command.args[negated:]
    with (
        _text(source, "r") as stdin,
        _text(output, "w") as stdout,
        nullcontext(stdout) if errors == output else _text(errors, "a") as stderr,
        mock.patch("sys.stdin", stdin),
        mock.patch("sys.stdout", stdout),
        mock.patch("sys.stderr", stderr),
    ):
        try:
            code = TOOLS[name](arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return int(not code) if negated else code


def run_test(test: Path, temporary: Path) -> Failure | None:
    """
    Runs the command lines of a test up to the first that fails, in the folder `temporary`.

    As in lit, a line fails if one command of its pipe does. Raises NeedsLitError before the first
    command if lit must run the test.
    """
    lines = command_lines(test, temporary)
    pipes = [parsed(line) for line in lines]
    if not pipes:
        raise NeedsLitError("no command")
    here = Path.cwd()
    os.chdir(temporary)
    try:
        for line, commands in zip(lines, pipes, strict=True):
            errors = temporary / "errors"
            errors.write_bytes(b"")
            flow = [Path(os.devnull), *(temporary / f"pipe{i}" for i in range(len(commands)))]
            codes = tuple(_run(c, flow[i], flow[i + 1], errors) for i, c in enumerate(commands))
            if any(codes):
                return Failure(line, codes, errors.read_text(encoding="utf-8", errors="replace"))
    finally:
        os.chdir(here)
    return None
