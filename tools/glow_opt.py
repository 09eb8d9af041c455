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
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import IO, Any, NoReturn

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline, get_pass_option_infos
from xdsl.printer import Printer
from xdsl.universe import Universe
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline, parse_spec
from xdsl.utils.diagnostic import Diagnostic
from xdsl.utils.exceptions import ArgSpecParseError, ParseError, ShrinkException
from xdsl.xdsl_opt_main import xDSLOptMain

from ..context import make_context
from ..diagnostics import ToolError, describe_failure, keep_operation, near
from ..errors import GlowError
from ..parsing import parse_text
from .output_file import completed
from .partition_notes import note_idle_devices

PREFIX = "glow-"
DEBUG_FLAG = "--traceback"


class _PassFlag(argparse.Action):
    """`--my-pass` or `--my-pass="a=1 b=2,3"`: append to the pipeline of `-p`."""

    def __call__(self, parser, namespace, values, option_string=None):
        assert option_string is not None
        name = option_string.removeprefix("--")
        spec = f"{name}{{{values}}}" if values else name
        namespace.passes = f"{namespace.passes},{spec}" if namespace.passes else spec


class _PassList(argparse.Action):
    """`-p a,b{c=1}`: append, so that it mixes with pass flags in order."""

    def __call__(self, parser, namespace, values, option_string=None):
        namespace.passes = f"{namespace.passes},{values}" if namespace.passes else values


def _close_bare_flags(args: Iterable[str], passes: Iterable[str]) -> list[str]:
    """Spell `--my-pass` as `--my-pass=`, or it would take the file after it as its options."""
    flags = {f"--{name}" for name in passes}
    flags |= {f"--{name.removeprefix(PREFIX)}" for name in passes if name.startswith(PREFIX)}
    return [f"{arg}=" if arg in flags else arg for arg in args]


def _symbol(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not name or not value.isdecimal():
        raise ToolError(f"error: --define-symbol takes name=size, found {text!r}")
    return name, int(value)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ToolError(f"error: expected a number of at least 1, found {text!r}")
    return int(text)


def _wrong_value(pass_class: type[ModulePass], spec: ArgSpec) -> str | None:
    """The option whose value has the wrong type, if that is what is wrong."""
    types = {o.name: o.expected_type.strip("'") for o in get_pass_option_infos(pass_class)}
    for option, values in spec.parameters.items():
        try:
            pass_class.from_spec(ArgSpec(pass_class.name, {option: values}))
        except ValueError as e:
            if str(e).startswith(("Incompatible types", "Argument must")):
                found = ",".join(str(v) for v in values) or "nothing"
                return f"expected {option} to be {types[option.replace('-', '_')]}, found {found}"
    return None


class GlowOptMain(xDSLOptMain):
    """xDSL's driver with a flag for each pass, ONNX input, positions in errors, and more checks."""

    def __init__(self, args: Sequence[str] | None = None):
        given = sys.argv[1:] if args is None else list(args)
        self._helping = "-h" in given or "--help" in given
        self._line_offset = 0
        self._universe = Universe.get_multiverse()
        given = _close_bare_flags(given, self._universe.all_passes)
        super().__init__("Run passes over MLIR text or ONNX models.", given)
        if self.args.input_file == "-":
            self.args.input_file = None  # standard input

    # what is available

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
        from ..frontend.onnx import MAX_ELEMENTS, import_onnx

        # the path, not its bytes: weights stay in the file and are referenced
        source = io.read() if self.args.input_file is None else self.args.input_file
        try:
            return import_onnx(
                source, dict(self.args.symbols), self.args.max_elements or MAX_ELEMENTS
            )
        except GlowError as e:
            name = self.get_input_name()
            message = str(e).removeprefix(f"{os.path.abspath(name)}: ").removeprefix(f"{name}: ")
            raise ToolError(f"{name}: error: {message}") from None

    def _disassemble(self, io: IO[bytes]) -> ModuleOp:
        from ..runtime.vta.assemble import disassemble
        from ..runtime.vta.container import parse_program

        name = self.get_input_name()
        try:
            return disassemble(parse_program(io.read(), name))
        except GlowError as e:
            raise ToolError(f"{name}: error: {str(e).removeprefix(f'{name}: ')}") from None

    @property
    def version_format(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        from importlib.metadata import version

        return f"glow-opt {version('glow-compiler')}, xdsl {{xdsl_version}}"

    # arguments

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.prog = "glow-opt"
        arg_parser.allow_abbrev = False
        arg_parser.error = self._usage_error
        for action in arg_parser._actions:
            if action.dest == "target":
                action.type = self._qualify_target
        self._replace_passes_option(arg_parser)
        self._add_own_arguments(arg_parser)
        self._add_pass_flags(arg_parser)
        if self._helping:
            from .glow_opt_help import describe_options

            describe_options(arg_parser, self.available_passes, self.available_targets)

    def _replace_passes_option(self, arg_parser: argparse.ArgumentParser) -> None:
        option = arg_parser._option_string_actions["--passes"]
        replacement = _PassList(option.option_strings, "passes", type=str, default="")
        arg_parser._actions[arg_parser._actions.index(option)] = replacement
        for group in arg_parser._action_groups:
            if option in group._group_actions:
                group._group_actions[group._group_actions.index(option)] = replacement
        for string in option.option_strings:
            arg_parser._option_string_actions[string] = replacement

    def _add_own_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        arg_parser.add_argument(
            "--define-symbol",
            dest="symbols",
            metavar="NAME=SIZE",
            action="append",
            type=_symbol,
            default=[],
            help="size of a symbolic dimension of an ONNX model; may repeat",
        )
        arg_parser.add_argument(
            "--max-elements",
            metavar="N",
            type=_count,
            help="refuse an ONNX model with larger tensors; default: 2**31",
        )
        arg_parser.add_argument(
            "--weights-out",
            metavar="FILE.safetensors",
            help="write the bytes of all constants to a file and refer to them there",
        )
        arg_parser.add_argument(
            "--dump-dag",
            metavar="FILE.svg",
            help="draw a network that --partition has split over devices",
        )
        arg_parser.add_argument(
            DEBUG_FLAG, action="store_true", help="show the Python traceback of an error"
        )

    def _add_pass_flags(self, arg_parser: argparse.ArgumentParser) -> None:
        taken = set(arg_parser._option_string_actions)
        for name in self.available_passes:
            spellings = [f"--{name}"]
            if name.startswith(PREFIX):
                spellings.append(f"--{name.removeprefix(PREFIX)}")
            free = [s for s in spellings if s not in taken]
            if free:
                arg_parser.add_argument(
                    *free, action=_PassFlag, nargs="?", metavar="OPTIONS", help=argparse.SUPPRESS
                )

    def _usage_error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            flag = unknown.split()[0].split("=")[0]
            if not flag.startswith("-"):
                raise ToolError(f"error: expected one input file, found {flag} as well")
            known = [f"--{n}" for n in self._pass_names()]
            message = f"unknown option {flag}{near(flag, known)}"
        raise ToolError(f"error: {message}")

    # passes

    def _pass_names(self) -> list[str]:
        own = [n.removeprefix(PREFIX) for n in self.available_passes if n.startswith(PREFIX)]
        return [*self.available_passes, *own]

    def _qualify_target(self, target: str) -> str:
        name, brace, options = target.partition("{")
        if name not in self.available_targets and PREFIX + name in self.available_targets:
            return f"{PREFIX}{name}{brace}{options}"
        if name not in self.available_targets:
            raise ToolError(f"error: unknown target {name!r}{near(name, self.available_targets)}")
        return target

    def setup_pipeline(self) -> None:
        try:
            specs = list(parse_pipeline(self.args.passes))
        except ArgSpecParseError as e:
            detail = [line.strip() for line in str(e).splitlines() if line.strip()]
            raise ToolError(
                f"error: cannot read pass options: {detail[-1]} in {detail[2]!r}"
            ) from None
        self.pipeline = PassPipeline(tuple(self._make_pass(spec) for spec in specs))

    def _make_pass(self, spec: ArgSpec) -> ModulePass:
        name = spec.name if spec.name in self.available_passes else PREFIX + spec.name
        if name not in self.available_passes:
            raise ToolError(
                f"error: unknown pass {spec.name!r}{near(spec.name, self._pass_names())}"
            )
        pass_class = self.available_passes[name]()
        known = [f.name.replace("_", "-") for f in fields(pass_class)]
        for option in spec.parameters:
            if option.replace("_", "-") not in known:
                takes = f"; it takes {', '.join(known) or 'none'}"
                hint = near(option, known) or takes
                raise ToolError(f"error: {name} has no option {option!r}{hint}")
        try:
            return pass_class.from_spec(ArgSpec(name, spec.parameters))
        except (ValueError, GlowError) as e:
            problem = _wrong_value(pass_class, spec) or e
            raise ToolError(f"error: {name}: {problem}") from None

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
        if self.args.output_file is None:
            super().run()
            return
        with completed(self.args.output_file) as self._where:
            super().run()

    def prepare_output(self) -> IO[str]:
        name = parse_spec(self.args.target).name
        # bytes are text of which each character is one
        is_text = not getattr(self._own_target(name), "writes_bytes", False)
        encoding, newline = (None, None) if is_text else ("latin-1", "")
        file = self.args.output_file
        if file is None and is_text:
            return sys.stdout
        where = sys.stdout.fileno() if file is None else self._where
        try:
            return open(where, "w", encoding=encoding, newline=newline, closefd=file is not None)
        except OSError as e:
            raise OSError(e.errno, e.strerror, file) from None

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
        passes = self.pipeline.passes
        for i, module_pass in enumerate(passes):
            start = time.perf_counter()
            try:
                module_pass.apply(self.ctx, prog)
            except (ShrinkException, RecursionError):
                raise
            except Exception as e:
                raise self._failure(e, module_pass.name) from e
            if self.args.time_passes:
                seconds = time.perf_counter() - start
                print(f"Pass {module_pass.name} took {seconds} seconds", file=sys.stderr)
            self._check(prog, module_pass.name)
            if self.args.print_between_passes and i + 1 < len(passes):
                print(f"IR after {module_pass.name}:")
                Printer(stream=sys.stdout).print_op(prog)
                print("\n\n\n")

    def _check(self, module: ModuleOp, after: str | None) -> None:
        if self.args.disable_verify:
            return
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
            import traceback

            text += "\n" + "".join(traceback.format_exception(error))
        return ToolError(text)

    def output_resulting_program(self, prog: ModuleOp) -> str:
        if self.args.weights_out is not None:
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
        from .dag_drawing import draw_partitions

        try:
            text = draw_partitions(module)
        except GlowError as e:
            raise self._failure(e, "--dump-dag") from e
        with open(self.args.dump_dag, "w", encoding="utf-8") as file:
            file.write(text)


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
    The command line: `args` are by default those of the process. Returns the exit code.

    Every error is printed on stderr as `file:line:col: error: message`, with exit code 1.
    """
    given: Sequence[Any] = sys.argv[1:] if args is None else args
    print_module = Diagnostic.raise_exception
    Diagnostic.raise_exception = keep_operation
    try:
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
    finally:
        Diagnostic.raise_exception = print_module
    return 0


if __name__ == "__main__":
    sys.exit(main())
