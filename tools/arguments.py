"""The command-line arguments that the tools that run networks share."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from ..errors import GlowError, QuantizationError, TextError, one_line
from ..runtime.cpu_options import CpuOptions

if TYPE_CHECKING:
    from rich.console import Console

    from ..quantization.options import Quantization

DEBUG_FLAG = "--traceback"


class Parser(argparse.ArgumentParser):
    """
    An argument parser with the flags that `run_tool` knows. It reports wrong arguments like other
    errors: one line, exit code 1. The parsed arguments have the names of all that were given in
    `given`.
    """

    def __init__(self, prog: str, description: str):
        super().__init__(prog=prog, description=description)
        self.add_argument("--version", action="store_true", help="print the version")
        self.add_argument(
            DEBUG_FLAG, action="store_true", help="show the Python traceback of an unexpected error"
        )

    def error(self, message: str):
        raise GlowError(message)

    def parse_args(self, args=None, namespace=None):  # pyright: ignore
        parsed = super().parse_args(args, namespace)
        again = super().parse_args(args, _Recorder(vars(parsed)))
        parsed.given = frozenset(again.given)
        return parsed


class _Recorder(argparse.Namespace):
    """Has all names already, so that a parser sets no defaults; knows which were set after all."""

    def __init__(self, names: Iterable[str]):
        super().__init__(**dict.fromkeys(names))
        self.__dict__["given"] = set()

    def __setattr__(self, name: str, value: object) -> None:
        if "given" in self.__dict__:
            self.given.add(name)
        super().__setattr__(name, value)


def symbol(text: str) -> tuple[str, int]:
    """Returns `name=size`."""
    name, _, value = text.partition("=")
    if not name or not value.isdecimal():
        raise argparse.ArgumentTypeError(f"expected name=size, found {text!r}")
    return name, int(value)


def numbers(text: str) -> tuple[float, ...]:
    """Returns `104,117,123` or `1/255`."""
    # --help needs no numpy
    from .inputs import parse_numbers

    try:
        return parse_numbers(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected numbers or fractions with commas between them, found {text!r}"
        ) from None


def count(text: str) -> int:
    """Returns a positive integer."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, found {text!r}")
    return int(text)


def seed(text: str) -> int:
    """Returns a seed of random numbers, which is an integer of at least 0."""
    try:
        found = int(text)
    except ValueError:
        found = None
    if found is None or found < 0:
        kind = "a whole number" if found is None else "a number of at least 0"
        raise argparse.ArgumentTypeError(f"expected {kind}, found {text!r}")
    return found


def number(text: str) -> float:
    """Returns a float."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, found {text!r}") from None


def amount(text: str) -> float:
    """Returns a float of at least 0, which is a number."""
    found = number(text)
    if not found >= 0:
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, found {text!r}")
    return found


def add_cpu_options(group: Any, *names: str) -> None:
    """Flags for fields of `CpuOptions`. What is not given is None, or False for a switch."""
    about = {field.name: field for field in fields(CpuOptions)}
    for name in names:
        option = about[name]
        settings = dict(option.metadata)
        if isinstance(option.default, bool):
            settings["action"] = "store_true"
        elif isinstance(option.default, int):
            settings.update(type=count, default=option.default)
        group.add_argument(f"--{name.replace('_', '-')}", **settings)


_OF_PASSES = "quantize", "weights", "group"
"""The options that tools give as passes."""


def cpu_options(args: argparse.Namespace, *without: str) -> dict[str, Any]:
    """Returns the flags of `add_cpu_options`, except some, as options of `glow.compile`."""
    found = vars(args)
    without = (*_OF_PASSES, *without)
    names = [field.name for field in fields(CpuOptions) if field.name not in without]
    return {name: found[name] for name in names if name in found}


def add_model_arguments(group: Any) -> None:
    """Adds the options of the import of an ONNX model."""
    group.add_argument(
        "--define-symbol",
        metavar="NAME=SIZE",
        action="append",
        type=symbol,
        default=[],
        help="size of a symbolic dimension of an ONNX model; may repeat",
    )
    group.add_argument(
        "--max-elements",
        type=count,
        metavar="N",
        help="refuse an ONNX model with larger tensors; default: 2**31",
    )


def add_image_arguments(group: Any) -> None:
    """Adds the flags of `inputs.Preprocessing` to a group of a parser."""
    group.add_argument(
        "--image-mean",
        type=numbers,
        default=(0.0,),
        metavar="M[,M,M]",
        help="subtracted from pixels, which are 0 to 255; one number, or one for each channel in "
        "the order of the network",
    )
    group.add_argument(
        "--image-scale",
        type=numbers,
        metavar="S[,S,S]",
        help="pixels are multiplied by this after the mean; default 1/255, for integers 1",
    )
    group.add_argument("--image-channel-order", choices=("RGB", "BGR"), default="RGB")
    group.add_argument("--image-layout", choices=("NCHW", "NHWC"), default="NCHW")


_NAMES = "calibration", "schema", "activations", "weight_calibration", "weight_schema", "weights"
_LISTS = "keep_float", "storages"


def add_quantization_arguments(parser: argparse.ArgumentParser, few_bits: bool = False) -> None:
    """
    Adds the flags for the fields of `quantization.Quantization`, in a group of a parser. With
    `few_bits`, `--weights` also means matrix products that compute in float, and there is
    `--group`.
    """
    group = parser.add_argument_group(
        "quantization", "Values that are not given are those of the choices, or min-max and i8."
    )
    helps = {
        "calibration": "min-max, percentile, entropy or mse",
        "schema": "asymmetric, symmetric, symmetric_uint8 or power_of_two; of activations",
        "activations": "how they are stored: i8, u8, i16, ...",
        "weight_calibration": "as --calibration, of weights",
        "weight_schema": "as --schema, of weights",
        "weights": "how they are stored: i8, i4, ..."
        + "; without --quantize: u4 or u8, of matrix products" * few_bits,
        "keep_float": "values, or operators such as softmax, to compute in float; may repeat",
        "storages": "how what single products read is stored; may repeat",
    }
    metavars = {"keep_float": "NAME,KIND", "storages": "NAME=i16"}
    for name, text in helps.items():
        metavar = metavars.get(name, "NAME")
        action = "append" if name in _LISTS else "store"
        group.add_argument(f"--{name.replace('_', '-')}", action=action, metavar=metavar, help=text)
    if few_bits:
        add_cpu_options(group, "group")
    group.add_argument("--percentile", type=number, metavar="P", help="of --calibration percentile")
    group.add_argument("--bias", choices=("i32", "i8", "float"))
    group.add_argument("--embeddings", choices=("float", "u8", "u4"), help="tables of rows")
    group.add_argument(
        "--per-tensor", action="store_true", help="one scale for all output channels of weights"
    )
    group.add_argument(
        "--everything", action="store_true", help="quantize values between other operators too"
    )


def quantization_options(args: argparse.Namespace) -> dict[str, object]:
    """Returns the fields of `quantization.Quantization` that are given."""
    given: dict[str, object] = {
        name: value
        for name in (*_NAMES, "percentile", "bias", "embeddings")
        if (value := getattr(args, name)) is not None
    }
    for name in _LISTS:
        if (texts := getattr(args, name)) is not None:
            given[name] = tuple(n for text in texts for n in text.split(",") if n)
    if args.per_tensor:
        given["per_channel"] = False
    if args.everything:
        given["everything"] = True
    return given


def quantization_choices(args: argparse.Namespace) -> Quantization | None:
    """
    Returns the choices of `--quantize FILE` (a profile, or choices of `glow-tune-quantization`) or
    `--quantize dynamic`, with separately given options; None without the flag. Raises
    QuantizationError for wrong files and names, and for choices without the flag.
    """
    given = quantization_options(args)
    if args.quantize is None:
        given.pop("weights", None)  # alone, it has another meaning
        if given:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise QuantizationError(f"{flags}: expected --quantize PROFILE.json, or dynamic, too")
        return None
    # most runs quantize nothing
    from ..quantization.choices_file import load_choices
    from ..quantization.options import Quantization

    if args.quantize == "dynamic":
        base = Quantization(dynamic=True)
    else:
        base = load_choices(args.quantize)
    return replace(base, **given)  # pyright: ignore[reportArgumentType]


def run_tool(
    tool: str,
    parser: Callable[[], argparse.ArgumentParser],
    run: Callable[[argparse.Namespace, Console], int],
    args: Sequence[str] | None,
) -> int:
    """
    Runs a tool on `args`, by default those of the process, and returns its exit code.

    Errors and warnings are printed on stderr in one line each; `--traceback` shows where unexpected
    ones come from.
    """
    given = sys.argv[1:] if args is None else list(args)

    def show(message: Warning | str, *_about: object, **_more: object) -> None:
        print(f"{tool}: warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        return _run(tool, parser, run, given)


def _run(
    tool: str,
    parser: Callable[[], argparse.ArgumentParser],
    run: Callable[[argparse.Namespace, Console], int],
    given: list[str],
) -> int:
    try:
        if "--version" in given:
            # it takes longer to load than all else of --help
            from importlib.metadata import version

            print(f"{tool} {version('glow-compiler')}")
            return 0
        parsed = parser().parse_args(given)
        # --help and --version print without it
        from rich.console import Console

        return run(parsed, Console(highlight=False, markup=False))
    except TextError as e:
        # as glow-opt prints it
        print(e, file=sys.stderr)
        return 1
    except (GlowError, OSError, ValueError) as e:
        print(f"{tool}: error: {one_line(e)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception as e:
        if DEBUG_FLAG in given:
            raise
        what = f"{type(e).__name__}: {one_line(e)}"
        print(f"{tool}: error: {what} (see {DEBUG_FLAG})", file=sys.stderr)
        return 1
