"""The signs, values and names of integer types."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from glow.glow_dialects.integers import (
    integer_range,
    is_unsigned_integer,
    of_short_name,
    short_name,
    unsigned,
)
from glow.semantics.arrays import numpy_dtype
from xdsl.dialects.builtin import IntegerType, Signedness, i1

ROOT = Path(__file__).resolve().parents[3]
TYPES = [made(width) for width in (8, 16, 32, 64) for made in (IntegerType, unsigned)]


@pytest.mark.parametrize("t", TYPES, ids=str)
def test_ranges_are_those_of_numpy(t: IntegerType) -> None:
    limits = np.iinfo(numpy_dtype(t))
    assert integer_range(t) == (limits.min, limits.max)
    assert is_unsigned_integer(t) == (limits.min == 0)


@pytest.mark.parametrize("t", [*TYPES, unsigned(4), IntegerType(3), i1], ids=str)
def test_short_names_name_the_type(t: IntegerType) -> None:
    assert of_short_name(short_name(t)) == t


def test_truth_values_are_not_negative() -> None:
    assert integer_range(i1) == (0, 1)


@pytest.mark.parametrize("name", ["", "i", "f32", "i8x", "si8"])
def test_other_names_name_no_type(name: str) -> None:
    assert of_short_name(name) is None


def test_signs_of_types_are_decided_in_one_place() -> None:
    """Only one module asks or says that a type is unsigned."""
    word = f"Signedness.{Signedness.UNSIGNED.name}"
    skipped = {"tests", "docs", "examples", "build", "dist"}
    sources = [
        path
        for path in ROOT.rglob("*.py")
        if not skipped & set(parts := path.relative_to(ROOT).parts) and parts[0][0] != "."
    ]
    named = [path for path in sources if word in path.read_text(encoding="utf-8")]
    assert named == [ROOT / "glow_dialects" / "integers.py"]
