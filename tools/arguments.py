"""What the command lines of the tools that run networks have in common."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import GlowError

if TYPE_CHECKING:
    from rich.console import Console

DEBUG_FLAG = "--traceback"


class Parser(argparse.ArgumentParser):
    """Reports wrong arguments as other errors are reported: one line, exit code 1."""

    def error(self, message: str):
        raise GlowError(message)


def symbol(text: str) -> tuple[str, int]:
    """`name=size`."""
    name, _, value = text.partition("=")
    if not name or not value.isdecimal():
        raise argparse.ArgumentTypeError(f"expected name=size, found {text!r}")
    return name, int(value)


def numbers(text: str) -> tuple[float, ...]:
    """`104,117,123` or `1/255`."""
    from .inputs import parse_numbers

    try:
        return parse_numbers(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected numbers or fractions with commas between them, found {text!r}"
        ) from None


def count(text: str) -> int:
    """A positive integer."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, found {text!r}")
    return int(text)


def add_image_arguments(group: Any) -> None:
    """The flags that `inputs.Preprocessing` is made of, added to a group of a parser."""
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


def run_tool(
    tool: str,
    parser: Callable[[], argparse.ArgumentParser],
    run: Callable[[argparse.Namespace, Console], int],
    args: Sequence[str] | None,
) -> int:
    """
    Run a tool on `args`, by default those of the process, and return its exit code.

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
            from importlib.metadata import version

            print(f"{tool} {version('glow-compiler')}")
            return 0
        parsed = parser().parse_args(given)
        from rich.console import Console

        return run(parsed, Console(highlight=False, markup=False))
    except (GlowError, OSError, ValueError) as e:
        print(f"{tool}: error: {_one_line(e)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception as e:
        if DEBUG_FLAG in given:
            raise
        what = f"{type(e).__name__}: {_one_line(e)}"
        print(f"{tool}: error: {what} (see {DEBUG_FLAG})", file=sys.stderr)
        return 1


def _one_line(error: Exception) -> str:
    if (
        isinstance(error, OSError)
        and error.filename is not None
        and not isinstance(error, GlowError)
    ):
        return f"{error.filename}: {error.strerror}"
    return str(error) if isinstance(error, GlowError) else " ".join(str(error).split())
