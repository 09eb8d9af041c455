"""
`glow-opt`: run passes over IR, one flag per pass.

```
glow-opt --lower-nodes --stack-ops="max-ops=8" in.mlir
glow-opt model.onnx --define-symbol batch=4 -p glow-fold-batch-norm,canonicalize
```

Flags run in the order of the command line and may repeat. Passes and targets of this package can be
written with and without their prefix `glow-`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from importlib.metadata import version
from typing import IO, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.exceptions import ParseError, ShrinkException
from xdsl.xdsl_opt_main import xDSLOptMain

from ..context import make_context
from ..diagnostics import ToolError, describe_failure
from ..errors import GlowError
from ..parsing import parse_text
from ..passes.visited_operation import run_pass
from ..universe import multiverse
from ..wording import did_you_mean
from .opt_arguments import DEBUG_FLAG, PREFIX, OptParser, add_options, normalized
from .opt_pipeline import Preparation, make_passes, pass_names
from .output_file import completed, has_directory
from .partition_notes import note_idle_devices
from .xdsl_overrides import short_diagnostics, unchecked_attributes


class GlowOptMain(xDSLOptMain):
    """xDSL's driver with a flag for each pass, ONNX input, positions in errors, and more checks."""

    def __init__(self, args: Sequence[str] | None = None):
        # replaces xDSL's constructor, which makes a parser of its own
        given = sys.argv[1:] if args is None else list(args)
        self._line_offset = 0
        self._universe = multiverse()
        self.available_frontends = {}
        self.available_passes = {}
        self.available_targets = {}
        self.register_all_dialects()
        self.register_all_frontends()
        self.register_all_passes()
        self.register_all_targets()
        parser = self._parser(helping="-h" in given or "--help" in given)
        self.register_all_arguments(parser)
        self.args = parser.parse_args(normalized(given, self.available_passes))
        self.ctx.allow_unregistered = self.args.allow_unregistered_dialect
        self.setup_pipeline()
        if self.args.input_file == "-":
            self.args.input_file = None  # standard input
        if self.args.output_file == "-":
            self.args.output_file = None  # standard output
        self._expect_directories()

    # available passes and dialects

    def register_all_dialects(self) -> None:
        self.ctx = make_context()

    def register_all_passes(self) -> None:
        self.available_passes |= self._universe.all_passes

    def register_all_targets(self) -> None:
        self.available_targets |= self._universe.all_targets

    def register_all_frontends(self) -> None:
        self.available_frontends["mlir"] = self._parse_mlir
        self.available_frontends["onnx"] = self._import_onnx
        self.available_frontends["vta"] = self._disassemble

    def _parse_mlir(self, io: IO[bytes]) -> ModuleOp:
        return parse_text(
            self.ctx,
            io.read(),
            self.get_input_name(),
            self._line_offset,
            not self.args.no_implicit_module,
        )

    def _import_onnx(self, io: IO[bytes]) -> ModuleOp:
        # text needs no onnx and numpy
        from ..frontend.onnx import MAX_ELEMENTS, import_onnx
        from ..loading import gradient_nodes

        # the path, not its bytes: weights stay in the file and are referenced
        source = io.read() if self.args.input_file is None else self.args.input_file
        try:
            return import_onnx(
                *(source, dict(self.args.symbols), self.args.max_elements or MAX_ELEMENTS),
                differentiate=gradient_nodes,
            )
        except GlowError as e:
            name = self.get_input_name()
            message = str(e).removeprefix(f"{os.path.abspath(name)}: ").removeprefix(f"{name}: ")
            raise ToolError(f"{name}: error: {message}") from None

    def _disassemble(self, io: IO[bytes]) -> ModuleOp:
        # only VTA programs need it, and numpy with it
        from ..runtime.vta.assemble import disassemble
        from ..runtime.vta.container import parse_program

        name = self.get_input_name()
        try:
            return disassemble(parse_program(io.read(), name))
        except GlowError as e:
            raise ToolError(f"{name}: error: {str(e).removeprefix(f'{name}: ')}") from None

    # arguments

    def _parser(self, helping: bool) -> OptParser:
        """Returns the parser, with the description of all passes if `helping`."""
        names = pass_names(self.available_passes)
        if not helping:
            return OptParser(names)
        # other runs need no descriptions
        from .glow_opt_help import USAGE, described_passes

        epilog = described_passes(self.available_passes, self.available_targets)
        return OptParser(names, USAGE, epilog)

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        add_options(
            arg_parser,
            list(self.available_frontends),
            self._qualify_target,
            {"version": _versions, "dialects": self._dialects, "passes": self._all_passes},
        )

    def _dialects(self) -> str:
        return "\n".join(sorted(self.ctx.registered_dialect_names))

    def _all_passes(self) -> str:
        return "\n".join(sorted(self.available_passes))

    # passes

    def _qualify_target(self, target: str) -> str:
        name, brace, options = target.partition("{")
        if name not in self.available_targets and PREFIX + name in self.available_targets:
            return f"{PREFIX}{name}{brace}{options}"
        if name not in self.available_targets:
            raise ToolError(
                f"error: unknown target {name!r}{did_you_mean(name, self.available_targets)}"
                "; glow-opt --help lists them"
            )
        return target

    def setup_pipeline(self) -> None:
        self._passes = make_passes(",".join(self.args.passes), self.available_passes)
        self._preparation = Preparation(self.available_passes, self.args.strict)

    # running

    def prepare_input(self) -> tuple[list[tuple[IO[bytes], int]], str]:
        try:
            return super().prepare_input()
        except ValueError:
            known = " or ".join(f".{name}" for name in self.available_frontends)
            raise ToolError(
                f"{self.get_input_name()}: error: expected a file that ends in {known}, "
                "or the option --frontend"
            ) from None

    def run(self) -> None:
        with unchecked_attributes() if self.args.disable_verify else nullcontext():
            self._run()

    def _expect_directories(self) -> None:
        for name in (self.args.output_file, self.args.weights_out, self.args.dump_dag):
            if name is not None and not has_directory(name):
                raise ToolError(f"{name}: error: its directory does not exist")

    def _run(self) -> None:
        if self.args.output_file is None:
            super().run()
            return
        with completed(self.args.output_file) as self._where:
            super().run()

    def prepare_output(self) -> IO[str]:
        name = parse_spec(self.args.target).name
        # each character of the text is one byte
        is_text = not getattr(self._own_target(name), "writes_bytes", False)
        encoding, newline = (None, None) if is_text else ("latin-1", "")
        file = self.args.output_file
        if file is None and is_text:
            return sys.stdout
        where = sys.stdout.fileno() if file is None else self._where
        return open(where, "w", encoding=encoding, newline=newline, closefd=file is not None)

    def _own_target(self, name: str) -> object:
        # those of other packages may be functions that take the module
        if not name.startswith(PREFIX):
            return None
        return self.available_targets[name]()  # pyright: ignore[reportCallIssue]

    def parse_chunk(
        self, chunk: IO[bytes], file_extension: str, start_offset: int = 0
    ) -> ModuleOp | None:
        self._line_offset = start_offset
        return super().parse_chunk(chunk, file_extension, start_offset)

    def apply_passes(self, prog: ModuleOp) -> None:
        self._check(prog, None)
        for i, module_pass in enumerate(self._passes):
            before = self._preparation.passes_before(module_pass, prog, self.get_input_name())
            for step in (*before, module_pass):
                self._apply(step, prog)
                is_last = step is module_pass and i + 1 == len(self._passes)
                self._show(step, prog, is_last)

    def _apply(self, module_pass: ModulePass, prog: ModuleOp) -> None:
        start = time.perf_counter()
        try:
            run_pass(module_pass, self.ctx, prog)
        except (ShrinkException, RecursionError):
            raise
        except Exception as e:
            raise self._failure(e, module_pass.name) from e
        if self.args.time_passes:
            seconds = time.perf_counter() - start
            print(f"Pass {module_pass.name} took {seconds} seconds", file=sys.stderr)
        self._check(prog, module_pass.name)

    def _show(self, module_pass: ModulePass, prog: ModuleOp, is_last: bool) -> None:
        """Prints the module after a pass, if that is asked for."""
        if self.args.print_ir_after_all:
            print(f"// -----// IR Dump After {module_pass.name} //----- //", file=sys.stderr)
            Printer(stream=sys.stderr).print_op(prog)
            print("\n", file=sys.stderr)
        if self.args.print_between_passes and not is_last:
            print(f"IR after {module_pass.name}:")
            Printer(stream=sys.stdout).print_op(prog)
            print("\n\n\n")

    def _check(self, module: ModuleOp, after: str | None) -> None:
        if self.args.disable_verify:
            return
        # --version and errors of arguments come without it
        from ..checks import verify_all

        try:
            verify_all(module)
        except Exception as e:
            raise self._failure(e, after and f"after {after}", module) from e

    def _failure(
        self, error: Exception, pass_name: str | None, module: ModuleOp | None = None
    ) -> ToolError:
        if isinstance(error, ToolError):
            return error
        text = describe_failure(error, pass_name, self.get_input_name(), module)
        if self.args.traceback:
            # only errors of the compiler itself are traced
            import traceback

            text += "\n" + "".join(traceback.format_exception(error))
        return ToolError(text)

    def output_resulting_program(self, prog: ModuleOp) -> str:
        if self.args.weights_out is not None:
            # text needs no numpy
            from ..runtime.weights_file import write_weights

            write_weights([prog], self.args.weights_out)
        if self.args.dump_dag is not None:
            self._draw(prog)
        note_idle_devices(prog)
        try:
            return super().output_resulting_program(prog)
        except (ValueError, NotImplementedError, GlowError) as e:
            raise self._failure(e, self.args.target) from e

    def _draw(self, module: ModuleOp) -> None:
        # only --dump-dag draws
        from .dag_drawing import draw_partitions

        try:
            text = draw_partitions(module)
        except GlowError as e:
            raise self._failure(e, "--dump-dag") from e
        with open(self.args.dump_dag, "w", encoding="utf-8") as file:
            file.write(text)


def _versions() -> str:
    return f"glow-opt {version('glow-compiler')}, xdsl {version('xdsl')}"


def _message(error: BaseException) -> str:
    match error:
        case ToolError() | ParseError():
            return str(error)
        case OSError(filename=str(), strerror=str()):
            return f"{error.filename}: error: {error.strerror}"
        case OSError(strerror=str()):
            return f"error: {error.strerror}"
        case GlowError() | ValueError():
            return f"error: {error}"
        case RecursionError():
            return "error: the input is nested too deeply"
        case _:
            return f"error: {type(error).__name__}: {error} (see {DEBUG_FLAG})"


def main(args: Sequence[str] | None = None) -> int:
    """
    Runs the tool with `args`, by default those of the process. Returns the exit code.

    Every error is printed on stderr as `file:line:col: error: message`, with exit code 1.
    """
    given: Sequence[Any] = sys.argv[1:] if args is None else args
    try:
        with short_diagnostics():
            GlowOptMain(args).run()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # the reader of a pipe has seen enough
        sys.stderr.close()
        return 0
    except Exception as e:
        if DEBUG_FLAG in given:
            raise
        sys.stdout.flush()
        print(_message(e), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
