"""
`glow-run`: compile a network and run it.

```
glow-run model.onnx --input photo.png --image-mean 104,117,123 --image-scale 1
glow-run model.onnx --repeat 20 --compare interpreter --dump-stages stages/
```
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .arguments import run_tool
from .run_arguments import run_parser
from .vta_arguments import is_program

if TYPE_CHECKING:
    from rich.console import Console


def _run(args: argparse.Namespace, console: Console) -> int:
    if is_program(args):
        # only VTA programs need the simulator
        from .vta_run import run_program

        return run_program(args, console)
    # what answers --help does not load numpy and the compiler
    from .run_network import run

    return run(args, console)


def main(args: Sequence[str] | None = None) -> int:
    """
    Runs the tool with `args`, by default those of the process. Returns the exit code.

    Errors are printed on stderr in one line, with exit code 1.
    """
    return run_tool("glow-run", run_parser, _run, args)


if __name__ == "__main__":
    sys.exit(main())
