"""
Write the bundle of a network, with which a C program is linked: object files, weights, a header.

```
python examples/c_program/build.py examples/digits/digits.onnx build --target-cpu cortex-a72
aarch64-linux-gnu-gcc -static -Ibuild -o build/run examples/c_program/main.c build/*.o -lm -pthread
```
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from glow.errors import GlowError, one_line
from glow.loading import load_model
from glow.runtime.bundle import write_bundle
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.stages import Stages


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the bundle of a network.")
    parser.add_argument("model", help="an ONNX file, or text of the graph dialect (.mlir)")
    parser.add_argument("folder", type=Path, help="where the bundle is written")
    parser.add_argument("--target-cpu", metavar="NAME", help="in LLVM's names; default: this one")
    parser.add_argument("--target-features", metavar="[+-]NAME,...")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="default: 1")
    args = parser.parse_args()
    try:
        backend = CpuBackend(
            threads=args.threads,
            cache=False,
            target_cpu=args.target_cpu,
            target_features=args.target_features,
        )
        stages = Stages(load_model(args.model), backend.stages())
        objects = write_bundle(stages, backend, args.folder)
    except (GlowError, OSError) as error:
        print(f"error: {one_line(error)}", file=sys.stderr)
        return 1
    print(f"{len(objects)} object files, network.h and weights.bin written to {args.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
