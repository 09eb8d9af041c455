"""Pictures of profiles: the histogram of a value with the range that a calibration chooses."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from ..svg import Picture
from ..wording import counted
from .calibration import calibrated_range
from .histogram import Histogram
from .profiles import Profile
from .schemas import Range, choose

WIDTH, HEIGHT, MARGIN = 640, 240, 40
"""Pixels of a picture; of its margins on all sides."""
COLUMNS = 256
"""The largest number of bars. More bins are put together."""


def histogram_svg(title: str, histogram: Histogram, range: Range, note: str = "") -> str:
    """
    Returns the histogram as SVG: how many numbers are in each bin on a logarithmic scale, with the
    range that is represented shaded, and `note` below the title. Raises QuantizationError if
    nothing was counted.
    """
    low, high = _shown(histogram, range)
    counts = histogram.over(low, high, min(COLUMNS, histogram.bins))
    scale = (WIDTH - 2 * MARGIN) / (high - low)

    def x(number: float) -> float:
        return MARGIN + (number - low) * scale

    bottom = HEIGHT - MARGIN
    first, last = x(range.low), x(range.high)
    labels = dict.fromkeys((low, range.low, 0.0, range.high, high))
    picture = Picture(WIDTH, HEIGHT, f"Histogram of {title}")
    picture.rect(first, MARGIN, last - first, bottom - MARGIN, "blue/18")
    picture.path(_bars(counts), "blue")
    picture.line((MARGIN, bottom), (WIDTH - MARGIN, bottom))
    for n in (range.low, range.high):
        picture.line((x(n), MARGIN), (x(n), bottom + 4), "red")
    for i, n in enumerate(labels):
        picture.text(x(n), bottom + 16 + 12 * (i % 2), f"{n:.4g}", size=11, anchor="middle")
    picture.text(MARGIN, 18, title, size=13)
    picture.text(MARGIN, 33, note, "muted", size=11)
    return str(picture)


def _shown(h: Histogram, range: Range) -> tuple[float, float]:
    """Returns the range that is drawn: all numbers, and a range around a single number."""
    h.expect_numbers()
    low, high = min(h.low, range.low), max(h.high, range.high)
    return (low, high) if low < high else (low - 1.0, high + 1.0)


def _bars(counts: np.ndarray) -> str:
    """Returns one path; the height of a bar is the logarithm of its count."""
    top = math.log1p(float(counts.max()))
    width = (WIDTH - 2 * MARGIN) / len(counts)
    bottom = HEIGHT - MARGIN
    bars: list[str] = []
    for i, number in enumerate(counts.tolist()):
        if number:
            height = math.log1p(number) / top * (bottom - MARGIN)
            bars.append(
                f"M{MARGIN + i * width:.2f} {bottom}v{-height:.2f}h{width:.2f}v{height:.2f}z"
            )
    return "".join(bars)


def draw_profile(
    profile: Profile,
    directory: str | Path,
    method: str = "min-max",
    schema: str = "asymmetric",
    storage: str = "i8",
    percentile: float = 99.99,
) -> list[Path]:
    """
    Writes `NNN-name.svg` for each value with counted numbers, in order, with the range that a
    calibration chooses. Return the files. The directory is made if need be. Arguments are those of
    `calibrate`. Raises QuantizationError as that does, and OSError.
    """
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for number, value in enumerate(profile.values.values()):
        h = value.histogram
        if h.low > h.high:
            continue
        found = calibrated_range(h, method, schema, storage, percentile)
        chosen = choose(found, schema, storage)
        note = (
            f"{counted(h.count, 'number')} from {h.low:.5g} to {h.high:.5g}; {method}, {schema}: "
            f"{found.low:.5g} to {found.high:.5g}, {chosen}"
        )
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", value.key.name)[:100]
        path = folder / f"{number:03}-{name}.svg"
        path.write_text(histogram_svg(f"{value.key.name} ({value.key.operator})", h, found, note))
        written.append(path)
    return written
