"""
Classifies images of handwritten digits with a network compiled for this CPU.

    python examples/digits/demo.py [--stages DIR]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median

import glow
import numpy as np
from PIL import Image
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
STAGES = HERE.parent.parent / "build" / "digits-stages"


def load_image(path: Path) -> np.ndarray:
    """Returns an 8x8 image as 1x1x8x8 f32, 0 to 1."""
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("L"), np.float32)
    return pixels[None, None] / 255


def classify(model: glow.CompiledModel, x: np.ndarray) -> tuple[int, float, float]:
    """Returns the digit, its probability, and the seconds that it took (median of several runs)."""
    (probabilities,) = model(x)
    times: list[float] = []
    for _ in range(21):
        start = time.perf_counter()
        model(x)
        times.append(time.perf_counter() - start)
    digit = int(probabilities[0].argmax())
    return digit, float(probabilities[0, digit]), median(times)


def main() -> int:
    parser = argparse.ArgumentParser(description="Classify images of handwritten digits.")
    parser.add_argument("--stages", type=Path, default=STAGES, help="where to write the IR")
    args = parser.parse_args()
    console = Console(highlight=False)

    start = time.perf_counter()
    model = glow.compile(HERE / "digits.onnx")
    console.print(f"digits.onnx compiled for the CPU in {time.perf_counter() - start:.2f} s\n")

    table = Table()
    for column in ("image", "prediction", "probability", "time", "right"):
        table.add_column(column, justify="left" if column == "image" else "right")
    wrong = 0
    for path in sorted((HERE / "images").glob("*.png")):
        digit, probability, seconds = classify(model, load_image(path))
        right = path.stem.endswith(f"_is_{digit}")
        wrong += not right
        table.add_row(
            path.name,
            f"[bold]{digit}[/]",
            f"{probability:.1%}",
            f"{seconds * 1e6:.0f} us",
            "yes" if right else "[red]no[/]",
        )
    console.print(table)

    written = model.dump_stages(args.stages)
    console.print(f"\nThe IR of every stage was written to {args.stages}:")
    for path in written:
        console.print(f"  {path.name}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
