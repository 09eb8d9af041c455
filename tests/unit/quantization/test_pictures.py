"""Pictures of profiles: valid SVG that shows the histogram and the chosen range."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from glow.errors import QuantizationError
from glow.passes.graph.value_keys import ValueKey
from glow.quantization import (
    METHODS,
    Histogram,
    Profile,
    Range,
    ValueProfile,
    calibrated_range,
    draw_profile,
)
from glow.quantization.pictures import HEIGHT, MARGIN, WIDTH, histogram_svg

SVG = "{http://www.w3.org/2000/svg}"


def bars(text: str) -> list[tuple[float, float]]:
    """Returns the left ends and heights of all bars."""
    path = ElementTree.fromstring(text).findall(f"{SVG}path")[0].attrib["d"]
    return [(float(x), float(h)) for x, h in re.findall(r"M([\d.]+) \d+v-([\d.]+)h", path)]


def test_bars_are_logarithms_of_counts(rng: np.random.Generator) -> None:
    h = Histogram.of(rng.standard_normal(5003), 29)
    found = bars(histogram_svg("x", h, Range(h.low, h.high)))
    heights = np.log1p(h.counts) / np.log1p(h.counts.max()) * (HEIGHT - 2 * MARGIN)
    occupied = np.flatnonzero(h.counts)
    assert len(found) == len(occupied)
    for (x, height), i in zip(found, occupied, strict=True):
        assert height == pytest.approx(heights[i], abs=0.01)
        assert x == pytest.approx(MARGIN + i * (WIDTH - 2 * MARGIN) / 29, abs=0.01)


def test_the_range_is_shaded(rng: np.random.Generator) -> None:
    h = Histogram.of(np.array([-1.0, 4.0]), 10)
    root = ElementTree.fromstring(histogram_svg("a <b> & c", h, Range(0.0, 2.0), "note"))
    shade = root.findall(f"{SVG}rect")[1].attrib
    unit = (WIDTH - 2 * MARGIN) / 5
    assert float(shade["x"]) == pytest.approx(MARGIN + unit, abs=0.01)
    assert float(shade["width"]) == pytest.approx(2 * unit, abs=0.01)
    texts = [t.text for t in root.findall(f"{SVG}text")]
    assert texts == ["-1", "0", "2", "4", "a <b> & c", "note"]


@pytest.mark.parametrize("number", [0.0, -2.5])
def test_a_single_number(number: float) -> None:
    h = Histogram.of(np.full(7, number), 10)
    assert len(bars(histogram_svg("x", h, Range(min(number, 0), 0)))) == 1


def test_no_numbers() -> None:
    with pytest.raises(QuantizationError, match="no finite numbers"):
        histogram_svg("x", Histogram.of(np.array([np.nan])), Range(0.0, 1.0))


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_whole_profile(rng: np.random.Generator, tmp_path: Path, method: str) -> None:
    values = {
        name: ValueProfile(ValueKey(name, "glow.add", "0" * 16, "1" * 16), Histogram.of(array))
        for name, array in {
            "a/b": rng.standard_normal(999),
            "nothing": np.array([np.nan]),
            "zeros": np.zeros(5),
        }.items()
    }
    written = draw_profile(Profile(values), tmp_path / "new" / "folder", method)
    assert [p.name for p in written] == ["000-a_b.svg", "002-zeros.svg"]
    found = calibrated_range(values["a/b"].histogram, method)
    text = written[0].read_text()
    assert f"{method}, asymmetric: {found.low:.5g} to {found.high:.5g}" in text
    assert "a/b (glow.add)" in text
